//! Quantized matrices: the block formats of GGUF and the products with them, as `docs/numerics/quantized.md` says.

mod activations;
mod bytes;
mod convert;
mod format;
mod formats;
mod packed;
mod product;
mod round;
mod rows;
mod search;
mod sixteens;
mod super_blocks;
mod thirty_twos;

use super::CpuStorage;
use super::element::Element;
use crate::*;
use activations::{quantized, widened};
use convert::Functions;
use format::dispatch_format;
use product::{Activations, Group, Product};
use rows::{Rows, RowsMut};
use std::collections::BTreeMap;

type Input<'a> = (&'a CpuStorage, &'a Layout);

const DISPATCHED: &str = "the dtype is that of the arm";

/// Runs an expression with a type name bound to the Rust type of an activation's dtype. Others were refused by [`validate`].
macro_rules! dispatch_activation {
    ($dtype:expr, $T:ident => $body:expr) => {
        dispatch_dtype!(@arms $dtype, $T, $body, F16 f16, BF16 bf16, F32 f32)
    };
}

fn rows<'a, T: WithDType>(input: Input<'a>) -> Rows<'a, T> {
    Rows::new(input.0.as_slice().expect(DISPATCHED), input.1)
}

fn rows_mut<'a, T: WithDType>(dst: &'a mut CpuStorage, layout: &Layout) -> RowsMut<'a, T> {
    RowsMut::new(dst.as_mut_slice().expect(DISPATCHED), layout)
}

pub(super) fn quantize(format: GgmlDType, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() == 0 {
        return;
    }
    let functions = dispatch_format!(format, F => Functions::of::<F>());
    dispatch_activation!(src.0.dtype(), T => functions.quantize(&rows::<T>(src), &rows_mut(dst, dl)));
}

pub(super) fn dequantize(format: GgmlDType, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() == 0 {
        return;
    }
    let functions = dispatch_format!(format, F => Functions::of::<F>());
    dispatch_activation!(dst.dtype(), T => functions.dequantize(&rows(src), &rows_mut::<T>(dst, dl)));
}

/// Products of groups of rows; `share` rows of results in a row have one row of activations.
fn product<T: Element<Compute = f32>>(
    op: QMatmul,
    weight: Input<'_>,
    x: Input<'_>,
    groups: &[Group],
    share: usize,
    dst: &RowsMut<'_, T>,
) {
    let (x, weights) = (rows::<T>(x), rows(weight));
    let (n, k) = (dst.len(), x.len());
    let floats = widened(&x);
    let blocks = match op.activations {
        QActivations::Float => Vec::new(),
        QActivations::Q8_1 => quantized(&floats, k),
    };
    let activations = match op.activations {
        QActivations::Float => Activations::Float(&floats),
        QActivations::Q8_1 => Activations::Q8_1(&blocks),
    };
    let store = |row: usize, column: usize, values: &[f32]| {
        let mut rounded = [T::default(); product::COLUMNS];
        let mut buf = [0.0; product::COLUMNS];
        let rounded = &mut rounded[..values.len()];
        T::store(rounded, &mut buf, |out| out.copy_from_slice(values));
        // SAFETY: every row is in one group at most, and a tile has these columns of it alone.
        unsafe { dst.write(row, column, rounded) };
    };
    let product = Product { weights, n, k, activations, share, store: &store };
    dispatch_format!(op.format, F => product.run::<F>(groups));
}

pub(super) fn qmatmul(op: QMatmul, weight: Input<'_>, x: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() == 0 {
        return;
    }
    dispatch_activation!(x.0.dtype(), T => {
        let dst = rows_mut::<T>(dst, dl);
        let all = Group { first: 0, rows: (0..dst.count()).collect() };
        product(op, weight, x, &[all], 1, &dst);
    });
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
    let ids: Rows<'_, u32> = rows(ids);
    let mut chosen = vec![0; ids.count() * ids.len()];
    chosen.chunks_exact_mut(*top).enumerate().for_each(|(token, out)| ids.read(token, 0, out));
    let (mut chosen_by, mut without, mut wrong) = (BTreeMap::<_, Vec<usize>>::new(), Vec::new(), None);
    for (row, &id) in chosen.iter().enumerate() {
        if id != PADDING && (id as usize) < experts {
            chosen_by.entry(id as usize).or_default().push(row);
        } else {
            without.push(row);
            wrong = wrong.or((id != PADDING).then_some(id));
        }
    }
    let groups: Vec<Group> = chosen_by.into_iter().map(|(expert, rows)| Group { first: expert * n, rows }).collect();
    // Where a token has one row of activations, its rows of results share it.
    let share = if *rows_of_x == 1 { *top } else { 1 };
    if dl.elem_count() > 0 {
        dispatch_activation!(x.0.dtype(), T => {
            let dst = rows_mut::<T>(dst, dl);
            product(op, weight, x, &groups, share, &dst);
            let zeros = vec![T::default(); dst.len()];
            // SAFETY: the products are done, and they had other rows.
            without.iter().for_each(|&row| unsafe { dst.write(row, 0, &zeros) });
        });
    }
    match wrong {
        None => Ok(()),
        Some(id) => Err(Error::new(
            ErrorKind::IndexOutOfRange,
            format!("qmatmul_id: expert {id} of {experts}; its rows are 0 (an id of {PADDING} is padding)"),
        )),
    }
}
