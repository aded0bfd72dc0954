//! Flips, rolls and padding: the rule of each dimension, and the launches.

use super::{BLOCK_ELEMENTS, PACK, key};
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, MAX_RANK};
use crate::launch::rows::{BLOCK, RowBlocks, unit};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::index_map::{ELEMENTS, MAP, PACKS, ROWS, has_packs};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Flip, Layout, Pad, PadMode, Result, Roll};
use smallvec::SmallVec;
use std::mem::offset_of;

type Input<'a, R> = (&'a GpuStorage<R>, &'a Layout);

/// What gives the source's index, for an index of the result that was moved by
/// [`start`](MapDim::start). The numbers must match map.cuh.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The index itself.
    Along = 0,
    /// The index modulo the size.
    Wrap = 1,
    /// The nearest index that exists.
    Clamp = 2,
    /// The index mirrored at the ends.
    Reflect = 3,
    /// The constant where there is no such index.
    Constant = 4,
}

/// A dimension of the result and its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MapDim {
    /// Elements of the result.
    size: usize,
    rule: Rule,
    /// What is added to an index of the result before the rule.
    start: i64,
    /// Elements of the source.
    of: i64,
    /// Elements from one index to the next, in the source and in the destination.
    stride: [i64; 2],
}

impl MapDim {
    /// Returns the source's index for an index of the result; `None` for the constant.
    fn source_index(&self, index: usize) -> Option<i64> {
        let at = self.start + index as i64;
        match self.rule {
            Rule::Along => Some(at),
            Rule::Wrap => Some(at.rem_euclid(self.of)),
            Rule::Clamp => Some(at.clamp(0, self.of - 1)),
            Rule::Reflect if at.abs() < self.of => Some(at.abs()),
            Rule::Reflect => Some(2 * (self.of - 1) - at.abs()),
            Rule::Constant => (0..self.of).contains(&at).then_some(at),
        }
    }

    /// Returns the dimension without its first `skipped` indices, with `size` of the others.
    fn part(&self, skipped: usize, size: usize) -> Self {
        Self { size, start: self.start + skipped as i64, ..*self }
    }
}

/// A result as dimensions with rules, and the offsets of the source's and the destination's first
/// elements.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Walk {
    dims: SmallVec<[MapDim; MAX_RANK]>,
    from: i64,
    to: i64,
}

impl Walk {
    /// Creates a walk that moves every element to where it is. Offsets are those of a layout's
    /// first element.
    fn new(src: &Layout, dst: &Layout) -> Self {
        let strides = src.stride().iter().zip(dst.stride());
        // A stride that does not fit is that of a dimension of one element, where it has no effect.
        let dim = |((&size, &of), (&s, &d)): ((&usize, &usize), (&usize, &usize))| MapDim {
            size,
            rule: Rule::Along,
            start: 0,
            of: of as i64,
            stride: [s as i64, d as i64],
        };
        Self { dims: dst.dims().iter().zip(src.dims()).zip(strides).map(dim).collect(), from: 0, to: 0 }
    }

    fn count(&self) -> usize {
        self.dims.iter().fold(1, |n, d| n.saturating_mul(d.size))
    }

    /// Returns the walk with dimension `d` fixed at an index.
    fn at(&self, d: usize, index: usize) -> Self {
        let mut walk = self.clone();
        let dim = walk.dims.remove(d);
        walk.to += index as i64 * dim.stride[1];
        match dim.source_index(index) {
            Some(from) => walk.from = walk.from.wrapping_add(from.wrapping_mul(dim.stride[0])),
            None => {
                // Everything is the constant: another dimension has none of its elements in the
                // source.
                let nothing = MapDim { size: 1, rule: Rule::Constant, start: 0, of: 0, stride: [0, 0] };
                match walk.dims.last_mut() {
                    Some(last) => *last = MapDim { rule: Rule::Constant, start: 0, of: 0, ..*last },
                    None => walk.dims.push(nothing),
                }
            }
        }
        walk
    }

