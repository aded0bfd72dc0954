//! Products of bytes: the elements less their zero points, in i32, and the product of those.

use super::matmul::matmul;
use crate::{CpuStorage, DType, Layout, Matmul, MatmulInteger};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Returns the bytes of a layout as integers, in logical order.
fn integers((storage, layout): Input<'_>) -> Vec<i32> {
    let bytes = storage.as_bytes();
    let widen: fn(u8) -> i32 = match storage.dtype() {
        DType::I8 => |byte| i32::from(byte.cast_signed()),
        _ => i32::from,
    };
    layout.strided_index().map(|i| widen(bytes[i])).collect()
}

/// Returns an operand less its zero points, of which there is one, or one for each position of the
/// dimension `side`, counted from the last.
fn centred(operand: Input<'_>, zero: Option<Input<'_>>, side: usize) -> CpuStorage {
    let mut values = integers(operand);
    let zeros = zero.map_or_else(|| vec![0], integers);
    let dims = operand.1.dims();
    let [.., rows, columns] = *dims else { unreachable!("validated to have two dimensions at least") };
    for (i, value) in values.iter_mut().enumerate() {
        let position = if side == 0 { i % columns } else { i / columns % rows };
        *value -= zeros[if zeros.len() == 1 { 0 } else { position }];
    }
    values.into()
}

pub(super) fn matmul_integer<'a>(
    op: MatmulInteger,
    stored: impl Fn(usize) -> Input<'a>,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    if dst_layout.elem_count() == 0 {
        return;
    }
    let mut zeros = [None; 2];
    op.zero_points().zip(2..).for_each(|(side, input)| zeros[side] = Some(stored(input)));
    let [lhs, rhs] = [0, 1].map(stored);
    let (a, b) = (centred(lhs, zeros[0], 1), centred(rhs, zeros[1], 0));
    let [a_layout, b_layout] = [lhs, rhs].map(|(_, layout)| Layout::contiguous(layout.shape()));
    matmul(Matmul::default(), (&a, &a_layout), (&b, &b_layout), dst, dst_layout);
}
