//! The types that products are stored and computed in.

use half::{bf16, f16};

/// A type that sums are computed in.
pub(crate) trait Compute: bytemuck::Pod + Default + PartialEq {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    fn is_zero(self) -> bool {
        self == Self::default()
    }
}

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Compute for $t {
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

float!(f16, f32, f64);

impl Compute for i32 {
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

/// A type of which factors are.
pub(crate) trait Input<C>: Copy + 'static {
    /// Exactly.
    fn widen(self) -> C;
}

/// A type of which results are.
pub(crate) trait Output<C>: Input<C> {
    /// Rounding once, to nearest even.
    fn round(value: C) -> Self;
}

impl<C: Compute> Input<C> for C {
    #[inline]
    fn widen(self) -> C {
        self
    }
}

impl<C: Compute> Output<C> for C {
    #[inline]
    fn round(value: C) -> Self {
        value
    }
}

impl Input<i32> for i8 {
    #[inline]
    fn widen(self) -> i32 {
        self.into()
    }
}

macro_rules! narrow {
    ($($t:ty),*) => {$(
        impl Input<f32> for $t {
            #[inline]
            fn widen(self) -> f32 {
                self.to_f32()
            }
        }

        impl Output<f32> for $t {
            #[inline]
            fn round(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    )*};
}

narrow!(f16, bf16);
