//! Batched matrix products.

use crate::args;
use crate::device::GpuDevice;
use crate::key::{Family, Key};
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::ops::stored;
use crate::runtime::{DevicePtr, Gemm, GpuRuntime, Matrix, Vendor};
use crate::storage::GpuStorage;
use isobit_hal::{
    BackendDevice, BackendStorage, DType, Layout, Matmul, Numerics, Op, Result, Scalar, ScaledMatmul, Src,
};

use crate::manifest::instances::matmul::{
    BLOCK, BLOCK_GEMV, BLOCK_LARGE, BLOCK_SUM, BLOCK_THIN, BLOCK_WARPGROUP, BYTES_AFTER, BYTES_PACK, BYTES_THIN,
    BYTES_TILE, PACK, SCALED_SEGMENTS, SCALED_THIN, SCALED_THIN_4, SCALED_TILE, SCALED_TILE_UNIT, SEGMENTS, THIN,
    THIN_4, TILE, TILE_UNIT, UNIT, carrier,
};
use std::mem::offset_of;

pub(super) mod block;
mod bytes;
mod bytes_tile;
mod scaled;
pub(crate) use block::pack_matrix;
use bytes::ZeroPoints;
use scaled::Scales;
pub(crate) mod self_test;
pub(super) mod unit;

/// Elements of k per segment.
const SEGMENT: usize = 256;
/// Results per tile along m and n, and columns per block of the thin kernel.
const TILE_M: usize = 128;
const TILE_N: usize = 64;
const TILE_THREADS: usize = 256;
const THIN_COLUMNS: usize = 128;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    if let Op::MatmulInteger(_) = op {
        let bytes = [BYTES_PACK, BYTES_TILE, BYTES_AFTER, BYTES_THIN].map(|variant| key(DType::U8, variant));
        return bytes.into_iter().chain([key(DType::I32, SEGMENTS)]).collect();
    }
    if let Op::ScaledMatmul(_) = op {
        let scaled = [SCALED_TILE, SCALED_TILE_UNIT, SCALED_THIN, SCALED_THIN_4, SCALED_SEGMENTS];
        return scaled.map(|variant| key(dtypes[dtypes.len() - 1], variant)).into();
    }
    let units: &[u8] = match Matmul::block_digits(dtypes[0]) {
        _ if dtypes[0].is_int() => &[],
        None => &[TILE_UNIT, UNIT],
        Some(_) => &[TILE_UNIT, PACK, BLOCK, BLOCK_LARGE, BLOCK_WARPGROUP, BLOCK_THIN, BLOCK_GEMV, BLOCK_SUM],
    };
    [TILE, THIN, THIN_4, SEGMENTS].iter().chain(units).map(|&variant| key(dtypes[0], variant)).collect()
}

