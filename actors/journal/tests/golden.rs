//! Bytes of a group record of version 1, written once and for all: they decode to the same records for ever.

use parley_journal::sled::group::{Builder, Group};
use parley_journal::{Numbered, Record, Stream};

fn records() -> Vec<(Stream, u64, Record)> {
    let numbered = |series, number| Numbered { series, number };
    let hello = Record { body: b"hello".to_vec(), ..Record::default() };
    let full = Record {
        body: vec![0, 255, 128],
        reference: Some(*b"0123456789abcdef"),
        numbers: vec![numbered(1, 7), numbered(2, 300)],
    };
    let empty = Record { numbers: vec![numbered(255, u64::MAX)], ..Record::default() };
    let referenced =
        Record { body: vec![b'z'; 130], reference: Some([9; 16]), numbers: Vec::new() };
    vec![
        (Stream { kind: 1, number: 1 }, 0, hello),
        (Stream { kind: 2, number: 300 }, 128, full),
        (Stream { kind: 255, number: u64::MAX }, u64::from(u32::MAX), empty),
        (Stream { kind: 0, number: 0 }, 1, referenced),
    ]
}

fn golden() -> Vec<u8> {
    let text: String = include_str!("golden/group-v1.hex").split_whitespace().collect();
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn the_records_encode_to_the_committed_bytes() {
    let mut builder = Builder::new();
    for (stream, seq, record) in records() {
        builder.push(stream, seq, &record);
    }
    let hex: Vec<String> = builder.finish().iter().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<String> = hex.chunks(32).map(<[String]>::concat).collect();
    assert!(builder.finish() == golden(), "written now:\n{}", lines.join("\n"));
}

#[test]
fn the_committed_bytes_decode_to_the_records() {
    let bytes = golden();
    let views: Vec<_> = Group::open(&bytes).unwrap().views().collect::<Result<_, _>>().unwrap();
    let decoded: Vec<_> = views
        .iter()
        .map(|view| {
            let (body, reference) = (view.body.to_vec(), view.reference);
            let numbers = view.numbers().collect();
            (view.stream, view.seq, Record { body, reference, numbers })
        })
        .collect();
    assert_eq!(decoded, records());
    let stored = views[1].stored(42);
    assert_eq!((stored.position, stored.seq, &*stored.body), (42, 128, &[0, 255, 128][..]));
}
