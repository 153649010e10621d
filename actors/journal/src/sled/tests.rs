//! What only a test inside can reach: a disk that fails.

use std::sync::atomic::Ordering;

use super::SledJournal;
use crate::{Append, AppendError, Journal, Record, Settings, Stream, append_and_wait};

fn append(number: u64, expected: u64) -> Append {
    let records = vec![Record { body: vec![1], ..Record::default() }];
    Append { stream: Stream { kind: 1, number }, expected, records, note: None }
}

#[tokio::test]
async fn a_failed_flush_is_unknown_and_then_everything_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let journal = SledJournal::open(Settings::new(folder.path())).unwrap();
    append_and_wait(&journal, append(1, 0)).await.unwrap();
    journal.shared.broken.store(true, Ordering::Relaxed);
    let unknown = append_and_wait(&journal, append(1, 1)).await;
    assert!(matches!(unknown, Err(AppendError::Unknown(_))), "{unknown:?}");
    assert!(journal.trouble().is_some_and(|trouble| trouble.contains("broken")));
    journal.shared.broken.store(false, Ordering::Relaxed);
    for number in [1, 2] {
        let refused = append_and_wait(&journal, append(number, 0)).await;
        assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
    }
    // J3: what was not acknowledged is not shown.
    let stream = Stream { kind: 1, number: 1 };
    assert_eq!(journal.read(stream, 0).await.unwrap().len(), 1);
    assert_eq!(journal.after(0, 10).await.unwrap().len(), 1);
    assert_eq!(*journal.tip().borrow(), 1);
    journal.close().await;
    drop(journal);
    // The next start tells: here the write had reached the disk.
    let journal = SledJournal::open(Settings::new(folder.path())).unwrap();
    assert_eq!(journal.read(stream, 0).await.unwrap().len(), 2);
    assert_eq!(append_and_wait(&journal, append(1, 2)).await, Ok(3));
}
