//! The promises J1 to J5, checked for every engine in the same way.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parley_journal::faulty::Faulty;
use parley_journal::memory::Memory;
use parley_journal::{Append, AppendError, Journal, Note, Numbered, Record, Stream};
use tokio::time::timeout;

use support::{bodies, channel, one, open, put, record, stream};

/// Runs a check on every engine. The checks are async functions over `Arc<dyn Journal>`.
macro_rules! on_every_engine {
    ($($check:ident),* $(,)?) => {
        mod on_memory {
            $(#[tokio::test]
            async fn $check() {
                super::$check(std::sync::Arc::new(super::Memory::new())).await;
            })*
        }
        mod on_faulty {
            $(#[tokio::test]
            async fn $check() {
                let folder = tempfile::tempdir().unwrap();
                let memory = std::sync::Arc::new(super::Memory::new());
                super::$check(std::sync::Arc::new(super::Faulty::new(memory))).await;
                let inner = std::sync::Arc::new(super::open(folder.path()));
                super::$check(std::sync::Arc::new(super::Faulty::new(inner))).await;
            })*
        }
        mod on_sled {
            $(#[tokio::test]
            async fn $check() {
                let folder = tempfile::tempdir().unwrap();
                super::$check(std::sync::Arc::new(super::open(folder.path()))).await;
            })*
            mod on_several_threads {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $check() {
                    let folder = tempfile::tempdir().unwrap();
                    super::super::$check(std::sync::Arc::new(super::super::open(folder.path()))).await;
                })*
            }
        }
    };
}

on_every_engine!(
    j1_one_order,
    j2_fence,
    j2_queued_behind_a_failed_one_fail_too,
    j3_durable_first,
    j4_one_batch,
    j5_reads_queue,
    references_are_stored_once,
    racing_references_have_one_winner,
    many_tasks_on_many_streams,
    numbers_are_located,
    records_have_positions,
    notes_are_the_newest,
    followers_wake,
    after_is_bounded,
    large_and_empty_bodies,
    an_empty_append_is_refused,
    closing_answers_everything,
);

async fn j1_one_order(journal: Arc<dyn Journal>) {
    assert_eq!(*journal.tip().borrow(), 0);
    assert_eq!(put(&*journal, one(stream(1), 0, "a")).await, Ok(1));
    assert_eq!(put(&*journal, one(stream(2), 0, "b")).await, Ok(2));
    let records = vec![record("c"), record("d")];
    let several = Append { stream: stream(1), expected: 1, records, note: None };
    assert_eq!(put(&*journal, several).await, Ok(3));
    // The same number under another kind is another stream.
    assert_eq!(put(&*journal, one(Stream { kind: 2, number: 1 }, 0, "e")).await, Ok(5));
    let all = journal.after(0, 100).await.unwrap();
    let seen: Vec<_> =
        all.iter().map(|stored| (stored.position, stored.stream.number, stored.seq)).collect();
    assert_eq!(seen, [(1, 1, 0), (2, 2, 0), (3, 1, 1), (4, 1, 2), (5, 1, 0)]);
    assert_eq!(*journal.tip().borrow(), 5);
    assert_eq!(bodies(&*journal, stream(1), 0).await, ["a", "c", "d"]);
    assert_eq!(bodies(&*journal, stream(1), 2).await, ["d"]);
    assert!(bodies(&*journal, stream(1), 3).await.is_empty());
    assert!(bodies(&*journal, stream(1), u64::MAX).await.is_empty());
    assert!(bodies(&*journal, stream(9), 0).await.is_empty());
}

async fn j2_fence(journal: Arc<dyn Journal>) {
    let conflict = |actual| Err(AppendError::Conflict { actual });
    assert_eq!(put(&*journal, one(stream(1), 1, "x")).await, conflict(0));
    assert_eq!(put(&*journal, one(stream(1), 0, "a")).await, Ok(1));
    assert_eq!(put(&*journal, one(stream(1), 0, "x")).await, conflict(1));
    assert_eq!(put(&*journal, one(stream(1), 2, "x")).await, conflict(1));
    assert_eq!(put(&*journal, one(stream(1), u64::MAX, "x")).await, conflict(1));
    assert_eq!(bodies(&*journal, stream(1), 0).await, ["a"]);
    assert_eq!(*journal.tip().borrow(), 1);
}

