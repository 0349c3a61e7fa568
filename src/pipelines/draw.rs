//! Drawing without replacement, shuffling and coin tosses by seed, each purpose on a stream of its own. It knows no study, no sheet
//! and no reviewer.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Name of the generator, to be recorded beside the seed.
///
/// ChaCha8; key = the seed's eight little-endian bytes, then the purpose's bytes, then zeros; a number below n from a 64-bit draw by
/// multiply-shift with rejection (Lemire 2019, doi:10.1145/3230636).
pub const GENERATOR: &str = "chacha8/named-stream/multiply-shift";

/// Longest purpose that the key holds.
const MAX_PURPOSE: usize = 24;

/// A named, seeded source of chance.
#[derive(Debug, Clone)]
pub struct Draw {
    generator: ChaCha8Rng,
}

impl Draw {
    /// The stream `stream` of a purpose. The purpose is cut at 24 bytes; two purposes never share draws.
    pub fn new(seed: u64, purpose: &'static str, stream: u64) -> Self {
        debug_assert!(!purpose.is_empty() && purpose.len() <= MAX_PURPOSE, "{purpose}");
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        for (place, byte) in key[8..].iter_mut().zip(purpose.bytes()) {
            *place = byte;
        }
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(stream);
        Self { generator }
    }

    /// A number below `n`, all equally likely; 0 for `n` = 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        // The lowest 2^64 mod n products would make small numbers too likely.
        let rejected = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.generator.next_u64()) * u128::from(n);
            if product as u64 >= rejected {
                return (product >> 64) as usize;
            }
        }
    }

    /// Either answer, equally likely.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// `n` different positions below `n_items`, ascending; all of them when there are fewer.
    pub fn sample(&mut self, n_items: usize, n: usize) -> Vec<usize> {
        let n = n.min(n_items);
        let mut positions: Vec<usize> = (0..n_items).collect();
        for place in 0..n {
            let chosen = place + self.below(n_items - place);
            positions.swap(place, chosen);
        }
        positions.truncate(n);
        positions.sort_unstable();
        positions
    }

    /// Puts the items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in 0..items.len() {
            let chosen = place + self.below(items.len() - place);
            items.swap(place, chosen);
        }
    }
}

/// Six hexadecimal digits that tell one draw from another: a filled sheet cannot be read with the key of a different draw.
///
/// # Source
/// FNV-1a, 64 bits folded to 24; texts are set apart by a byte that UTF-8 does not use.
pub fn draw_code<'t>(seed: u64, texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    seed.to_le_bytes().into_iter().for_each(&mut add);
    for text in texts {
        text.bytes().chain([0xff]).for_each(&mut add);
    }
    format!("{:06x}", (hash ^ (hash >> 24) ^ (hash >> 48)) & 0xff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_distinct_even_and_reproducible() {
        let mut counts = [0_u32; 10];
        for stream in 0..4_000 {
            let chosen = Draw::new(1, "test", stream).sample(10, 3);
            assert!(chosen.len() == 3 && chosen.windows(2).all(|pair| pair[0] < pair[1]));
            chosen.iter().for_each(|&i| counts[i] += 1);
        }
        assert!(counts.iter().all(|count| (1_080..1_320).contains(count)), "{counts:?}");
        assert_eq!(Draw::new(7, "a", 0).sample(100, 9), Draw::new(7, "a", 0).sample(100, 9));
        assert_ne!(Draw::new(7, "a", 0).sample(100, 9), Draw::new(7, "b", 0).sample(100, 9));
        assert_ne!(Draw::new(7, "a", 0).sample(100, 9), Draw::new(8, "a", 0).sample(100, 9));
        assert_eq!(Draw::new(7, "a", 0).sample(2, 9), [0, 1]);
        assert!(Draw::new(7, "a", 0).sample(0, 9).is_empty());
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Draw::new(3, "shuffle", 0).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn codes_differ_with_seed_and_texts() {
        let codes = [draw_code(1, ["ab", "c"]), draw_code(2, ["ab", "c"]), draw_code(1, ["a", "bc"]), draw_code(1, [])];
        for (i, code) in codes.iter().enumerate() {
            assert!(code.len() == 6 && !codes[..i].contains(code), "{codes:?}");
        }
    }
}
