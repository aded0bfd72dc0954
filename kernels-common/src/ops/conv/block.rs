//! Convolutions as block products (`docs/numerics/conv.md`, section 3): the weights of each phase
//! become a matrix with a row per output channel, and the input one with a column per output, which
//! is packed without being in memory. The matrix product's kernels multiply them.

use super::axis::Window;
use super::launch::{Conv, Fits, Parts, Problem, Ranges, Shape, Tensor, key};
use crate::args;
use crate::launch::index::{Dim, Divisor, IndexDims, count, push};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::conv::{CHAINS, FOLD, PACK, SPREAD, UNFOLD_KERNEL, WARPGROUP};
use crate::ops::matmul::block::{Form, PACK_LINES, PACK_THREADS, SEGMENT, pack_blocks, pack_lines, packed_bytes};
use crate::ops::matmul::{self, Operand};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// Threads of a block that moves elements. Must match ops/conv/block.cu.
const THREADS: usize = 128;
/// Columns that a block takes: from packed pixels, and to look for chains. Must match
/// ops/conv/block_pack.cu and ops/conv/block.cu.
const SPREAD_COLUMNS: usize = 32;
const CHAIN_COLUMNS: usize = 64;
/// Output channels of which a thread moves a result. Must match ops/conv/block.cu.
const FOLD_CHANNELS: usize = 8;
/// The most input channels with which a segment has several taps. Determines the result.
const FEW_CHANNELS: usize = 32;
/// Elements to which rows of results are rounded up, so that vectors of any dtype fit.
const ALIGNED: usize = 16;
/// Blocks that fit on a multiprocessor together, with what they take one after the other.
const BLOCKS_TOGETHER: usize = 8;

/// The layout of the kernels' `ConvUnfolded`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Unfolded {
    conv: Conv,
    phase: [u32; 3],
    unused: u32,
    filled: u64,
    row: u64,
    products: u64,
    columns: u64,
    of_phase: u64,
    packed: [u64; 2],
    items: u32,
    per_matrix: u32,
    column_blocks: Divisor,
    k_blocks: Divisor,
    matrices: Divisor,
    each: u32,
    pixel_segments: u32,
    pixels: u32,
    pixel_row: u32,
    pixel_plane: u32,
    pixel_image: u64,
    pixel_group: u64,
    pixel_first: u64,
}

const _: () = assert!(size_of::<Unfolded>() == 624);
const _: () = assert!(offset_of!(Unfolded, phase) == 464 && offset_of!(Unfolded, filled) == 480);
const _: () = assert!(offset_of!(Unfolded, column_blocks) == 544 && offset_of!(Unfolded, pixel_image) == 600);

/// How the products of a result are cut into rows of segments.
#[derive(Debug, Clone, Copy)]
struct Rows {
    row: usize,
    filled: usize,
}

impl Rows {
    fn of(channels: usize) -> Self {
        let row = channels * if channels > FEW_CHANNELS { 1 } else { SEGMENT / channels };
        Self { row, filled: row.next_multiple_of(SEGMENT) }
    }

    /// Returns the products of a result with what fills the rows.
    fn products(self, taps: usize, channels: usize) -> usize {
        taps.saturating_mul(channels).div_ceil(self.row).saturating_mul(self.filled)
    }
}

/// The matrices of columns of a group.
#[derive(Debug, Clone, Copy)]
struct Columns {
    /// One for each image, or one for all.
    matrices: usize,
    /// Columns of each.
    each: usize,
    /// The distance between neighbouring columns' results, if those of a matrix are all so in the
    /// result. Otherwise they are moved there.
    in_place: Option<usize>,
}

/// Returns the distance between neighbours of three dimensions, if they are one.
fn merged(sizes: [usize; 3], strides: [usize; 3]) -> Option<usize> {
    let mut dims = IndexDims::<1>::new();
    for (size, stride) in sizes.into_iter().zip(strides) {
        push(&mut dims, Dim { size, stride: [stride] });
    }
    match dims[..] {
        [] => Some(1),
        [dim] => Some(dim.stride[0]),
        _ => None,
    }
}

/// The pixels of all images and groups, packed once for all outputs that read them.
struct Pixels<R: GpuRuntime> {
    packed: GpuStorage<R>,
    /// Of an image of a group.
    bytes: usize,
}

/// Those that a part of a problem reads.
#[derive(Debug, Clone, Copy)]
struct SeenPixels {
    at: DevicePtr,
    bytes: usize,
    groups: usize,
    segments: usize,
    size: [usize; 3],
    /// The pixel at the position 0.
    first: usize,
}