    /// Returns the walk in the order of the destination's memory, with dimensions of one element
    /// fixed, and others merged where both sides step through them as one. The order of the
    /// elements does not matter; this one writes along runs.
    fn in_order(mut self) -> Self {
        while self.dims.len() > 1
            && let Some(d) = self.dims.iter().position(|d| d.size == 1)
        {
            self = self.at(d, 0);
        }
        self.dims.sort_by_key(|d| std::cmp::Reverse((d.stride[1], d.stride[0])));
        let mut merged: SmallVec<[MapDim; MAX_RANK]> = SmallVec::new();
        for dim in self.dims {
            match merged.last_mut() {
                Some(outer) if joins(outer, &dim) => {
                    let size = dim.size as i64;
                    *outer = MapDim {
                        size: outer.size * dim.size,
                        start: outer.start * size,
                        of: outer.of * size,
                        stride: dim.stride,
                        ..*outer
                    };
                }
                _ => merged.push(dim),
            }
        }
        Self { dims: merged, ..self }
    }

    /// Whether packs of elements of `size` bytes can move: from neighbours in the source, in long
    /// rows that are adjacent at the address `to`.
    fn has_packs(&self, size: usize, to: DevicePtr) -> bool {
        let Some(last) = self.dims.last() else { return false };
        let mut step = 1;
        let is_adjacent = self.dims.iter().rev().all(|d| {
            step *= d.size as i64;
            d.size == 1 || d.stride[1] * d.size as i64 == step
        });
        // A rule adds twice the size at most.
        let furthest = last.start.unsigned_abs().saturating_add(last.of.max(last.size as i64) as u64) as usize;
        has_packs(size)
            && sizes::INDEX_MAP_ROW_FROM.is_reached(last.size)
            && last.stride[0] == 1
            && is_adjacent
            && !sizes::INDEX_MAP_PACKS.is_exceeded(furthest)
            && to.0.is_multiple_of(PACK as u64)
    }

    /// Returns the walk in the largest units that divide and align everything, with the size of a
    /// unit; `size` is that of an element, and the addresses are those of the first elements.
    fn in_units(mut self, size: usize, from: DevicePtr, to: DevicePtr) -> (Self, usize) {
        let Some((last, outer)) = self.dims.split_last_mut() else { return (self, size) };
        if last.stride != [1, 1] || !matches!(last.rule, Rule::Along | Rule::Wrap | Rule::Constant) {
            return (self, size);
        }
        let of = if last.rule == Rule::Along { 0 } else { last.of };
        let steps = outer.iter().fold(last.size as i64 | last.start | of, |all, d| all | d.stride[0] | d.stride[1]);
        let unit = unit(size, steps as u64, from.0 | to.0);
        let by = (unit / size) as i64;
        for d in outer {
            d.stride = d.stride.map(|s| s / by);
        }
        *last = MapDim { size: last.size / by as usize, start: last.start / by, of: last.of / by, ..*last };
        (self.in_order(), unit)
    }
}

/// Whether two neighbouring dimensions are one: an inner one that is not moved, in whole runs of
/// the outer one.
fn joins(outer: &MapDim, inner: &MapDim) -> bool {
    let follows = |side: usize| outer.stride[side] == inner.stride[side].wrapping_mul(inner.size as i64);
    matches!(outer.rule, Rule::Along | Rule::Wrap | Rule::Constant)
        && (inner.rule, inner.start) == (Rule::Along, 0)
        && follows(0)
        && follows(1)
}

/// Runs `f` on parts of a walk that have at most `most` elements and [`MAX_RANK`] dimensions each.
fn split(walk: &Walk, most: usize, f: &mut impl FnMut(&Walk) -> Result<()>) -> Result<()> {
    let dims = &walk.dims;
    if sizes::WALK_RANK.is_exceeded(dims.len()) {
        // The innermost dimension stays, because kernels move rows of it.
        let d = (0..dims.len() - 1).min_by_key(|&d| dims[d].size).expect("there are more than MAX_RANK");
        return (0..dims[d].size).try_for_each(|index| split(&walk.at(d, index), most, f));
    }
    if walk.count() <= most {
        return f(walk);
    }
    let d = (0..dims.len()).max_by_key(|&d| dims[d].size).expect("a walk without dimensions has one element");
    let (size, half) = (dims[d].size, dims[d].size / 2);
    let mut first = walk.clone();
    first.dims[d] = dims[d].part(0, half);
    split(&first, most, f)?;
    let mut second = walk.clone();
    second.dims[d] = dims[d].part(half, size - half);
    second.to += half as i64 * dims[d].stride[1];
    split(&second, most, f)
}

