//! Appends many small records from many tasks and says how fast it went and how large the groups were.
//!
//! `cargo run --release --example throughput -- [tasks] [in flight per task] [records] [references: 0|1]
//! [records per checkpoint] [power: 0|1] [folder]`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parley_journal::Durability;
use parley_journal::sled::SledJournal;
use parley_journal::{Append, Journal, Numbered, Record, Settings, Stream};

const BODY_BYTES: usize = 300;
const STREAMS_PER_TASK: u64 = 50;

/// Numbers are handed out to all tasks in one row, as a server does.
static IDS: AtomicU64 = AtomicU64::new(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        given.get(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (tasks, flight, records) = (number(0, 64), number(1, 1), number(2, 200_000));
    let referenced = number(3, 1) == 1;
    let folder =
        given.get(6).cloned().unwrap_or_else(|| format!("/tmp/throughput-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut settings = Settings::new(&folder);
    settings.checkpoint_records = number(4, settings.checkpoint_records as u64) as usize;
    settings.durability = if number(5, 0) == 1 { Durability::Power } else { Durability::Process };
    let opened = Instant::now();
    let journal = Arc::new(SledJournal::open(settings.clone())?);
    println!("open {:?}, tip {}", opened.elapsed(), *journal.tip().borrow());
    let base = *journal.tip().borrow();
    let start = Instant::now();
    runtime.block_on(async {
        let workers: Vec<_> = (0..tasks)
            .map(|task| {
                tokio::spawn(work(
                    Arc::clone(&journal),
                    task,
                    base,
                    flight,
                    records / tasks,
                    referenced,
                ))
            })
            .collect();
        for worker in workers {
            let _ = worker.await;
        }
    });
    let elapsed = start.elapsed();
    let counters = journal.counters();
    println!(
        "{} records in {elapsed:?}: {:.0}/s, {} groups, {:.1} records per group, {} checkpoints, {} MiB of groups",
        counters.records,
        counters.records as f64 / elapsed.as_secs_f64(),
        counters.groups,
        counters.records as f64 / counters.groups.max(1) as f64,
        counters.checkpoints,
        counters.bytes >> 20,
    );
    let start = Instant::now();
    runtime.block_on(journal.close());
    println!("close {:?}", start.elapsed());
    drop(journal);
    let start = Instant::now();
    let journal = SledJournal::open(settings)?;
    println!("reopen {:?}", start.elapsed());
    let start = Instant::now();
    let read = runtime.block_on(journal.read(Stream { kind: 1, number: base + 1 }, 0))?;
    println!("read a stream of {} records {:?}", read.len(), start.elapsed());
    if given.get(6).is_none() {
        drop(journal);
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

async fn work(
    journal: Arc<SledJournal>,
    task: u64,
    base: u64,
    flight: u64,
    records: u64,
    referenced: bool,
) {
    let (sender, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let mut lengths = vec![0_u64; STREAMS_PER_TASK as usize];
    let (mut sent, mut answered) = (0, 0);
    while answered < records {
        while sent < records && sent - answered < flight {
            let slot = sent % STREAMS_PER_TASK;
            let number = base + task * STREAMS_PER_TASK + slot + 1;
            let id = IDS.fetch_add(1, Ordering::Relaxed) + base;
            let mut reference = [0; 16];
            let scattered = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            reference[..8].copy_from_slice(&scattered.to_be_bytes());
            reference[8..].copy_from_slice(&id.to_be_bytes());
            let record = Record {
                body: vec![b'x'; BODY_BYTES],
                reference: referenced.then_some(reference),
                numbers: vec![Numbered { series: 1, number: id }],
            };
            let expected = lengths[slot as usize];
            lengths[slot as usize] += 1;
            let note = Some(vec![b'n'; 100]);
            let stream = Stream { kind: 1, number };
            journal.append(Append { stream, expected, records: vec![record], note }, &sender);
            sent += 1;
        }
        match answers.recv().await {
            Some(answer) if answer.result.is_ok() => answered += 1,
            other => {
                eprintln!("task {task}: {other:?}");
                return;
            }
        }
    }
}
