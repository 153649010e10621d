//! What an index on disk keeps over its end, what it forgets, and how it pages.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::shelf::{Shelf, message};
use parley_search::{Document, Error, Filter, Index, MAX_HITS, NotAPlace, Place, Searcher};

#[test]
fn reopening_keeps_position_and_hits() {
    let mut shelf = Shelf::of(&["first word"]);
    shelf.feed([message(2, "second word")], 42);
    let (mut shelf, position) = shelf.reopened();
    assert_eq!(position, 42);
    assert_eq!(shelf.finds("word"), [1, 2]);
    shelf.feed([message(3, "third word")], u64::MAX);
    let (shelf, position) = shelf.reopened();
    assert_eq!(position, u64::MAX);
    assert_eq!(shelf.finds("word"), [1, 2, 3]);
}

#[test]
fn a_commit_without_documents_moves_the_position() {
    let mut shelf = Shelf::of(&[]);
    shelf.feed([], 9);
    let (shelf, position) = shelf.reopened();
    assert_eq!((position, shelf.finds("word")), (9, vec![]));
}

#[test]
fn what_was_not_committed_is_neither_found_nor_kept() {
    let mut shelf = Shelf::of(&["kept word"]);
    for number in 2..2000 {
        shelf.index.add(message(number, "lost word")).unwrap();
    }
    assert_eq!(shelf.finds("word"), [1]);
    let (mut shelf, position) = shelf.reopened();
    assert_eq!((position, shelf.finds("word")), (1, vec![1]));
    shelf.feed([message(2, "lost word")], 2);
    assert_eq!(shelf.finds("word"), [1, 2], "fed again it is there once");
}

/// The files of an index that have this ending; every segment has one of each.
fn with_ending(shelf: &Shelf, ending: &str) -> Vec<PathBuf> {
    let mut files = files(shelf.folder.path());
    files.retain(|file| file.extension().is_some_and(|end| end == ending));
    files
}

/// Opens a copy of the files as they are now: what the end of the process would leave.
fn crashed(shelf: &Shelf) -> (Shelf, u64) {
    let folder = tempfile::tempdir().unwrap();
    for file in files(shelf.folder.path()) {
        match fs::copy(&file, folder.path().join(file.file_name().unwrap())) {
            // The writer works beside: a file under its first name may have got its last one.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => drop(copied.unwrap()),
        }
    }
    let (index, position) = Index::open(folder.path()).unwrap();
    (Shelf { folder, searcher: index.searcher(), index }, position)
}

#[test]
fn a_crash_keeps_what_was_committed_and_nothing_else() {
    let mut shelf = Shelf::of(&["kept word"]);
    let written = |shelf: &Shelf| {
        let dictionaries = with_ending(shelf, "term");
        dictionaries.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
    };
    let before: u64 = written(&shelf);
    // More words than the writer holds in memory, so that it writes a segment without a commit.
    for number in 2..1000 {
        let words: Vec<_> = (0..1000).map(|n| format!("w{number}x{n}")).collect();
        shelf.index.add(message(number, &format!("word {}", words.join(" ")))).unwrap();
    }
    let begun = Instant::now();
    while written(&shelf) == before {
        assert!(begun.elapsed() < Duration::from_secs(30), "the writer has a limit");
        std::thread::yield_now();
    }
    let (mut after, position) = crashed(&shelf);
    assert_eq!((position, after.finds("word")), (1, vec![1]));
    after.feed([message(2, "fed again, word")], 2);
    assert_eq!(after.finds("word"), [1, 2]);
    let (after, position) = crashed(&after);
    assert_eq!((position, after.finds("word")), (2, vec![1, 2]));
}

#[test]
fn a_searcher_finds_what_was_committed_after_it_was_made() {
    let mut shelf = Shelf::of(&["old word"]);
    let searcher = shelf.searcher.clone();
    shelf.feed([message(2, "new word")], 2);
    let found = std::thread::spawn(move || searcher.search("new", Filter::default(), 1, None));
    assert_eq!(found.join().unwrap().unwrap().hits[0].number, 2);
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let shelf = Shelf::of(&["word"]);
    fs::write(shelf.folder.path().join("meta.json"), "looks damaged").unwrap();
    assert!(matches!(Index::open(shelf.folder.path()), Err(Error::Busy(_))));
    assert_eq!(shelf.finds("word"), [1]);
}

#[test]
fn the_halves_can_be_handed_around() {
    fn shared<T: Clone + Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Searcher>();
    sent::<Index>();
}

/// The files of an index except locks.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_none_or(|end| end != "lock")).collect();
    files.sort();
    files
}

