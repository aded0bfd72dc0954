//! The types that numbers are stored and computed in.

use half::{bf16, f16};

mod complex;

pub use complex::Complex;

/// A type that sums are computed in.
pub trait Compute: bytemuck::Pod + Default + PartialEq {
    /// The sum, rounded.
    fn plus(self, other: Self) -> Self;
    /// The product, rounded.
    fn times(self, other: Self) -> Self;

    /// The number itself where it is real.
    #[inline]
    fn conjugate(self) -> Self {
        self
    }

    /// Of either sign.
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

/// A type of which factors are.
pub trait Input<C>: Copy + 'static {
    /// Exactly.
    fn widen(self) -> C;
}

/// A type of which results are.
pub trait Output<C>: Input<C> {
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