async fn j2_queued_behind_a_failed_one_fail_too(journal: Arc<dyn Journal>) {
    put(&*journal, one(stream(1), 0, "a")).await.unwrap();
    let (answers, mut results) = channel();
    journal.append(one(stream(1), 1, "b"), &answers);
    journal.append(one(stream(1), 7, "wrong"), &answers);
    for expected in 8..20 {
        journal.append(one(stream(1), expected, "behind"), &answers);
    }
    journal.append(one(stream(2), 0, "other"), &answers);
    let mut seen = Vec::new();
    for _ in 0..15 {
        seen.push(results.recv().await.unwrap());
    }
    // The answers of a stream come in the order of its appends.
    let order: Vec<_> = seen.iter().take(14).map(|answer| answer.expected).collect();
    assert_eq!(order, (1..2).chain(7..20).collect::<Vec<_>>());
    assert_eq!(seen[0].result, Ok(2));
    for answer in &seen[1..14] {
        assert_eq!(answer.result, Err(AppendError::Conflict { actual: 2 }));
    }
    assert_eq!(seen[14].result, Ok(3));
    assert_eq!(bodies(&*journal, stream(1), 0).await, ["a", "b"]);
}

async fn j3_durable_first(journal: Arc<dyn Journal>) {
    // Nothing is shown beyond the tip, and at the answer everything shows it.
    let (answers, mut results) = channel();
    for number in 0..200 {
        journal.append(one(stream(number), 0, "a"), &answers);
        let before = *journal.tip().borrow();
        let shown = journal.after(before.saturating_sub(1), 1000).await.unwrap();
        let tip = *journal.tip().borrow();
        assert!(shown.iter().all(|stored| stored.position <= tip));
    }
    for _ in 0..200 {
        let position = results.recv().await.unwrap().result.unwrap();
        assert!(*journal.tip().borrow() >= position);
        assert_eq!(journal.after(position - 1, 1).await.unwrap()[0].position, position);
    }
}

async fn j4_one_batch(journal: Arc<dyn Journal>) {
    let known = Record { reference: Some([1; 16]), ..record("known") };
    let append =
        Append { stream: stream(1), expected: 0, records: vec![known.clone()], note: None };
    put(&*journal, append).await.unwrap();
    // The last record fails, so the first ones are not there either, and their references and numbers are free.
    let fresh = Record {
        reference: Some([2; 16]),
        numbers: vec![Numbered { series: 1, number: 5 }],
        ..record("fresh")
    };
    let records = vec![fresh.clone(), known];
    let failing = Append { stream: stream(2), expected: 0, records, note: Some(vec![1]) };
    let duplicate = AppendError::Duplicate { stream: stream(1), seq: 0 };
    let next = Append { stream: stream(2), expected: 0, records: vec![fresh], note: None };
    let (answers, mut results) = channel();
    journal.append(failing, &answers);
    journal.append(next, &answers);
    assert_eq!(results.recv().await.unwrap().result, Err(duplicate));
    assert_eq!(results.recv().await.unwrap().result, Ok(2));
    assert_eq!(journal.find([2; 16]).await, Ok(Some((stream(2), 0))));
    assert_eq!(journal.locate(Numbered { series: 1, number: 5 }).await, Ok(Some(2)));
    assert_eq!(bodies(&*journal, stream(2), 0).await, ["fresh"]);
    let several = ["a", "b", "c"].map(record).to_vec();
    let append = Append { stream: stream(2), expected: 1, records: several, note: None };
    assert_eq!(put(&*journal, append).await, Ok(3));
    assert_eq!(bodies(&*journal, stream(2), 0).await, ["fresh", "a", "b", "c"]);
}

