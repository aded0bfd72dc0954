//! Matrix products: the vendor's library, and with its time as their floor the portable kernel,
//! block products, those whose right operand was packed before, and those of wide elements; of
//! integers, of which the library takes signed bytes alone; of f8 with scales.

use super::Rows;
use crate::row::Row;
use isobit_hal::{
    BackendStorage, DType, Layout, Matmul, MatmulInteger, MatmulSide, Numerics, Op, PackedMatrix, Result, ScaledMatmul,
    Src,
};
use isobit_kernels::GpuRuntime;

/// Batch, m, n and k.
const SIZES: [[usize; 4]; 7] = [
    [1, 4096, 4096, 4096],
    [1, 8192, 8192, 8192],
    [1, 512, 512, 512],
    [64, 512, 512, 512],
    [1, 64, 4096, 4096],
    [1, 8, 4096, 4096],
    [1, 1, 4096, 4096],
];

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::F8E4M3] {
        if rows.wants("matmul", dtype) {
            for size in SIZES {
                both(rows, dtype, size, false)?;
            }
            // The weights of a layer: a row per output.
            both(rows, dtype, [1, 1, 4096, 4096], true)?;
        }
    }
    for dtype in [DType::I32, DType::I64] {
        of_integers(rows, &Op::Matmul(Matmul::default()), dtype)?;
    }
    for dtype in [DType::I8, DType::U8] {
        of_integers(rows, &Op::MatmulInteger(MatmulInteger::new()), dtype)?;
    }
    of_integers(rows, &Op::MatmulInteger(MatmulInteger::new().with_zero_points(true, true)), DType::U8)?;
    scaled(rows)
}

/// Returns the bytes of all operands and the result.
fn moved(operands: &[(&Layout, DType)]) -> f64 {
    operands.iter().map(|(layout, dtype)| layout.elem_count() * dtype.size_in_bytes()).sum::<usize>() as f64
}

fn both<R: GpuRuntime>(
    rows: &mut Rows<'_, R>,
    dtype: DType,
    [batch, m, n, k]: [usize; 4],
    transposed: bool,
) -> Result<()> {
    let bench = rows.bench;
    let [lhs, mut rhs] = [[batch, m, k], [batch, k, n]].map(Layout::contiguous);
    let mut work = if batch == 1 { format!("{m}x{n}x{k}") } else { format!("{batch}x{m}x{n}x{k}") };
    if transposed {
        rhs = Layout::contiguous([batch, n, k]).transpose(1, 2)?;
        work += "^T";
    }
    let (a, b) = (bench.random(lhs.elem_count(), dtype)?, bench.random(rhs.elem_count(), dtype)?);
    let out = Layout::contiguous([batch, m, n]);
    let mut c = bench.random(out.elem_count(), dtype)?;
    let flops = 2.0 * (batch * m * n * k) as f64;
    let bytes = moved(&[(&lhs, dtype), (&rhs, dtype), (&out, dtype)]);
    let product = |name, us, vendor| {
        let row = Row::new(name, dtype, &work, us).with_floor(vendor);
        Row { bytes: Some(bytes), flops: Some(flops), ..row }
    };
    let mut vendor = None;
    let with_vendor: &[_] = if dtype == DType::F8E4M3 { &[] } else { &[("matmul_vendor", Numerics::Vendor)] };
    let block = Matmul::block_digits(dtype).map(|_| ("matmul_block", Numerics::Block));
    let portable = [("matmul", Numerics::Portable)];
    for &(op, numerics) in with_vendor.iter().chain(&portable).chain(&block) {
        let us = bench
            .time(|| BackendStorage::matmul_into(Matmul::with_numerics(numerics), &a, &lhs, &b, &rhs, &mut c, &out))?;
        rows.push(product(op, us, vendor));
        vendor = vendor.or(Some(us).filter(|_| numerics == Numerics::Vendor));
    }
    if Matmul::block_digits(dtype).is_some() {
        let op = Matmul::with_numerics(Numerics::Block);
        let weights = PackedMatrix::new(&b, &rhs, MatmulSide::Rhs, op)?;
        let inputs = [Src::Storage(&a, &lhs), weights.as_src()];
        let us = bench.time(|| BackendStorage::apply_into(&Op::Matmul(op), &inputs, &mut c, &out))?;
        rows.push(product("matmul_block_packed", us, vendor));
        // No elements of f8e4m3 are so unlike in size that many segments are wide.
        if dtype != DType::F8E4M3 {
            let (a, b) = (bench.wide(lhs.elem_count(), dtype)?, bench.wide(rhs.elem_count(), dtype)?);
            let us = bench.time(|| BackendStorage::matmul_into(op, &a, &lhs, &b, &rhs, &mut c, &out))?;
            rows.push(product("matmul_block_wide", us, vendor));
        }
    }
    Ok(())
}

