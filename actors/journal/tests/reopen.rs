//! What a journal on disk keeps over its end, and the shape of what it costs.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod support;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parley_journal::Durability;
use parley_journal::memory::Memory;
use parley_journal::sled::SledJournal;
use parley_journal::{
    Append, AppendError, Journal, Note, Numbered, Record, Reference, Settings, Stream,
};
use support::{bodies, channel, one, open, put, record, stream};

/// A small generator of numbers that look random, the same ones for the same seed.
struct Lcg(u64);

impl Lcg {
    /// The next number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A model in memory beside the journal on disk, and what was ever used, to ask both about it.
struct Pair {
    model: Memory,
    random: Lcg,
    lengths: BTreeMap<Stream, u64>,
    references: Vec<Reference>,
    next: [u64; 3],
}

impl Pair {
    fn new(seed: u64) -> Self {
        Self {
            model: Memory::new(),
            random: Lcg(seed),
            lengths: BTreeMap::new(),
            references: Vec::new(),
            next: [1; 3],
        }
    }

    fn append(&mut self) -> Append {
        let random = &mut self.random;
        let stream = Stream {
            kind: 1 + random.below(2) as u8,
            number: random.below(40) << (random.below(2) * 40),
        };
        let length = *self.lengths.get(&stream).unwrap_or(&0);
        // Now and then a wrong expectation.
        let wrong = random.below(12) == 0;
        let expected = if wrong { length + random.below(3) } else { length };
        let mut records = Vec::new();
        for _ in 0..1 + random.below(4) {
            let body = vec![random.below(256) as u8; random.below(200) as usize];
            let reference = match random.below(10) {
                0 if !self.references.is_empty() => {
                    let at = random.below(self.references.len() as u64) as usize;
                    Some(self.references[at])
                }
                0..5 => {
                    let (left, right) = (random.below(1 << 31), random.below(1 << 31));
                    let reference = (u128::from(left) * 0x9e37_79b9_7f4a_7c15 + u128::from(right))
                        .to_le_bytes();
                    self.references.push(reference);
                    Some(reference)
                }
                _ => None,
            };
            let mut numbers = Vec::new();
            for series in 0..3_u8 {
                if random.below(2) == 0 {
                    numbers.push(Numbered { series, number: self.next[usize::from(series)] });
                    self.next[usize::from(series)] += 1;
                }
            }
            records.push(Record { body, reference, numbers });
        }
        let note = (random.below(3) > 0).then(|| vec![random.below(256) as u8; 5]);
        Append { stream, expected, records, note }
    }

    /// Hands the same appends to both, several in flight, and compares the answers.
    async fn work(&mut self, journal: &SledJournal, appends: usize) {
        let (answers, mut results) = channel();
        let (expected, mut expectations) = channel();
        let mut open = VecDeque::new();
        for _ in 0..appends {
            let append = self.append();
            let (stream, count) = (append.stream, append.records.len() as u64);
            journal.append(append.clone(), &answers);
            self.model.append(append, &expected);
            let expectation = expectations.try_recv().unwrap();
            if expectation.result.is_ok() {
                *self.lengths.entry(stream).or_default() += count;
            }
            open.push_back(expectation);
            if self.random.below(10) == 0 {
                let read = journal.read(stream, 0).await;
                assert_eq!(read, self.model.read(stream, 0).await);
            }
            if self.random.below(30) == 0 {
                while let Some(expectation) = open.pop_front() {
                    assert_eq!(results.recv().await.unwrap(), expectation);
                }
            }
        }
        for expectation in open {
            assert_eq!(results.recv().await.unwrap(), expectation);
        }
    }

    /// Asks both about everything.
    async fn compare(&mut self, journal: &SledJournal, notes_known: bool) {
        let model = &self.model;
        let tip = *model.tip().borrow();
        assert_eq!(*journal.tip().borrow(), tip);
        for stream in self.lengths.keys() {
            for from in [0, 1, self.random.below(60)] {
                let read = journal.read(*stream, from).await;
                assert_eq!(read, model.read(*stream, from).await, "{stream:?} from {from}");
            }
        }
        for reference in &self.references {
            assert_eq!(journal.find(*reference).await, model.find(*reference).await);
        }
        for series in 0..3_u8 {
            assert_eq!(journal.highest(series), model.highest(series));
            for number in 0..self.next[usize::from(series)] + 2 {
                let numbered = Numbered { series, number };
                assert_eq!(
                    journal.locate(numbered).await,
                    model.locate(numbered).await,
                    "{numbered:?}"
                );
            }
        }
        for limit in [1, 3, 1000] {
            let after = self.random.below(tip + 2);
            assert_eq!(journal.after(after, limit).await, model.after(after, limit).await);
        }
        assert_eq!(journal.after(0, usize::MAX).await, model.after(0, usize::MAX).await);
        let (found, expected) = (journal.notes().await.unwrap(), model.notes().await.unwrap());
        let lengths = |notes: &[Note]| {
            notes.iter().map(|note| (note.stream, note.length)).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&found), lengths(&expected));
        for (found, expected) in found.iter().zip(&expected) {
            // Unknown is allowed after an end without a checkpoint; stale never is.
            assert!(
                found.note == expected.note || (!notes_known && found.note.is_none()),
                "{found:?}"
            );
        }
    }
}

