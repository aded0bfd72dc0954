//! Layouts described by their construction: what is done to each dimension of a contiguous buffer.
//! A layout can thus be rebuilt for a smaller shape while a case shrinks.

use isobit_hal::{Dims, Layout};
use serde::{Deserialize, Serialize};

/// The number of guard elements before and after each operand in its buffer, which make a stray
/// access visible. In bytes it is a multiple of 16 for every dtype, so the bands do not change the
/// alignment.
pub const GUARD: usize = 256;

/// The kinds of layout that every cell must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum LayoutKind {
    Contiguous,
    Transposed,
    Permuted,
    Broadcast,
    Narrowed,
    Stepped,
}

impl LayoutKind {
    /// Every kind.
    pub const ALL: [LayoutKind; 6] = [
        LayoutKind::Contiguous,
        LayoutKind::Transposed,
        LayoutKind::Permuted,
        LayoutKind::Broadcast,
        LayoutKind::Narrowed,
        LayoutKind::Stepped,
    ];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            LayoutKind::Contiguous => "contiguous",
            LayoutKind::Transposed => "transposed",
            LayoutKind::Permuted => "permuted",
            LayoutKind::Broadcast => "broadcast",
            LayoutKind::Narrowed => "narrowed",
            LayoutKind::Stepped => "stepped",
        }
    }
}

/// What is done to one dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dim {
    /// Its position in memory order; 0 is the outermost dimension.
    pub order: usize,
    /// Only every `step`-th element is taken.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub step: usize,
    /// The number of elements before the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub before: usize,
    /// The number of elements after the last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: usize,
    /// Whether all elements are the same one (stride 0).
    #[serde(default, skip_serializing_if = "is_false")]
    pub broadcast: bool,
}

fn one() -> usize {
    1
}
fn is_one(n: &usize) -> bool {
    *n == 1
}
fn is_zero(n: &usize) -> bool {
    *n == 0
}
pub(super) fn is_false(b: &bool) -> bool {
    !*b
}

/// A layout, described by what is done to each dimension of a contiguous buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayoutSpec(pub Vec<Dim>);

/// A layout and the size of its buffer.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The layout.
    pub layout: Layout,
    /// The number of elements of the whole buffer.
    pub len: usize,
}

impl LayoutSpec {
    /// Returns the row-major layout with nothing left out.
    pub fn contiguous(rank: usize) -> Self {
        LayoutSpec((0..rank).map(|order| Dim { order, step: 1, before: 0, after: 0, broadcast: false }).collect())
    }

    /// Returns the layout for the given dimensions, with guard bands on both sides.
    pub fn place(&self, dims: &[usize]) -> Placed {
        debug_assert_eq!(self.0.len(), dims.len());
        let mut by_memory: Vec<usize> = (0..dims.len()).collect();
        by_memory.sort_by_key(|&d| self.0[d].order);
        let (mut stride, mut offset, mut extent) = (Dims::from_elem(0, dims.len()), GUARD, 1);
        for &d in by_memory.iter().rev() {
            let r = &self.0[d];
            stride[d] = if r.broadcast { 0 } else { extent * r.step };
            offset += r.before * extent;
            let taken = if r.broadcast { dims[d].min(1) } else { dims[d] * r.step };
            // An empty dimension counts as one, so that the strides of the others remain those of a
            // layout that does not overlap itself.
            extent *= (r.before + taken + r.after).max(1);
        }
        let layout = Layout::new(dims, stride, offset).expect("one stride a dimension");
        // The extent includes the elements that are stepped over after the last element, and those
        // behind a narrowed dimension. A layout without elements keeps its offset, so the buffer
        // also extends past that.
        let len = GUARD + extent.max(offset - GUARD) + GUARD;
        debug_assert!(layout.required_len().is_some_and(|n| n <= len - GUARD));
        Placed { layout, len }
    }

    /// Returns the kind of the layout.
    pub fn kind(&self) -> LayoutKind {
        let moved: Vec<usize> = self.0.iter().enumerate().filter(|(i, d)| d.order != *i).map(|(i, _)| i).collect();
        if self.0.iter().any(|d| d.broadcast) {
            LayoutKind::Broadcast
        } else if self.0.iter().any(|d| d.step > 1) {
            LayoutKind::Stepped
        } else if self.0.iter().any(|d| d.before + d.after > 0) {
            LayoutKind::Narrowed
        } else if moved.is_empty() {
            LayoutKind::Contiguous
        } else if moved.len() == 2 {
            LayoutKind::Transposed
        } else {
            LayoutKind::Permuted
        }
    }

    /// Returns the layout without the given dimension.
    pub fn without(&self, dim: usize) -> Self {
        let gone = self.0[dim].order;
        let kept = self.0.iter().enumerate().filter(|&(i, _)| i != dim);
        LayoutSpec(
            kept.map(|(_, d)| {
                let mut d = d.clone();
                d.order -= usize::from(d.order > gone);
                d
            })
            .collect(),
        )
    }
}