/// Products of integers, with a zero point for each row and each column if the operation has them.
fn of_integers<R: GpuRuntime>(rows: &mut Rows<'_, R>, op: &Op, dtype: DType) -> Result<()> {
    if !rows.wants(op.name(), dtype) {
        return Ok(());
    }
    let bench = rows.bench;
    let is_bytes = dtype.size_in_bytes() == 1;
    for ([batch, m, n, k], transposed) in SIZES.into_iter().flat_map(|size| [(size, false), (size, true)]) {
        if transposed && !is_bytes {
            continue;
        }
        let rhs = if transposed {
            Layout::contiguous([batch, n, k]).transpose(1, 2)?
        } else {
            Layout::contiguous([batch, k, n])
        };
        let layouts = [Layout::contiguous([batch, m, k]), rhs];
        let lines = [m, n].map(Layout::contiguous);
        let operands: Vec<_> = layouts.iter().chain(&lines).take(op.inputs()).collect();
        let stored = operands.iter().map(|l| bench.random(l.elem_count(), dtype)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<_> = stored.iter().zip(&operands).map(|(s, l)| Src::Storage(s, l)).collect();
        let out = Layout::contiguous([batch, m, n]);
        let to = if is_bytes { DType::I32 } else { dtype };
        let mut c = bench.output(out.elem_count(), to)?;
        let us = bench.time(|| BackendStorage::apply_into(op, &inputs, &mut c, &out))?;
        let of_batch = if batch == 1 { String::new() } else { format!("{batch}x") };
        let work = format!("{of_batch}{m}x{n}x{k}{}", if transposed { "^T" } else { "" });
        let read: Vec<_> = stored.iter().zip(&operands).map(|(s, l)| (*l, s.dtype())).collect();
        let (bytes, flops) = (moved(&read) + moved(&[(&out, to)]), 2.0 * (batch * m * n * k) as f64);
        rows.push(Row { bytes: Some(bytes), flops: Some(flops), ..Row::new(op.name(), dtype, &work, us) });
    }
    Ok(())
}

/// Products of f8 into bf16, with weights that have a row per output, and scales by tensor, by rows
/// and columns, and by 128 of a row with squares of 128.
fn scaled<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let (f8, bench) = (DType::F8E4M3, rows.bench);
    if !rows.wants("scaled_matmul", f8) {
        return Ok(());
    }
    for [m, n, k] in [[4096, 4096, 4096], [8192, 8192, 8192], [64, 4096, 4096], [16, 4096, 4096], [1, 4096, 4096]] {
        let (lhs, rhs) = (Layout::contiguous([m, k]), Layout::contiguous([n, k]).transpose(0, 1)?);
        let (a, b) = (bench.random(m * k, f8)?, bench.random(n * k, f8)?);
        let out = Layout::contiguous([m, n]);
        let mut c = bench.output(m * n, DType::BF16)?;
        let of_k = k / ScaledMatmul::BLOCK;
        let forms = [
            ("tensor", [[1, 1], [1, 1]]),
            ("rows", [[m, 1], [1, n]]),
            ("blocks", [[m, of_k], [of_k, n / ScaledMatmul::BLOCK]]),
        ];
        for (form, dims) in forms {
            let layouts = dims.map(Layout::contiguous);
            let [lhs_scales, rhs_scales] = layouts.each_ref().map(|l| (l, DType::F32));
            let bytes = moved(&[(&lhs, f8), (&rhs, f8), lhs_scales, rhs_scales, (&out, DType::BF16)]);
            let scales = [
                bench.random(layouts[0].elem_count(), DType::F32)?,
                bench.random(layouts[1].elem_count(), DType::F32)?,
            ];
            let mut vendor = None;
            for (suffix, numerics) in [("_vendor", Numerics::Vendor), ("", Numerics::Portable)] {
                let op = Op::ScaledMatmul(ScaledMatmul::with_numerics(numerics));
                let operands = [(&a, &lhs), (&b, &rhs), (&scales[0], &layouts[0]), (&scales[1], &layouts[1])];
                let inputs = operands.map(|(storage, layout)| Src::Storage(storage, layout));
                let us = bench.time(|| BackendStorage::apply_into(&op, &inputs, &mut c, &out))?;
                let name = format!("scaled_matmul_{form}{suffix}");
                let row = Row::new(&name, f8, format!("{m}x{n}x{k}^T"), us).with_floor(vendor);
                rows.push(Row { bytes: Some(bytes), flops: Some(2.0 * (m * n * k) as f64), ..row });
                vendor = vendor.or(Some(us));
            }
        }
    }
    Ok(())
}
