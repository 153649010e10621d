//! Keeps the best of what matches, after a place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

/// What decides the order of hits; the greatest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// The score in thousandths. Rounded, because the last bits of a sum depend on how the index is cut into segments.
    pub(crate) score: u32,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// The number of the document within its kind.
    pub(crate) number: u64,
    /// The code of its kind.
    pub(crate) kind: u64,
}

/// Something that matched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    pub(crate) rank: Rank,
    pub(crate) thread: u64,
    pub(crate) board: u64,
    pub(crate) address: DocAddress,
}

/// Collects the first `limit` matches that come after a place, in order.
pub(crate) struct Best {
    pub(crate) limit: usize,
    pub(crate) after: Option<Rank>,
}

impl Collector for Best {
    type Fruit = Vec<Match>;
    type Child = BestOfSegment;

    fn for_segment(
        &self,
        ordinal: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<BestOfSegment> {
        let column = |name| segment.fast_fields().column_first_or_default::<u64>(name);
        Ok(BestOfSegment {
            limit: self.limit,
            after: self.after,
            ordinal,
            time: column("time")?,
            number: column("number")?,
            kind: column("kind")?,
            thread: column("thread")?,
            board: column("board")?,
            heap: BinaryHeap::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Vec<Match>>) -> tantivy::Result<Vec<Match>> {
        let mut matches: Vec<_> = fruits.into_iter().flatten().collect();
        matches.sort_unstable_by_key(|found| Reverse(found.rank));
        matches.truncate(self.limit);
        Ok(matches)
    }
}

/// The best of one segment.
pub(crate) struct BestOfSegment {
    limit: usize,
    after: Option<Rank>,
    ordinal: SegmentOrdinal,
    time: Arc<dyn ColumnValues<u64>>,
    number: Arc<dyn ColumnValues<u64>>,
    kind: Arc<dyn ColumnValues<u64>>,
    thread: Arc<dyn ColumnValues<u64>>,
    board: Arc<dyn ColumnValues<u64>>,
    /// The worst on top, at most `limit` of them.
    heap: BinaryHeap<Reverse<(Rank, DocId)>>,
}

impl SegmentCollector for BestOfSegment {
    type Fruit = Vec<Match>;

    fn collect(&mut self, doc: DocId, score: Score) {
        let rank = Rank {
            score: (score * 1000.0).round() as u32,
            time: self.time.get_val(doc),
            number: self.number.get_val(doc),
            kind: self.kind.get_val(doc),
        };
        if self.after.is_some_and(|after| rank >= after) {
            return;
        }
        if self.heap.len() < self.limit {
            self.heap.push(Reverse((rank, doc)));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && rank > worst.0.0
        {
            *worst = Reverse((rank, doc));
        }
    }

    fn harvest(self) -> Vec<Match> {
        let found = |Reverse((rank, doc))| Match {
            rank,
            thread: self.thread.get_val(doc),
            board: self.board.get_val(doc),
            address: DocAddress::new(self.ordinal, doc),
        };
        self.heap.into_iter().map(found).collect()
    }
}
