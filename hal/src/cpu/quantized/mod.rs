//! Quantized matrices: the block formats of GGUF and the products with them, as
//! `docs/numerics/quantized.md` defines them.

mod block;
mod convert;
mod format;
mod formats;
mod fp4;
mod grid;
mod iq1;
mod iq2;
mod iq3;
mod iq4;
mod k_quants_16;
mod k_quants_32;
mod legacy_quants;
mod nibbles;
mod operand;
mod product;
mod q8;
mod rounding;
pub(super) mod rows;
mod search;
mod super_blocks;
mod ternary;

use super::CpuStorage;
use super::element::Codec;
use crate::*;
use convert::Functions;
use format::dispatch_format;
use operand::{quantized, widened};
use product::{Activations, Group, Product};
use rows::{Rows, RowsMut};
use std::collections::BTreeMap;

type Input<'a> = (&'a CpuStorage, &'a Layout);

fn functions(format: GgmlDType) -> Functions {
    dispatch_format!(format, F => Functions::of::<F>())
}

pub(super) fn quantize(format: GgmlDType, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() > 0 {
        functions(format).write(&Rows::new(src), Codec::of(src.0.dtype()), &RowsMut::new(dst, dl));
    }
}

pub(super) fn dequantize(format: GgmlDType, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() > 0 {
        let codec = Codec::of(dst.dtype());
        functions(format).read(&Rows::new(src), codec, &RowsMut::new(dst, dl));
    }
}

/// Computes the products of groups of rows. `share` consecutive rows of results use one row of
/// activations.
fn product(op: QMatmul, weight: Input<'_>, x: Input<'_>, groups: &[Group], share: usize, dst: &RowsMut<'_>) {
    let codec = Codec::of(x.0.dtype());
    let (x, weights) = (Rows::new(x), Rows::new(weight));
    let (n, k) = (dst.len(), x.len());
    let floats = widened(&x, codec);
    let blocks = match op.activations {
        QActivations::Float => Vec::new(),
        QActivations::Q8_1 => quantized(&floats, k),
    };
    let activations = match op.activations {
        QActivations::Float => Activations::Float(&floats),
        QActivations::Q8_1 => Activations::Q8_1(&blocks),
    };
    let store = |row: usize, column: usize, values: &[f32]| {
        let mut rounded = [0u32; product::COLUMNS];
        let rounded = &mut bytemuck::cast_slice_mut(&mut rounded)[..values.len() * codec.size];
        codec.round(values, rounded);
        // SAFETY: every row is in at most one group, and only one tile has these columns of it.
        unsafe { dst.write(row, column, rounded) };
    };
    let product = Product { functions: functions(op.format), weights, n, k, activations, share, store: &store };
    match activations {
        Activations::Float(x) if op.numerics == Some(Numerics::Block) => block::run(&product, x, groups),
        _ => product.run(groups),
    }
}

pub(super) fn qmatmul(op: QMatmul, weight: Input<'_>, x: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() > 0 {
        let dst = RowsMut::new(dst, dl);
        let all = Group { first: 0, rows: (0..dst.count()).collect() };
        product(op, weight, x, &[all], 1, &dst);
    }
}

/// The id that marks padding.
const PADDING: u32 = u32::MAX;

pub(super) fn qmatmul_id(
    op: QMatmul,
    weight: Input<'_>,
    x: Input<'_>,
    ids: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    if ids.1.elem_count() == 0 {
        return Ok(());
    }
    let ([experts, n, _], [_, rows_of_x, _], [_, top]) = (weight.1.dims(), x.1.dims(), ids.1.dims()) else {
        unreachable!("validated to have these ranks");
    };
    let experts = *experts;
    let (ids, shape) = (Rows::new(ids), ids.1.dims());
    let mut chosen = vec![0u32; ids.count() * ids.len()];
    let tokens = chosen.chunks_exact_mut(*top).enumerate();
    tokens.for_each(|(token, out)| ids.read(token, 0, bytemuck::cast_slice_mut(out)));
    let (mut chosen_by, mut without, mut wrong) = (BTreeMap::<_, Vec<usize>>::new(), Vec::new(), None);
    for (row, &id) in chosen.iter().enumerate() {
        if id != PADDING && (id as usize) < experts {
            chosen_by.entry(id as usize).or_default().push(row);
        } else {
            without.push(row);
            wrong = wrong.or((id != PADDING).then_some((row, id)));
        }
    }
    let groups: Vec<Group> = chosen_by.into_iter().map(|(expert, rows)| Group { first: expert * n, rows }).collect();
    // If a token has one row of activations, its rows of results share it.
    let share = if *rows_of_x == 1 { *top } else { 1 };
    if dl.elem_count() > 0 {
        let zeros = vec![0; n * dst.dtype().size_in_bytes()];
        let dst = RowsMut::new(dst, dl);
        product(op, weight, x, &groups, share, &dst);
        // SAFETY: the products are finished, and they wrote other rows.
        without.iter().for_each(|&row| unsafe { dst.write(row, 0, &zeros) });
    }
    match wrong {
        None => Ok(()),
        Some((row, id)) => Err(Op::QMatmulId(op).id_out_of_range(id.into(), row, shape, weight.1.dims())),
    }
}