async fn j5_reads_queue(journal: Arc<dyn Journal>) {
    let (answers, _results) = channel();
    for seq in 0..300 {
        journal.append(one(stream(1), seq, "x"), &answers);
        if seq % 20 == 0 {
            // Without waiting for an answer.
            assert_eq!(bodies(&*journal, stream(1), 0).await.len() as u64, seq + 1);
        }
    }
    // Behind what was handed in before the call, also when it is awaited later.
    let read = journal.read(stream(1), 0);
    assert_eq!(read.await.unwrap().len(), 300);
}

async fn references_are_stored_once(journal: Arc<dyn Journal>) {
    assert_eq!(journal.find([7; 16]).await, Ok(None));
    let referenced = |number, expected| Append {
        stream: stream(number),
        expected,
        records: vec![record("plain"), Record { reference: Some([7; 16]), ..record("referenced") }],
        note: None,
    };
    assert_eq!(put(&*journal, referenced(4, 0)).await, Ok(1));
    // Found at once, without a pause after the answer.
    assert_eq!(journal.find([7; 16]).await, Ok(Some((stream(4), 1))));
    let duplicate = Err(AppendError::Duplicate { stream: stream(4), seq: 1 });
    assert_eq!(put(&*journal, referenced(5, 0)).await, duplicate);
    assert_eq!(put(&*journal, referenced(4, 2)).await, duplicate);
    // The fence speaks first.
    let conflict = Err(AppendError::Conflict { actual: 2 });
    assert_eq!(put(&*journal, referenced(4, 0)).await, conflict);
    // Twice within one append.
    let twice = Record { reference: Some([8; 16]), ..record("twice") };
    let append =
        Append { stream: stream(6), expected: 0, records: vec![twice.clone(), twice], note: None };
    let duplicate = AppendError::Duplicate { stream: stream(6), seq: 0 };
    assert_eq!(put(&*journal, append).await, Err(duplicate));
    assert_eq!(journal.find([8; 16]).await, Ok(None));
}

