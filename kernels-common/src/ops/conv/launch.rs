//! The portable convolution: splits a problem into parts that fit one launch, and picks the kernel
//! for each part.

use super::axis::{Axis, Part, Rows, Window};
use crate::args;
use crate::device::GpuDevice;
use crate::key::{Family, Key};
use crate::launch::index::Divisor;
use crate::launch::{Launch, sizes};
use crate::manifest::instances::conv::{
    SEGMENTS, SLIDING_3, SLIDING_5, SLIDING_7, THIN, THIN_4, THIN_4_PLANES, THIN_PLANES, TILE, TILE_UNIT, UNIT,
};
use crate::ops::matmul::unit;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{DType, Error, ErrorKind, Result};
use std::mem::offset_of;
use std::ops::Range;

/// Products per segment.
const SEGMENT: usize = 256;

pub(super) fn key(dtype: DType, variant: u8) -> Key {
    Key::new(Family::Conv, 0, &[dtype], variant)
}

/// A tensor's first element, and the strides of images (if it has any), groups, the channels of a
/// group, d, h and w.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tensor {
    pub ptr: DevicePtr,
    pub image: usize,
    pub group: usize,
    pub channel: usize,
    pub space: [usize; 3],
}

impl Tensor {
    fn at(&self, dtype: DType, elements: usize) -> Self {
        Self { ptr: self.ptr.at(dtype, elements), ..*self }
    }
}

/// A convolution in three spatial dimensions whose result is not empty. For others, the first
/// spatial dimensions have size 1.
pub(super) struct Problem<'a, R: GpuRuntime> {
    pub device: &'a GpuDevice<R>,
    pub dtype: DType,
    pub transposed: bool,
    pub images: usize,
    pub groups: usize,
    /// Per group; at least 1.
    pub channels_in: usize,
    pub channels_out: usize,
    pub windows: [Window; 3],
    pub src: Tensor,
    /// Its channels are the output channels, its images the input channels.
    pub kernel: Tensor,
    pub dst: Tensor,
    /// An element for each output channel of all groups, one after the other.
    pub bias: Option<DevicePtr>,
}

/// The layout of the kernels' `Conv`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Conv {
    axis: [Axis; 3],
    transposed: u32,
    channels_in: u32,
    channels_out: u32,
    outputs: u32,
    channel_tiles: Divisor,
    output_tiles: Divisor,
    segments: Divisor,
    runs: Divisor,
    row_groups: Divisor,
    kernel_vectors: u32,
    dst_vectors: u32,
    along_k: u32,
    row_shift: u32,
    row_room: u32,
    row_guards: u32,
    src: [u64; 6],
    kernel: [u64; 6],
    dst: [u64; 6],
    src_tap: [u64; 3],
    kernel_tap: [u64; 3],
}

const _: () = assert!(size_of::<Conv>() == 464);
const _: () = assert!(offset_of!(Conv, transposed) == 168 && offset_of!(Conv, channel_tiles) == 184);
const _: () = assert!(offset_of!(Conv, kernel_vectors) == 244 && offset_of!(Conv, src) == 272);

/// How a kernel divides the results among blocks, and their dynamic shared memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    variant: u8,
    channels: usize,
    outputs: usize,
    threads: usize,
    /// How many neighbouring outputs along w are computed together, beginning with the first one of
    /// a row, and how many neighbouring rows of them along h.
    run: usize,
    rows: usize,
    shared: u32,
}

impl Shape {
    pub const fn new(variant: u8, channels: usize, outputs: usize, threads: usize) -> Self {
        Self { variant, channels, outputs, threads, run: 1, rows: 1, shared: 0 }
    }

    /// The number of blocks along the outputs.
    fn output_tiles(&self, outputs: usize, parts: &Parts) -> usize {
        let [_, rows, row] = parts.along.map(|p| p.per_phase);
        let tiles = [outputs / rows / row, rows.div_ceil(self.rows), row.div_ceil(self.run)];
        tiles.into_iter().fold(1, usize::saturating_mul).div_ceil(self.outputs / self.rows / self.run)
    }
}

