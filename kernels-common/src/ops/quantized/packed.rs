//! Block products with many rows of float activations: packs strips of the matrix, whose elements
//! are only in registers, and multiplies them with packed activations.

use super::floats::Floats;
use crate::args;
use crate::device::GpuDevice;
use crate::launch::index::{Divisor, IndexDims};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::quantized::{BLOCK_CHAINS, BLOCK_PACK, key};
use crate::ops::dense::Rows;
use crate::ops::matmul::block::{
    Form, LINES, Lines, PACK_THREADS, SEGMENT, Side, pack_blocks, pack_lines, packed_bytes,
};
use crate::ops::matmul::{Operand, Problem};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, GgmlDType, Layout, Matmul, Result};
use std::mem::offset_of;

/// Threads of a block that looks for chains, and rows and columns of its results. Must match
/// ops/quantized/block_pack.cu.
const CHAINS_THREADS: u32 = 256;
const CHAINS_SIDE: usize = 64;

/// The layout of the kernels' `QChains`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Chains {
    m: u32,
    n: u32,
    segments: u32,
    n_tiles: Divisor,
    k: u64,
    w_row: u64,
    y_row: u64,
}

const _: () = assert!(size_of::<Chains>() == 48);
const _: () = assert!(offset_of!(Chains, n_tiles) == 12 && offset_of!(Chains, k) == 24);

/// Computes `y = x w^T` with rows of k activations and n rows of blocks. None of them is 0.
pub(super) fn multiply<R: GpuRuntime>(
    format: GgmlDType,
    w: &Rows<R>,
    x: &Floats<'_, R>,
    y: &mut GpuStorage<R>,
    y_layout: &Layout,
) -> Result<()> {
    let [m, n] = [y_layout.dims()[0], y_layout.dims()[1]];
    let k = x.layout.dims()[1];
    let at = |storage: &GpuStorage<R>, layout: &Layout| storage.ptr().at(DType::F32, layout.start_offset());
    let device = x.storage().device();
    let product = Product {
        device,
        format,
        digits: Matmul::block_digits(DType::F32).expect("f32 has block products"),
        n,
        k,
        x: at(x.storage(), &x.layout),
        w,
        y: at(y, y_layout),
    };
    // Strips of both sides share the memory, in groups of lines.
    let group = product.bytes(LINES);
    let all = product.bytes(m).saturating_add(product.bytes(n));
    let memory = sizes::MATMUL_SCRATCH.limit(all);
    let most = if memory < all { (memory / 2 / group).max(1) * LINES } else { usize::MAX };
    let strip = |lines: usize| sizes::MATMUL_SIDE.limit(lines).min(most);
    for m0 in (0..m).step_by(strip(m)) {
        let rows = [m0, (m - m0).min(strip(m))];
        // SAFETY: activations are contiguous rows, and were validated or made here.
        let packed_x = unsafe { product.pack_activations(rows)? };
        for n0 in (0..n).step_by(strip(n)) {
            let columns = [n0, (n - n0).min(strip(n))];
            // SAFETY: the matrix was validated, and `y` has space for every result.
            unsafe {
                let packed_w = product.pack_matrix(columns)?;
                product.launch(rows, columns, [packed_x.ptr(), packed_w.ptr()])?;
            }
        }
    }
    Ok(())
}

/// A product of contiguous rows of k activations, to contiguous rows of n results.
struct Product<'a, R: GpuRuntime> {
    device: &'a GpuDevice<R>,
    format: GgmlDType,
    digits: usize,
    n: usize,
    k: usize,
    x: DevicePtr,
    w: &'a Rows<R>,
    y: DevicePtr,
}

/// The first of a range of lines, and how many there are.
type Range = [usize; 2];

impl<R: GpuRuntime> Product<'_, R> {
    /// Returns the bytes of so many packed lines.
    fn bytes(&self, lines: usize) -> usize {
        packed_bytes(self.digits, lines, self.k)
    }

    /// # Safety
    /// The rows must be allocated.
    unsafe fn pack_activations(&self, [first, count]: Range) -> Result<GpuStorage<R>> {
        let (bytes, k) = (self.bytes(count), self.k);
        let packed = self.device.alloc(bytes, DType::U8)?;
        let from = Operand { ptr: self.x.at(DType::F32, first * k), row: k, col: 1 };
        let batch = IndexDims::new();
        // SAFETY: the caller promises allocated rows, and `packed` has space for them.
        unsafe { pack_lines(self.device, DType::F32, from, [count, k], bytes, &batch, packed.ptr())? };
        Ok(packed)
    }

    /// # Safety
    /// The rows of blocks must be allocated and aligned as blocks are.
    unsafe fn pack_matrix(&self, [first, count]: Range) -> Result<GpuStorage<R>> {
        let bytes = self.bytes(count);
        let packed = self.device.alloc(bytes, DType::U8)?;
        let side = Side::new(Lines::strided(count, self.k, self.w.row), bytes, &IndexDims::new());
        let from = self.w.ptr.at(DType::U8, first * self.w.row);
        let blocks = pack_blocks(count, self.k) as u32;
        let launch = Launch::linear(key(self.format, BLOCK_PACK), blocks, PACK_THREADS);
        // SAFETY: the caller promises allocated rows, and `packed` has space for them.
        unsafe { launch.on(self.device, args![from, packed.ptr(), side])? };
        Ok(packed)
    }

    /// Multiplies packed rows and columns, and then computes those results that are chains.
    ///
    /// # Safety
    /// All operands must be allocated; the packed ones must be those of the rows and columns.
    unsafe fn launch(&self, [m0, m]: Range, [n0, n]: Range, packed: [DevicePtr; 2]) -> Result<()> {
        let (digits, k) = (self.digits, self.k);
        let y = self.y.at(DType::F32, m0 * self.n + n0);
        // Without chains the product reads no elements.
        let nothing = Operand { ptr: DevicePtr(0), row: 0, col: 0 };
        let c = Operand { ptr: y, row: self.n, col: 1 };
        let batch = IndexDims::new();
        let problem = Problem {
            device: self.device,
            dtype: DType::F32,
            m,
            n,
            k,
            a: nothing,
            b: nothing,
            c,
            batch,
            zeros: None,
            scales: None,
        };
        let [of_x, of_w] = [m, n].map(|lines| self.bytes(lines));
        let form = |at, bytes| Form { at, bytes, elements: 1 };
        let chains = Chains {
            m: m as u32,
            n: n as u32,
            segments: k.div_ceil(SEGMENT) as u32,
            n_tiles: Divisor::new(n.div_ceil(CHAINS_SIDE)),
            k: k as u64,
            w_row: self.w.row as u64,
            y_row: self.n as u64,
        };
        let blocks = m.div_ceil(CHAINS_SIDE) * n.div_ceil(CHAINS_SIDE);
        let launch = Launch::linear(key(self.format, BLOCK_CHAINS), blocks as u32, CHAINS_THREADS);
        let x = self.x.at(DType::F32, m0 * k);
        let w = self.w.ptr.at(DType::U8, n0 * self.w.row);
        // SAFETY: the caller promises valid operands, and the forms have all lines.
        unsafe {
            problem.block_of_packed(digits, [form(packed[0], of_x), form(packed[1], of_w)], DevicePtr(0))?;
            launch.on(self.device, args![x, w, y, packed[0], packed[1], chains])
        }
    }
}
