//! The newest groups, kept in memory so that followers at the tip never touch the disk.

use std::collections::VecDeque;

use ::sled::IVec;

use super::group::Group;
use crate::{Position, ReadError, Stored};

const GROUPS_MAX: usize = 64;
const BYTES_MAX: usize = 4 << 20;

/// The newest groups in order, without gaps.
#[derive(Debug, Default)]
pub(super) struct Recent {
    groups: VecDeque<(Position, u32, IVec)>,
    bytes: usize,
}

impl Recent {
    /// Adds the newest group and lets the oldest go.
    pub(super) fn push(&mut self, first: Position, records: u32, bytes: IVec) {
        self.bytes += bytes.len();
        self.groups.push_back((first, records, bytes));
        while self.groups.len() > GROUPS_MAX || self.bytes > BYTES_MAX {
            let Some((_, _, gone)) = self.groups.pop_front() else { break };
            self.bytes -= gone.len();
        }
    }

    /// The group of that key.
    pub(super) fn get(&self, first: Position) -> Option<IVec> {
        let at = self.groups.binary_search_by_key(&first, |group| group.0).ok()?;
        Some(self.groups[at].2.clone())
    }

    /// The groups that hold the `limit` records after a position; `None` when older ones are needed.
    pub(super) fn after(&self, after: Position, limit: usize) -> Option<Vec<(Position, IVec)>> {
        let begin = self.groups.partition_point(|group| group.0 <= after + 1).checked_sub(1)?;
        let mut found = Vec::new();
        let mut records = 0_usize;
        for (first, count, bytes) in self.groups.range(begin..) {
            if records >= limit {
                break;
            }
            let skipped = (after + 1).saturating_sub(*first);
            records += usize::try_from(u64::from(*count).saturating_sub(skipped)).unwrap_or(0);
            found.push((*first, bytes.clone()));
        }
        Some(found)
    }
}

/// Adds the records of a group that come after a position and not behind the tip, up to `limit` in all.
pub(super) fn collect(
    found: &mut Vec<Stored>,
    first: Position,
    bytes: &[u8],
    after: Position,
    tip: Position,
    limit: usize,
) -> Result<(), ReadError> {
    for (position, view) in (first..).zip(Group::open(bytes)?.views()) {
        let view = view?;
        if found.len() >= limit || position > tip {
            break;
        }
        if position > after {
            found.push(view.stored(position));
        }
    }
    Ok(())
}
