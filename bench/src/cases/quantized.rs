//! Quantized 4096 x 4096 matrices: products with one row and with many rows of activations, and
//! conversions.

use super::Rows;
use isobit_hal::{BackendStorage, DType, GgmlDType, Layout, Op, QActivations, QMatmul, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

const SIDE: usize = 4096;

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for &format in GgmlDType::ALL {
        for dtype in [DType::F32, DType::F16] {
            conversions(rows, format, dtype)?;
            for activations in [QActivations::Q8_1, QActivations::Float] {
                products(rows, QMatmul::new(format).with_activations(activations), dtype)?;
            }
        }
    }
    Ok(())
}

fn conversions<R: GpuRuntime>(rows: &mut Rows<'_, R>, format: GgmlDType, dtype: DType) -> Result<()> {
    let (quantize, dequantize) = (Op::Quantize(format), Op::Dequantize(format));
    if !rows.wants(quantize.name(), dtype) && !rows.wants(dequantize.name(), dtype) {
        return Ok(());
    }
    let elements = &Layout::contiguous([SIDE, SIDE]);
    let blocks = &Layout::contiguous([SIDE, format.row_bytes(SIDE)?]);
    let bytes = elements.elem_count() * dtype.size_in_bytes() + blocks.elem_count();
    let work = "4096x4096";
    let x = &mut rows.bench.random(elements.elem_count(), dtype)?;
    let w = &mut rows.bench.output(blocks.elem_count(), DType::U8)?;
    let call = Box::new(|| GpuStorage::apply_into(&quantize, &[Src::Storage(x, elements)], w, blocks));
    rows.add(quantize.name(), dtype, work, bytes, call)?;
    let call = Box::new(|| GpuStorage::apply_into(&dequantize, &[Src::Storage(w, blocks)], x, elements));
    rows.add(dequantize.name(), dtype, work, bytes, call)
}

fn products<R: GpuRuntime>(rows: &mut Rows<'_, R>, q: QMatmul, dtype: DType) -> Result<()> {
    let op = Op::QMatmul(q);
    if !rows.wants(op.name(), dtype) {
        return Ok(());
    }
    let blocks = &Layout::contiguous([SIDE, q.format.row_bytes(SIDE)?]);
    let elements = rows.bench.random(SIDE * SIDE, DType::F32)?;
    let w = &elements.quantize(&Layout::contiguous([SIDE, SIDE]), q.format)?;
    // One row, the kernel for few rows, the kernel for many rows when it is far from full, and
    // a prompt.
    for m in [1, 4, 16, 64, 512] {
        let layout = &Layout::contiguous([m, SIDE]);
        let (x, y) = (&rows.bench.random(m * SIDE, dtype)?, &mut rows.bench.output(m * SIDE, dtype)?);
        let bytes = blocks.elem_count() + 2 * m * SIDE * dtype.size_in_bytes();
        let operands = [Src::Storage(w, blocks), Src::Storage(x, layout)];
        let call = Box::new(|| GpuStorage::apply_into(&op, &operands, y, layout));
        rows.add(op.name(), dtype, &format!("[{m},4096]@[4096,4096]"), bytes, call)?;
    }
    Ok(())
}