fn key(dtype: DType, variant: u8) -> Key {
    Key::new(Family::Matmul, 0, &[carrier(dtype)], variant)
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    // Products of integers have the same bits with any.
    let numerics = match op.numerics() {
        _ if dst.dtype().is_int() => Numerics::Portable,
        numerics => numerics.unwrap_or_else(|| dst.device().default_numerics()),
    };
    let (lhs, rhs) = (stored(srcs, 0), stored(srcs, 1));
    let scales = match op {
        Op::ScaledMatmul(_) => Some(Scales::of(srcs, dst_layout)?),
        _ => None,
    };
    let copies = match &scales {
        Some(scales) if numerics == Numerics::Vendor && scales.are_of_vendor(dst_layout) => {
            [scaled::along_k(lhs, 0)?, scaled::along_k(rhs, 1)?]
        }
        _ => [None, None],
    };
    let lhs = copies[0].as_ref().map_or(lhs, |(storage, layout)| (storage, layout));
    let rhs = copies[1].as_ref().map_or(rhs, |(storage, layout)| (storage, layout));
    let [lhs_layout, rhs_layout] = Matmul::broadcast(lhs.1, rhs.1)?;
    let (lhs, rhs) = ((lhs.0, &lhs_layout), (rhs.0, &rhs_layout));
    let dtype = dst.dtype();
    let rank = dst_layout.dims().len();
    let (m, n, k) = (dst_layout.dims()[rank - 2], dst_layout.dims()[rank - 1], lhs.1.dims()[rank - 1]);
    if k == 0 {
        return dst.const_set(Scalar::zero(dtype), dst_layout);
    }
    let operand = |storage: &GpuStorage<R>, layout: &Layout| Operand {
        ptr: storage.ptr().at(storage.dtype(), layout.start_offset()),
        row: layout.stride()[rank - 2],
        col: layout.stride()[rank - 1],
    };
    let mut batch = Batch::new();
    for (d, &size) in dst_layout.dims()[..rank - 2].iter().enumerate() {
        let [of_a, of_b] = scales.as_ref().map_or([0; 2], |scales| scales.batch_strides(d));
        let [a, b, c] = [lhs.1, rhs.1, dst_layout].map(|l| l.stride()[d]);
        push(&mut batch, Dim { size, stride: [a, b, c, of_a, of_b] });
    }
    let device = dst.device();
    let problem = Problem {
        device,
        dtype,
        m,
        n,
        k,
        a: operand(lhs.0, lhs.1),
        b: operand(rhs.0, rhs.1),
        c: operand(dst, dst_layout),
        batch,
        zeros: match op {
            Op::MatmulInteger(op) => Some(ZeroPoints::of(*op, srcs)),
            _ => None,
        },
        scales: scales.map(|scales| scales.sides),
    };
    // SAFETY: the layouts were validated against their buffers. The destination is borrowed
    // mutably, so it is not one of the inputs, and its layout names no element twice.
    unsafe {
        if numerics == Numerics::Vendor && dtype != DType::F8E4M3 && problem.vendor(op)? {
            return Ok(());
        }
        if problem.zeros.is_some() && sizes::MATMUL_BYTES_TILE_FROM.is_reached(m.min(n)) {
            return problem.bytes_in_tiles(op);
        }
        match Matmul::block_digits(dtype).filter(|_| numerics == Numerics::Block && op.has_blocks()) {
            Some(digits) => {
                let packed = [block::Form::of(srcs[0], digits)?, block::Form::of(srcs[1], digits)?];
                problem.block(digits, packed, DevicePtr(0))
            }
            None => problem.portable(),
        }
    }
}

/// A matrix: the address of its first element, and its row and column strides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    pub ptr: DevicePtr,
    pub row: usize,
    pub col: usize,
}

impl Operand {
    fn transposed(self) -> Self {
        Self { row: self.col, col: self.row, ..self }
    }

    fn offset(self, dtype: DType, elements: usize) -> Self {
        Self { ptr: self.ptr.at(dtype, elements), ..self }
    }
}

/// The dimensions of a batch, with strides of a, b and c, and of the scales of a and b.
pub(super) type Batch = IndexDims<5>;

/// `c = a b` with no empty dimension, over a batch.
pub(super) struct Problem<'a, R: GpuRuntime> {
    pub device: &'a GpuDevice<R>,
    pub dtype: DType,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Operand,
    pub b: Operand,
    pub c: Operand,
    pub batch: Batch,
    /// Those of a product of bytes, whose results are i32.
    pub zeros: Option<ZeroPoints>,
    /// Those of a product of f8. All operands have one dtype if there are neither these nor zero
    /// points.
    pub scales: Option<[Scales; 2]>,
}

/// Launches a part of a problem, whose elements of a and b begin so many after those of the whole.
type LaunchPart<'l, R> = dyn FnMut(Problem<'_, R>, [usize; 2]) -> Result<()> + 'l;

/// A kernel, the results of its blocks along m and n, their threads, and their dynamic shared
/// memory.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    variant: u8,
    m: usize,
    n: usize,
    threads: usize,
    shared: u32,
}

/// The layout of the kernels' `Product`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Product {
    m: u32,
    n: u32,
    segments: Divisor,
    k: u64,
    a: [u64; 2],
    b: [u64; 2],
    c: [u64; 2],
    a_vectors: u32,
    b_vectors: u32,
    c_vectors: u32,
    m_tiles: Divisor,
    n_tiles: Divisor,
    batch: Index<3>,
}

const _: () = assert!(size_of::<Product>() == 416);
const _: () = assert!(offset_of!(Product, segments) == 8 && offset_of!(Product, k) == 24);
const _: () = assert!(offset_of!(Product, a_vectors) == 80 && offset_of!(Product, m_tiles) == 92);
const _: () = assert!(offset_of!(Product, batch) == 120);

