//! Reading a request's body: never more than the limit, never for ever.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::StreamExt as _;
use parley_language::limits::REQUEST_BYTES;
use parley_language::reason::{Details, Reason, Refusal};

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much of a body that is refused is still read, so that a client that only listens after sending hears the answer
/// and can go on with the connection. Beyond it the connection is closed.
const DISCARD: usize = 8 * 1024 * 1024;

/// How much a body may hold, and what is said of more.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) bytes: usize,
    pub(super) patience: Duration,
    pub(super) refusal: fn(Option<u64>) -> Refusal,
}

/// The bound of a request (13.9).
const REQUEST: Bound = Bound { bytes: REQUEST_BYTES, patience: PATIENCE, refusal: too_large };

/// Reads the whole body.
///
/// # Errors
/// `payload_too_large` over the limit, whether the head or only the bytes say so; `invalid_json` for a body that
/// breaks off.
pub(crate) async fn read(request: &HttpRequest, payload: Payload) -> Result<Bytes, Refusal> {
    read_within(REQUEST, request, payload).await
}

/// Reads the whole body within a bound of its own.
///
/// # Errors
/// As [`read`], with the refusal of the bound.
pub(super) async fn read_within(
    bound: Bound,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(bound.patience, collect(bound, request, payload)).await {
        Ok(read) => read,
        Err(_) => Err(broken_off()),
    }
}

async fn collect(
    bound: Bound,
    request: &HttpRequest,
    mut payload: Payload,
) -> Result<Bytes, Refusal> {
    if let Some(length) = content_length(request)
        && length > bound.bytes as u64
    {
        if length <= DISCARD as u64 {
            discard(payload, 0).await;
        }
        return Err((bound.refusal)(Some(length)));
    }
    if request.headers().contains_key(header::UPGRADE) {
        return exactly(content_length(request).unwrap_or(0), payload).await;
    }
    let Some(first) = payload.next().await else { return Ok(Bytes::new()) };
    // Nearly every body arrives in one piece: then nothing is copied.
    let first = first.map_err(|_| broken_off())?;
    let Some(second) = payload.next().await else {
        return if first.len() > bound.bytes { Err((bound.refusal)(None)) } else { Ok(first) };
    };
    let mut body = BytesMut::with_capacity(first.len() * 2);
    body.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        let chunk = chunk.map_err(|_| broken_off())?;
        if body.len() + chunk.len() > bound.bytes {
            discard(payload, body.len() + chunk.len()).await;
            return Err((bound.refusal)(None));
        }
        body.extend_from_slice(&chunk);
        next = payload.next().await;
    }
    Ok(body.freeze())
}

/// A body whose length the head alone tells. After `Upgrade: websocket` the payload would go on until the connection
/// ends; no protocol but HTTP is spoken here, so what the head did not promise is not waited for.
async fn exactly(length: u64, mut payload: Payload) -> Result<Bytes, Refusal> {
    let length = usize::try_from(length).map_err(|_| too_large(Some(length)))?;
    let mut body = BytesMut::with_capacity(length);
    while body.len() < length {
        let chunk = payload.next().await.ok_or_else(broken_off)?;
        body.extend_from_slice(&chunk.map_err(|_| broken_off())?);
    }
    body.truncate(length);
    Ok(body.freeze())
}

/// Reads on without keeping anything, up to a bound.
async fn discard(mut payload: Payload, mut read: usize) {
    while let Some(Ok(chunk)) = payload.next().await {
        read += chunk.len();
        if read > DISCARD {
            return;
        }
    }
}

fn content_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(actual: Option<u64>) -> Refusal {
    let limit = REQUEST_BYTES as u64;
    Refusal::new(Reason::PayloadTooLarge, format!("the body is over {limit} bytes; shrink it"))
        .with(Details { limit: Some(limit), actual, ..Details::default() })
}

fn broken_off() -> Refusal {
    Refusal::new(Reason::InvalidJson, "the body broke off before its end; send it again")
}
