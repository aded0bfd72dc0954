//! Tensors in the simulated memory, with any strides.

use super::SPATIAL;
use isobit_simgpu_library_common::Access;
use std::marker::PhantomData;

/// A tensor's layout; the dimensions are samples (or filters), channels, and the spatial
/// dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// Sizes; none is zero.
    pub dims: [usize; SPATIAL + 2],
    /// The distance from one index to the next, in elements.
    pub strides: [usize; SPATIAL + 2],
}

impl Tensor {
    /// Returns the layout in row-major order without gaps.
    pub fn packed(dims: [usize; SPATIAL + 2]) -> Self {
        let mut strides = [1; SPATIAL + 2];
        for d in (0..SPATIAL + 1).rev() {
            strides[d] = strides[d + 1] * dims[d + 1];
        }
        Self { dims, strides }
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns the number of elements from the first to the last, including gaps, or `None` if it
    /// overflows an address space.
    pub fn extent(&self) -> Option<usize> {
        let last =
            self.dims.iter().zip(self.strides).try_fold(0usize, |last, (&size, stride)| {
                last.checked_add(size.checked_sub(1)?.checked_mul(stride)?)
            })?;
        last.checked_add(1).filter(|&n| n <= isize::MAX as usize / 16)
    }

    /// Returns sizes and strides of the dimensions with more than one index, from the smallest
    /// stride to the largest.
    fn order(&self) -> Vec<(usize, usize)> {
        let mut order: Vec<_> = self.dims.into_iter().zip(self.strides).filter(|&(size, _)| size > 1).collect();
        order.sort_by_key(|&(_, stride)| stride);
        order
    }

    /// Whether the strides guarantee that no two elements share a place: each dimension must step
    /// over everything that the dimensions with smaller strides reach.
    pub fn is_distinct(&self) -> bool {
        let mut reach = 1usize;
        self.order().into_iter().all(|(size, stride)| {
            let clear = stride >= reach;
            reach = reach.saturating_add((size - 1).saturating_mul(stride));
            clear
        })
    }

    /// Whether there are gaps between the elements.
    pub fn has_gaps(&self) -> bool {
        self.extent() != Some(self.elements())
    }

    /// Returns the length of the longest contiguous runs, and the offsets at which the runs begin.
    fn runs(&self) -> (usize, impl Iterator<Item = usize> + use<>) {
        let (mut length, mut outer) = (1, Vec::new());
        for (size, stride) in self.order() {
            if outer.is_empty() && stride == length {
                length *= size;
            } else {
                outer.push((size, stride));
            }
        }
        let count: usize = outer.iter().map(|&(size, _)| size).product();
        let offset = move |run: usize| {
            let add =
                |(rest, at): (usize, usize), &(size, stride): &(usize, usize)| (rest / size, at + rest % size * stride);
            outer.iter().fold((run, 0), add).1
        };
        (length, (0..count).map(offset))
    }

    /// Returns the offsets of all elements, in row-major order of the indices.
    fn offsets(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { dims, strides } = *self;
        (0..self.elements()).map(move |i| {
            let add = |(rest, at): (usize, usize), d: usize| (rest / dims[d], at + rest % dims[d] * strides[d]);
            (0..dims.len()).rev().fold((i, 0), add).1
        })
    }
}

/// A tensor's elements at an address, which may be unaligned.
#[derive(Debug)]
pub struct View<'a, T> {
    tensor: &'a Tensor,
    address: usize,
    element: PhantomData<T>,
}

impl<'a, T: Copy + 'static> View<'a, T> {
    /// Returns the elements at an exposed address.
    pub fn new(tensor: &'a Tensor, address: usize) -> Self {
        Self { tensor, address, element: PhantomData }
    }

    /// Whether the elements may be read or written. Gaps between them are not checked.
    pub fn is_allowed(&self, write: bool, what: &str, access: &Access<'_>) -> bool {
        let (length, mut offsets) = self.tensor.runs();
        let start = std::ptr::with_exposed_provenance::<T>(self.address);
        offsets.all(|at| access(start.wrapping_add(at).cast(), length.saturating_mul(size_of::<T>()), write, what))
    }

    /// Returns the elements in row-major order of their indices.
    ///
    /// # Safety
    /// The elements may be read.
    pub unsafe fn read(&self) -> impl Iterator<Item = T> + use<T> {
        let start = std::ptr::with_exposed_provenance::<T>(self.address);
        // SAFETY: the caller promises that they may be read.
        self.tensor.offsets().map(move |at| unsafe { start.wrapping_add(at).read_unaligned() })
    }

    /// Writes the result of `value` for each number and, if `old` is set, the previous element.
    ///
    /// # Safety
    /// The elements may be written, and also read if `old` is set.
    pub unsafe fn update<C>(&self, numbers: Vec<C>, old: bool, value: impl Fn(C, Option<T>) -> T) {
        let start = std::ptr::with_exposed_provenance_mut::<T>(self.address);
        for (at, number) in self.tensor.offsets().zip(numbers) {
            let to = start.wrapping_add(at);
            // SAFETY: the caller promises that the elements may be written, and also read if `old`
            // is set.
            unsafe { to.write_unaligned(value(number, old.then(|| to.read_unaligned()))) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 x 3 x 4; the first of these is a spatial dimension.
    const DIMS: [usize; 5] = [1, 1, 2, 3, 4];

    fn tensor(strides: [usize; 3]) -> Tensor {
        Tensor { dims: DIMS, strides: [99, 99, strides[0], strides[1], strides[2]] }
    }

    #[test]
    fn runs_are_what_lies_side_by_side() {
        let runs = |t: Tensor| {
            let (length, offsets) = t.runs();
            (length, offsets.collect::<Vec<_>>())
        };
        assert_eq!(runs(Tensor::packed(DIMS)), (24, vec![0]));
        assert_eq!(runs(tensor([1, 2, 6])), (24, vec![0]), "packed the other way round");
        assert_eq!(runs(tensor([12, 5, 1])), (4, vec![0, 5, 10, 12, 17, 22]));
        assert_eq!(runs(tensor([24, 8, 2])).0, 1);
        assert_eq!(runs(tensor([24, 8, 2])).1.len(), 24);
    }

    #[test]
    fn gaps_and_elements_in_one_place() {
        let packed = Tensor::packed(DIMS);
        assert!(!packed.has_gaps() && packed.is_distinct());
        assert!(tensor([24, 8, 2]).has_gaps() && tensor([24, 8, 2]).is_distinct());
        assert!(!tensor([1, 2, 6]).has_gaps());
        for one_place in [[12, 4, 0], [12, 3, 1], [1, 1, 1]] {
            assert!(!tensor(one_place).is_distinct(), "{one_place:?}");
        }
        assert_eq!(tensor([usize::MAX, 4, 1]).extent(), None);
    }

    #[test]
    fn elements_come_in_the_order_of_their_indices() {
        let memory: Vec<u16> = (0..24).collect();
        let tensor = tensor([1, 2, 6]);
        let view = View::<u16>::new(&tensor, memory.as_ptr().expose_provenance());
        // SAFETY: the strides stay within the 24 elements.
        let read: Vec<_> = unsafe { view.read() }.collect();
        assert_eq!(read[..5], [0, 6, 12, 18, 2]);
        assert_eq!(read[12], 1);
    }
}