/// `IndexMap` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndexMap {
    index: Index<2>,
    start: [i64; MAX_RANK],
    size: [i64; MAX_RANK],
    rule: [u32; MAX_RANK],
}

const _: () = assert!(size_of::<IndexMap>() == 392);
const _: () = assert!(offset_of!(IndexMap, start) == 232 && offset_of!(IndexMap, rule) == 360);

impl IndexMap {
    fn new(dims: &[MapDim]) -> Self {
        let plain = dims.iter().map(|d| Dim { size: d.size, stride: d.stride.map(|s| s as usize) });
        let plain: SmallVec<[_; MAX_RANK]> = plain.collect();
        let mut map =
            Self { index: Index::new(&plain), start: [0; MAX_RANK], size: [0; MAX_RANK], rule: [0; MAX_RANK] };
        for (i, d) in dims.iter().enumerate() {
            (map.start[i], map.size[i], map.rule[i]) = (d.start, d.of, d.rule as u32);
        }
        map
    }
}

/// `Rows` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    map: IndexMap,
    count: u32,
    length: u32,
    parts: Divisor,
    across_shift: u32,
}

const _: () = assert!(size_of::<Rows>() == 416);
const _: () = assert!(offset_of!(Rows, count) == 392 && offset_of!(Rows, parts) == 400);
const _: () = assert!(offset_of!(Rows, across_shift) == 412);

/// Moves the elements of a walk, whose offsets are relative to the layouts' first elements. The
/// constant is given as the bits of an element.
fn run<R: GpuRuntime>(
    walk: Walk,
    constant: u64,
    (src, src_layout): Input<'_, R>,
    dst: &GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (dtype, device) = (dst.dtype(), dst.device());
    let walk = walk.in_order();
    let element = dtype.size_in_bytes();
    // An empty source may have any offset; none of its elements is accessed.
    let offset = (src_layout.start_offset() as i64).wrapping_add(walk.from).wrapping_mul(element as i64);
    let from = DevicePtr(src.ptr().0.wrapping_add(offset as u64));
    let to = DevicePtr(dst.ptr().at(dtype, dst_layout.start_offset()).0 + (walk.to as usize * element) as u64);
    let (walk, size) = Walk { from: 0, to: 0, ..walk }.in_units(element, from, to);
    let [low, high] = halves(constant, element);
    split(&walk, sizes::INDEX_MAP.limit(walk.count()), &mut |part| {
        let from = DevicePtr(from.0.wrapping_add(part.from.wrapping_mul(size as i64) as u64));
        let to = DevicePtr(to.0 + (part.to as usize * size) as u64);
        let n = part.count();
        let map = IndexMap::new(&part.dims);
        let length = part.dims.last().map_or(1, |d| d.size);
        if part.has_packs(size, to) {
            let blocks = (n * size).div_ceil(BLOCK * PACK);
            let launch = Launch::linear(key(MAP, size, PACKS), blocks as u32, BLOCK as u32);
            let n = n as u32;
            // SAFETY: both layouts were validated against their buffers, which are distinct,
            // because one is borrowed mutably. Elements outside the source are the constant.
            return unsafe { launch.on(device, args![from, to, map, n, low, high]) };
        }
        if size <= 8 && sizes::INDEX_MAP_ROW_FROM.is_reached(length) {
            let count = n / length;
            let RowBlocks { blocks, parts, across_shift } =
                RowBlocks::new(count, length, sizes::INDEX_MAP_ROW_PART.limit(length));
            let rows =
                Rows { map, count: count as u32, length: length as u32, parts: Divisor::new(parts), across_shift };
            let launch = Launch::linear(key(MAP, size, ROWS), blocks as u32, BLOCK as u32);
            // SAFETY: both layouts were validated against their buffers, which are distinct,
            // because one is borrowed mutably. Rules give indices of the source, or the constant.
            return unsafe { launch.on(device, args![from, to, rows, low, high]) };
        }
        let launch = Launch::linear(key(MAP, size, ELEMENTS), n.div_ceil(BLOCK_ELEMENTS) as u32, BLOCK as u32);
        let n = n as u32;
        // SAFETY: same as above.
        unsafe { launch.on(device, args![from, to, map, n, low, high]) }
    })
}