/// Damages each file of an index in turn: it then starts anew, or is whole all the same.
fn check_damage(what: &str, damage: impl Fn(&Path)) {
    let count = files(Shelf::of(&["one word", "two words"]).folder.path()).len();
    assert!(count > 5, "segment, meta data");
    for at in 0..count {
        let Shelf { folder, index, searcher } = Shelf::of(&["one word", "two words"]);
        drop((index, searcher));
        let file = files(folder.path()).remove(at);
        damage(&file);
        let (index, position) = Index::open(folder.path()).unwrap();
        let mut shelf = Shelf { folder, searcher: index.searcher(), index };
        let found = shelf.finds("word");
        if file.ends_with(".managed.json") {
            assert!(matches!((position, &found[..]), (0, []) | (1, [1])), "{what} {file:?}");
        } else {
            assert_eq!((position, &found[..]), (0, &[][..]), "{what} {file:?}");
        }
        shelf.feed([message(9, "a new start")], 2);
        let (shelf, position) = shelf.reopened();
        assert_eq!((position, shelf.finds("start")), (2, vec![9]), "{what} {file:?}");
    }
}

#[test]
fn damaged_files_give_an_empty_index() {
    check_damage("empty", |file| fs::write(file, "").unwrap());
    check_damage("garbage", |file| fs::write(file, [0xA7; 300]).unwrap());
    check_damage("missing", |file| fs::remove_file(file).unwrap());
    check_damage("shorter", |file| {
        let length = fs::metadata(file).unwrap().len();
        OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
    });
    check_damage("one byte", |file| {
        let mut bytes = fs::read(file).unwrap();
        bytes[0] ^= 0x55;
        fs::write(file, bytes).unwrap();
    });
}

#[test]
fn another_format_gives_an_empty_index() {
    let Shelf { folder, index, searcher } = Shelf::of(&["word"]);
    drop((index, searcher));
    let meta = folder.path().join("meta.json");
    let text = fs::read_to_string(&meta).unwrap();
    assert!(text.contains("\"1 1\""), "{text}");
    fs::write(&meta, text.replace("\"1 1\"", "\"2 1\"")).unwrap();
    let (index, position) = Index::open(folder.path()).unwrap();
    let shelf = Shelf { folder, searcher: index.searcher(), index };
    assert_eq!((position, shelf.finds("word")), (0, vec![]));
}

#[test]
fn a_folder_beside_the_files_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "not ours").unwrap();
    Index::open(folder.path()).unwrap();
    assert_eq!(fs::read_to_string(other.join("file")).unwrap(), "not ours");
}

#[test]
fn paging_gives_every_hit_once_in_one_order() {
    // Equal texts at equal times, cut into many segments. The shorter text is the better one.
    let mut shelf = Shelf::of(&[]);
    for number in 1..=120 {
        let text = ["word", "another word here"][number as usize % 2];
        let document = Document { time: number / 10, ..message(number, text) };
        shelf.feed([document], number);
    }
    let mut expected: Vec<u64> = (1..=120).rev().collect();
    expected.sort_by_key(|number| number % 2);
    let whole = shelf.finds_within("word", Filter::default(), 100);
    assert_eq!(whole, expected);
    for limit in [1, 7, 50] {
        assert_eq!(shelf.finds_within("word", Filter::default(), limit), whole, "{limit}");
    }
    let (shelf, _) = shelf.reopened();
    assert_eq!(shelf.finds_within("word", Filter::default(), 33), whole);
}

#[test]
fn commits_do_not_pile_up_segments() {
    let mut shelf = Shelf::of(&[]);
    for number in 1..=100 {
        shelf.feed([message(number, "word")], number);
    }
    // Merging goes on beside; commits clear away what was merged.
    let begun = Instant::now();
    while with_ending(&shelf, "store").len() > 8 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{}",
            with_ending(&shelf, "store").len()
        );
        shelf.feed([], 101);
    }
    assert_eq!(shelf.finds("word").len(), 100);
}

#[test]
fn a_page_has_a_limit() {
    let shelf = Shelf::holding((1..=MAX_HITS as u64 + 1).map(|number| message(number, "word")));
    let count = |limit| {
        let page = shelf.searcher.search("word", Filter::default(), limit, None).unwrap();
        (page.hits.len(), page.next.is_some())
    };
    assert_eq!(count(0), (1, true));
    assert_eq!(count(MAX_HITS), (MAX_HITS, true));
    assert_eq!(count(usize::MAX), (MAX_HITS, true));
}

#[test]
fn only_what_was_a_place_is_one() {
    let shelf = Shelf::of(&["word", "word"]);
    let page = shelf.searcher.search("word", Filter::default(), 1, None).unwrap();
    let text = page.next.unwrap().to_string();
    assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
    for other in ["", "1", "1.2.3", "1.2.3.9", "+1.2.3.0", "01.2.3.0", "1.2.3.0.", "a.b.c.d"] {
        assert_eq!(other.parse::<Place>(), Err(NotAPlace), "{other:?}");
    }
}

#[test]
fn many_documents_are_found_within_reason() {
    let begun = Instant::now();
    let mut shelf = Shelf::of(&[]);
    for batch in 0..100_u64 {
        let numbers = batch * 200 + 1..=batch * 200 + 200;
        let document = |number| {
            message(number, &format!("common words number{number} bucket{}", number % 100))
        };
        shelf.feed(numbers.map(document), batch + 1);
    }
    assert_eq!(shelf.finds("number12345"), [12345]);
    assert_eq!(shelf.finds("bucket7").len(), 200);
    let all: BTreeSet<_> = shelf.finds("common words").into_iter().collect();
    assert_eq!(all.len(), 20_000);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