const TILES: Shape = Shape::new(TILE, 64, 128, 256);
const TILES_ON_UNITS: Shape = Shape { variant: TILE_UNIT, ..TILES };
/// Two stages of tiles of weights, with 64 rows of 20, and of the input, with 16 rows of 68; and
/// the sums. Must match ops/conv/unit.cu.
const UNITS: Shape = Shape { shared: (2 * (64 * 20 + 16 * 68) + 64 * 64) * 8, ..Shape::new(UNIT, 64, 64, 128) };
/// Must match `CONV_RUN` of ops/conv/conv.cuh.
const RUN: usize = 4;
const STRIPS: Shape = Shape { run: RUN, ..Shape::new(THIN, 1, 1024, 128) };
const STRIPS_4: Shape = Shape { run: RUN, ..Shape::new(THIN_4, 4, 512, 128) };
const STRIPS_OF_PLANES: Shape = Shape { variant: THIN_PLANES, ..STRIPS };
const STRIPS_4_OF_PLANES: Shape = Shape { variant: THIN_4_PLANES, ..STRIPS_4 };
/// Of as many outputs along h, in the kernels for 3, 5 and 7 taps along h and w. Must match
/// `CONV_ROWS` of ops/conv/sliding.cu.
const SLIDING: Shape = Shape { run: RUN, rows: 8, ..Shape::new(SLIDING_3, 1, 4096, 128) };
const SUMS: Shape = Shape::new(SEGMENTS, 1, 128, 128);

/// Ranges of groups, images, and outputs along d, h and w.
pub(super) type Ranges = [Range<usize>; 5];

/// A part of the outputs along d, h and w, in the kernels' form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub along: [Part; 3],
    rows: Rows,
}

impl Parts {
    fn of(windows: &[Window; 3], ranges: &Ranges) -> Result<Self> {
        let part = |d: usize| windows[d].part(&ranges[d + 2]);
        let along = [part(0)?, part(1)?, part(2)?];
        let rows = Rows::of(&along[0], &along[1]).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "a kernel of {} x {} taps spans too many positions of its first two dimensions for the GPU kernels, 2^30 in both \
                     together; the CPU backend supports it",
                    windows[0].taps, windows[1].taps
                ),
            )
        })?;
        Ok(Self { along, rows })
    }

    /// The product of what `of` returns for each dimension, and of `first`.
    pub fn product(&self, first: usize, of: impl Fn(&Part) -> usize) -> usize {
        self.along.iter().map(of).fold(first, usize::saturating_mul)
    }
}

/// Launches a part of a problem.
type LaunchPart<'l> = dyn FnMut(&Ranges, &Parts) -> Result<()> + 'l;