/// The matrices that a batch does not repeat for an operand.
struct OwnMatrices {
    dims: IndexDims<1>,
    count: usize,
    /// How many of them a step along each dimension of the batch passes.
    steps: Vec<usize>,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Returns the matrices that operand `side` (0 or 1) has of its own.
    fn own_matrices(&self, side: usize) -> OwnMatrices {
        let own = self.batch.iter().map(|d| Dim { size: d.size, stride: [d.stride[side]] });
        let (mut count, mut steps) = (1, vec![0; self.batch.len()]);
        for (step, d) in steps.iter_mut().zip(&self.batch).rev().filter(|(_, d)| d.stride[side] != 0) {
            *step = count;
            count *= d.size;
        }
        OwnMatrices { dims: own.filter(|d| d.stride[0] != 0).collect(), count, steps }
    }

    /// Runs the product in the vendor's library; returns whether the library took it. One call
    /// covers one batch dimension; if there are several, the longest.
    ///
    /// # Safety
    /// Every element must be allocated, and `c` must overlap neither itself nor its inputs.
    unsafe fn vendor(&self, op: &Op) -> Result<bool> {
        let mut outer = self.batch.clone();
        // A call with scales has one matrix.
        let longest = (0..outer.len()).max_by_key(|&d| outer[d].size).filter(|_| self.scales.is_none());
        let inner = longest.map_or(Dim { size: 1, stride: [0; 5] }, |d| outer.remove(d));
        let mut took = true;
        split(&outer, 1, [0; 5], &mut |_, [a, b, c, of_a, of_b]| {
            let matrix = |o: Operand, dtype, offset, batch_stride| Matrix {
                ptr: o.ptr.at(dtype, offset),
                row_stride: o.row,
                col_stride: o.col,
                batch_stride,
            };
            let scaled =
                self.scales.map(|scales| scaled::of_vendor(scales, [of_a, of_b], [self.m, self.n], self.dtype));
            let scaled = match scaled.transpose() {
                Ok(scaled) => scaled,
                Err(why) => {
                    took = took && self.device.vendor_took(op, Vendor::Declined(why.into()));
                    return Ok(());
                }
            };
            let factors = match &scaled {
                Some(scaled) => scaled.dtypes[0],
                None if self.zeros.is_some() => DType::I8,
                None => self.dtype,
            };
            let gemm = Gemm {
                dtype: factors,
                scaled,
                batch: inner.size,
                m: self.m,
                n: self.n,
                k: self.k,
                a: matrix(self.a, factors, a, inner.stride[0]),
                b: matrix(self.b, factors, b, inner.stride[1]),
                c: matrix(self.c, self.dtype, c, inner.stride[2]),
            };
            // If the library declines one part, it declines every part, and the portable kernel
            // overwrites the results of earlier parts.
            if took {
                let outcome = self.device.call_vendor(|runtime, stream, scratch| {
                    // SAFETY: this is a part of the problem, for which the caller promises that
                    // every element is allocated, and `c` overlaps neither itself nor its inputs.
                    unsafe { runtime.gemm(stream, &gemm, scratch) }
                })?;
                took = self.device.vendor_took(op, outcome);
            }
            Ok(())
        })
        .map(|()| took)
    }

    /// Makes the problem that of the transposed result.
    fn transpose(&mut self) {
        (self.m, self.n) = (self.n, self.m);
        (self.a, self.b, self.c) = (self.b.transposed(), self.a.transposed(), self.c.transposed());
        self.zeros = self.zeros.map(ZeroPoints::transposed);
        self.scales = self.scales.map(|[of_a, of_b]| [of_b, of_a]);
        for d in &mut self.batch {
            d.stride.swap(0, 1);
            d.stride.swap(3, 4);
        }
    }

    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    pub(super) unsafe fn portable(mut self) -> Result<()> {
        // Threads run along n. If n is the short side, the transposed product gives the same
        // result.
        let thin = !sizes::MATMUL_TILE_FROM.is_reached(self.m.min(self.n));
        if if thin { self.n < self.m } else { self.c.col > self.c.row } {
            self.transpose();
        }
        let kernel = self.kernel(thin);
        let blocks =
            |m: usize, n: usize| m.div_ceil(if thin { 1 } else { kernel.m }).saturating_mul(n.div_ceil(kernel.n));
        self.in_parts(&blocks, usize::MAX, &mut |part, _| {
            // SAFETY: this is a part of the problem, for which the caller promises what `vendor`
            // requires.
            unsafe { part.launch(thin, kernel) }
        })
    }

