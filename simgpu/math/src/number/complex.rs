//! Complex numbers, stored as both vendors do: real part first.

use super::{Compute, Input};

/// A complex number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

// SAFETY: two numbers of one type without padding between or around them are zero if both are zero.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Complex<T> {}
// SAFETY: two numbers of one type in C layout have no padding, and all bytes are valid values of
// both.
unsafe impl<T: bytemuck::Pod> bytemuck::Pod for Complex<T> {}

macro_rules! complex {
    ($($t:ty),*) => {$(
        impl Compute for Complex<$t> {
            #[inline]
            fn plus(self, other: Self) -> Self {
                Self { re: self.re + other.re, im: self.im + other.im }
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
            }

            #[inline]
            fn conjugate(self) -> Self {
                Self { re: self.re, im: -self.im }
            }
        }
    )*};
}

complex!(f32, f64);

impl Input<Complex<f32>> for Complex<i8> {
    #[inline]
    fn widen(self) -> Complex<f32> {
        Complex { re: self.re.into(), im: self.im.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Complex, Compute, Input};

    fn z<T>(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }

    #[test]
    fn arithmetic_of_complex_numbers() {
        assert_eq!(z(1.0, 2.0).times(z(3.0, -5.0)), z(13.0, 1.0));
        assert_eq!(z(0.0f32, 1.0).times(z(0.0, 1.0)), z(-1.0, 0.0));
        assert_eq!(z(1.0, 2.0).plus(z(3.0, -5.0)), z(4.0, -3.0));
        assert_eq!(z(1.0, 2.0).times(z(1.0, 2.0).conjugate()), z(5.0, 0.0));
        assert!(z(-0.0, 0.0).is_zero() && !z(0.0, 1.0).is_zero());
        assert_eq!(z(-128i8, 127).widen(), z(-128.0f32, 127.0));
        // Real part first, as both vendors' headers declare it.
        assert_eq!(bytemuck::cast::<_, [f32; 2]>(z(1.0f32, 2.0)), [1.0, 2.0]);
    }
}
