//! Indexing operations with i64 ids. The bytes count each moved element once.

use super::Rows;
use isobit_hal::{
    BackendDevice, BackendStorage, DType, GatherNd, Indexing, Layout, Op, Result, ScatterNd, ScatterOp, ScatterReduce,
    Src,
};
use isobit_kernels::GpuRuntime;

/// Returns `n` ids below `below`, uniformly distributed (SplitMix64; Steele, Lea and Flood, 2014).
fn ids(n: usize, below: u64) -> Vec<i64> {
    let id = |i: u64| {
        let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(below)) >> 64) as i64
    };
    (1..=n as u64).map(id).collect()
}

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        slices(rows, dtype)?;
        elements(rows, dtype)?;
        tuples(rows, dtype)?;
    }
    Ok(())
}

/// Selects and adds half as many rows as the table has.
fn slices<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    if !rows.wants("index_select_rows", dtype) && !rows.wants("index_add_rows", dtype) {
        return Ok(());
    }
    let (all, some, width) = (32_768, 16_384, 4096);
    let (table, taken, list) =
        (&Layout::contiguous([all, width]), &Layout::contiguous([some, width]), &Layout::contiguous(some));
    let ids = &rows.bench.device.storage_from_slice(&ids(some, all as u64))?;
    let (from, a) = (&mut rows.bench.random(all * width, dtype)?, &mut rows.bench.random(some * width, dtype)?);
    let (bytes, work) = (some * width * dtype.size_in_bytes(), "32768x4096[16384]");
    let select = Box::new(|| {
        let inputs = [Src::Storage(&*from, table), Src::Storage(ids, list)];
        BackendStorage::apply_into(&Op::IndexSelect(Indexing::new(0)), &inputs, a, taken)
    });
    rows.add("index_select_rows", dtype, work, 2 * bytes, select)?;
    let add = Box::new(|| {
        let inputs = [Src::InPlace, Src::Storage(ids, list), Src::Storage(&*a, taken)];
        BackendStorage::apply_into(&Op::IndexAdd(Indexing::new(0)), &inputs, from, table)
    });
    rows.add("index_add_rows", dtype, work, 3 * bytes, add)
}

/// Moves every element of a row to or from another place in that row.
fn elements<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let names =
        ["gather_last", "scatter_last", "scatter_add_last", "scatter_reduce_amax_last", "scatter_reduce_amax_first"];
    if !names.iter().any(|op| rows.wants(op, dtype)) {
        return Ok(());
    }
    let (m, k) = (16_384, 4096);
    let l = &Layout::contiguous([m, k]);
    let ids = &rows.bench.device.storage_from_slice(&ids(m * k, k as u64))?;
    let (a, b) = (&rows.bench.random(m * k, dtype)?, &mut rows.bench.random(m * k, dtype)?);
    let (values, id_bytes, work) = (m * k * dtype.size_in_bytes(), m * k * DType::I64.size_in_bytes(), "16384x4096");
    let gather = Box::new(|| {
        let inputs = [Src::Storage(a, l), Src::Storage(ids, l)];
        BackendStorage::apply_into(&Op::Gather(Indexing::new(1)), &inputs, b, l)
    });
    rows.add("gather_last", dtype, work, 2 * values + id_bytes, gather)?;
    let amax = |dim| Op::ScatterReduce(ScatterReduce::new(ScatterOp::Amax, dim));
    // Sources, and the destination read and written: more than a third of it is not replaced, but
    // shares sectors of memory with what is.
    let moved = 3 * values + id_bytes;
    for (name, op) in [
        ("scatter_last", Op::ScatterSet(Indexing::new(1))),
        ("scatter_add_last", Op::ScatterAdd(Indexing::new(1))),
        ("scatter_reduce_amax_last", amax(1)),
        ("scatter_reduce_amax_first", amax(0)),
    ] {
        let scatter = Box::new(|| {
            let inputs = [Src::InPlace, Src::Storage(ids, l), Src::Storage(a, l)];
            BackendStorage::apply_into(&op, &inputs, b, l)
        });
        rows.add(name, dtype, work, moved, scatter)?;
    }
    Ok(())
}

/// Takes single elements of a matrix by pairs of ids, and combines others with them.
fn tuples<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    if !rows.wants("gather_nd", dtype) && !rows.wants("scatter_nd_amax", dtype) {
        return Ok(());
    }
    let (m, k, n) = (16_384, 4096, 16 << 20);
    let (matrix, pairs, list) = (&Layout::contiguous([m, k]), &Layout::contiguous([n, 2]), &Layout::contiguous(n));
    let ids = &rows.bench.device.storage_from_slice(&ids(2 * n, k as u64))?;
    let (from, taken) = (&mut rows.bench.random(m * k, dtype)?, &mut rows.bench.random(n, dtype)?);
    let (values, id_bytes, work) = (n * dtype.size_in_bytes(), 2 * n * DType::I64.size_in_bytes(), "16384x4096[16Mi]");
    let gather = Box::new(|| {
        let inputs = [Src::Storage(&*from, matrix), Src::Storage(ids, pairs)];
        BackendStorage::apply_into(&Op::GatherNd(GatherNd::new(0)), &inputs, taken, list)
    });
    rows.add("gather_nd", dtype, work, 2 * values + id_bytes, gather)?;
    let scatter = Box::new(|| {
        let inputs = [Src::InPlace, Src::Storage(ids, pairs), Src::Storage(&*taken, list)];
        BackendStorage::apply_into(&Op::ScatterNd(ScatterNd::new(ScatterOp::Amax)), &inputs, from, matrix)
    });
    rows.add("scatter_nd_amax", dtype, work, 3 * values + id_bytes, scatter)
}