    /// Runs `launch` on parts of the problem with fewer results, whose blocks and indices fit one
    /// launch, and with at most `most` matrices each (at least one). `blocks` returns the blocks
    /// for the results of one matrix. `launch` also gets the elements of a and b before the part's
    /// matrices.
    fn in_parts(
        &self,
        blocks: &dyn Fn(usize, usize) -> usize,
        most: usize,
        launch: &mut LaunchPart<'_, R>,
    ) -> Result<()> {
        let side = sizes::MATMUL_SIDE.limit(self.m.max(self.n));
        for m0 in (0..self.m).step_by(side) {
            for n0 in (0..self.n).step_by(side) {
                let (m, n) = ((self.m - m0).min(side), (self.n - n0).min(side));
                let results = blocks(m, n);
                let all = results.saturating_mul(count(&self.batch));
                let most = (sizes::MATMUL_BLOCKS.limit(all) / results).min(most).max(1);
                split(&self.batch, most, [0; 5], &mut |batch, [a, b, c, of_a, of_b]| {
                    let part = Problem {
                        m,
                        n,
                        a: self.a.offset(self.factors(), a + m0 * self.a.row),
                        b: self.b.offset(self.factors(), b + n0 * self.b.col),
                        zeros: self.zeros.map(|zeros| zeros.after([m0, n0])),
                        scales: self.scales.map(|[a, b]| [a.after(m0, of_a), b.after(n0, of_b)]),
                        c: self.c.offset(self.dtype, c + m0 * self.c.row + n0 * self.c.col),
                        batch: batch.into(),
                        ..*self
                    };
                    launch(part, [a, b])
                })?;
            }
        }
        Ok(())
    }

    /// Returns a dtype of the size of the factors; that of the results is `dtype`.
    fn factors(&self) -> DType {
        if self.zeros.is_some() || self.scales.is_some() { DType::U8 } else { self.dtype }
    }

    /// Returns the elements of k whose products are summed before they are added to a result.
    fn segment(&self) -> usize {
        if self.scales.is_some() { ScaledMatmul::BLOCK } else { SEGMENT }
    }