impl<R: GpuRuntime> Pixels<R> {
    fn of(&self, problem: &Problem<'_, R>, ranges: &Ranges, part: &Phase<'_>) -> SeenPixels {
        let [groups, images] = [0, 1].map(|d| ranges[d].start);
        let size = problem.windows.map(|w| w.size);
        let first = part.parts.along.iter().zip(size).fold(0, |first, (part, size)| first * size + part.first_input);
        SeenPixels {
            at: self.packed.ptr().at(DType::U8, (images * problem.groups + groups) * self.bytes),
            bytes: self.bytes,
            groups: problem.groups,
            segments: problem.channels_in.div_ceil(SEGMENT),
            size,
            first,
        }
    }
}

impl SeenPixels {
    /// Returns the parameters of a launch that reads them.
    fn see(&self, parameters: Unfolded) -> Unfolded {
        Unfolded {
            pixel_segments: self.segments as u32,
            pixels: self.size.iter().product::<usize>() as u32,
            pixel_row: self.size[2] as u32,
            pixel_plane: (self.size[1] * self.size[2]) as u32,
            pixel_image: (self.groups * self.bytes) as u64,
            pixel_group: self.bytes as u64,
            pixel_first: self.first as u64,
            ..parameters
        }
    }
}

/// An operand that is not read.
const NOTHING: Operand = Operand { ptr: DevicePtr(0), row: 0, col: 0 };

/// Returns the distance between rows of results that are not in their places.
fn row_of(outputs: usize) -> usize {
    outputs.next_multiple_of(ALIGNED)
}

