//! Host side of `device_lib/index.cuh`: walks over strided tensors as kernel parameters.

use crate::launch::sizes;
use smallvec::SmallVec;
use std::mem::offset_of;
use std::ops::Rem;

/// The maximum number of dimensions of a walk.
pub(crate) const MAX_RANK: usize = 8;

/// Division of a number below 2^31 by a constant: `Divisor` of the dialect.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Divisor {
    size: u32,
    pub(crate) magic: u32,
    pub(crate) shift: u32,
}

const _: () = assert!(size_of::<Divisor>() == 12);

impl Divisor {
    /// The largest size that can be divided by.
    pub(crate) const MOST: usize = (1 << 31) - 1;

    /// Creates a divisor from a size of at least 1. Sizes of 2^31 and above cannot be divided by;
    /// walks of that size use a path without division.
    pub(crate) fn new(size: usize) -> Self {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        if size as usize > Self::MOST {
            return Self { size, magic: 0, shift: 0 };
        }
        let shift = 32 - (size - 1).leading_zeros();
        let magic = ((1u64 << 32) * ((1u64 << shift) - u64::from(size)) / u64::from(size) + 1) as u32;
        Self { size, magic, shift }
    }
}

/// Returns the greatest common divisor of two numbers that are not negative.
pub(crate) fn gcd<T: Copy + Default + PartialEq + Rem<Output = T>>(a: T, b: T) -> T {
    if b == T::default() { a } else { gcd(b, a % b) }
}

/// A dimension: its size, and the stride of each operand in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dim<const OPERANDS: usize> {
    pub(crate) size: usize,
    pub(crate) stride: [usize; OPERANDS],
}

impl<const OPERANDS: usize> Dim<OPERANDS> {
    /// Returns the offset of each operand after `steps` steps along the dimension.
    pub(crate) fn along(&self, offset: [usize; OPERANDS], steps: usize) -> [usize; OPERANDS] {
        std::array::from_fn(|o| offset[o] + steps * self.stride[o])
    }
}

/// Dimensions of a walk, outermost first.
pub(crate) type IndexDims<const OPERANDS: usize> = SmallVec<[Dim<OPERANDS>; MAX_RANK]>;

/// Appends a dimension to those before it. It is dropped if its size is 1, and merged if every
/// operand steps through both as one. Pushing all dimensions of a tensor therefore gives the fewest
/// that visit its elements in the same order.
pub(crate) fn push<const OPERANDS: usize>(dims: &mut IndexDims<OPERANDS>, dim: Dim<OPERANDS>) {
    if dim.size == 1 {
        return;
    }
    if let Some(last) = dims.last_mut()
        && (0..OPERANDS).all(|o| last.stride[o] == dim.stride[o].saturating_mul(dim.size))
    {
        *last = Dim { size: last.size * dim.size, stride: dim.stride };
        return;
    }
    dims.push(dim);
}

/// The number of elements of a walk.
pub(crate) fn count<const OPERANDS: usize>(dims: &[Dim<OPERANDS>]) -> usize {
    dims.iter().fold(1, |n, d| n.saturating_mul(d.size))
}

/// `Index` of the dialect.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Index<const OPERANDS: usize> {
    rank: u32,
    dim: [Divisor; MAX_RANK],
    stride: [[u64; MAX_RANK]; OPERANDS],
}

const _: () = assert!(size_of::<Index<1>>() == 168 && size_of::<Index<3>>() == 296);
const _: () = assert!(offset_of!(Index<1>, dim) == 4 && offset_of!(Index<1>, stride) == 104);

impl<const OPERANDS: usize> Index<OPERANDS> {
    /// Creates an index over at most [`MAX_RANK`] dimensions.
    pub(crate) fn new(dims: &[Dim<OPERANDS>]) -> Self {
        let mut index = Self { rank: dims.len() as u32, dim: Default::default(), stride: [[0; MAX_RANK]; OPERANDS] };
        for (i, d) in dims.iter().enumerate() {
            index.dim[i] = Divisor::new(d.size);
            for (o, strides) in index.stride.iter_mut().enumerate() {
                strides[i] = d.stride[o] as u64;
            }
        }
        index
    }
}

