//! Quantized 4096 x 4096 matrices: products with one row and with many rows of activations, and
//! conversions.

use super::Rows;
use crate::row::Row;
use isobit_hal::{
    BackendDevice, BackendStorage, DType, GgmlDType, Layout, Numerics, Op, QActivations, QMatmul, Result, Src,
};
use isobit_kernels::{GpuRuntime, GpuStorage};

const SIDE: usize = 4096;

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for &format in GgmlDType::ALL {
        for dtype in [DType::F32, DType::F16] {
            conversions(rows, format, dtype)?;
        }
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            products(rows, format, dtype)?;
            products_by_experts(rows, format, dtype)?;
        }
    }
    Ok(())
}

fn conversions<R: GpuRuntime>(rows: &mut Rows<'_, R>, format: GgmlDType, dtype: DType) -> Result<()> {
    let (quantize, dequantize) = (Op::Quantize(format), Op::Dequantize(format));
    let is_made = format.has_quantizer() && rows.wants(quantize.name(), dtype);
    if !is_made && !rows.wants(dequantize.name(), dtype) {
        return Ok(());
    }
    let elements = &Layout::contiguous([SIDE, SIDE]);
    let blocks = &Layout::contiguous([SIDE, format.row_bytes(SIDE)?]);
    let bytes = elements.elem_count() * dtype.size_in_bytes() + blocks.elem_count();
    let work = "4096x4096";
    let x = &mut rows.bench.random(elements.elem_count(), dtype)?;
    let w = &mut rows.bench.output(blocks.elem_count(), DType::U8)?;
    if format.has_quantizer() {
        let call = Box::new(|| GpuStorage::apply_into(&quantize, &[Src::Storage(x, elements)], w, blocks));
        rows.add(quantize.name(), dtype, work, bytes, call)?;
    }
    let call = Box::new(|| GpuStorage::apply_into(&dequantize, &[Src::Storage(w, blocks)], x, elements));
    rows.add(dequantize.name(), dtype, work, bytes, call)
}

/// Makes blocks of so many elements. Those of formats without a quantizer are bytes whose scales
/// are finite numbers, because their upper bits are 0.
fn matrix<R: GpuRuntime>(rows: &Rows<'_, R>, format: GgmlDType, layout: &Layout) -> Result<GpuStorage<R>> {
    let elements = layout.elem_count();
    if format.has_quantizer() {
        return rows.bench.random(elements, DType::F32)?.quantize(layout, format);
    }
    let byte = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 24) as u8 & 0x3f;
    let bytes: Vec<u8> = (0..format.row_bytes(elements)?).map(byte).collect();
    rows.bench.device.storage_from_slice(&bytes)
}

/// The products of a format, with what their rows are called after the operation.
fn kinds(format: GgmlDType) -> [(QMatmul, &'static str); 3] {
    let float = QMatmul::new(format);
    [
        (float.with_activations(QActivations::Q8_1), ""),
        (float.with_numerics(Numerics::Portable), ""),
        (float.with_numerics(Numerics::Block), "_block"),
    ]
}

/// What a product does: its name in reports, the bytes it must move, and its operations.
struct Work {
    name: String,
    bytes: usize,
    flops: f64,
}

/// Measures each kind of a product that is wanted.
fn each<R: GpuRuntime>(
    rows: &mut Rows<'_, R>,
    kinds: &[(Op, &str)],
    work: &Work,
    operands: &[Src<'_, GpuStorage<R>>],
    y: &mut GpuStorage<R>,
    layout: &Layout,
) -> Result<()> {
    let dtype = y.dtype();
    for (op, suffix) in kinds {
        if rows.wants(op.name(), dtype) {
            let call = Box::new(|| GpuStorage::apply_into(op, operands, y, layout));
            let name = format!("{}{suffix}", op.name());
            let row = rows.bench.bytes_row(&name, dtype, &work.name, work.bytes, call)?;
            rows.push(Row { flops: Some(work.flops), ..row });
        }
    }
    Ok(())
}

fn products<R: GpuRuntime>(rows: &mut Rows<'_, R>, format: GgmlDType, dtype: DType) -> Result<()> {
    let kinds = kinds(format).map(|(q, suffix)| (Op::QMatmul(q), suffix));
    if !kinds.iter().any(|(op, _)| rows.wants(op.name(), dtype)) {
        return Ok(());
    }
    let blocks = &Layout::contiguous([SIDE, format.row_bytes(SIDE)?]);
    let w = &matrix(rows, format, &Layout::contiguous([SIDE, SIDE]))?;
    // One row, the kernels for few rows, the kernel for many rows when it is far from full, and
    // prompts.
    for m in [1, 4, 8, 16, 64, 512, SIDE] {
        let layout = &Layout::contiguous([m, SIDE]);
        let (x, y) = (&rows.bench.random(m * SIDE, dtype)?, &mut rows.bench.output(m * SIDE, dtype)?);
        let operands = &[Src::Storage(w, blocks), Src::Storage(x, layout)];
        let bytes = blocks.elem_count() + 2 * m * SIDE * dtype.size_in_bytes();
        let work = Work { name: format!("[{m},4096]@[4096,4096]"), bytes, flops: 2.0 * (m * SIDE * SIDE) as f64 };
        each(rows, &kinds, &work, operands, y, layout)?;
    }
    Ok(())
}

/// Two of eight experts for each token.
fn products_by_experts<R: GpuRuntime>(rows: &mut Rows<'_, R>, format: GgmlDType, dtype: DType) -> Result<()> {
    const EXPERTS: usize = 8;
    const TOP: usize = 2;
    let kinds = kinds(format).map(|(q, suffix)| (Op::QMatmulId(q), suffix));
    if !kinds.iter().any(|(op, _)| rows.wants(op.name(), dtype)) {
        return Ok(());
    }
    let blocks = &Layout::contiguous([EXPERTS, SIDE, format.row_bytes(SIDE)?]);
    let all = Layout::contiguous([EXPERTS, SIDE, SIDE]);
    let w = &matrix(rows, format, &all)?;
    for tokens in [1, 8, 64] {
        let (xl, ids, yl) = (
            &Layout::contiguous([tokens, 1, SIDE]),
            &Layout::contiguous([tokens, TOP]),
            &Layout::contiguous([tokens, TOP, SIDE]),
        );
        let chosen: Vec<u32> = (0..tokens * TOP).map(|i| (i * 5 % EXPERTS) as u32).collect();
        let chosen = &rows.bench.device.storage_from_slice(&chosen)?;
        let (x, y) = (&rows.bench.random(tokens * SIDE, dtype)?, &mut rows.bench.output(tokens * TOP * SIDE, dtype)?);
        let operands = &[Src::Storage(w, blocks), Src::Storage(x, xl), Src::Storage(chosen, ids)];
        let read = blocks.elem_count() / EXPERTS * (tokens * TOP).min(EXPERTS);
        let bytes = read + tokens * (1 + TOP) * SIDE * dtype.size_in_bytes();
        let name = format!("[{tokens},2 of 8,4096]@[4096,4096]");
        let work = Work { name, bytes, flops: 2.0 * (tokens * TOP * SIDE * SIDE) as f64 };
        each(rows, &kinds, &work, operands, y, yl)?;
    }
    Ok(())
}
