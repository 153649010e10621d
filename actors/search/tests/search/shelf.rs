//! A folder with an index in it, and short ways to fill and ask it.

use parley_search::{Document, Filter, Index, Kind, Place, Searcher};
use tempfile::TempDir;

/// A document of thread 1 on board 1, as old as its number.
pub(crate) fn message(number: u64, text: &str) -> Document {
    let text = text.to_owned();
    Document { kind: Kind::Message, number, thread: 1, board: 1, text, time: number }
}

/// An index in a folder of its own.
pub(crate) struct Shelf {
    pub(crate) folder: TempDir,
    pub(crate) index: Index,
    pub(crate) searcher: Searcher,
}

impl Shelf {
    /// An index of these texts, numbered from 1.
    pub(crate) fn of(texts: &[&str]) -> Self {
        let documents = (1..).zip(texts).map(|(number, text)| message(number, text));
        Self::holding(documents)
    }

    /// An index of these documents.
    pub(crate) fn holding(documents: impl IntoIterator<Item = Document>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (index, position) = Index::open(folder.path()).unwrap();
        assert_eq!(position, 0, "a new index");
        let searcher = index.searcher();
        let mut shelf = Self { folder, index, searcher };
        shelf.feed(documents, 1);
        shelf
    }

    /// Adds documents and commits them.
    pub(crate) fn feed(&mut self, documents: impl IntoIterator<Item = Document>, position: u64) {
        for document in documents {
            self.index.add(document).unwrap();
        }
        self.index.commit(position).unwrap();
    }

    /// Closes the index and opens it again; gives where it stands.
    pub(crate) fn reopened(self) -> (Self, u64) {
        let Self { folder, index, searcher } = self;
        drop((index, searcher));
        let (index, position) = Index::open(folder.path()).unwrap();
        let searcher = index.searcher();
        (Self { folder, index, searcher }, position)
    }

    /// The numbers of all hits in order, page by page.
    pub(crate) fn finds_within(&self, query: &str, filter: Filter, limit: usize) -> Vec<u64> {
        let mut found = Vec::new();
        let mut after: Option<Place> = None;
        loop {
            let page = self.searcher.search(query, filter, limit, after).unwrap();
            assert!(page.hits.len() <= limit);
            found.extend(page.hits.iter().map(|hit| hit.number));
            let Some(next) = page.next else { return found };
            assert_eq!(page.hits.len(), limit, "only the last page is short");
            after = Some(next.to_string().parse().unwrap());
        }
    }

    /// The numbers of all hits in rising order.
    pub(crate) fn finds(&self, query: &str) -> Vec<u64> {
        let mut found = self.finds_within(query, Filter::default(), 100);
        found.sort_unstable();
        found
    }
}
