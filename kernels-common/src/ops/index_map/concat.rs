//! Concatenation: one launch for up to [`INPUTS`] tensors, each with its own blocks.

use super::{BLOCK_ELEMENTS, PACK, key};
use crate::args;
use crate::device::GpuDevice;
use crate::launch::index::{Dim, Divisor, IndexDims, MAX_RANK, count};
use crate::launch::rows::{BLOCK, RowBlocks, unit};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::index_map::{CONCAT, ELEMENTS, PACKS, ROWS, has_packs};
use crate::ops::{copy, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Concat, Layout, Result, Src};
use smallvec::SmallVec;
use std::mem::offset_of;

/// The most tensors of one launch; must match concat.cu.
const INPUTS: usize = 16;

/// `Part` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    src: u64,
    stride: [u64; MAX_RANK],
    to: u64,
    dim: [Divisor; MAX_RANK],
    first_block: u32,
    count: u32,
    length: u32,
    parts: Divisor,
    across_shift: u32,
}

/// `Parts` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    rank: u32,
    inputs: u32,
    stride: [u64; MAX_RANK],
    part: [Part; INPUTS],
    row: Divisor,
    elements: u32,
}

const _: () = assert!(size_of::<Part>() == 208 && size_of::<Parts>() == 3416);
const _: () = assert!(offset_of!(Part, to) == 72 && offset_of!(Part, dim) == 80);
const _: () = assert!(offset_of!(Part, first_block) == 176 && offset_of!(Part, parts) == 188);
const _: () = assert!(offset_of!(Parts, stride) == 8 && offset_of!(Parts, part) == 72);
const _: () = assert!(offset_of!(Parts, row) == 3400 && offset_of!(Parts, elements) == 3412);

/// An input with elements: the address of the first, their walk (source, destination), and the
/// offset of the first in the destination.
struct Input {
    from: DevicePtr,
    dims: IndexDims<2>,
    to: usize,
}

pub(super) fn concat<R: GpuRuntime>(
    op: Concat,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dst.dtype();
    // The stride of a dimension of one element has no effect, and need not fit.
    let along = if dst_layout.dims()[op.dim] == 1 { 0 } else { dst_layout.stride()[op.dim] };
    let mut inputs: Vec<Input> = Vec::with_capacity(srcs.len());
    let mut start = 0;
    for (src, l) in (0..srcs.len()).map(|i| stored(srcs, i)) {
        if l.elem_count() > 0 {
            let strides = l.stride().iter().zip(dst_layout.stride());
            let dims = l.dims().iter().zip(strides).map(|(&size, (&s, &d))| Dim { size, stride: [s, d] });
            inputs.push(Input { from: src.ptr().at(dtype, l.start_offset()), dims: dims.collect(), to: start * along });
        }
        start += l.dims()[op.dim];
    }
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let order = Order::new(&inputs, dst_layout.shape().rank());
    inputs.iter_mut().for_each(|input| input.dims = order.apply(&input.dims));
    let mut rest = &inputs[..];
    while !rest.is_empty() {
        let (now, later) = rest.split_at(together(rest));
        launch(dst.device(), dtype.size_in_bytes(), now, to)?;
        rest = later;
    }
    Ok(())
}

/// Returns how many of the next inputs one launch joins; at least 1.
fn together(inputs: &[Input]) -> usize {
    if sizes::WALK_RANK.is_exceeded(inputs[0].dims.len()) {
        return 1;
    }
    let total = inputs.iter().map(|input| count(&input.dims)).fold(0, usize::saturating_add);
    let mut left = sizes::CONCAT.limit(total);
    let fit = inputs.iter().take_while(|input| {
        let n = count(&input.dims);
        let fits = n <= left;
        left = left.saturating_sub(n);
        fits
    });
    fit.count().min(sizes::CONCAT_INPUTS.limit(inputs.len())).max(1)
}

/// How the dimensions of all inputs are ordered and merged: for each merged dimension, its own, the
/// innermost last.
struct Order(SmallVec<[SmallVec<[usize; 4]>; MAX_RANK]>);