    /// Returns the kernel for the whole problem.
    fn kernel(&self, thin: bool) -> Kernel {
        let kernel = |variant, m, n, threads| Kernel { variant, m, n, threads, shared: 0 };
        let scaled = self.scales.is_some();
        match (thin, self.m) {
            (false, _) if unit::is_on(self.device, self.dtype) => {
                Kernel { shared: unit::SHARED, ..kernel(UNIT, unit::TILE, unit::TILE, unit::THREADS) }
            }
            (false, _) => {
                let on_unit = unit::is_proven(self.device, self.dtype);
                let [on_units, by_threads] = if scaled { [SCALED_TILE_UNIT, SCALED_TILE] } else { [TILE_UNIT, TILE] };
                kernel(if on_unit { on_units } else { by_threads }, TILE_M, TILE_N, TILE_THREADS)
            }
            (true, _) if self.zeros.is_some() => kernel(BYTES_THIN, 1, THIN_COLUMNS, THIN_COLUMNS),
            (true, m) if !sizes::MATMUL_THIN_ROWS.is_reached(m) => {
                kernel(if scaled { SCALED_THIN } else { THIN }, 1, THIN_COLUMNS, THIN_COLUMNS)
            }
            (true, _) => kernel(if scaled { SCALED_THIN_4 } else { THIN_4 }, 4, THIN_COLUMNS, THIN_COLUMNS),
        }
    }

    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn launch(&self, thin: bool, kernel: Kernel) -> Result<()> {
        let batches = count(&self.batch);
        let (m_tiles, n_tiles) = (self.m.div_ceil(kernel.m), self.n.div_ceil(kernel.n));
        let blocks = m_tiles * n_tiles * batches;
        // If the results alone do not fill the GPU, each segment of k gets its own block.
        let limits = self.device.runtime().limits();
        let enough = (limits.multiprocessors * limits.max_threads_per_multiprocessor) as usize / kernel.threads;
        let enough = if thin { enough } else { limits.multiprocessors as usize };
        let all = self.k.div_ceil(self.segment());
        let are_few = !sizes::MATMUL_ENOUGH.is_reached_or(blocks, enough);
        let apart = if are_few && !sizes::MATMUL_APART.is_exceeded(blocks * all) { all } else { 1 };

        let mut product = self.product(m_tiles, n_tiles, apart);
        let values = batches * apart * self.m * self.n * self.dtype.compute().size_in_bytes();
        let partial = (apart > 1).then(|| self.device.alloc(values, DType::U8)).transpose()?;
        let to = partial.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
        let named = if self.scales.is_some() { self.dtype } else { self.factors() };
        let mut launch = Launch::linear(key(named, kernel.variant), (blocks * apart) as u32, kernel.threads as u32);
        launch.config.shared_bytes = kernel.shared;
        // SAFETY: the caller promises valid matrices, and `partial` has space for the value of
        // every segment of every result.
        unsafe {
            match (&self.zeros, &self.scales) {
                (None, None) => launch.on(self.device, args![self.a.ptr, self.b.ptr, self.c.ptr, to, product])?,
                (Some(zeros), _) => {
                    let ([a, b], bytes) = (zeros.addresses(), zeros.bytes());
                    launch.on(self.device, args![self.a.ptr, self.b.ptr, self.c.ptr, to, a, b, product, bytes])?;
                }
                (None, Some(scales)) => {
                    let ([a, b], scaled) = (scales.map(|side| side.ptr), self.scaled(scales));
                    launch.on(self.device, args![self.a.ptr, self.b.ptr, self.c.ptr, to, a, b, product, scaled])?;
                }
            }
        }
        if partial.is_none() {
            return Ok(());
        }
        let strips = self.n.div_ceil(THIN_COLUMNS);
        product.segments = Divisor::new(1);
        product.m_tiles = Divisor::new(self.m);
        product.n_tiles = Divisor::new(strips);
        let blocks = (batches * self.m * strips) as u32;
        let variant = if self.scales.is_some() { SCALED_SEGMENTS } else { SEGMENTS };
        let launch = Launch::linear(key(self.dtype, variant), blocks, THIN_COLUMNS as u32);
        // SAFETY: same as above; all values are written earlier in stream order, and the scratch
        // memory returns to the pool afterwards.
        unsafe {
            match &self.scales {
                None => launch.on(self.device, args![self.c.ptr, to, product, apart as u32]),
                Some(scales) => {
                    let ([a, b], scaled) = (scales.map(|side| side.ptr), self.scaled(scales));
                    launch.on(self.device, args![self.c.ptr, to, a, b, product, scaled, apart as u32])
                }
            }
        }
    }

    fn product(&self, m_tiles: usize, n_tiles: usize, apart: usize) -> Product {
        // Vectors have four elements and are loaded in pieces of at most 16 bytes.
        let fits = |o: &Operand, stride: usize, which: usize| {
            let dtype = if which == 2 { self.dtype } else { self.factors() };
            let bytes = (4 * dtype.size_in_bytes()).min(16);
            let steps = self.batch.iter().fold(stride, |all, d| all | d.stride[which]);
            steps.is_multiple_of(4) && o.ptr.0.is_multiple_of(bytes as u64)
        };
        let operands: IndexDims<3> = strides_of(&self.batch, [0, 1, 2]);
        let vectors = |along_k: bool, along_side: bool| u32::from(along_k) | u32::from(along_side) << 1;
        let (a, b, c) = (&self.a, &self.b, &self.c);
        Product {
            m: self.m as u32,
            n: self.n as u32,
            segments: Divisor::new(apart),
            k: self.k as u64,
            a: [a.row as u64, a.col as u64],
            b: [b.row as u64, b.col as u64],
            c: [c.row as u64, c.col as u64],
            a_vectors: vectors(a.col == 1 && fits(a, a.row, 0), a.row == 1 && fits(a, a.col, 0)),
            b_vectors: vectors(b.row == 1 && fits(b, b.col, 1), b.col == 1 && fits(b, b.row, 1)),
            c_vectors: vectors(false, c.col == 1 && fits(c, c.row, 2)),
            m_tiles: Divisor::new(m_tiles),
            n_tiles: Divisor::new(n_tiles),
            batch: Index::new(&operands),
        }
    }
}

/// Returns the dimensions of a batch with the strides of some operands.
fn strides_of<const OPERANDS: usize>(batch: &Batch, operands: [usize; OPERANDS]) -> IndexDims<OPERANDS> {
    batch.iter().map(|d| Dim { size: d.size, stride: operands.map(|o| d.stride[o]) }).collect()
}