fn small(folder: &std::path::Path, checkpoint_records: usize) -> SledJournal {
    let mut settings = Settings::new(folder);
    settings.checkpoint_records = checkpoint_records;
    settings.group_records_max = 16;
    SledJournal::open(settings).unwrap()
}

#[tokio::test]
async fn the_disk_is_as_the_model_over_many_ends() {
    for seed in 1..=2 {
        let folder = tempfile::tempdir().unwrap();
        let mut pair = Pair::new(seed);
        let mut notes_known = true;
        for round in 0..6_usize {
            let journal = small(folder.path(), 8 + round % 3 * 40);
            pair.compare(&journal, notes_known).await;
            pair.work(&journal, 80).await;
            pair.compare(&journal, notes_known).await;
            if round % 2 == 0 {
                journal.close().await;
            } else {
                // Without a checkpoint.
                notes_known = false;
            }
        }
        let journal = small(folder.path(), 8);
        pair.compare(&journal, false).await;
    }
}

#[tokio::test]
async fn everything_is_there_after_an_end_without_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (answers, mut results) = channel();
    for seq in 0..50 {
        let numbers = vec![Numbered { series: 1, number: seq + 1 }];
        let records =
            vec![Record { reference: Some([seq as u8; 16]), numbers, ..record(&seq.to_string()) }];
        journal.append(
            Append { stream: stream(1), expected: seq, records, note: Some(vec![1]) },
            &answers,
        );
    }
    // Dropping settles what was handed in.
    drop(journal);
    for _ in 0..50 {
        results.try_recv().unwrap().result.unwrap();
    }
    let journal = open(folder.path());
    assert_eq!(*journal.tip().borrow(), 50);
    assert_eq!(bodies(&journal, stream(1), 0).await.len(), 50);
    assert_eq!(journal.find([49; 16]).await, Ok(Some((stream(1), 49))));
    assert_eq!(journal.locate(Numbered { series: 1, number: 50 }).await, Ok(Some(1)));
    assert_eq!(journal.highest(1), 50);
    let unknown = Note { stream: stream(1), length: 50, note: None };
    assert_eq!(journal.notes().await, Ok(vec![unknown]));
    // Made anew once, it is known from then on.
    journal.annotate(stream(1), 50, vec![2]);
    journal.close().await;
    drop(journal);
    let journal = open(folder.path());
    let known = Note { stream: stream(1), length: 50, note: Some(vec![2]) };
    assert_eq!(journal.notes().await, Ok(vec![known]));
    assert_eq!(put(&journal, one(stream(1), 50, "next")).await, Ok(51));
}

#[tokio::test]
async fn a_note_is_never_stale() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let noted = |expected, note| Append { note: Some(vec![note]), ..one(stream(1), expected, "x") };
    put(&journal, noted(0, 1)).await.unwrap();
    journal.close().await;
    drop(journal);
    let journal = open(folder.path());
    assert_eq!(journal.notes().await.unwrap()[0].note, Some(vec![1]));
    put(&journal, noted(1, 2)).await.unwrap();
    drop(journal);
    let journal = open(folder.path());
    assert_eq!(journal.notes().await, Ok(vec![Note { stream: stream(1), length: 2, note: None }]));
}

#[tokio::test]
async fn a_closed_journal_releases_its_folder_and_a_second_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    put(&journal, one(stream(1), 0, "x")).await.unwrap();
    let error = SledJournal::open(Settings::new(folder.path())).unwrap_err();
    assert!(error.0.contains("in use by another journal"), "{error}");
    journal.close().await;
    let again = open(folder.path());
    assert_eq!(bodies(&again, stream(1), 0).await, ["x"]);
    // The closed one says so.
    assert!(journal.read(stream(1), 0).await.is_err());
    assert!(matches!(put(&journal, one(stream(1), 1, "y")).await, Err(AppendError::Refused(_))));
}

/// The tree of the groups, opened past the journal.
fn groups(folder: &std::path::Path) -> (::sled::Db, ::sled::Tree) {
    let db = ::sled::Config::new().path(folder).segment_size(8 << 20).open().unwrap();
    let tree = db.open_tree("journal").unwrap();
    (db, tree)
}

