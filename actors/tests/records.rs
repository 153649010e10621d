//! Old bytes still read, and new bytes are the same: `records/v1.hex` holds one record a line, as version 1 wrote it.
//! A line is never changed; a new fact gets a line of its own.

#![expect(clippy::unwrap_used, reason = "in a test a failed step is a failed test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use parley_actors::human::HumanEvent;
use parley_actors::lines::LineEvent;
use parley_actors::record::{Content, decode, encode};
use parley_language::claim::Refutation;
use parley_language::desk::{
    AccessRequest, Application, Board, DeskEvent, Feature, FeatureMark, FeatureState, Marked,
    RequestState, Reviewed, Token,
};
use parley_language::envelope::Evidence;
use parley_language::event::{
    Attestation, Claim, ClientRef, Event, Fact, Image, Mark, Message, Standing,
};
use parley_language::id::{Id, Statement, TokenId};
use parley_language::thread::{OpenAct, Summary};
use parley_language::words::{EvidenceKind, ImageType, Kind, Origin, Right, State, Verdict};
use parley_language::{Author, Rights, Time};

fn by(origin: Origin) -> Author {
    Author { line: "parley:scout".into(), extension: Some("worker-2".into()), origin }
}

fn message() -> Arc<Message> {
    let evidence = vec![Evidence {
        kind: EvidenceKind::Commit,
        value: "c0ffee".into(),
        note: Some("seen".into()),
    }];
    Arc::new(Message {
        id: Id::new(31),
        kind: Kind::Refute,
        body: "žluť 世界 🎉".into(),
        parent: Some(Id::new(30)),
        relates_to: vec![
            Statement::Thread(Id::new(7)),
            Statement::Message(Id::new(8)),
            Statement::Claim(Id::new(9)),
        ],
        provenance: BTreeMap::from([("model".into(), "m".into())]),
        claims: vec![Claim {
            id: Id::new(4),
            statement: "It holds.".into(),
            evidence: evidence.clone(),
        }],
        refutes: vec!["cl_1".into()],
        evidence,
        url: Some("https://example.org/".into()),
        client_ref: Some(ClientRef { text: "r1".into(), digest: [7; 16] }),
    })
}

fn standing() -> Standing {
    Standing {
        state: State::Closed,
        origin: Origin::User,
        confirmed_at: Some(Time(1_796_083_200_000)),
        by: "human:operator".into(),
        locked: true,
    }
}

fn events() -> Vec<Event> {
    let mark = Mark { from: State::Decided, to: standing(), reverted: false };
    let facts = [
        Fact::Opened { board: 1, message: message() },
        Fact::Posted { message: message(), answers: Id::new(30), mark: Some(mark.clone()) },
        Fact::Posted { message: message(), answers: Id::new(30), mark: None },
        Fact::Marked { mark },
        Fact::Pinned { pinned: true },
        Fact::LlmReply { allowed: false, message: Some(Id::new(31)) },
        Fact::Refuted {
            board: Some(1),
            message: message(),
            answers: Some(Id::new(30)),
            seals: true,
        },
        Fact::Attested {
            claim: Id::new(4),
            attestation: Arc::new(Attestation {
                id: Id::new(9),
                verdict: Verdict::Refutes,
                evidence: message().evidence.clone(),
                note: Some("seen".into()),
            }),
            seals: true,
        },
        Fact::Sealed { claim: Id::new(4) },
        Fact::Reached {
            message: Id::new(31),
            thread: Id::new(7),
            refutes: vec![Id::new(4)],
            overturns: vec![Refutation::Message(Id::new(30)), Refutation::Attestation(Id::new(9))],
            supersedes: vec![(Id::new(4), Id::new(5))],
            seals: true,
        },
        Fact::Illustrated {
            message: Id::new(31),
            image: Image {
                id: Id::new(2),
                kind: ImageType::Webp,
                bytes: 5_242_880,
                width: 640,
                height: 480,
            },
        },
    ];
    facts.map(|fact| Event { at: Time(1_796_083_199_999), by: by(Origin::Llm), fact }).to_vec()
}

fn desk() -> Vec<DeskEvent> {
    let board = Board {
        number: 1,
        slug: "lobby".into(),
        title: "Lobby".into(),
        description: "".into(),
        created_at: Time(1),
    };
    let token = Token {
        id: TokenId::new(3),
        line: "parley:scout".into(),
        label: "Scout".into(),
        rights: Rights::of([Right::Write, Right::Pin]),
        secret_hash: [9; 32],
        created_at: Time(2),
        revoked: false,
    };
    vec![DeskEvent::BoardMade(board), DeskEvent::TokenIssued(token)]
}

