//! Quantized matrices: conversion of blocks to elements and back, and products with blocks.
//!
//! Kernels take contiguous operands, and blocks with an even number of bytes at even addresses.
//! Operands in any other layout are copied first.

mod block;
mod convert;
mod dequantized;
mod floats;
mod packed;
mod product;

use crate::key::Key;
use crate::launch::sizes;
use crate::ops::dense::{ANYWHERE, Dense, Rows, VECTORS, filled};
use crate::ops::{cast, matmul, stored};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use floats::Floats;
use isobit_hal::{
    BackendDevice, BackendStorage, DType, GgmlDType, Layout, Numerics, Op, QActivations, QMatmul, Result, Scalar, Src,
};

use crate::manifest::instances::quantized::{
    ACTIVATIONS, BLOCK_CHAINS, BLOCK_PACK, BLOCK_SUM, BLOCK_VALUES, DEQUANTIZE, GROUP, QUANTIZE, TILES, VECTOR_FLOAT,
    VECTOR_INT, key,
};

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match op {
        Op::Quantize(format) => vec![key(*format, QUANTIZE)],
        Op::Dequantize(format) => vec![key(*format, DEQUANTIZE)],
        Op::QMatmul(q) | Op::QMatmulId(q) => match q.activations {
            QActivations::Q8_1 => {
                let mut keys = vec![key(q.format, VECTOR_INT)];
                keys.extend(TILES.map(|(variant, _)| key(q.format, variant)));
                keys.extend([ACTIVATIONS, GROUP].map(|variant| key(GgmlDType::Q8_1, variant)));
                keys
            }
            QActivations::Float => {
                let own = [VECTOR_FLOAT, DEQUANTIZE, BLOCK_VALUES, BLOCK_SUM, BLOCK_PACK, BLOCK_CHAINS];
                let mut keys = own.map(|variant| key(q.format, variant)).to_vec();
                keys.push(key(GgmlDType::Q8_1, GROUP));
                keys.extend(matmul::keys(&dequantized::MATMUL, &[DType::F32; 3]));
                for pair in [[dtypes[1], DType::F32], [DType::F32, dtypes[1]]] {
                    keys.extend(cast::keys(&Op::Cast(Default::default()), &pair));
                }
                keys
            }
        },
        _ => Vec::new(),
    }
}

/// Returns the alignment of a format's blocks in bytes.
const fn alignment(format: GgmlDType) -> u64 {
    if format.block_bytes().is_multiple_of(2) { 2 } else { ANYWHERE }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let first = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return match op {
            // Ids are checked even if rows have no elements.
            Op::QMatmulId(_) => product::check_ids(op, first.1, stored(srcs, 2)),
            _ => Ok(()),
        };
    }
    match op {
        Op::Quantize(format) => {
            let x = Dense::new(first.0, first.1, VECTORS)?;
            filled(dst, dst_layout, alignment(*format), |to| {
                // SAFETY: the layouts were validated against their buffers; a dense operand has all
                // of their elements.
                unsafe {
                    convert::quantize(first.0.device(), *format, first.0.dtype(), x.ptr, to, first.1.elem_count())
                }
            })
        }
        Op::Dequantize(format) => {
            let blocks = Dense::new(first.0, first.1, alignment(*format))?;
            let elements = dst_layout.elem_count();
            let (dtype, device) = (dst.dtype(), first.0.device());
            filled(dst, dst_layout, VECTORS, |to| {
                let rows = convert::Blocks { format: *format, ptr: blocks.ptr, row: 0, rows: 1, elements };
                // SAFETY: same as above.
                unsafe { convert::dequantize(device, &rows, dtype, to) }
            })
        }
        Op::QMatmul(q) => multiply(op, *q, srcs, None, dst, dst_layout),
        Op::QMatmulId(q) => multiply(op, *q, srcs, Some(stored(srcs, 2)), dst, dst_layout),
        _ => unreachable!("not an operation of the family"),
    }
}

/// Runs a product, with or without matrix ids.
fn multiply<R: GpuRuntime>(
    op: &Op,
    q: QMatmul,
    srcs: &[Src<'_, GpuStorage<R>>],
    ids: Option<(&GpuStorage<R>, &Layout)>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let ((weight, weight_layout), (x, x_layout)) = (stored(srcs, 0), stored(srcs, 1));
    let device = x.device();
    let (dims, x_dims) = (dst_layout.dims(), x_layout.dims());
    let (n, k) = (dims[dims.len() - 1], x_dims[x_dims.len() - 1]);
    let matrices = if ids.is_some() { weight_layout.dims()[0] } else { 1 };
    if k == 0 && ids.is_none() {
        return dst.const_set(Scalar::zero(dst.dtype()), dst_layout);
    }
    let rows = Rows::new(weight, weight_layout, alignment(q.format))?;
    let m = dst_layout.elem_count() / n;
    let is_float = q.activations == QActivations::Float;
    let numerics = q.numerics.unwrap_or_else(|| device.default_numerics());
    let is_block = is_float && numerics == Numerics::Block && k > 0;
    let few = if is_block { &sizes::QUANTIZED_BLOCK_ROWS } else { &sizes::QUANTIZED_FLOAT_ROWS };
    if ids.is_none() && is_float && few.is_exceeded(m) {
        let x = Floats::new(x, x_layout, [m, k])?;
        return floats::filled(dst, dst_layout, [m, n], |y, y_layout| match is_block {
            true => packed::multiply(q.format, &rows, &x, y, y_layout),
            false => dequantized::multiply(q.format, &rows, &x, y, y_layout),
        });
    }
    let shapes = |ids: &'_ Layout| -> Result<_> { device.index_faults(op, [ids.dims(), weight_layout.dims()]) };
    let fault = ids.map(|(_, layout)| shapes(layout)).transpose()?;
    let ids = ids.map(|(ids, layout)| Dense::new(ids, layout, ANYWHERE)).transpose()?;
    let dense = Dense::new(x, x_layout, VECTORS)?;
    let dtype = x.dtype();
    filled(dst, dst_layout, ANYWHERE, |y| {
        let problem = product::Problem {
            device,
            format: q.format,
            activations: q.activations,
            dtype,
            m,
            n,
            k,
            matrices,
            w: &rows,
            x: dense.ptr,
            // Rows of the result that share one row of activations.
            repeat: m / x_dims[..x_dims.len() - 1].iter().product::<usize>(),
            ids: ids.as_ref().map(|ids| ids.ptr),
            fault: fault.as_ref().map(|f| f.ptr()),
            y,
        };
        // SAFETY: the layouts were validated against their buffers; dense operands have all of
        // their elements, and `y` has space for the whole result.
        unsafe { if is_block { problem.run_block() } else { problem.run() } }
    })
}
