//! The few patterns our ids need, as a matcher without a regex engine.
//!
//! The subset: `^`, groups of literal alternatives `(a|b)` with an optional `?`, character classes `[a-z0-9_-]` with
//! an optional `{m,n}`, `?`, `*` or `+`, literal characters, `$`. Matching is greedy and never goes back, which is
//! exact as long as no class is followed by something it could have eaten; ids end with their class.

/// One compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    pieces: Vec<Piece>,
    source: Box<str>,
}

#[derive(Debug)]
enum Piece {
    Words { words: Vec<Box<str>>, optional: bool },
    Class { ranges: Vec<(char, char)>, min: usize, max: usize },
}

impl Pattern {
    /// Compiles a pattern; `None` for one outside the subset.
    pub(super) fn new(source: &str) -> Option<Self> {
        let mut rest = source.strip_prefix('^')?.strip_suffix('$')?;
        let mut pieces = Vec::new();
        while let Some(first) = rest.chars().next() {
            rest = match first {
                '(' => {
                    let (words, after) = rest[1..].split_once(')')?;
                    if words.contains(['[', '(', '\\', '?', '*', '+', '{', '.']) {
                        return None;
                    }
                    let (optional, after) = match after.strip_prefix('?') {
                        Some(after) => (true, after),
                        None => (false, after),
                    };
                    let words = words.split('|').map(Box::from).collect();
                    pieces.push(Piece::Words { words, optional });
                    after
                }
                '[' => {
                    let (class, after) = rest[1..].split_once(']')?;
                    let ((min, max), after) = times(after)?;
                    pieces.push(Piece::Class { ranges: ranges(class)?, min, max });
                    after
                }
                c if c.is_ascii_alphanumeric() || "_-:".contains(c) => {
                    pieces
                        .push(Piece::Words { words: vec![c.to_string().into()], optional: false });
                    &rest[c.len_utf8()..]
                }
                _ => return None,
            };
        }
        Some(Self { pieces, source: source.into() })
    }

    /// Whether the whole text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut rest = text;
        for piece in &self.pieces {
            match piece {
                Piece::Words { words, optional } => {
                    match words.iter().find_map(|word| rest.strip_prefix(&**word)) {
                        Some(after) => rest = after,
                        None if *optional => {}
                        None => return false,
                    }
                }
                Piece::Class { ranges, min, max } => {
                    let within =
                        |c: char| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                    let (count, bytes) = rest
                        .chars()
                        .take(*max)
                        .take_while(|c| within(*c))
                        .fold((0, 0), |(count, bytes), c| (count + 1, bytes + c.len_utf8()));
                    if count < *min {
                        return false;
                    }
                    rest = &rest[bytes..];
                }
            }
        }
        rest.is_empty()
    }

    /// As it was written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

/// Reads how often a class may stand: nothing, `?`, `*`, `+`, `{n}` or `{m,n}`.
fn times(rest: &str) -> Option<((usize, usize), &str)> {
    let once = match rest.chars().next() {
        Some('?') => (0, 1),
        Some('*') => (0, usize::MAX),
        Some('+') => (1, usize::MAX),
        Some('{') => {
            let (numbers, after) = rest[1..].split_once('}')?;
            let (min, max) = numbers.split_once(',').unwrap_or((numbers, numbers));
            return Some(((min.parse().ok()?, max.parse().ok()?), after));
        }
        _ => return Some(((1, 1), rest)),
    };
    Some((once, &rest[1..]))
}

/// Reads the inside of a class.
fn ranges(class: &str) -> Option<Vec<(char, char)>> {
    if class.starts_with('^') || class.contains('\\') {
        return None;
    }
    let letters: Vec<char> = class.chars().collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if letters.get(at + 1) == Some(&'-') && at + 2 < letters.len() {
            ranges.push((letters[at], letters[at + 2]));
            at += 3;
        } else {
            ranges.push((letters[at], letters[at]));
            at += 1;
        }
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn ids_match_their_patterns() {
        let cases: [(&str, &[&str], &[&str]); 4] = [
            (
                "^(th_)?[1-9][0-9]{0,18}$",
                &["th_12", "12", "1", "9999999999999999999"],
                &["", "th_", "th_0", "012", "msg_1", "12 ", "th_1x", "99999999999999999999"],
            ),
            ("^(th|msg|cl)_[1-9][0-9]{0,18}$", &["th_1", "msg_2", "cl_33"], &["1", "at_1", "th1"]),
            ("^[a-z0-9][a-z0-9-]{0,39}$", &["lobby", "a-1", "1"], &["", "-a", "A", "a_b"]),
            ("^x+[a-c]*$", &[], &[]),
        ];
        for (source, good, bad) in cases {
            let Some(pattern) = Pattern::new(source) else {
                assert!(good.is_empty(), "{source} does not compile");
                continue;
            };
            for text in good {
                assert!(pattern.matches(text), "{source} {text:?}");
            }
            for text in bad {
                assert!(!pattern.matches(text), "{source} {text:?}");
            }
        }
    }
}