async fn racing_references_have_one_winner(journal: Arc<dyn Journal>) {
    let racers: Vec<_> = (0..16)
        .map(|number| {
            let journal = Arc::clone(&journal);
            tokio::spawn(async move {
                let (answers, mut results) = channel();
                for round in 0..20_u8 {
                    let record = Record { reference: Some([round; 16]), ..record("r") };
                    let stream = stream(number * 100 + u64::from(round));
                    let records = vec![record];
                    journal.append(Append { stream, expected: 0, records, note: None }, &answers);
                }
                let mut won = Vec::new();
                for _ in 0..20 {
                    let answer = results.recv().await.unwrap();
                    match answer.result {
                        Ok(position) => won.push(position),
                        Err(AppendError::Duplicate { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
                won
            })
        })
        .collect();
    let mut winners = Vec::new();
    for racer in racers {
        winners.extend(racer.await.unwrap());
    }
    assert_eq!(winners.len(), 20);
    for round in 0..20_u8 {
        let (stream, seq) = journal.find([round; 16]).await.unwrap().unwrap();
        let read = journal.read(stream, seq).await.unwrap();
        assert!(winners.contains(&read[0].position));
    }
}

async fn many_tasks_on_many_streams(journal: Arc<dyn Journal>) {
    const TASKS: u64 = 20;
    const ROUNDS: u64 = 25;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let journal = Arc::clone(&journal);
            tokio::spawn(async move {
                for round in 0..ROUNDS {
                    let own = one(stream(task), round, &format!("{task}/{round}"));
                    put(&*journal, own).await.unwrap();
                    // One stream is everybody's; the fence lets one through at a time.
                    let mut expected = 0;
                    while let Err(error) =
                        put(&*journal, one(stream(1000), expected, "common")).await
                    {
                        let AppendError::Conflict { actual } = error else { panic!("{error}") };
                        expected = actual;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let all = journal.after(0, usize::MAX).await.unwrap();
    assert_eq!(all.len() as u64, TASKS * ROUNDS * 2);
    assert!(all.iter().map(|stored| stored.position).eq(1..=TASKS * ROUNDS * 2));
    let places: HashSet<_> = all.iter().map(|stored| (stored.stream, stored.seq)).collect();
    assert_eq!(places.len(), all.len());
    for task in 0..TASKS {
        let expected: Vec<_> = (0..ROUNDS).map(|round| format!("{task}/{round}")).collect();
        assert_eq!(bodies(&*journal, stream(task), 0).await, expected);
    }
    let common = journal.read(stream(1000), 0).await.unwrap();
    assert!(common.iter().map(|stored| stored.seq).eq(0..TASKS * ROUNDS));
}

async fn numbers_are_located(journal: Arc<dyn Journal>) {
    let numbered = |series, number| Numbered { series, number };
    assert_eq!(journal.highest(1), 0);
    assert_eq!(journal.locate(numbered(1, 1)).await, Ok(None));
    let numbers = vec![numbered(1, 1), numbered(2, 9)];
    let records = vec![Record { numbers, ..record("a") }];
    put(&*journal, Append { stream: stream(31), expected: 0, records, note: None }).await.unwrap();
    let records = vec![Record { numbers: vec![numbered(1, 2)], ..record("b") }];
    put(&*journal, Append { stream: stream(32), expected: 0, records, note: None }).await.unwrap();
    assert_eq!([journal.highest(1), journal.highest(2), journal.highest(3)], [2, 9, 0]);
    assert_eq!(journal.locate(numbered(1, 1)).await, Ok(Some(31)));
    assert_eq!(journal.locate(numbered(1, 2)).await, Ok(Some(32)));
    assert_eq!(journal.locate(numbered(2, 9)).await, Ok(Some(31)));
    assert_eq!(journal.locate(numbered(2, 2)).await, Ok(None));
    assert_eq!(journal.locate(numbered(1, 3)).await, Ok(None));
}

async fn records_have_positions(journal: Arc<dyn Journal>) {
    let last = |expected, count: usize, number| Append {
        stream: stream(number),
        expected,
        records: (0..count).map(|at| record(&format!("{number}/{at}"))).collect(),
        note: None,
    };
    put(&*journal, last(0, 3, 41)).await.unwrap();
    put(&*journal, last(0, 2, 42)).await.unwrap();
    put(&*journal, last(3, 2, 41)).await.unwrap();
    let all = journal.after(0, 100).await.unwrap();
    let mut asked: Vec<_> = all.iter().map(|stored| (stored.stream, stored.seq)).collect();
    let mut expected: Vec<_> = all.iter().map(|stored| Some(stored.position)).collect();
    assert_eq!(asked.len(), 7);
    // In any order, twice, and beside what is not there.
    asked.reverse();
    expected.reverse();
    asked.extend([(stream(41), 5), asked[0], (stream(43), 0)]);
    expected.extend([None, expected[0], None]);
    assert_eq!(journal.positions(asked).await.unwrap(), expected);
    assert_eq!(journal.positions(Vec::new()).await.unwrap(), []);
}

async fn notes_are_the_newest(journal: Arc<dyn Journal>) {
    assert_eq!(journal.notes().await, Ok(Vec::new()));
    let noted = |number, expected, note: Option<&str>| Append {
        note: note.map(|note| note.as_bytes().to_vec()),
        ..one(stream(number), expected, "x")
    };
    for append in [
        noted(2, 0, Some("old")),
        noted(1, 0, Some("one")),
        noted(2, 1, Some("new")),
        noted(3, 0, Some("gone")),
        noted(3, 1, None),
        noted(4, 0, None),
    ] {
        put(&*journal, append).await.unwrap();
    }
    // A refused append leaves no note.
    put(&*journal, noted(1, 0, Some("refused"))).await.unwrap_err();
    journal.annotate(stream(4), 1, b"again".to_vec());
    journal.annotate(stream(1), 9, b"stale".to_vec());
    journal.annotate(stream(77), 0, b"nobody".to_vec());
    let note = |number, length, note: Option<&str>| Note {
        stream: stream(number),
        length,
        note: note.map(|note| note.as_bytes().to_vec()),
    };
    let expected = vec![
        note(1, 1, Some("one")),
        note(2, 2, Some("new")),
        note(3, 2, None),
        note(4, 1, Some("again")),
    ];
    assert_eq!(journal.notes().await, Ok(expected));
}

async fn followers_wake(journal: Arc<dyn Journal>) {
    let mut tip = journal.tip();
    let follower = {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move {
            let mut seen = Vec::new();
            while seen.len() < 50 {
                let last = seen.last().copied().unwrap_or(0);
                let new = journal.after(last, 7).await.unwrap();
                if new.is_empty() {
                    timeout(Duration::from_secs(20), tip.changed()).await.unwrap().unwrap();
                }
                seen.extend(new.iter().map(|stored| stored.position));
            }
            seen
        })
    };
    for number in 0..50 {
        put(&*journal, one(stream(number), 0, "x")).await.unwrap();
    }
    assert!(follower.await.unwrap().into_iter().eq(1..=50));
}

async fn after_is_bounded(journal: Arc<dyn Journal>) {
    for number in 0..10 {
        let records = vec![record("a"), record("b"), record("c")];
        let append = Append { stream: stream(number), expected: 0, records, note: None };
        put(&*journal, append).await.unwrap();
    }
    for after in 0..32 {
        for limit in [0, 1, 2, 5, 100] {
            let found = journal.after(after, limit).await.unwrap();
            let expected = (after + 1..=30).take(limit);
            assert!(found.iter().map(|stored| stored.position).eq(expected), "{after} {limit}");
        }
    }
    assert_eq!(journal.after(u64::MAX, 10).await, Ok(Vec::new()));
}

async fn large_and_empty_bodies(journal: Arc<dyn Journal>) {
    let large = "x".repeat(3 << 20);
    put(&*journal, one(stream(1), 0, &large)).await.unwrap();
    put(&*journal, one(stream(1), 1, "")).await.unwrap();
    let (answers, mut results) = channel();
    for seq in 2..8 {
        journal.append(one(stream(1), seq, &large[..600_000]), &answers);
    }
    for _ in 2..8 {
        results.recv().await.unwrap().result.unwrap();
    }
    let read = bodies(&*journal, stream(1), 0).await;
    assert_eq!(read.len(), 8);
    assert!(read[0] == large && read[1].is_empty() && read[7].len() == 600_000);
}

async fn an_empty_append_is_refused(journal: Arc<dyn Journal>) {
    let append = Append { stream: stream(1), expected: 0, records: Vec::new(), note: None };
    assert!(matches!(put(&*journal, append).await, Err(AppendError::Refused(_))));
    assert_eq!(*journal.tip().borrow(), 0);
}

async fn closing_answers_everything(journal: Arc<dyn Journal>) {
    let (answers, mut results) = channel();
    for number in 0..500 {
        journal.append(one(stream(number), 0, "x"), &answers);
    }
    let close = journal.close();
    journal.append(one(stream(1000), 0, "late"), &answers);
    close.await;
    journal.append(one(stream(1001), 0, "later"), &answers);
    drop(answers);
    let (mut stored, mut refused) = (0, 0);
    while let Some(answer) = results.recv().await {
        match answer.result {
            Ok(_) => stored += 1,
            Err(AppendError::Refused(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((stored, refused), (500, 2));
    // A second time is no harm.
    journal.close().await;
}

#[test]
fn any_thread_may_wait_for_a_journal_on_disk() {
    // Without a runtime around: the future is polled by hand, on a plain thread.
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (answers, mut results) = channel();
    journal.append(one(stream(1), 0, "x"), &answers);
    assert_eq!(results.blocking_recv().unwrap().result, Ok(1));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(journal.read(stream(1), 0)).unwrap().len(), 1);
    assert_eq!(journal.engine().name, "sled");
    assert_eq!(journal.trouble(), None);
}
