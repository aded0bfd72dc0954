//! Fused additions: the sum is rounded as by `add`, then the unary function of the dtype is
//! applied.

use super::element::Codec;
use super::walk::{Buffer, Walk};
use super::{CpuStorage, binary, unary};
use crate::{Activation, BinaryOp, Layout, Src};

pub(super) fn add_activation(
    op: Activation,
    srcs: [Src<'_, CpuStorage>; 2],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    let dtype = dst.dtype();
    let codec = Codec::of(dtype);
    let (add, function) = (binary::function(BinaryOp::Add, dtype), unary::function(op.unary(), dtype));
    Walk::new(srcs, dst, dst_layout).run(&|blocks| {
        let mut buffers: [Buffer; 8] = Default::default();
        let [x, bias, wide_x, wide_bias, sums, wide_sums, scratch, scattered] = &mut buffers;
        for block in blocks {
            let size = codec.size;
            let operands = [(0, &mut *x, &mut *wide_x), (1, &mut *bias, &mut *wide_bias)]
                .map(|(i, elements, widened)| codec.widened(block.source_bytes(i, size, elements), widened));
            let sums = sums.bytes(block.len() * size);
            codec.rounded(sums, scratch, |out| add.apply(operands, out));
            let sums = codec.widened(sums, wide_sums);
            block.target_bytes(size, scattered, |out| {
                codec.rounded(out, scratch, |out| function.apply([sums], out));
            });
        }
    });
}
