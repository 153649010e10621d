//! Chance, the same for the same seed.

/// One stream of random numbers.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides` (splitmix64).
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % sides.max(1) as u64) as usize
    }

    /// Yes, `percent` times in a hundred.
    pub(crate) fn happens(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }
}
