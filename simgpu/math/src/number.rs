//! The types in which numbers are stored and computed.

use half::{bf16, f16};

mod complex;

pub use complex::Complex;

/// A type in which sums are computed.
pub trait Compute: bytemuck::Pod + Default + PartialEq {
    /// Returns the rounded sum.
    fn plus(self, other: Self) -> Self;
    /// Returns the rounded product.
    fn times(self, other: Self) -> Self;

    /// Returns the complex conjugate; a real number is its own.
    #[inline]
    fn conjugate(self) -> Self {
        self
    }

    /// Whether the number is zero, of either sign.
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

/// Overflow wraps.
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

/// A type of factors.
pub trait Input<C>: Copy + 'static {
    /// Converts exactly to the compute type.
    fn widen(self) -> C;
}

/// A type of results.
pub trait Output<C>: Input<C> {
    /// Rounds once, to nearest even.
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

macro_rules! exact {
    ($($from:ty => $to:ty),*) => {$(
        impl Input<$to> for $from {
            #[inline]
            fn widen(self) -> $to {
                self.into()
            }
        }
    )*};
}

exact!(i8 => i32, i8 => f32);

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