impl Order {
    /// Puts dimensions in the order of the destination's memory, leaves out those of one element,
    /// and merges those that every input and the destination step through as one. What is
    /// concatenated merges with the dimensions within it.
    fn new(inputs: &[Input], rank: usize) -> Self {
        let first = &inputs[0].dims;
        let is_used = |d: &usize| inputs.iter().any(|input| input.dims[*d].size > 1);
        let mut dims: SmallVec<[usize; MAX_RANK]> = (0..rank).filter(is_used).collect();
        dims.sort_by_key(|&d| std::cmp::Reverse((first[d].stride[1], first[d].stride[0])));
        let mut merged: SmallVec<[SmallVec<[usize; 4]>; MAX_RANK]> = SmallVec::new();
        for d in dims {
            let joins = |outer: usize| {
                // Outside the concatenated dimension, the destination's stride exceeds the size
                // that an input has there, so nothing merges with it from that side.
                inputs.iter().all(|input| {
                    let (outer, inner) = (input.dims[outer], input.dims[d]);
                    (0..2).all(|side| outer.stride[side] == inner.stride[side].saturating_mul(inner.size))
                })
            };
            match merged.last_mut() {
                Some(group) if group.last().is_some_and(|&outer| joins(outer)) => group.push(d),
                _ => merged.push(SmallVec::from_slice(&[d])),
            }
        }
        Self(merged)
    }

    fn apply(&self, dims: &[Dim<2>]) -> IndexDims<2> {
        let merge = |group: &SmallVec<[usize; 4]>| Dim {
            size: group.iter().map(|&d| dims[d].size).product(),
            stride: dims[*group.last().expect("a group has dimensions")].stride,
        };
        self.0.iter().map(merge).collect()
    }
}

/// Returns the largest unit, in bytes, in which runs that are contiguous on both sides can move.
fn common_unit(inputs: &[Input], size: usize, to: DevicePtr) -> usize {
    let (mut steps, mut addresses) = (0, to.0);
    for input in inputs {
        let Some((&Dim { size: run, stride: [1, 1] }, outer)) = input.dims.split_last() else { return size };
        steps |= outer.iter().fold(run | input.to, |all, d| all | d.stride[0] | d.stride[1]);
        addresses |= input.from.0;
    }
    unit(size, steps as u64, addresses)
}

/// Returns the elements of a row of the destination, in units of `by`, if the inputs are whole rows
/// of it, and the rows are adjacent.
fn adjacent_row(inputs: &[Input], by: usize) -> Option<usize> {
    let mut row = 0;
    for Input { dims, to, .. } in inputs {
        let follows = *to == row;
        row += dims.last().filter(|_| follows)?.size;
    }
    let outer = |input: &Input| -> IndexDims<2> { input.dims.split_last().map_or(&[][..], |(_, outer)| outer).into() };
    let first = outer(&inputs[0]);
    let mut step = row;
    let is_adjacent = first.iter().rev().all(|d| {
        let follows = d.stride[1] == step;
        step *= d.size;
        follows
    });
    let are_alike = inputs.iter().all(|input| outer(input).iter().zip(&first).all(|(a, b)| a.size == b.size));
    (is_adjacent && are_alike).then_some(row / by)
}

