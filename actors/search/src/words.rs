//! How a text falls into words; the same for what is said and for what is searched.
//!
//! * A word is a run of letters and digits with their combining marks; everything else separates.
//! * Scripts that do not part words by spaces are taken character by character: each ideograph, Hiragana, Katakana,
//!   Thai, Lao, Khmer and Myanmar character is a word, together with the marks on it. So is each Hangul syllable:
//!   Korean has spaces, but a noun carries its particle, and 검색 shall be found in 검색을.
//! * Compatibility forms are one (NFKC): `ＰＯＬ`, `POL` and, lower-cased, `pol`. ß is ss and ς is σ.
//! * The accents and points of Latin, Greek, Cyrillic, Hebrew and Arabic are left out: `Zürich` and `Zurich` find each
//!   other, so do ё and е, й and и. Marks of other scripts belong to the spelling and stay.
//! * Joiners, soft hyphens, variation selectors and the Arabic tatweel are not there at all.
//! * A word has at most [`MAX_WORD`] characters; a longer run goes on as the next word.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The longest word, in code points as they are after folding. Runs beyond it continue in further words, so they are
/// still found as the sequence they are. Far below the engine's own limit of 65530 bytes, over which it drops words.
pub const MAX_WORD: usize = 512;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word as it is compared: folded, lower-cased, composed.
    pub text: String,
    /// The byte of the original text at which it begins.
    pub from: usize,
    /// The byte of the original text before which it ends.
    pub to: usize,
}

/// The words of a text, in its order.
pub fn words(text: &str) -> Vec<Word> {
    let mut cutter = Cutter::default();
    for (from, c) in text.char_indices() {
        let to = from + c.len_utf8();
        fold(c, &mut |folded| cutter.take(folded, from, to));
    }
    cutter.finish();
    cutter.words
}

/// Cuts a stream of folded characters into words.
#[derive(Default)]
struct Cutter {
    words: Vec<Word>,
    open: Option<Open>,
}

/// The word that is being read.
struct Open {
    word: Word,
    length: usize,
    /// Whether only marks may join it.
    alone: bool,
}

impl Cutter {
    /// Takes the next folded character, which came from these bytes of the text.
    fn take(&mut self, c: char, from: usize, to: usize) {
        let joins = joins(c);
        if !joins && !c.is_alphanumeric() {
            return self.finish();
        }
        let alone = stands_alone(c);
        if let Some(open) = &mut self.open {
            let full = open.length >= MAX_WORD;
            if joins && full {
                return;
            }
            if joins || !(full || alone || open.alone) {
                open.word.text.push(c);
                open.word.to = to;
                open.length += 1;
                return;
            }
        }
        self.finish();
        if !is_combining_mark(c) {
            let word = Word { text: String::from(c), from, to };
            self.open = Some(Open { word, length: 1, alone: alone || joins });
        }
    }

    /// Ends the word that is being read, if one is.
    fn finish(&mut self) {
        if let Some(Open { mut word, .. }) = self.open.take() {
            if !word.text.is_ascii() {
                word.text = word.text.nfc().collect();
            }
            self.words.push(word);
        }
    }
}

/// Gives what a character is compared as: none, one or several characters, decomposed.
fn fold(c: char, emit: &mut impl FnMut(char)) {
    match c {
        _ if c.is_ascii() => emit(c.to_ascii_lowercase()),
        // Syllables stay whole: their parts are composed again only within one word.
        '\u{AC00}'..='\u{D7A3}' => emit(c),
        _ => decompose_compatible(c, |part| {
            for lower in part.to_lowercase() {
                match lower {
                    'ß' => ['s', 's'].into_iter().for_each(&mut *emit),
                    'ς' => emit('σ'),
                    _ if is_left_out(lower) => {}
                    _ => emit(lower),
                }
            }
        }),
    }
}

/// Whether a character is treated as if it were not in the text.
fn is_left_out(c: char) -> bool {
    matches!(c,
        // Accents of Latin, Greek and Cyrillic; points of Hebrew; vowels and hamzas of Arabic, and its tatweel.
        '\u{0300}'..='\u{036F}'
        | '\u{0591}'..='\u{05BD}' | '\u{05BF}' | '\u{05C1}'..='\u{05C2}'
        | '\u{05C4}'..='\u{05C5}' | '\u{05C7}'
        | '\u{0640}' | '\u{064B}'..='\u{065F}' | '\u{0670}'
        // Soft hyphen, joiners, variation selectors.
        | '\u{00AD}' | '\u{200C}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Whether a character joins the word before it, whatever that is: marks, and the later parts of a Hangul syllable.
fn joins(c: char) -> bool {
    !c.is_ascii()
        && (is_combining_mark(c) || matches!(c, '\u{1160}'..='\u{11FF}' | '\u{D7B0}'..='\u{D7FF}'))
}

/// Whether a character is a word of its own.
fn stands_alone(c: char) -> bool {
    matches!(c,
        // Thai and Lao; Myanmar and its extensions; Khmer.
        '\u{0E00}'..='\u{0EFF}'
        | '\u{1000}'..='\u{109F}' | '\u{A9E0}'..='\u{A9FF}' | '\u{AA60}'..='\u{AA7F}'
        | '\u{1780}'..='\u{17FF}'
        // Hangul: first parts of a syllable, syllables.
        | '\u{1100}'..='\u{115F}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7A3}'
        // Iteration mark and zero; Hiragana, Katakana and their extensions; Bopomofo.
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{1AFF0}'..='\u{1B16F}'
        // Ideographs.
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

/// The engine's view of [`words`].
#[derive(Clone, Copy)]
pub(crate) struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        WordStream { rest: words(text).into_iter(), token: Token::default() }
    }
}

/// The words of one text, handed to the engine one by one.
pub(crate) struct WordStream {
    rest: std::vec::IntoIter<Word>,
    token: Token,
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        let Some(Word { text, from, to }) = self.rest.next() else { return false };
        // A token that was never moved stands at the largest position, one before 0.
        let position = self.token.position.wrapping_add(1);
        self.token = Token { text, offset_from: from, offset_to: to, position, position_length: 1 };
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
