//! The part of a text that shows why it was found.

use crate::words::words;

/// The longest snippet, in code points, with the marks of what was cut.
pub const MAX_SNIPPET: usize = 160;

/// How many code points of a longer text are shown before what was found.
const LEAD: usize = 40;

/// What stands for the text that was cut.
const CUT: char = '…';

/// The first of these phrases in a text and what is around it: at most [`MAX_SNIPPET`] code points of the text as it
/// is, with `…` where something was cut. The beginning, if no phrase is in it.
pub(crate) fn snippet(text: &str, phrases: &[Vec<String>]) -> String {
    let length = text.chars().count();
    if length <= MAX_SNIPPET {
        return text.to_owned();
    }
    let found = text[..first(text, phrases)].chars().count();
    let start = found.saturating_sub(LEAD);
    let cut_before = start > 0;
    let cut_after = start + MAX_SNIPPET - usize::from(cut_before) < length;
    let shown = MAX_SNIPPET - usize::from(cut_before) - usize::from(cut_after);
    // Near the end the window reaches back, so that it is filled.
    let start = if cut_after { start } else { length - shown };
    let middle = text.chars().skip(start).take(shown);
    let before = cut_before.then_some(CUT).into_iter();
    before.chain(middle).chain(cut_after.then_some(CUT)).collect()
}

/// The byte at which the first of the phrases begins, 0 if none is there.
fn first(text: &str, phrases: &[Vec<String>]) -> usize {
    let words = words(text);
    let begins = |at: &usize| {
        phrases.iter().any(|phrase| {
            let here = words[*at..].iter().map(|word| &word.text).take(phrase.len());
            here.eq(phrase)
        })
    };
    (0..words.len()).find(begins).map_or(0, |at| words[at].from)
}

#[cfg(test)]
mod tests {
    use super::{MAX_SNIPPET, snippet};

    /// The snippet of a text for one word, checked for its length.
    fn check(text: &str, word: &str) -> String {
        let snippet = snippet(text, &[vec![word.to_owned()]]);
        assert!(snippet.chars().count() <= MAX_SNIPPET, "{snippet}");
        assert!(text.contains(snippet.trim_matches('…')), "{snippet}");
        snippet
    }

    #[test]
    fn a_text_that_fits_is_shown_as_it_is() {
        let text = "é".repeat(MAX_SNIPPET);
        assert_eq!(check(&text, "x"), text);
    }

    #[test]
    fn a_longer_text_is_cut_where_marks_say_so() {
        let filler = "été ".repeat(60);
        let begin = check(&format!("needle {filler}"), "needle");
        assert!(begin.starts_with("needle été") && begin.ends_with('…'), "{begin}");
        let middle = check(&format!("{filler}Needle {filler}"), "needle");
        assert!(middle.starts_with('…') && middle.ends_with('…'), "{middle}");
        assert!(middle.contains("Needle"), "{middle}");
        let end = check(&format!("{filler}needle"), "needle");
        assert!(end.starts_with('…') && end.ends_with(" needle"), "{end}");
        for text in [&begin, &middle, &end] {
            assert_eq!(text.chars().count(), MAX_SNIPPET, "{text}");
        }
    }

    #[test]
    fn every_place_of_the_match_gives_a_full_window() {
        for before in 0..200 {
            let text = format!("{} needle {}", "ü".repeat(before), "日".repeat(200 - before));
            assert!(check(&text, "needle").contains("needle"), "{before}");
        }
    }
}
