//! The types of elements; sums are f32.

use half::{bf16, f16};

/// A type that elements are stored in.
pub(crate) trait Element: Copy + 'static {
    /// Exactly.
    fn widen(self) -> f32;
    /// To nearest even.
    fn round(value: f32) -> Self;
}

impl Element for f32 {
    fn widen(self) -> f32 {
        self
    }

    fn round(value: f32) -> Self {
        value
    }
}

macro_rules! narrow {
    ($($t:ty),*) => {$(
        impl Element for $t {
            fn widen(self) -> f32 {
                self.to_f32()
            }

            fn round(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    )*};
}
narrow!(f16, bf16);