/// Whether a part of a problem fits one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fits {
    Yes,
    No,
    /// It does if it has fewer images.
    WithFewerImages,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// # Safety
    /// Every element of the three tensors and of the bias must be allocated, and the result must
    /// overlap neither itself nor its inputs.
    pub unsafe fn portable(&self) -> Result<()> {
        self.cut(&|ranges, parts| self.fits(ranges, parts), &mut |ranges, parts| {
            // SAFETY: a part of the problem, for which the caller promises what is required.
            unsafe { self.launch(ranges, parts) }
        })
    }

    /// Whether a part of the problem fits one launch.
    fn fits(&self, ranges: &Ranges, parts: &Parts) -> Fits {
        let [groups, images] = [0, 1].map(|d| ranges[d].len());
        let (outputs, units) = (parts.product(images, |p| p.per_phase), parts.product(groups, |p| p.phases));
        let Some(shape) = self.shape(images, parts) else { return Fits::WithFewerImages };
        let blocks = self.channels_out.div_ceil(shape.channels).saturating_mul(shape.output_tiles(outputs, parts));
        match sizes::CONV_OUTPUTS.is_exceeded(outputs) || sizes::CONV_BLOCKS.is_exceeded(blocks.saturating_mul(units)) {
            true => Fits::No,
            false => Fits::Yes,
        }
    }

    /// Launches the problem in parts that fit, or that cannot be smaller.
    ///
    /// # Errors
    /// The error of a launch, or `InvalidArgument` if one output sees inputs that are too far
    /// apart for the kernels.
    pub fn cut(&self, fits: &dyn Fn(&Ranges, &Parts) -> Fits, launch: &mut LaunchPart<'_>) -> Result<()> {
        let [d, h, w] = self.windows.map(|w| 0..w.outputs);
        self.cut_ranges([0..self.groups, 0..self.images, d, h, w], fits, launch)
    }

    fn cut_ranges(
        &self,
        ranges: Ranges,
        fits: &dyn Fn(&Ranges, &Parts) -> Fits,
        launch: &mut LaunchPart<'_>,
    ) -> Result<()> {
        let [groups, images, d, h, w] = [0, 1, 2, 3, 4].map(|d| ranges[d].len());
        let parts = Parts::of(&self.windows, &ranges);
        let fit = match &parts {
            Ok(parts) => fits(&ranges, parts),
            Err(_) => Fits::No,
        };
        let largest = [(2, d), (3, h), (4, w), (1, images), (0, groups)].into_iter().max_by_key(|&(_, size)| size);
        let largest = if fit == Fits::WithFewerImages { Some((1, images)) } else { largest };
        match largest {
            Some((d, size)) if size > 1 && fit != Fits::Yes => {
                let middle = ranges[d].start + size / 2;
                for half in [ranges[d].start..middle, middle..ranges[d].end] {
                    let mut part = ranges.clone();
                    part[d] = half;
                    self.cut_ranges(part, fits, launch)?;
                }
                Ok(())
            }
            _ => launch(&ranges, &parts?),
        }
    }

    /// Chooses tiles if there are enough channels and every output's first position fits 31 bits.
    /// Returns `None` if positions only fit with fewer images.
    fn shape(&self, images: usize, parts: &Parts) -> Option<Shape> {
        let reaches = [0, 1, 2].map(|d| (parts.along[d].reach, self.src.space[d]));
        let [d, h, w] = reaches.map(|(n, s)| n.saturating_mul(s));
        let far = [(images - 1).saturating_mul(self.src.image), d, h, w];
        let near = |far: &[usize]| !sizes::CONV_FAR.is_reached(far.iter().copied().fold(0, usize::saturating_add));
        let are_many = sizes::CONV_TILE_FROM.is_reached(self.channels_out);
        match self.channels_out {
            _ if are_many && near(&far) => Some(self.tiles()),
            _ if are_many && near(&far[1..]) => None,
            _ => Some(self.strips(images, parts)),
        }
    }

    /// Chooses among the kernels of strips.
    fn strips(&self, images: usize, parts: &Parts) -> Shape {
        if let Some(shape) = self.sliding(images, parts) {
            return shape;
        }
        match (self.channels_out, parts.along[0].is_one_plane()) {
            (1, true) => STRIPS,
            (1, false) => STRIPS_OF_PLANES,
            (_, true) => STRIPS_4,
            (_, false) => STRIPS_4_OF_PLANES,
        }
    }

    /// Chooses among the kernels whose threads go down neighbouring rows, if one is for these taps
    /// and there are enough outputs for its few threads.
    fn sliding(&self, images: usize, parts: &Parts) -> Option<Shape> {
        let [d, h, w] = &parts.along;
        let taps = self.windows[2].taps;
        let variant = match taps {
            3 => SLIDING_3,
            5 => SLIDING_5,
            7 => SLIDING_7,
            _ => return None,
        };
        let suits = !self.transposed
            && (self.channels_in, self.channels_out, self.src.space[2]) == (1, 1, 1)
            && d.is_one_plane()
            && h.slides(taps)
            && w.slides(taps);
        let (of_group, limits) = (parts.product(images, |p| p.per_phase), self.device.runtime().limits());
        let all_busy = limits.multiprocessors as usize * SLIDING.outputs;
        let are_enough = || {
            sizes::CONV_SLIDES.is_reached(of_group)
                && sizes::CONV_SLIDES_ALL.is_reached_or(of_group.saturating_mul(self.groups), all_busy)
        };
        (suits && are_enough()).then_some(Shape { variant, ..SLIDING })
    }

    /// Chooses among the kernels of tiles: on NVIDIA's units, on AMD's, or without.
    fn tiles(&self) -> Shape {
        let unit = key(self.dtype, UNIT);
        if self.dtype == DType::F64 && unit::has_unit_code(self.device, unit, &unit::FAST) {
            UNITS
        } else if unit::is_proven(self.device, self.dtype) {
            TILES_ON_UNITS
        } else {
            TILES
        }
    }

    /// # Safety
    /// Same as [`portable`](Self::portable).
    unsafe fn launch(&self, ranges: &Ranges, parts: &Parts) -> Result<()> {
        let [groups, images] = [0, 1].map(|d| ranges[d].len());
        let (outputs, units) = (parts.product(images, |p| p.per_phase), parts.product(groups, |p| p.phases));
        let shape = self.shape(images, parts).unwrap_or_else(|| self.strips(images, parts));
        let tensors = self.tensors(ranges, parts);
        let ([src, kernel, dst], bias) = (tensors, self.bias_of(ranges));

        let blocks = |s: Shape| self.channels_out.div_ceil(s.channels) * s.output_tiles(outputs, parts) * units;
        // If the results alone do not fill the GPU, each segment of k gets its own block.
        let limits = self.device.runtime().limits();
        let enough = match shape.variant {
            TILE | TILE_UNIT | UNIT => limits.multiprocessors as usize,
            _ => (limits.multiprocessors * limits.max_threads_per_multiprocessor) as usize / shape.threads,
        };
        let all = parts.product(self.channels_in, |p| p.taps).div_ceil(SEGMENT).max(1);
        let are_few = !sizes::CONV_ENOUGH.is_reached_or(blocks(shape), enough);
        let apart = if are_few && !sizes::CONV_APART.is_exceeded(blocks(shape) * all) { all } else { 1 };

        let conv = self.conv(shape, tensors, parts, outputs, apart);
        let size = if self.dtype == DType::F64 { 8 } else { 4 };
        let values = units * apart * self.channels_out * outputs * size;
        let partial = (apart > 1).then(|| self.device.alloc(values, DType::U8)).transpose()?;
        let to = partial.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
        let launch = |s: Shape, blocks: usize| {
            let mut launch = Launch::linear(key(self.dtype, s.variant), blocks as u32, s.threads as u32);
            launch.config.shared_bytes = s.shared;
            launch
        };
        let (first, second) = (launch(shape, blocks(shape) * apart), launch(SUMS, blocks(SUMS)));
        // SAFETY: the caller promises valid tensors, and `partial` has space for the value of every
        // segment of every result.
        unsafe { first.on(self.device, args![src.ptr, kernel.ptr, bias, dst.ptr, to, conv])? };
        if partial.is_none() {
            return Ok(());
        }
        let sums = self.conv(SUMS, tensors, parts, outputs, 1);
        // SAFETY: same as above; all values are written earlier in stream order, and the scratch
        // memory returns to the pool afterwards.
        unsafe { second.on(self.device, args![bias, dst.ptr, to, sums, apart as u32]) }
    }

    /// Returns the input, the kernel and the result as a part sees them.
    pub fn tensors(&self, ranges: &Ranges, parts: &Parts) -> [Tensor; 3] {
        let [group, image, d, h, w] = [0, 1, 2, 3, 4].map(|d| ranges[d].start);
        let from = |t: &Tensor, image: usize, at: [usize; 3]| {
            let space: usize = at.iter().zip(t.space).map(|(n, stride)| n * stride).sum();
            t.at(self.dtype, group * t.group + image * t.image + space)
        };
        let src = from(&self.src, image, parts.along.map(|p| p.first_input));
        [src, from(&self.kernel, 0, [0; 3]), from(&self.dst, image, [d, h, w])]
    }

    /// Returns the bias of a part's first channel, null if there is none.
    pub fn bias_of(&self, ranges: &Ranges) -> DevicePtr {
        self.bias.map_or(DevicePtr(0), |bias| bias.at(self.dtype, ranges[0].start * self.channels_out))
    }

    /// Returns the parameters of a launch.
    pub fn conv(
        &self,
        shape: Shape,
        [src, kernel, dst]: [Tensor; 3],
        parts: &Parts,
        outputs: usize,
        apart: usize,
    ) -> Conv {
        let (along, rows) = (&parts.along, parts.rows);
        // Four elements are moved at once, in pieces of at most 16 bytes.
        let bytes = (4 * self.dtype.size_in_bytes()).min(16) as u64;
        let fits =
            |ptr: DevicePtr, strides: &[usize]| ptr.0.is_multiple_of(bytes) && strides.iter().all(|s| s % 4 == 0);
        let [d, h, w] = self.windows.map(|w| w.taps);
        let strides_k = [kernel.image, kernel.space[0], kernel.space[1], kernel.space[2]];
        // Contiguous along k; the strides of dimensions of size 1 do not matter.
        let runs = [(self.channels_in, d * h * w), (d, h * w), (h, w), (w, 1)];
        let contiguous = runs.iter().zip(strides_k).all(|(&(size, step), stride)| size == 1 || stride == step);
        let one_phase = !self.transposed;
        let innermost = runs.iter().zip(strides_k).rev().find(|((size, _), _)| *size > 1);
        let strides = |first: [usize; 3], t: &Tensor| {
            let [a, b, c, d, h, w] = [first[0], first[1], first[2], t.space[0], t.space[1], t.space[2]];
            [a, b, c, d, h, w].map(|s| s as u64)
        };
        let steps = |t: &Tensor, of: fn(&Axis, bool) -> i32| {
            [0, 1, 2].map(|d| i64::from(of(&along[d].axis, self.transposed)).wrapping_mul(t.space[d] as i64) as u64)
        };
        Conv {
            axis: along.map(|p| p.axis),
            transposed: u32::from(self.transposed),
            channels_in: self.channels_in as u32,
            channels_out: self.channels_out as u32,
            outputs: outputs as u32,
            channel_tiles: Divisor::new(self.channels_out.div_ceil(shape.channels)),
            output_tiles: Divisor::new(shape.output_tiles(outputs, parts)),
            segments: Divisor::new(apart),
            runs: Divisor::new(along[2].per_phase.div_ceil(shape.run)),
            row_groups: Divisor::new(along[1].per_phase.div_ceil(shape.rows)),
            kernel_vectors: u32::from(one_phase && contiguous && fits(kernel.ptr, &[kernel.group, kernel.channel])),
            dst_vectors: u32::from(
                one_phase
                    && dst.space[2] == 1
                    && fits(
                        dst.ptr,
                        &[along[2].per_phase, dst.image, dst.group, dst.channel, dst.space[0], dst.space[1]],
                    ),
            ),
            along_k: u32::from(innermost.is_none_or(|(_, stride)| stride <= kernel.channel)),
            row_shift: rows.shift,
            row_room: rows.room,
            row_guards: rows.guards,
            src: strides([src.image, src.group, src.channel], &src),
            kernel: strides([kernel.group, kernel.channel, kernel.image], &kernel),
            dst: strides([dst.image, dst.group, dst.channel], &dst),
            src_tap: steps(&src, Axis::per_tap),
            kernel_tap: steps(&kernel, Axis::tap_step),
        }
    }
}