impl Placed {
    /// Returns the layout without guard bands and without the elements behind the last one. The
    /// elements before the first one remain, which preserves the alignment.
    pub fn exact(&self) -> Self {
        let (layout, offset) = (&self.layout, self.layout.start_offset());
        let last = layout.required_len().expect("the layout lies in its buffer").max(offset);
        let layout = Layout::new(layout.shape().clone(), Dims::from_slice(layout.stride()), offset - GUARD);
        Self { layout: layout.expect("one stride a dimension"), len: last - GUARD }
    }

    /// Returns for each element of the buffer whether it belongs to the layout.
    pub fn named(&self) -> Vec<bool> {
        let mut named = vec![false; self.len];
        match self.layout.contiguous_offsets() {
            Some((start, end)) => named[start..end].fill(true),
            None => self.each(|i| named[i] = true),
        }
        named
    }

    /// Calls `each` with the position of every element of the layout, in logical order. The last
    /// dimension is a loop of its own: an iterator over the positions, which counts in all
    /// dimensions for each, took a tenth of a run on the CPU.
    pub fn each(&self, mut each: impl FnMut(usize)) {
        let (dims, strides) = (self.layout.dims(), self.layout.stride());
        let (Some((&size, outer)), Some((&stride, outer_strides))) = (dims.split_last(), strides.split_last()) else {
            return each(self.layout.start_offset());
        };
        let rows = Layout::new(outer, outer_strides, self.layout.start_offset()).expect("one stride a dimension");
        rows.strided_index().for_each(|row| (0..size).for_each(|i| each(row + i * stride)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_gives_the_strides_of_slicing_a_larger_buffer() {
        let mut r = LayoutSpec::contiguous(3);
        r.0[0].before = 1;
        r.0[1].step = 2;
        r.0[2].after = 3;
        // A contiguous [1 + 2, 3 * 2, 4 + 3] buffer: dimension 0 from index 1, every second element
        // of dimension 1.
        let p = r.place(&[2, 3, 4]);
        let parent = Layout::contiguous([3, 6, 7]);
        let sliced = parent.narrow(0, 1, 2).unwrap().step(1, 2).unwrap().narrow(2, 0, 4).unwrap();
        assert_eq!(p.layout.stride(), sliced.stride());
        assert_eq!(p.layout.start_offset(), sliced.start_offset() + GUARD);
        assert_eq!(p.len, 3 * 6 * 7 + 2 * GUARD);
        assert!(p.layout.is_injective());
    }

    #[test]
    fn a_transposed_spec_is_hals_transpose() {
        let mut r = LayoutSpec::contiguous(2);
        r.0.swap(0, 1);
        let p = r.place(&[5, 3]);
        assert_eq!(p.layout.stride(), Layout::contiguous([3, 5]).transpose(0, 1).unwrap().stride());
        assert_eq!(r.kind(), LayoutKind::Transposed);
        assert_eq!(r.without(0), LayoutSpec::contiguous(1));
    }

    #[test]
    fn an_exact_buffer_ends_with_the_last_element() {
        let mut r = LayoutSpec::contiguous(2);
        (r.0[0].before, r.0[1].step, r.0[1].after) = (1, 2, 3);
        let exact = r.place(&[3, 4]).exact();
        // Rows of 4 * 2 + 3 elements, the first row left out. The last row ends with its fourth
        // taken element, which is the seventh of the row.
        assert_eq!((exact.layout.start_offset(), exact.len), (11, 3 * 11 + 7));
        assert_eq!(exact.layout.required_len(), Some(exact.len));
        assert_eq!(LayoutSpec::contiguous(1).place(&[0]).exact().len, 0);
    }

    #[test]
    fn positions_are_those_of_the_layout() {
        let mut r = LayoutSpec::contiguous(3);
        (r.0[0].step, r.0[1].before, r.0[2].broadcast) = (2, 1, true);
        r.0.swap(0, 1);
        for placed in
            [r.place(&[3, 2, 4]), r.place(&[3, 2, 0]), r.place(&[0, 2, 4]), LayoutSpec::contiguous(0).place(&[])]
        {
            let mut positions = Vec::new();
            placed.each(|i| positions.push(i));
            assert_eq!(positions, placed.layout.strided_index().collect::<Vec<_>>());
        }
    }

    #[test]
    fn empty_and_rank_zero_layouts_lie_inside_their_buffers() {
        assert_eq!(LayoutSpec::contiguous(0).place(&[]).len, 1 + 2 * GUARD);
        let mut r = LayoutSpec::contiguous(2);
        r.0[0].before = 3;
        let p = r.place(&[0, 4]);
        assert!(p.layout.start_offset() <= p.len && p.named().iter().all(|n| !n));
    }
}