/// Returns the bits of an element of `size` bytes, repeated in 8 bytes, as two halves.
fn halves(bits: u64, size: usize) -> [u32; 2] {
    let repeated = match size {
        1 => bits * 0x0101_0101_0101_0101,
        2 => bits * 0x0001_0001_0001_0001,
        4 => bits << 32 | bits,
        _ => bits,
    };
    [repeated as u32, (repeated >> 32) as u32]
}

pub(super) fn flip<R: GpuRuntime>(op: &Flip, src: Input<'_, R>, dst: &mut GpuStorage<R>, dl: &Layout) -> Result<()> {
    let mut walk = Walk::new(src.1, dl);
    for &d in &op.dims {
        let dim = &mut walk.dims[d];
        walk.from += (dim.of - 1).wrapping_mul(dim.stride[0]);
        dim.stride[0] = dim.stride[0].wrapping_neg();
    }
    run(walk, 0, src, dst, dl)
}

pub(super) fn roll<R: GpuRuntime>(op: &Roll, src: Input<'_, R>, dst: &mut GpuStorage<R>, dl: &Layout) -> Result<()> {
    let mut walk = Walk::new(src.1, dl);
    for (&d, &shift) in op.dims.iter().zip(&op.shifts) {
        let dim = &mut walk.dims[d];
        let start = (dim.start - shift as i64 % dim.of).rem_euclid(dim.of);
        // What is not moved merges with more dimensions.
        *dim = MapDim { start, rule: if start == 0 { Rule::Along } else { Rule::Wrap }, ..*dim };
    }
    run(walk, 0, src, dst, dl)
}

