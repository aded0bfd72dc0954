//! Conversion of random words to numbers, one group at a time.

/// Converts `inputs` words to `outputs` numbers at a time.
pub struct Distribution<T> {
    /// Words per group.
    pub inputs: usize,
    /// Numbers per group.
    pub outputs: usize,
    map: Map<T>,
}

type Map<T> = Box<dyn Fn(&[u32], &mut [T]) + Send + Sync>;

impl<T> std::fmt::Debug for Distribution<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Distribution").field("inputs", &self.inputs).field("outputs", &self.outputs).finish()
    }
}

impl<T> Distribution<T> {
    /// Creates a distribution from a function that takes `inputs` words and sets `outputs` numbers.
    pub fn new(inputs: usize, outputs: usize, map: impl Fn(&[u32], &mut [T]) + Send + Sync + 'static) -> Self {
        Self { inputs, outputs, map: Box::new(map) }
    }

    /// Converts one group of words to numbers.
    pub fn map(&self, words: &[u32], numbers: &mut [T]) {
        (self.map)(words, numbers);
    }
}
