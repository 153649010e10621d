//! The house rules that a compiler does not see, read from the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// A word, and the only files that may say it (as the beginnings of their paths).
const WORDS: [(&str, &[&str]); 6] = [
    (
        "sled::",
        &[
            "actors/journal/src/sled",
            "src/server.rs",
            "actors/journal/tests",
            "actors/journal/examples",
        ],
    ),
    ("bincode::", &["actors/src/record.rs"]),
    ("actix_web::", &["src/", "benches/", "tests/"]),
    ("SystemTime::now", &["actors/src/registry.rs"]),
    // An actor's mailbox has an end, and only `try_send` respects it.
    ("do_send", &[]),
    // `stopped` also runs after a panic, and would see half-changed state.
    ("fn stopped", &[]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn each_word_stands_only_where_it_belongs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "actors", "tests", "benches"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 50, "the sources are not where they were: {}", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name =
            file.strip_prefix(root).expect("inside the repository").to_string_lossy().into_owned();
        if name == "tests/house.rs" {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source is text");
        // What stands in a comment is prose.
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: Vec<&str> = code.collect();
        for (word, places) in WORDS {
            if code.iter().any(|line| line.contains(word))
                && !places.iter().any(|place| name.starts_with(place))
            {
                wrong.push(format!("{name} says {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_language_is_shut_off_from_the_world() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("actors/language");
    let lib = fs::read_to_string(root.join("src/lib.rs")).expect("the language");
    assert!(lib.contains("#![no_std]"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("its manifest");
    let dependencies = manifest
        .split("[dependencies]")
        .nth(1)
        .expect("a section")
        .split("\n[")
        .next()
        .expect("its lines");
    let names: Vec<&str> = dependencies
        .lines()
        .filter_map(|line| line.split('.').next())
        .filter(|name| !name.trim().is_empty())
        .collect();
    assert_eq!(names, ["schemars", "serde"], "the language knows nobody");
}
