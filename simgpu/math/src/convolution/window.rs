//! How a filter moves over an input.

/// The number of spatial dimensions. If a convolution has fewer, the first ones have size 1.
pub const SPATIAL: usize = 3;

/// Padding, stride, dilation and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Zeros before the first element and after the last, per dimension.
    pub padding: [[usize; 2]; SPATIAL],
    /// The step between positions of the filter, in elements; not zero.
    pub stride: [usize; SPATIAL],
    /// The step in the input between neighbouring elements of the filter, in elements; not zero.
    pub dilation: [usize; SPATIAL],
    /// The number of channel groups, which are independent of each other; not zero.
    pub groups: usize,
    /// Whether the filter is flipped in every dimension: this is a convolution by the strict
    /// definition, the other is a cross-correlation.
    pub is_flipped: bool,
}

impl Default for Window {
    fn default() -> Self {
        let one = [1; SPATIAL];
        Self { padding: [[0; 2]; SPATIAL], stride: one, dilation: one, groups: 1, is_flipped: false }
    }
}

impl Window {
    /// Returns the size of a result along a dimension, or `None` if the filter does not fit once.
    pub fn size(&self, d: usize, input: usize, filter: usize) -> Option<usize> {
        let reach = filter.checked_sub(1)?.checked_mul(self.dilation[d])?.checked_add(1)?;
        let padded = self.padding[d].into_iter().try_fold(input, usize::checked_add)?;
        Some(padded.checked_sub(reach)? / self.stride[d] + 1)
    }

    /// Returns, for each element of a result along a dimension, the pairs of input and filter
    /// elements that contribute to it.
    pub(super) fn taps(&self, d: usize, input: usize, filter: usize, result: usize) -> Vec<Vec<(usize, usize)>> {
        let (stride, dilation, before) = (self.stride[d], self.dilation[d], self.padding[d][0]);
        let meet = |at: usize, tap: usize| {
            let i = (at * stride + tap * dilation).checked_sub(before).filter(|&i| i < input)?;
            Some((i, if self.is_flipped { filter - 1 - tap } else { tap }))
        };
        (0..result).map(|at| (0..filter).filter_map(|tap| meet(at, tap)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_a_result() {
        let window =
            Window { padding: [[0; 2], [0; 2], [2; 2]], stride: [1, 1, 3], dilation: [1, 1, 2], ..Window::default() };
        // The padded input of 11 + 2 + 2, less the filter's span of 2 * (3 - 1) + 1, divided by 3,
        // plus one.
        assert_eq!(window.size(2, 11, 3), Some(4));
        assert_eq!(window.size(1, 1, 1), Some(1));
        assert_eq!(window.size(1, 1, 2), None, "a filter too large");
        assert_eq!(window.size(1, 1, 0), None, "no filter");
        let lopsided = Window { padding: [[0; 2], [0; 2], [1, 0]], ..Window::default() };
        assert_eq!(lopsided.size(2, 4, 3), Some(3));
        let vast = Window { dilation: [usize::MAX; 3], ..Window::default() };
        assert_eq!(vast.size(0, 1, 3), None);
    }
}
