//! A seed and its named child streams; the only maker of random generators.
//!
//! A stream is a pure function of (seed, name, index): work done in parallel, interrupted or in another order
//! draws the same numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The generator handed to everything that draws. ChaCha is value-stable across releases and machines.
pub type Rng = ChaCha8Rng;

/// The root of all randomness of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The `index`-th generator of the purpose `name`.
    ///
    /// ```
    /// use foretell_core::seed::Seed;
    /// use rand::RngExt;
    /// let draw = |index| Seed(7).stream("sample", index).random::<u64>();
    /// assert_eq!(draw(3), draw(3));
    /// assert_ne!(draw(3), draw(4));
    /// ```
    pub fn stream(self, name: &str, index: u64) -> Rng {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.to_le_bytes()).update(&index.to_le_bytes()).update(name.as_bytes());
        Rng::from_seed(*hasher.finalize().as_bytes())
    }
}
