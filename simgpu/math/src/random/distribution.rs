//! From words to numbers, a group at a time.

/// Takes `inputs` words to `outputs` numbers at a time.
pub struct Distribution<T> {
    /// Words a group.
    pub inputs: usize,
    /// Numbers a group.
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
    /// Of a function of as many words, which sets as many numbers.
    pub fn new(inputs: usize, outputs: usize, map: impl Fn(&[u32], &mut [T]) + Send + Sync + 'static) -> Self {
        Self { inputs, outputs, map: Box::new(map) }
    }

    /// The numbers of a group of words.
    pub fn map(&self, words: &[u32], numbers: &mut [T]) {
        (self.map)(words, numbers);
    }
}