/// Runs `f` on parts of a walk that have at most `most` elements (at least 1) and [`MAX_RANK`]
/// dimensions each, with the offset of each part's first element in every operand. The order of the
/// parts does not matter.
pub(crate) fn split<const OPERANDS: usize, E>(
    dims: &[Dim<OPERANDS>],
    most: usize,
    offset: [usize; OPERANDS],
    f: &mut impl FnMut(&[Dim<OPERANDS>], [usize; OPERANDS]) -> Result<(), E>,
) -> Result<(), E> {
    if sizes::WALK_RANK.is_exceeded(dims.len()) {
        // The innermost dimension stays, because kernels iterate along it.
        let d = (0..dims.len() - 1).min_by_key(|&d| dims[d].size).expect("there are more than MAX_RANK");
        let mut rest: IndexDims<OPERANDS> = dims.into();
        let dim = rest.remove(d);
        return (0..dim.size).try_for_each(|i| split(&rest, most, dim.along(offset, i), f));
    }
    if count(dims) <= most {
        return f(dims, offset);
    }
    let largest = (0..dims.len()).max_by_key(|&d| dims[d].size).expect("a walk without dimensions has one element");
    let half = dims[largest].size / 2;
    let mut part: IndexDims<OPERANDS> = dims.into();
    part[largest].size = half;
    split(&part, most, offset, f)?;
    part[largest].size = dims[largest].size - half;
    split(&part, most, dims[largest].along(offset, half), f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(n: u32, d: Divisor) -> u32 {
        (((u64::from(n) * u64::from(d.magic)) >> 32) as u32 + n) >> d.shift
    }

    #[test]
    fn the_multiplication_divides() {
        let sizes = (1..2000).chain((0..31).flat_map(|s| [(1u32 << s).saturating_sub(1).max(1), 1 << s, (1 << s) + 1]));
        for size in sizes {
            let d = Divisor::new(size.min((1 << 31) - 1) as usize);
            let near = |n: u32| [n.saturating_sub(1), n, n + 1];
            let numbers = (0..40).flat_map(|i| near((u64::from(d.size) * i).min((1 << 31) - 2) as u32));
            for n in numbers.chain([(1 << 31) - 1, 1 << 30, 123_456_789]) {
                assert_eq!(divide(n, d), n / d.size, "{n} / {}", d.size);
            }
        }
    }

    #[test]
    fn split_visits_every_element_once() {
        let dims: Vec<_> = [(3, 400), (1, 7), (5, 20), (2, 2)].map(|(size, s)| Dim { size, stride: [s, s * 3] }).into();
        let nine: Vec<_> = (0..9).map(|d| Dim { size: 2, stride: [1 << d, 3 << d] }).collect();
        for (dims, most) in [(&dims, 4), (&dims, 1), (&dims, 1000), (&nine, 16), (&nine, 1 << 20)] {
            let mut seen = Vec::new();
            let mut all = |part: &[Dim<2>], offset: [usize; 2]| {
                assert!(count(part) <= most && part.len() <= MAX_RANK);
                let mut places = vec![offset];
                for d in part {
                    let step = |p: &[usize; 2], i| [p[0] + i * d.stride[0], p[1] + i * d.stride[1]];
                    places = places.iter().flat_map(|p| (0..d.size).map(move |i| step(p, i))).collect();
                }
                seen.extend(places);
                Ok::<(), ()>(())
            };
            split(dims, most, [5, 15], &mut all).unwrap();
            assert_eq!(seen.len(), count(dims));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), count(dims));
            assert!(seen.iter().all(|p| p[1] == 3 * p[0]));
        }
    }

    #[test]
    fn push_merges_runs() {
        let mut dims = IndexDims::<1>::new();
        for (size, s) in [(2, 60), (3, 20), (1, 9), (4, 5), (5, 1), (7, 0)] {
            push(&mut dims, Dim { size, stride: [s] });
        }
        let got: Vec<_> = dims.iter().map(|d| (d.size, d.stride[0])).collect();
        assert_eq!(got, [(120, 1), (7, 0)]);
    }
}