fn requests() -> Vec<DeskEvent> {
    let text = |text: &str| Arc::<str>::from(text);
    let DeskEvent::TokenIssued(token) = desk().remove(1) else { panic!("the second is a token") };
    let request = AccessRequest {
        id: Id::new(7),
        token: token.id,
        line: text("parley:scout"),
        application: Application {
            label: text("Scout"),
            purpose: text("To look around."),
            model: text("m"),
            client: text("c"),
            provider: text("p"),
            contact: text("x@example.org"),
        },
        status: RequestState::Pending,
        rights: None,
        reason: None,
        reviewed_by: None,
        created_at: Time(2),
        updated_at: Time(3),
    };
    let reviewed = Reviewed {
        id: request.id,
        status: RequestState::Approved,
        rights: Some(Rights::of([Right::Write])),
        reason: Some(text("welcome")),
        by: text("human:operator"),
        at: Time(4),
    };
    let feature = Feature {
        id: Id::new(3),
        author: by(Origin::Llm),
        title: text("Dark"),
        body: text("For the night."),
        status: FeatureState::Open,
        note: None,
        marked_by: None,
        created_at: Time(5),
        updated_at: Time(5),
    };
    let marked = Marked {
        id: feature.id,
        mark: FeatureMark::Done,
        note: Some(text("here")),
        by: text("human:operator"),
        at: Time(6),
    };
    vec![
        DeskEvent::AccessRequested { request, token: token.clone() },
        DeskEvent::RequestReviewed(reviewed),
        DeskEvent::RequestWithdrawn { id: Id::new(7), at: Time(5) },
        DeskEvent::RightsChanged { id: token.id, rights: Rights::READ },
        DeskEvent::TokenRevoked { id: token.id, at: Time(6) },
        DeskEvent::FeatureAsked(feature),
        DeskEvent::FeatureMarked(marked),
    ]
}

fn human() -> Vec<HumanEvent> {
    vec![
        HumanEvent::PasswordSet { hash: "$argon2id$x".into(), at: Time(3) },
        HumanEvent::LinkMade { link: [7; 32], expires_at: Time(4) },
        HumanEvent::SessionOpened { session: [8; 32], expires_at: Time(5), by_link: true },
        HumanEvent::SessionEnded { session: [8; 32] },
    ]
}

fn lines() -> Vec<(Arc<str>, LineEvent)> {
    let acknowledged =
        LineEvent::Acknowledged { extension: Some("worker-2".into()), cursor: 12, at: Time(3) };
    let used = LineEvent::Used { extension: "worker-2".into(), at: Time(4) };
    [acknowledged, used].map(|event| ("parley:scout".into(), event)).to_vec()
}

fn line() -> Summary {
    let open = OpenAct {
        message: Id::new(31),
        kind: Kind::Ask,
        by: by(Origin::Llm),
        asks: "why?".into(),
        due: Some("parley:mason".into()),
        since: 2,
    };
    Summary {
        id: Id::new(12),
        board: 1,
        kind: Kind::Ask,
        title: "why?".into(),
        standing: standing(),
        awaiting: true,
        open_acts: vec![open],
        pinned: false,
        llm_reply: true,
        creator: "parley:scout".into(),
        created_at: Time(1),
        updated_at: Time(2),
        messages: 4,
        claims: 1,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn check<C: Content + PartialEq + std::fmt::Debug>(
    contents: &[C],
    lines: &mut impl Iterator<Item = &'static str>,
) {
    for content in contents {
        let line = lines.next().unwrap_or_else(|| panic!("no line for {}", hex(&encode(content))));
        assert_eq!(&decode::<C>(&bytes(line)).unwrap(), content);
        assert_eq!(hex(&encode(content)), line);
    }
}

#[test]
fn version_1_reads_and_writes_these_bytes_for_ever() {
    let mut lines = include_str!("records/v1.hex").lines();
    check(&events()[..6], &mut lines);
    check(&desk(), &mut lines);
    // A note of version 1. It is refused, and made anew from its stream.
    assert!(decode::<Summary>(&bytes(lines.next().unwrap())).is_err());
    check(&events()[6..], &mut lines);
    check(&self::lines(), &mut lines);
    check(&requests(), &mut lines);
    check(&human(), &mut lines);
    assert_eq!(decode::<Summary>(&encode(&line())), Ok(line()));
    assert_eq!(lines.next(), None);
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    for event in events() {
        let whole = encode(&event);
        for at in 0..whole.len() {
            assert!(decode::<Event>(&whole[..at]).is_err());
            let mut flipped = whole.clone();
            flipped[at] ^= 0xff;
            drop(decode::<Event>(&flipped));
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert!(decode::<Event>(&longer).is_err());
        let mut newer = whole;
        newer[0] = 2;
        assert!(decode::<Event>(&newer).unwrap_err().to_string().contains("version 2"));
    }
}
