//! Searching: from what somebody typed to a page of hits.

use std::fmt;
use std::str::FromStr;

use tantivy::query::{BooleanQuery, ConstScoreQuery, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{IndexReader, TantivyDocument, Term};

use crate::best::{Best, Match, Rank};
use crate::index::Fields;
use crate::snippet::snippet;
use crate::words::words;
use crate::{Error, Kind};

/// How many words of a query are looked for; what comes after them is not considered.
pub const MAX_QUERY_WORDS: usize = 32;

/// The most hits on one page.
pub const MAX_HITS: usize = 100;

/// Where to search; what is `None` does not narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only the thread of this number, with its messages and claims.
    pub thread: Option<u64>,
    /// Only the board of this number.
    pub board: Option<u64>,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// Its number, unique within the kind.
    pub number: u64,
    /// The number of its thread.
    pub thread: u64,
    /// The number of its board.
    pub board: u64,
    /// What is around the first match, at most [`crate::MAX_SNIPPET`] code points of plain text; `…` where it is cut.
    pub snippet: String,
}

/// A page of what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hits {
    /// The hits, best first, of equally good ones the newest first.
    pub hits: Vec<Hit>,
    /// After what the next page begins; `None` on the last page.
    pub next: Option<Place>,
}

/// A place in the order of the hits of one query. Its text form is for the next call with the same query and filter;
/// nothing else is to be read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(Rank);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rank { score, time, number, kind } = self.0;
        write!(f, "{score}.{time}.{number}.{kind}")
    }
}

/// A text that no [`Place`] was written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a place in search results")]
pub struct NotAPlace;

impl FromStr for Place {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let parts: Vec<_> = text.split('.').collect();
        let [score, time, number, kind] = parts[..] else { return Err(NotAPlace) };
        let parse = |part: &str| part.parse::<u64>().map_err(|_| NotAPlace);
        let place = Self(Rank {
            score: score.parse().map_err(|_| NotAPlace)?,
            time: parse(time)?,
            number: parse(number)?,
            kind: parse(kind)?,
        });
        // Only what was written so: no signs, no leading zeros, no kind that is none.
        let known = Kind::from_code(place.0.kind).is_some();
        (known && place.to_string() == text).then_some(place).ok_or(NotAPlace)
    }
}

/// The reading half of a search index. Clones are cheap and see the same; every search sees one commit as a whole.
#[derive(Clone)]
pub struct Searcher {
    reader: IndexReader,
    fields: Fields,
}

impl Searcher {
    /// A searcher of what a reader sees.
    pub(crate) fn new(reader: IndexReader, fields: Fields) -> Self {
        Self { reader, fields }
    }

    /// Searches for what somebody typed. Nothing in it is syntax.
    ///
    /// It is split at white space; a document is found if each term is in it, as the sequence of its words: `POL-358`
    /// is found in `pol 358`, not in `358 POL`. Words are found whole, neither by a beginning nor by a stem. Only the
    /// first [`MAX_QUERY_WORDS`] words are considered. A query without a word finds nothing.
    ///
    /// `limit` is brought into 1 to [`MAX_HITS`]. `after` is where the page before ended; a commit between two pages
    /// changes scores, so that a hit may then come twice or not at all.
    ///
    /// It blocks on the disk, and takes the longer the more documents match.
    ///
    /// # Errors
    ///
    /// [`Error::Engine`] if the files cannot be read. No query is an error.
    pub fn search(
        &self,
        query: &str,
        filter: Filter,
        limit: usize,
        after: Option<Place>,
    ) -> Result<Hits, Error> {
        let phrases = phrases(query);
        if phrases.is_empty() {
            return Ok(Hits::default());
        }
        let limit = limit.clamp(1, MAX_HITS);
        let searcher = self.reader.searcher();
        // One more than asked for tells whether there is a next page.
        let best = Best { limit: limit + 1, after: after.map(|place| place.0) };
        let mut matches = searcher.search(&self.query(&phrases, filter), &best)?;
        let more = matches.len() > limit;
        matches.truncate(limit);
        let next = matches.last().filter(|_| more).map(|last| Place(last.rank));
        let mut hits = Vec::with_capacity(matches.len());
        for Match { rank, thread, board, address } in matches {
            let document: TantivyDocument = searcher.doc(address)?;
            let text = document.get_first(self.fields.text).and_then(|text| text.as_str());
            // Both are there in every document that was ever added.
            let (Some(text), Some(kind)) = (text, Kind::from_code(rank.kind)) else { continue };
            let snippet = snippet(text, &phrases);
            hits.push(Hit { kind, number: rank.number, thread, board, snippet });
        }
        Ok(Hits { hits, next })
    }

    /// All phrases, and all that the filter asks for; only the phrases count for the score.
    fn query(&self, phrases: &[Vec<String>], filter: Filter) -> BooleanQuery {
        let Fields { kind, thread, board, .. } = self.fields;
        let narrow =
            [(kind, filter.kind.map(Kind::code)), (thread, filter.thread), (board, filter.board)];
        let narrow = narrow.into_iter().filter_map(|(field, value)| Some(equals(field, value?)));
        let phrases = phrases.iter().map(|words| phrase(self.fields.text, words));
        BooleanQuery::intersection(phrases.chain(narrow).collect())
    }
}

/// The terms of a query as phrases of their words, each once, at most [`MAX_QUERY_WORDS`] words in all.
fn phrases(query: &str) -> Vec<Vec<String>> {
    let mut phrases = Vec::new();
    let mut left = MAX_QUERY_WORDS;
    for term in query.split_whitespace() {
        if left == 0 {
            break;
        }
        let phrase: Vec<_> = words(term).into_iter().map(|word| word.text).take(left).collect();
        left -= phrase.len();
        if !phrase.is_empty() && !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    phrases
}

/// A query for a sequence of words.
fn phrase(field: Field, words: &[String]) -> Box<dyn Query> {
    let mut terms: Vec<_> = words.iter().map(|word| Term::from_field_text(field, word)).collect();
    match terms.len() {
        1 => Box::new(TermQuery::new(terms.remove(0), IndexRecordOption::WithFreqs)),
        _ => Box::new(PhraseQuery::new(terms)),
    }
}

/// A query for a number in a field that leaves the score alone.
fn equals(field: Field, value: u64) -> Box<dyn Query> {
    let term = TermQuery::new(Term::from_field_u64(field, value), IndexRecordOption::Basic);
    Box::new(ConstScoreQuery::new(Box::new(term), 0.0))
}
