//! The rows: every family, per dtype, at sizes that fill the GPU.

mod attention;
pub mod cold_start;
mod compact;
mod conv;
mod graph_cost;
mod grid_sample;
mod index_map;
mod indexing;
mod launch_cost;
mod matmul;
mod norm;
mod packed;
mod pooling;
mod quantized;
mod random;
mod resize;
mod rope;
mod scan;
mod sort;
mod upsample;

use crate::args::Args;
use crate::measure::Bench;
use crate::row::Row;
use isobit_hal::{
    Affine, BackendStorage, BinaryOp, Celu, CmpOp, DType, Elu, Layout, LeakyRelu, Powf, Predicate, Reduce, ReduceOp,
    Result, Scalar, Src, UnaryOp,
};
use isobit_kernels::{GpuRuntime, GpuStorage};

const MATRIX: usize = 8192;

/// The exponents of `powf`: one for the recipe of `pow`, and those with kernels of their own.
const POWERS: [(&str, f64); 7] = [
    ("powf", 2.5),
    ("powf_square", 2.0),
    ("powf_cube", 3.0),
    ("powf_reciprocal", -1.0),
    ("powf_inverse_square", -2.0),
    ("powf_root", 0.5),
    ("powf_inverse_root", -0.5),
];

type Call<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Collects the rows that the arguments select.
struct Rows<'a, R: GpuRuntime> {
    bench: &'a Bench<R>,
    args: &'a Args,
    rows: Vec<Row>,
    /// Whether each row is printed when it is measured.
    shown: bool,
}

impl<R: GpuRuntime> Rows<'_, R> {
    fn wants(&self, op: &str, dtype: DType) -> bool {
        self.args.wants(op, dtype.as_str())
    }

    fn add(&mut self, op: &str, dtype: DType, work: &str, bytes: usize, call: Call<'_>) -> Result<()> {
        if self.wants(op, dtype) {
            self.push(self.bench.bytes_row(op, dtype, work, bytes, call)?);
        }
        Ok(())
    }

    /// Adds a row of host time, with the time of the driver's call as its floor, if given.
    fn add_host(&mut self, op: &str, work: &str, us: f64, floor_us: Option<f64>) {
        if self.wants(op, DType::F32) {
            self.push(Row::new(op, DType::F32, work, us).with_floor(floor_us));
        }
    }

    fn push(&mut self, row: Row) {
        if self.shown {
            let ratio = row.ratio.map_or(String::new(), |ratio| format!("{ratio:>7.2}"));
            eprintln!("{:<24} {:<8} {:<26} {:>10.2} us {ratio}", row.op, row.dtype, row.work, row.us);
        }
        self.rows.push(row);
    }
}

/// Measures every row once. With `shown`, prints each row when it is measured.
pub fn run<R: GpuRuntime>(bench: &Bench<R>, args: &Args, shown: bool) -> Result<Vec<Row>> {
    let mut rows = Rows { bench, args, rows: Vec::new(), shown };
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::F8E4M3, DType::I32, DType::U8] {
        elementwise(&mut rows, dtype)?;
    }
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        layouts(&mut rows, dtype)?;
        reductions(&mut rows, dtype)?;
    }
    casts(&mut rows)?;
    matmul::rows(&mut rows)?;
    norm::rows(&mut rows)?;
    rope::rows(&mut rows)?;
    attention::rows(&mut rows)?;
    scan::rows(&mut rows)?;
    sort::rows(&mut rows)?;
    indexing::rows(&mut rows)?;
    compact::rows(&mut rows)?;
    conv::rows(&mut rows)?;
    pooling::rows(&mut rows)?;
    upsample::rows(&mut rows)?;
    resize::rows(&mut rows)?;
    grid_sample::rows(&mut rows)?;
    index_map::rows(&mut rows)?;
    random::rows(&mut rows)?;
    packed::rows(&mut rows)?;
    quantized::rows(&mut rows)?;
    launch_cost::rows(&mut rows)?;
    graph_cost::rows(&mut rows)?;
    cold_start::rows(&mut rows)?;
    Ok(rows.rows)
}

