//! Reads tables of rows. Knows nothing of the language but its reasons.

use std::path::Path;

use parley_language::Reason;

/// One row: `left -> right`.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// `file:line`
    pub(crate) place: String,
    /// As it stands in the table.
    pub(crate) text: String,
    pub(crate) left: Vec<String>,
    pub(crate) right: Vec<String>,
}

/// Rows that happen in one world, in order.
#[derive(Debug)]
pub(crate) struct World {
    /// The name of the table, without folder and ending.
    pub(crate) table: String,
    pub(crate) rows: Vec<Row>,
}

/// What a row gave, as far as the counting tests ask.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) reason: Option<Reason>,
    pub(crate) rule: Option<&'static str>,
    pub(crate) over: Option<(Reason, Reason)>,
}

/// All worlds of all tables.
pub(crate) fn worlds() -> Vec<World> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let mut tables: Vec<_> = std::fs::read_dir(folder)
        .expect("the tables are there")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    tables.sort();
    let mut worlds = Vec::new();
    for path in tables {
        let text = std::fs::read_to_string(&path).expect("the table can be read");
        let table = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut rows = Vec::new();
        for (line, text) in text.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() {
                worlds.push(World { table: table.clone(), rows: std::mem::take(&mut rows) });
            } else if !text.starts_with('#') {
                rows.push(row(
                    format!("actors/language/tests/rules/{table}.txt:{}", line + 1),
                    text,
                ));
            }
        }
        worlds.push(World { table, rows });
    }
    worlds.retain(|world| !world.rows.is_empty());
    worlds
}

fn row(place: String, text: &str) -> Row {
    let Some((left, right)) = text.rsplit_once(" -> ") else {
        panic!("{place}: no ` -> ` in: {text}")
    };
    let (left, right) = (words(left), words(right));
    Row { place, text: text.split_whitespace().collect::<Vec<_>>().join(" "), left, right }
}

/// Words; a quoted text and a bracketed list are one word each, without their marks.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let (word, end) = match first {
            '"' => (&rest[1..], rest[1..].find('"').expect("a quote ends") + 1),
            '[' => (&rest[1..], rest[1..].find(']').expect("a bracket ends") + 1),
            '{' => (rest, rest.rfind('}').expect("an object ends") + 1),
            _ => (rest, rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        let skipped = usize::from(matches!(first, '"' | '['));
        words.push(word[..end - skipped].to_string());
        rest = rest[end + skipped..].trim_start();
    }
    words
}
