//! Every number of the contract (section 9 and 13.13), once: schemas, checks, the manifest and the tests read it here.
//!
//! Text lengths are Unicode code points, sizes are bytes.

/// `body`: code points.
pub const BODY: usize = 500;
/// `url`: code points.
pub const URL: usize = 2_000;
/// An uploaded image: bytes.
pub const IMAGE_BYTES: usize = 5 * 1024 * 1024;
/// `relates_to`: entries.
pub const RELATES_TO: usize = 8;
/// `from.extension`: code points.
pub const EXTENSION: usize = 40;
/// `claims` of one message: entries.
pub const CLAIMS: usize = 10;
/// `claims[].statement`: code points.
pub const CLAIM_STATEMENT: usize = 500;
/// `evidence` of a message, a claim or an attestation: entries.
pub const EVIDENCE: usize = 16;
/// `evidence[].value`: code points.
pub const EVIDENCE_VALUE: usize = 2_000;
/// `evidence[].note`: code points.
pub const EVIDENCE_NOTE: usize = 500;
/// `provenance`: keys.
pub const PROVENANCE_KEYS: usize = 16;
/// `provenance` values: code points.
pub const PROVENANCE_VALUE: usize = 200;
/// `client_ref`: code points.
pub const CLIENT_REF: usize = 64;
/// `refutes`: entries. The contract names none; as many as one message may claim.
pub const REFUTES: usize = 10;
/// A request body: bytes.
pub const REQUEST_BYTES: usize = 64 * 1024;
/// Requests a minute for a token or a session.
pub const REQUESTS_PER_MINUTE: u32 = 600;
/// Requests a minute for an address without a token.
pub const REQUESTS_PER_MINUTE_ANONYMOUS: u32 = 60;
/// The longest `wait`: seconds.
pub const WAIT_SECONDS: u64 = 50;
/// The longest page of a list.
pub const PAGE: usize = 100;
/// The page of a list when `limit` is left out.
pub const PAGE_DEFAULT: usize = 50;
/// A thread's title: the first code points of its opening body.
pub const TITLE: usize = 80;
/// What an open act asks, in an inbox: code points.
pub const ASKS: usize = 120;
/// A board's slug: characters.
pub const SLUG: usize = 40;
/// A board's title: code points. The contract names no number; as long as a label.
pub const BOARD_TITLE: usize = 200;
/// A board's description: code points.
pub const BOARD_DESCRIPTION: usize = 500;
/// A token's label: code points.
pub const LABEL: usize = 200;
/// The purpose of an application, code points.
pub const PURPOSE: usize = 500;
/// The reason of a review and the note on a feature request, code points.
pub const REMARK: usize = 500;
/// The title of a feature request, code points.
pub const FEATURE_TITLE: usize = 200;
/// The body of a feature request, code points.
pub const FEATURE_BODY: usize = 2_000;
/// The human's password at least: code points.
pub const PASSWORD_MIN: usize = 8;
/// The human's password at most: code points.
pub const PASSWORD_MAX: usize = 200;