fn elementwise<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    if !rows.args.dtypes.is_empty() && !rows.args.dtypes.iter().any(|d| d == dtype.as_str()) {
        return Ok(());
    }
    let (n, size) = (rows.args.size << 20, dtype.size_in_bytes());
    let (l, work) = (&Layout::contiguous(n), &format!("{}Mi", rows.args.size));
    let (a, b) = (&rows.bench.random(n, dtype)?, &rows.bench.random(n, dtype)?);
    let mut out = rows.bench.output(n, dtype)?;
    let mut mask = rows.bench.output(n, DType::U8)?;
    let (src, dst) = (Src::Storage(a, l), &mut out);

    rows.add("fill", dtype, work, n * size, Box::new(|| dst.const_set(Scalar::zero(dtype), l)))?;
    let one = Scalar::from_f64(dtype, 1.0);
    rows.add("fill_value", dtype, work, n * size, Box::new(|| dst.const_set(one, l)))?;
    rows.add("copy", dtype, work, 2 * n * size, Box::new(|| GpuStorage::copy_into(src, dst, l)))?;
    rows.add(
        "affine",
        dtype,
        work,
        2 * n * size,
        Box::new(|| GpuStorage::affine_into(Affine::new(1.5, 0.25), src, dst, l)),
    )?;
    for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
        let call = Box::new(|| GpuStorage::binary_into(op, src, Src::Storage(b, l), dst, l));
        rows.add(op.name(), dtype, work, 3 * n * size, call)?;
    }
    let call = Box::new(|| GpuStorage::binary_into(BinaryOp::Add, src, Src::Scalar(one), dst, l));
    rows.add("add_scalar", dtype, work, 2 * n * size, call)?;
    for op in [CmpOp::Eq, CmpOp::Lt, CmpOp::LogicalAnd] {
        let call = Box::new(|| GpuStorage::cmp_into(op, src, Src::Storage(b, l), &mut mask, l));
        rows.add(op.name(), dtype, work, n * (2 * size + 1), call)?;
    }
    let call = Box::new(|| GpuStorage::where_cond_into(Src::Storage(&mask, l), src, Src::Storage(b, l), dst, l));
    rows.add("where_cond", dtype, work, n * (3 * size + 1), call)?;
    let filled = || GpuStorage::where_cond_into(Src::Storage(&mask, l), Src::Scalar(one), src, dst, l);
    rows.add("masked_fill", dtype, work, n * (2 * size + 1), Box::new(filled))?;
    for &op in Predicate::ALL.iter().filter(|op| op.takes(dtype)) {
        let call = Box::new(|| GpuStorage::predicate_into(op, src, &mut mask, l));
        rows.add(op.name(), dtype, work, n * (size + 1), call)?;
    }
    for &op in UnaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
        rows.add(op.name(), dtype, work, 2 * n * size, Box::new(|| GpuStorage::unary_into(op, src, dst, l)))?;
    }
    if dtype.is_float() {
        for (name, exponent) in POWERS {
            let call = Box::new(|| GpuStorage::powf_into(Powf::new(exponent), src, dst, l));
            rows.add(name, dtype, work, 2 * n * size, call)?;
        }
        rows.add("elu", dtype, work, 2 * n * size, Box::new(|| GpuStorage::elu_into(Elu::new(1.0), src, dst, l)))?;
        let leaky = LeakyRelu::new(0.01);
        let call = Box::new(|| GpuStorage::leaky_relu_into(leaky, src, dst, l));
        rows.add("leaky_relu", dtype, work, 2 * n * size, call)?;
        rows.add("celu", dtype, work, 2 * n * size, Box::new(|| GpuStorage::celu_into(Celu::new(1.0), src, dst, l)))?;
    }
    Ok(())
}

fn layouts<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let (m, size) = (MATRIX, dtype.size_in_bytes());
    let n = m * m;
    let l = &Layout::contiguous([m, m]);
    let (a, vector) = (&rows.bench.random(n, dtype)?, &rows.bench.random(m, dtype)?);
    let dst = &mut rows.bench.output(n, dtype)?;
    let row = &Layout::contiguous([1, m]).broadcast_as([m, m])?;
    let column = &Layout::contiguous([m, 1]).broadcast_as([m, m])?;
    let transposed = &l.transpose(0, 1)?;
    let src = Src::Storage(a, l);
    for (name, layout) in [("add_broadcast_row", row), ("add_broadcast_column", column)] {
        let call = Box::new(|| GpuStorage::binary_into(BinaryOp::Add, src, Src::Storage(vector, layout), dst, l));
        rows.add(name, dtype, "8192x8192", 2 * n * size, call)?;
    }
    let from = Src::Storage(a, transposed);
    rows.add("copy_transposed", dtype, "8192x8192^T", 2 * n * size, Box::new(|| GpuStorage::copy_into(from, dst, l)))?;
    let call = Box::new(|| GpuStorage::unary_into(UnaryOp::Exp, from, dst, l));
    rows.add("exp_transposed", dtype, "8192x8192^T", 2 * n * size, call)?;
    let inner = &l.narrow(1, 1, m - 1)?;
    let packed = &Layout::contiguous([m, m - 1]);
    let call = Box::new(|| GpuStorage::copy_into(Src::Storage(a, inner), dst, packed));
    rows.add("copy2d", dtype, "8192x8191", 2 * m * (m - 1) * size, call)
}

fn reductions<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let (m, size) = (MATRIX, dtype.size_in_bytes());
    let l = &Layout::contiguous([m, m]);
    let a = &rows.bench.random(m * m, dtype)?;
    for (where_, dims) in [("last", &[1][..]), ("first", &[0]), ("all", &[0, 1])] {
        for &op in ReduceOp::ALL {
            let result = &Layout::contiguous(l.shape().reduced(dims));
            let dst = &mut rows.bench.output(result.elem_count(), op.result_dtype(dtype))?;
            let reduce = &Reduce::new(op, dims);
            let call = Box::new(|| GpuStorage::reduce_into(reduce, a, l, dst, result));
            rows.add(&format!("{}_{where_}", op.name()), dtype, "8192x8192", m * m * size, call)?;
        }
    }
    Ok(())
}

fn casts<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    use DType::{BF16, F8E4M3, F8E5M2, F16, F32, I64, U8, U16, U64};
    let (n, work) = (rows.args.size << 20, &format!("{}Mi", rows.args.size));
    let l = &Layout::contiguous(n);
    for (from, to) in [
        (F32, F16),
        (F16, F32),
        (F32, BF16),
        (BF16, F32),
        (F16, BF16),
        (F32, F8E4M3),
        (F32, F8E5M2),
        (F8E5M2, F32),
        (I64, F32),
        (U64, F32),
        (F32, U8),
        (F32, U16),
    ] {
        let op = format!("cast_{from}_{to}");
        if rows.wants(&op, from) {
            let (src, dst) = (rows.bench.random(n, from)?, &mut rows.bench.output(n, to)?);
            let bytes = n * (from.size_in_bytes() + to.size_in_bytes());
            rows.add(&op, from, work, bytes, Box::new(|| GpuStorage::cast_into(&src, l, dst, l)))?;
        }
    }
    Ok(())
}