/// A part of a problem, in one phase.
#[derive(Clone, Copy)]
struct Phase<'p> {
    tensors: [Tensor; 3],
    bias: DevicePtr,
    parts: &'p Parts,
    groups: usize,
    outputs: usize,
    columns: Columns,
    phase: [usize; 3],
    /// Products of a result with what fills them.
    products: usize,
    /// Bytes of a packed matrix of columns, and of weights.
    packed: [usize; 2],
    /// Whether the product finds the columns in packed pixels.
    gathers: bool,
    /// Where the results go, unless that is their place: a row per output channel.
    folded: Option<DevicePtr>,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes the convolution as block products of so many digits.
    ///
    /// # Safety
    /// Same as [`portable`](Self::portable).
    pub unsafe fn block(&self, digits: usize) -> Result<()> {
        // SAFETY: the caller promises that the input is allocated.
        let pixels = unsafe { self.pack_pixels(digits)? };
        let rows = Rows::of(self.channels_in);
        let fits = |ranges: &Ranges, parts: &Parts| self.fits_block(digits, rows, ranges, parts);
        self.cut(&fits, &mut |ranges, parts| {
            let [groups, images] = [0, 1].map(|d| ranges[d].len());
            let outputs = parts.product(images, |p| p.per_phase);
            let together = Columns { matrices: 1, each: outputs, in_place: None };
            let gathers =
                pixels.is_some() && self.product(together, groups, 0, NOTHING, [0, 0]).is_on_warpgroups(digits);
            let columns = if gathers { together } else { self.columns(images, parts) };
            let products = |phase: [usize; 3]| {
                let taps = parts.along.iter().zip(phase).map(|(part, phase)| part.taps_of(self.transposed, phase));
                rows.products(taps.product(), self.channels_in)
            };
            let [d, h, w] = parts.along.map(|p| p.phases);
            let phases = (0..d * h * w).map(|n| [n / (h * w), n / w % h, n % w]);
            let of_phase = groups * self.channels_out * row_of(outputs);
            let in_place = !self.transposed && (gathers || columns.in_place.is_some());
            let folded = match in_place {
                true => None,
                false => Some(self.device.alloc(d * h * w * of_phase, self.dtype)?),
            };
            let (tensors, bias) = (self.tensors(ranges, parts), self.bias_of(ranges));
            let part = |number: usize, phase: [usize; 3]| {
                let products = products(phase);
                let packed = [columns.each, self.channels_out].map(|lines| packed_bytes(digits, lines, products));
                let folded = folded.as_ref().map(|folded| folded.ptr().at(self.dtype, number * of_phase));
                Phase { tensors, bias, parts, groups, outputs, columns, phase, products, packed, gathers, folded }
            };
            let least = phases.clone().map(products).min().unwrap_or(0);
            for (number, phase) in phases.enumerate() {
                let part = part(number, phase);
                if part.products > 0 {
                    // SAFETY: a part of the problem, for which the caller promises what `portable`
                    // requires.
                    unsafe { self.unfolded(digits, rows, ranges, &part, pixels.as_ref())? };
                }
            }
            match &folded {
                // SAFETY: the caller promises an allocated result, and `folded` is written earlier
                // in stream order, except for phases without products, which are not read.
                Some(from) => unsafe { self.fold(rows, &part(0, [0; 3]), least, from.ptr()) },
                None => Ok(()),
            }
        })
    }

    fn fits_block(&self, digits: usize, rows: Rows, ranges: &Ranges, parts: &Parts) -> Fits {
        let [groups, images] = [0, 1].map(|d| ranges[d].len());
        let outputs = parts.product(images, |p| p.per_phase);
        if sizes::CONV_OUTPUTS.is_exceeded(outputs) {
            return Fits::No;
        }
        let products = rows.products(parts.product(1, |p| p.taps), self.channels_in);
        let columns = self.columns(images, parts);
        let of = |factors: [usize; 3]| factors.into_iter().fold(groups, usize::saturating_mul);
        let segments = products / SEGMENT;
        let packed = of([packed_bytes(digits, columns.each, products), columns.matrices, 1]);
        let phases = parts.product(1, |p| p.phases);
        let folded = of([phases.saturating_mul(outputs), self.channels_out, self.dtype.size_in_bytes()]);
        let bytes = packed.saturating_add(if columns.in_place.is_some() { 0 } else { folded });
        let column_blocks = [columns.each.div_ceil(SPREAD_COLUMNS), columns.matrices, segments.max(self.channels_out)];
        let blocks = of(column_blocks).max(of([segments, self.channels_out, 1]));
        let exceeds = sizes::MATMUL_SCRATCH.is_exceeded(bytes) || sizes::CONV_BLOCKS.is_exceeded(blocks);
        if exceeds { Fits::No } else { Fits::Yes }
    }

    /// Returns how the outputs of a phase are columns. Results of an image are stored in place
    /// where they are neighbours, unless the image is so small that tiles would be mostly empty.
    fn columns(&self, images: usize, parts: &Parts) -> Columns {
        let each = parts.product(1, |p| p.per_phase);
        let fills = images == 1 || each.next_multiple_of(SEGMENT) <= each + each / 8;
        match merged(parts.along.map(|p| p.per_phase), self.dst.space) {
            Some(stride) if !self.transposed && fills => Columns { matrices: images, each, in_place: Some(stride) },
            _ => Columns { matrices: 1, each: images * each, in_place: None },
        }
    }

    /// Packs the pixels, if segments have one tap and outputs share pixels; not if they need too
    /// much memory.
    ///
    /// # Safety
    /// Every element of the input must be allocated.
    unsafe fn pack_pixels(&self, digits: usize) -> Result<Option<Pixels<R>>> {
        let all = |of: fn(&Window) -> usize| self.windows.iter().map(of).fold(1, usize::saturating_mul);
        let (pixels, taps) = (all(|w| w.size), all(|w| w.taps));
        let reads = all(|w| w.outputs).saturating_mul(taps);
        let shared = taps > 1 && (self.transposed || reads > pixels);
        if self.channels_in <= FEW_CHANNELS || !shared || pixels == 0 {
            return Ok(None);
        }
        let Some(stride) = merged(self.windows.map(|w| w.size), self.src.space) else { return Ok(None) };
        let mut batch = IndexDims::<1>::new();
        push(&mut batch, Dim { size: self.images, stride: [self.src.image] });
        push(&mut batch, Dim { size: self.groups, stride: [self.src.group] });
        let bytes = packed_bytes(digits, pixels, self.channels_in);
        let all = bytes.saturating_mul(count(&batch));
        let blocks = pack_blocks(pixels, self.channels_in).saturating_mul(count(&batch));
        if sizes::MATMUL_SCRATCH.is_exceeded(all)
            || sizes::CONV_BLOCKS.is_exceeded(blocks)
            || sizes::CONV_OUTPUTS.is_exceeded(pixels)
        {
            return Ok(None);
        }
        let packed = self.device.alloc(all, DType::U8)?;
        let from = Operand { ptr: self.src.ptr, row: stride, col: self.src.channel };
        // SAFETY: the caller promises that the input is allocated, and `packed` has space for the
        // matrix of each image and group.
        unsafe { pack_lines(self.device, self.dtype, from, [pixels, self.channels_in], bytes, &batch, packed.ptr())? };
        Ok(Some(Pixels { packed, bytes }))
    }

    /// Returns the parameters of a launch whose blocks take `per_block` columns and one of
    /// `k_blocks` parts along k.
    fn parameters(&self, rows: Rows, part: &Phase<'_>, per_block: usize, k_blocks: usize) -> Unfolded {
        let Phase { columns, .. } = *part;
        let column_blocks = columns.each.div_ceil(per_block);
        let shape = Shape::new(FOLD, 1, THREADS, THREADS);
        Unfolded {
            conv: self.conv(shape, part.tensors, part.parts, part.outputs, k_blocks),
            phase: part.phase.map(|p| p as u32),
            unused: 0,
            filled: rows.filled as u64,
            row: rows.row as u64,
            products: part.products as u64,
            columns: part.folded.map_or(0, |_| row_of(part.outputs) as u64),
            of_phase: 0,
            packed: part.packed.map(|bytes| bytes as u64),
            items: (column_blocks * k_blocks * columns.matrices * part.groups) as u32,
            per_matrix: columns.each as u32,
            column_blocks: Divisor::new(column_blocks),
            k_blocks: Divisor::new(k_blocks),
            matrices: Divisor::new(columns.matrices),
            each: 1,
            pixel_segments: 0,
            pixels: 0,
            pixel_row: 0,
            pixel_plane: 0,
            pixel_image: 0,
            pixel_group: 0,
            pixel_first: 0,
        }
    }

    /// Moves the results of all phases to their places; `least` are the products of the phase with
    /// the fewest.
    ///
    /// # Safety
    /// The result must be allocated, and `from` have the results of all phases with products.
    unsafe fn fold(&self, rows: Rows, part: &Phase<'_>, least: usize, from: DevicePtr) -> Result<()> {
        let each = part.parts.product(part.outputs, |p| p.phases);
        let all = Phase { columns: Columns { matrices: 1, each, in_place: None }, ..*part };
        let parameters = Unfolded {
            of_phase: (part.groups * self.channels_out * row_of(part.outputs)) as u64,
            products: least as u64,
            ..self.parameters(rows, &all, THREADS, self.channels_out.div_ceil(FOLD_CHANNELS))
        };
        let launch = Launch::linear(key(self.dtype, FOLD), parameters.items, THREADS as u32);
        // SAFETY: the caller promises what is required.
        unsafe { launch.on(self.device, args![from, part.bias, part.tensors[2].ptr, parameters]) }
    }

    /// Returns the product of a phase's packed matrices, of which no element is read. The results
    /// of groups and of images are `steps` apart.
    fn product(
        &self,
        columns: Columns,
        groups: usize,
        k: usize,
        c: Operand,
        [group, image]: [usize; 2],
    ) -> matmul::Problem<'_, R> {
        let mut batch = matmul::Batch::new();
        push(&mut batch, Dim { size: groups, stride: [1, columns.matrices, group, 0, 0] });
        push(&mut batch, Dim { size: columns.matrices, stride: [0, 1, image, 0, 0] });
        let (device, dtype, m, n) = (self.device, self.dtype, self.channels_out, columns.each);
        matmul::Problem { device, dtype, m, n, k, a: NOTHING, b: NOTHING, c, batch, zeros: None, scales: None }
    }

    /// Returns the weights of a phase as matrices, a row per output channel.
    ///
    /// # Safety
    /// Every element of the kernel must be allocated.
    unsafe fn weights(&self, rows: Rows, part: &Phase<'_>) -> Result<GpuStorage<R>> {
        let lines = part.groups * self.channels_out;
        let weights = self.device.alloc(lines * part.products, self.dtype)?;
        let k_blocks = part.products.div_ceil(THREADS);
        let launch = Launch::linear(key(self.dtype, UNFOLD_KERNEL), (lines * k_blocks) as u32, THREADS as u32);
        let parameters = self.parameters(rows, part, THREADS, k_blocks);
        // SAFETY: the caller promises an allocated kernel, and `weights` has space for every row.
        unsafe { launch.on(self.device, args![part.tensors[1].ptr, weights.ptr(), parameters])? };
        Ok(weights)
    }

    /// Returns how much of its work a block takes one after the other, so that blocks fill the
    /// device once.
    fn times(&self, work: usize) -> usize {
        let resident = self.device.runtime().limits().multiprocessors as usize;
        work.div_ceil(sizes::CONV_ENOUGH.limit_or(work, BLOCKS_TOGETHER * resident)).max(1)
    }

    /// Computes a phase by products of packed matrices.
    ///
    /// # Safety
    /// Same as [`portable`](Self::portable).
    unsafe fn unfolded(
        &self,
        digits: usize,
        rows: Rows,
        ranges: &Ranges,
        part: &Phase<'_>,
        pixels: Option<&Pixels<R>>,
    ) -> Result<()> {
        let ([src, _, dst], Phase { groups, columns, products, .. }) = (part.tensors, *part);
        let [of_columns, of_kernel] = part.packed;
        let (m, segments) = (self.channels_out, products / SEGMENT);
        // SAFETY: the caller promises what is required.
        let weights = unsafe { self.weights(rows, part)? };
        let bytes = |each: usize, matrices: usize| self.device.alloc(each.saturating_mul(matrices), DType::U8);
        let packed_kernel = bytes(of_kernel, groups)?;
        let mut of_groups = IndexDims::<1>::new();
        push(&mut of_groups, Dim { size: groups, stride: [m * products] });
        let rows_of = Operand { ptr: weights.ptr(), row: products, col: 1 };
        // SAFETY: `weights` is written earlier in stream order, and its packed form has space for
        // all matrices.
        unsafe {
            let to = packed_kernel.ptr();
            pack_lines(self.device, self.dtype, rows_of, [m, products], of_kernel, &of_groups, to)?;
        }
        let left = Form { at: packed_kernel.ptr(), bytes: of_kernel, elements: 1 };
        let pixels = pixels.map(|pixels| pixels.of(self, ranges, part));
        // Rows of results, or results in their places, and how far groups and images are apart.
        let (to, steps) = match part.folded {
            Some(ptr) => (Operand { ptr, row: row_of(part.outputs), col: 1 }, [m * row_of(part.outputs), 0]),
            None => {
                let col = columns.in_place.unwrap_or(1);
                (Operand { ptr: dst.ptr, row: dst.channel, col }, [dst.group, dst.image])
            }
        };
        let product = self.product(columns, groups, products, to, steps);
        let packed;
        // SAFETY: the caller promises valid tensors; operands are packed earlier in stream order,
        // to memory with space for all matrices, which returns to the pool afterwards.
        let (at, columns) = unsafe {
            match pixels {
                Some(pixels) if part.gathers => {
                    let (matrices, launch) = product.on_warpgroups(digits, left, key(self.dtype, WARPGROUP));
                    let unfolded = pixels.see(self.parameters(rows, part, THREADS, 1));
                    launch.on(self.device, args![to.ptr, part.bias, left.at, pixels.at, matrices, unfolded])?;
                    (pixels.at, Some(pixels))
                }
                _ => {
                    packed = bytes(of_columns, groups * columns.matrices)?;
                    match pixels {
                        Some(pixels) => self.spread(rows, part, pixels, packed.ptr())?,
                        None => {
                            let parameters = self.parameters(rows, part, PACK_LINES, segments);
                            let launch = Launch::linear(key(self.dtype, PACK), parameters.items, PACK_THREADS);
                            launch.on(self.device, args![src.ptr, packed.ptr(), parameters])?;
                        }
                    }
                    let right = Form { at: packed.ptr(), bytes: of_columns, elements: 1 };
                    product.block_of_packed(digits, [left, right], part.bias)?;
                    (right.at, None)
                }
            }
        };
        let chains = self.parameters(rows, part, CHAIN_COLUMNS, 1);
        let chains = columns.map_or(chains, |pixels| pixels.see(chains));
        let at_once = chains.items.min(4 * self.device.runtime().limits().multiprocessors);
        let launch = Launch::linear(key(self.dtype, CHAINS), at_once, THREADS as u32);
        // SAFETY: same as above.
        unsafe { launch.on(self.device, args![src.ptr, weights.ptr(), part.bias, to.ptr, left.at, at, chains]) }
    }

    /// Packs columns from packed pixels.
    ///
    /// # Safety
    /// The pixels must be packed, and `to` must have space for all matrices of columns.
    unsafe fn spread(&self, rows: Rows, part: &Phase<'_>, pixels: SeenPixels, to: DevicePtr) -> Result<()> {
        let segments = part.products / SEGMENT;
        let blocks = part.columns.each.div_ceil(SPREAD_COLUMNS) * part.columns.matrices * part.groups;
        let each = self.times(blocks * segments).min(segments);
        let parameters = Unfolded {
            each: each as u32,
            ..pixels.see(self.parameters(rows, part, SPREAD_COLUMNS, segments.div_ceil(each)))
        };
        let launch = Launch::linear(key(self.dtype, SPREAD), parameters.items, PACK_THREADS);
        // SAFETY: the caller promises what is required.
        unsafe { launch.on(self.device, args![pixels.at, to, parameters]) }
    }
}
