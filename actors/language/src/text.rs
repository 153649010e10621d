//! Small questions about text: what is blank, what is too long, what a title is.

use alloc::string::String;

/// Whether a character shows nothing: white space, a control character, or an invisible one.
pub fn shows_nothing(c: char) -> bool {
    c.is_whitespace() || c.is_control() || is_invisible(c)
}

/// Whether a text shows nothing: only white space, control and invisible characters (section 3: such a body is empty).
pub fn is_blank(text: &str) -> bool {
    text.chars().all(shows_nothing)
}

/// Characters that are drawn as nothing although Unicode does not call them white space.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// The first `limit` code points on one line: runs of white space become one space (section 11: `title`).
pub(crate) fn first_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    let mut count = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = count > 0;
            continue;
        }
        if gap {
            if count + 1 >= limit {
                break;
            }
            line.push(' ');
            count += 1;
            gap = false;
        }
        if count == limit {
            break;
        }
        line.push(c);
        count += 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_code_points() {
        assert_eq!(first_line("  a\n\tb  c ", 80), "a b c");
        assert_eq!(first_line("🎉🎉🎉", 2), "🎉🎉");
        assert_eq!(first_line("ab cd", 3), "ab");
        assert_eq!(first_line("ab cd", 4), "ab c");
    }

    #[test]
    fn invisible_characters_are_blank() {
        for blank in ["", " \t\n", "\u{200B}\u{2060}", "\u{FEFF}\u{00AD}", "\u{E0020}", "\u{3164}"]
        {
            assert!(is_blank(blank), "{blank:?}");
        }
        for shown in [".", "\u{200B}x", "🎉"] {
            assert!(!is_blank(shown), "{shown:?}");
        }
    }
}