pub(super) fn pad<R: GpuRuntime>(op: &Pad, src: Input<'_, R>, dst: &mut GpuStorage<R>, dl: &Layout) -> Result<()> {
    let mut walk = Walk::new(src.1, dl);
    for (d, dim) in walk.dims.iter_mut().enumerate() {
        let kept = op.kept(d, src.1.dims()[d]).expect("validated to crop no more than there is");
        walk.from = walk.from.wrapping_add((kept.start as i64).wrapping_mul(dim.stride[0]));
        dim.of = kept.len() as i64;
        if dim.size == kept.len() {
            continue;
        }
        let before = op.before[d].max(0) as i64;
        (dim.rule, dim.start) = match op.mode {
            PadMode::Constant(_) => (Rule::Constant, -before),
            PadMode::Replicate => (Rule::Clamp, -before),
            PadMode::Reflect => (Rule::Reflect, -before),
            PadMode::Circular => (Rule::Wrap, dim.of - before),
            mode => unreachable!("no rule for {mode:?}"),
        };
    }
    let constant = if let PadMode::Constant(value) = op.mode { value.to_bits() } else { 0 };
    run(walk, constant, src, dst, dl)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns where each element of a walk belongs and comes from, in the order of the
    /// destination. Elements of a unit follow each other.
    fn places(walk: &Walk, unit: i64) -> Vec<(i64, Option<i64>)> {
        let mut all = vec![(walk.to, Some(walk.from))];
        for d in &walk.dims {
            let step = |(to, from): (i64, Option<i64>), index: usize| {
                let from = from.zip(d.source_index(index)).map(|(from, at)| from + at * d.stride[0]);
                (to + index as i64 * d.stride[1], from)
            };
            all = all.iter().flat_map(|&place| (0..d.size).map(move |index| step(place, index))).collect();
        }
        let each =
            |(to, from): (i64, Option<i64>)| (0..unit).map(move |i| (to * unit + i, from.map(|from| from * unit + i)));
        let mut all: Vec<_> = all.into_iter().flat_map(each).collect();
        all.sort_unstable();
        all
    }

    /// Draws a walk over up to ten dimensions, of a source and a destination that are transposed
    /// alike.
    fn drawn(mut draw: impl FnMut(usize) -> usize) -> Walk {
        let rank = if draw(8) == 0 { 10 } else { 1 + draw(4) };
        let (mut dims, mut strides): (SmallVec<[MapDim; MAX_RANK]>, _) = (SmallVec::new(), [1i64, 1]);
        for d in 0..rank {
            let mut of = if rank > 4 { 1 + draw(2) } else { 1 + draw(5) };
            if d == 0 && draw(2) == 0 {
                of *= 16;
            }
            let amounts = [draw(of), draw(of)].map(|amount| if draw(2) == 0 { 0 } else { amount });
            let (rule, start, size) = match draw(6) {
                0 => (Rule::Wrap, draw(of) as i64, of),
                1 => (Rule::Wrap, (of - amounts[0]) as i64, of + amounts[0] + amounts[1]),
                2 => (Rule::Clamp, -(amounts[0] as i64), of + amounts[0] + amounts[1]),
                3 => (Rule::Reflect, -(amounts[0] as i64), of + amounts[0] + amounts[1]),
                4 => (Rule::Constant, -(amounts[0] as i64), of + amounts[0] + amounts[1]),
                _ => (Rule::Along, 0, of),
            };
            let flips = rule == Rule::Along && draw(3) == 0;
            let source = if draw(6) == 0 { 0 } else { strides[0] };
            let stride = [if flips { -source } else { source }, strides[1]];
            dims.insert(0, MapDim { size, rule, start, of: of as i64, stride });
            strides[0] *= of as i64;
            strides[1] *= size as i64;
        }
        if draw(3) == 0 {
            dims.reverse();
        }
        Walk { dims, from: 4096, to: 64 }
    }

    #[test]
    fn ordered_widened_and_split_walks_move_the_same_elements() {
        let mut state = 1u64;
        let mut draw = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let (mut widened, mut split_up) = (0, 0);
        for _ in 0..3000 {
            let walk = drawn(&mut draw);
            let want = places(&walk, 1);
            let ordered = walk.clone().in_order();
            assert_eq!(places(&ordered, 1), want, "{walk:?}");
            // The offsets become addresses, as for a call.
            let size = 1 << draw(4);
            let address = |offset: i64| DevicePtr(offset as u64 * size as u64);
            let (from, to) = (ordered.from, ordered.to);
            let (units, unit) = Walk { from: 0, to: 0, ..ordered }.in_units(size, address(from), address(to));
            let by = (unit / size) as i64;
            let mut got = Vec::new();
            let mut parts = 0;
            split(&units, 1 + draw(300), &mut |part| {
                assert!(part.dims.len() <= MAX_RANK);
                let moved = places(part, by).into_iter();
                got.extend(moved.map(|(at, source)| (at + to, source.map(|source| source + from))));
                parts += 1;
                Ok(())
            })
            .unwrap();
            got.sort_unstable();
            assert_eq!(got, want, "{walk:?} in units of {unit}");
            widened += usize::from(by > 1);
            split_up += usize::from(parts > 1);
        }
        assert!(widened > 100 && split_up > 300, "{widened} were widened and {split_up} split");
    }

    #[test]
    fn constants_are_repeated_in_eight_bytes() {
        assert_eq!(halves(0xa5, 1), [0xa5a5_a5a5; 2]);
        assert_eq!(halves(0xbeef, 2), [0xbeef_beef; 2]);
        assert_eq!(halves(0xdead_beef, 4), [0xdead_beef; 2]);
        assert_eq!(halves(0x0123_4567_89ab_cdef, 8), [0x89ab_cdef, 0x0123_4567]);
    }
}