/// Joins inputs that one launch can take.
fn launch<R: GpuRuntime>(device: &GpuDevice<R>, element: usize, inputs: &[Input], to: DevicePtr) -> Result<()> {
    if let [Input { from, dims, to: offset }] = inputs {
        let to = DevicePtr(to.0 + (offset * element) as u64);
        // SAFETY: both layouts were validated against their buffers, which are distinct, because
        // the destination is borrowed mutably. The walk visits a part of the destination, each
        // element once.
        return unsafe { copy::copy_walk(device, element, *from, to, dims.clone()) };
    }
    let size = common_unit(inputs, element, to);
    let by = size / element;
    let rank = inputs[0].dims.len();
    let shortest = inputs.iter().map(|input| input.dims.last().map_or(0, |d| d.size / by)).min().unwrap_or(0);
    let are_runs = inputs.iter().all(|input| input.dims.last().is_some_and(|d| d.stride == [1, 1]));
    let rows = size <= 8 && are_runs && sizes::CONCAT_ROW_FROM.is_reached(shortest);
    let row = if rows && has_packs(size) && to.0.is_multiple_of(PACK as u64) { adjacent_row(inputs, by) } else { None };
    let elements = inputs.iter().map(|input| count(&input.dims) / by).sum::<usize>();
    let mut parts = Parts {
        rank: rank as u32,
        inputs: inputs.len() as u32,
        stride: [0; MAX_RANK],
        part: Default::default(),
        row: Divisor::new(row.unwrap_or(1)),
        elements: elements as u32,
    };
    let mut blocks = 0;
    for (part, input) in parts.part.iter_mut().zip(inputs) {
        let n = count(&input.dims) / by;
        (part.src, part.to, part.first_block) = (input.from.0, (input.to / by) as u64, blocks as u32);
        for (d, dim) in input.dims.iter().enumerate() {
            // Only the last dimension counts units; the others step over them.
            let (size, stride) = match d + 1 == rank {
                true => (dim.size / by, dim.stride),
                false => (dim.size, dim.stride.map(|s| s / by)),
            };
            part.dim[d] = Divisor::new(size);
            (part.stride[d], parts.stride[d]) = (stride[0] as u64, stride[1] as u64);
        }
        if rows {
            let length = input.dims.last().map_or(1, |d| d.size / by);
            let row = RowBlocks::new(n / length, length, sizes::CONCAT_ROW_PART.limit(length));
            let RowBlocks { blocks: own, parts: row_parts, across_shift } = row;
            (part.count, part.length) = ((n / length) as u32, length as u32);
            (part.parts, part.across_shift) = (Divisor::new(row_parts), across_shift);
            blocks += own;
        } else {
            part.count = n as u32;
            blocks += n.div_ceil(BLOCK_ELEMENTS);
        }
    }
    let (variant, blocks) = match row {
        Some(_) => (PACKS, (elements * size).div_ceil(BLOCK * PACK)),
        None if rows => (ROWS, blocks),
        None => (ELEMENTS, blocks),
    };
    let launch = Launch::linear(key(CONCAT, size, variant), blocks as u32, BLOCK as u32);
    // SAFETY: same as above; each block accesses elements of one input alone.
    unsafe { launch.on(device, args![to, parts]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::Shape;

    fn input(layout: &Layout, dst: &Layout, to: usize) -> Input {
        let strides = layout.stride().iter().zip(dst.stride());
        let dims = layout.dims().iter().zip(strides).map(|(&size, (&s, &d))| Dim { size, stride: [s, d] });
        Input { from: DevicePtr(0), dims: dims.collect(), to }
    }

    /// Returns the offsets that a walk visits in the source and in the destination.
    fn places(dims: &[Dim<2>]) -> Vec<[usize; 2]> {
        let mut all = vec![[0, 0]];
        for d in dims {
            all = all.iter().flat_map(|&place| (0..d.size).map(move |i| d.along(place, i))).collect();
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn merged_dimensions_visit_the_same_elements() {
        for dim in 0..4 {
            for sizes in [&[1, 1, 1][..], &[3, 1, 2], &[4, 4], &[5]] {
                let shape = |size: usize| {
                    let mut dims = [2, 1, 3, 4];
                    dims[dim] = size;
                    Shape::from(&dims[..])
                };
                let dst = Layout::contiguous(shape(sizes.iter().sum()));
                for turned in [false, true] {
                    let layout = |size: usize| {
                        let plain = Layout::contiguous(shape(size));
                        let swapped = plain.transpose(0, 3).unwrap();
                        if turned { Layout::contiguous(swapped.shape()).transpose(0, 3).unwrap() } else { plain }
                    };
                    let mut start = 0;
                    let mut inputs = Vec::new();
                    for &size in sizes {
                        inputs.push(input(&layout(size), &dst, start * dst.stride()[dim]));
                        start += size;
                    }
                    let order = Order::new(&inputs, 4);
                    for input in &inputs {
                        assert_eq!(places(&order.apply(&input.dims)), places(&input.dims), "{dim} {sizes:?} {turned}");
                    }
                    // Contiguous inputs are rows of the destination.
                    let ranks = if sizes.len() == 1 || dim == 0 { 1..=1 } else { 1..=2 };
                    assert!(turned || ranks.contains(&order.apply(&inputs[0].dims).len()), "{dim} {sizes:?}");
                }
            }
        }
    }

    #[test]
    fn a_launch_takes_as_many_inputs_as_its_table_has() {
        let dst = Layout::contiguous((40, 8));
        let inputs: Vec<Input> = (0..40).map(|i| input(&Layout::contiguous((1, 8)), &dst, 8 * i)).collect();
        assert_eq!((together(&inputs), together(&inputs[36..]), together(&inputs[39..])), (INPUTS, 4, 1));
        let small = sizes::set_small(true);
        assert_eq!(together(&inputs), 2);
        sizes::set_small(small);
    }
}
