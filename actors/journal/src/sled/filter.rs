//! A Bloom filter over the references in the trees, so that a fresh reference costs no look at the disk.
//!
//! Nearly every reference that is looked up is new. The filter is in memory only: the checkpoint thread fills it from
//! the trees after a start; until that is done it answers "maybe" to everything.

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::shared::{read, write};
use crate::Reference;

const BITS_PER_REFERENCE: usize = 12;
const PROBES: u64 = 8;
const FIRST_LAYER: usize = 1 << 16;

#[derive(Debug)]
struct Layer {
    bits: Vec<u64>,
    left: usize,
}

/// The filter: layers of which each takes twice as many references as the one before.
#[derive(Debug, Default)]
pub(super) struct Filter {
    layers: RwLock<Vec<Layer>>,
    complete: AtomicBool,
}

fn probes(reference: &Reference, words: usize) -> impl Iterator<Item = (usize, u64)> {
    let number = u128::from_le_bytes(*reference);
    let (low, high) = (number as u64, (number >> 64) as u64);
    let mixed = (low ^ high.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = (high ^ mixed.rotate_left(29)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f) | 1;
    let bits = words as u64 * 64;
    (0..PROBES).map(move |probe| {
        let spread = mixed.wrapping_add(step.wrapping_mul(probe));
        // The upper bits are the well mixed ones.
        let bit = ((u128::from(spread) * u128::from(bits)) >> 64) as u64;
        ((bit / 64) as usize, 1 << (bit % 64))
    })
}

impl Filter {
    /// Adds references.
    pub(super) fn add<'a>(&self, references: impl Iterator<Item = &'a Reference>) {
        let mut layers = write(&self.layers);
        for reference in references {
            if layers.last().is_none_or(|layer| layer.left == 0) {
                let left = FIRST_LAYER << layers.len();
                layers.push(Layer { bits: vec![0; left * BITS_PER_REFERENCE / 64], left });
            }
            let Some(layer) = layers.last_mut() else { continue };
            layer.left -= 1;
            for (word, bit) in probes(reference, layer.bits.len()) {
                layer.bits[word] |= bit;
            }
        }
    }

    /// Says that all references in the trees are in here.
    pub(super) fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }

    /// Whether the reference may be in the trees.
    pub(super) fn may_hold(&self, reference: &Reference) -> bool {
        let holds = |layer: &Layer| {
            probes(reference, layer.bits.len()).all(|(word, bit)| layer.bits[word] & bit != 0)
        };
        !self.complete.load(Ordering::Acquire) || read(&self.layers).iter().any(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(number: u64) -> Reference {
        (u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).to_le_bytes()
    }

    #[test]
    fn all_that_was_added_is_held_and_little_else() {
        let filter = Filter::default();
        assert!(filter.may_hold(&reference(1)), "incomplete: maybe");
        let added: Vec<_> = (0..200_000).map(reference).collect();
        filter.add(added.iter());
        filter.complete();
        assert!(added.iter().all(|reference| filter.may_hold(reference)));
        let wrong = (1_000_000..1_010_000).filter(|other| filter.may_hold(&reference(*other)));
        assert!(wrong.count() < 150);
    }
}