async fn damaged(damage: impl FnOnce(&::sled::Db, &::sled::Tree)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    for seq in 0..5 {
        put(&journal, one(stream(1), seq, "x")).await.unwrap();
    }
    drop(journal);
    let (db, tree) = groups(folder.path());
    damage(&db, &tree);
    db.flush().unwrap();
    drop((db, tree));
    for _ in 0..100 {
        // sled's own threads may hold the file for a moment.
        let error = SledJournal::open(Settings::new(folder.path())).unwrap_err();
        if !error.0.contains("in use") {
            return error.0;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the folder stays in use");
}

#[tokio::test]
async fn damage_is_an_error_with_its_place() {
    let error = damaged(|_, tree| drop(tree.remove(3_u64.to_be_bytes()).unwrap())).await;
    assert!(error.contains("positions have a gap: 2 is followed by 4"), "{error}");
    let error = damaged(|_, tree| drop(tree.insert(4_u64.to_be_bytes(), "torn").unwrap())).await;
    assert!(error.contains("the group at 4"), "{error}");
    let error = damaged(|_, tree| {
        let third = tree.get(3_u64.to_be_bytes()).unwrap().unwrap();
        tree.insert(6_u64.to_be_bytes(), third).unwrap();
    })
    .await;
    assert!(error.contains("has a gap: record 2 at position 6"), "{error}");
    let error = damaged(|db, _| {
        let meta = db.open_tree("meta").unwrap();
        meta.insert("format", &99_u32.to_le_bytes()).unwrap();
    })
    .await;
    assert!(error.contains("its format is 99"), "{error}");
    let error = damaged(|db, _| {
        let meta = db.open_tree("meta").unwrap();
        meta.insert("checkpoint", &9_u64.to_be_bytes()).unwrap();
    })
    .await;
    assert!(error.contains("the checkpoint is at 9"), "{error}");
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(folder.path());
    settings.queue_appends_max = 4;
    let journal = SledJournal::open(settings).unwrap();
    let (answers, mut results) = channel();
    // The committer flushes while these come in, so that some find the queue full.
    for number in 0..2000 {
        journal.append(one(stream(number), 0, "x"), &answers);
    }
    let (mut stored, mut refused) = (0, 0);
    for _ in 0..2000 {
        match results.recv().await.unwrap().result {
            Ok(_) => stored += 1,
            Err(AppendError::Refused(reason)) => {
                assert!(reason.contains("full"), "{reason}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(stored > 0 && refused > 0, "{stored} stored, {refused} refused");
    assert_eq!(*journal.tip().borrow(), stored);
    assert_eq!(journal.trouble(), None);
    assert!(put(&journal, one(stream(5000), 0, "x")).await.is_ok());
}

#[tokio::test]
async fn appends_that_wait_share_flushes() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(open(folder.path()));
    let (answers, mut results) = channel();
    for number in 0..1000 {
        journal.append(one(stream(number), 0, "x"), &answers);
    }
    for _ in 0..1000 {
        results.recv().await.unwrap().result.unwrap();
    }
    let counters = journal.counters();
    assert_eq!(counters.records, 1000);
    assert_eq!(counters.flushes, counters.groups);
    assert!(counters.flushes <= 100, "{counters:?}");
    // What is refused costs no flush.
    put(&*journal, one(stream(1), 0, "x")).await.unwrap_err();
    assert_eq!(journal.counters(), counters);
}

#[tokio::test]
async fn groups_keep_their_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(folder.path());
    settings.group_bytes_max = 1000;
    settings.group_records_max = 10;
    let journal = SledJournal::open(settings).unwrap();
    let (answers, mut results) = channel();
    for number in 0..100 {
        journal.append(one(stream(number), 0, &"x".repeat(300)), &answers);
    }
    for _ in 0..100 {
        results.recv().await.unwrap().result.unwrap();
    }
    // At most three of 300 bytes fit into 1,000.
    assert!(journal.counters().groups >= 34, "{:?}", journal.counters());
}

#[tokio::test]
async fn checkpoints_happen_beside_the_committer() {
    let folder = tempfile::tempdir().unwrap();
    let journal = small(folder.path(), 16);
    for seq in 0..200 {
        put(&journal, one(stream(seq % 7), seq / 7, "x")).await.unwrap();
    }
    for _ in 0..500 {
        if journal.counters().checkpoints > 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(journal.counters().checkpoints > 2, "{:?}", journal.counters());
    assert_eq!(journal.counters().flushes, 200);
}

#[tokio::test]
async fn a_flush_may_reach_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(folder.path());
    let journal =
        SledJournal::open(Settings { durability: Durability::Power, ..settings }).unwrap();
    assert!(journal.engine().settings.contains(&("durability", "power".into())));
    assert_eq!(put(&journal, one(stream(1), 0, "x")).await, Ok(1));
    journal.close().await;
    assert_eq!(bodies(&open(folder.path()), stream(1), 0).await, ["x"]);
}
