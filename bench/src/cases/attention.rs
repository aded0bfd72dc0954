//! Attention of 32 heads: whole sequences, causal or not, many queries to a long cache of keys, and
//! one. Where a vendor's library has it, its time is the floor of the portable kernel.

use super::Rows;
use crate::row::Row;
use isobit_hal::{Attention, BackendDevice, BackendStorage, DType, Layout, Numerics, Op, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

const HEADS: usize = 32;

/// Batch, heads of the keys, queries, keys, and the size of a head.
#[derive(Clone, Copy)]
struct Work {
    sizes: [usize; 5],
    causal: bool,
}

impl Work {
    fn name(&self) -> String {
        let [batch, kv_heads, m, n, d] = self.sizes;
        let grouped = if kv_heads == HEADS { String::new() } else { format!(" kv{kv_heads}") };
        format!("{batch}x{HEADS}x{m}x{n}x{d}{grouped}{}", if self.causal { " causal" } else { "" })
    }

    /// The operations of both products. Half of the keys are hidden if it is causal.
    fn flops(&self) -> f64 {
        let [batch, _, m, n, d] = self.sizes;
        4.0 * (batch * HEADS * m * n * d) as f64 / if self.causal { 2.0 } else { 1.0 }
    }
}

fn works() -> Vec<Work> {
    let mut works = Vec::new();
    let mut both = |n: usize, d: usize| {
        works.extend([false, true].map(|causal| Work { sizes: [1, HEADS, n, n, d], causal }));
    };
    for d in [64, 128] {
        [128, 1024, 4096].into_iter().for_each(|n| both(n, d));
    }
    both(4096, 32);
    both(1024, 96);
    both(1024, 256);
    works.push(Work { sizes: [1, 8, 2048, 2048, 128], causal: true });
    works.push(Work { sizes: [1, 8, 2048, 32_768, 128], causal: false });
    for batch in [1, 8] {
        works.extend([1024, 4096, 32_768].map(|n| Work { sizes: [batch, 8, 1, n, 128], causal: false }));
    }
    works
}

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let op = Op::ScaledDotProductAttention(Attention::new());
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        if rows.wants(op.name(), dtype) {
            works().into_iter().try_for_each(|work| both(rows, dtype, work))?;
        }
    }
    Ok(())
}

fn both<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType, work: Work) -> Result<()> {
    let ([batch, kv_heads, m, n, d], bench) = (work.sizes, rows.bench);
    let (ql, kl) = (Layout::contiguous([batch, HEADS, m, d]), Layout::contiguous([batch, kv_heads, n, d]));
    let (q, k) = (bench.random(ql.elem_count(), dtype)?, bench.random(kl.elem_count(), dtype)?);
    let (v, mut out) = (bench.random(kl.elem_count(), dtype)?, bench.output(ql.elem_count(), dtype)?);
    let inputs = [Src::Storage(&q, &ql), Src::Storage(&k, &kl), Src::Storage(&v, &kl)];
    let parameters = if work.causal { Attention::new().causal() } else { Attention::new() };
    // No library has it in f32, and not every vendor has one.
    let has_vendor = dtype != DType::F32 && bench.device.info()?.capabilities.vendor_attention;
    let with_vendor = has_vendor.then_some(("_vendor", Numerics::Vendor)).into_iter();
    let mut vendor = None;
    for (suffix, numerics) in with_vendor.chain([("", Numerics::Portable)]) {
        let op = Op::ScaledDotProductAttention(parameters.with_numerics(numerics));
        let name = format!("{}{suffix}", op.name());
        let call = || GpuStorage::apply_into(&op, &inputs, &mut out, &ql);
        let bytes = 2 * (ql.elem_count() + kl.elem_count()) * dtype.size_in_bytes();
        // One query takes as long as its keys and values take to be read.
        let row = if m == 1 {
            bench.bytes_row(&name, dtype, &work.name(), bytes, call)?
        } else {
            let us = bench.time(call)?;
            Row::new(name, dtype, work.name(), us).with_floor(vendor)
        };
        vendor = vendor.or(Some(row.us).filter(|_| numerics == Numerics::Vendor));
        rows.push(Row { bytes: Some(bytes as f64), flops: Some(work.flops()), ..row });
    }
    Ok(())
}
