//! `where_cond`: selects the bits of one of two values.

use super::CpuStorage;
use super::compute::Compute;
use super::vector::{Kernel, vectorised};
use super::walk::{Walk, dispatch_size, zeroed};
use crate::{Layout, Src};

struct Choose<'a, M, T> {
    cond: &'a [M],
    on_true: &'a [T],
    on_false: &'a [T],
    out: &'a mut [T],
}

impl<M: Compute, T: Copy> Kernel for Choose<'_, M, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let choices = self.cond.iter().zip(self.on_true).zip(self.on_false);
        for (o, ((&c, &t), &f)) in self.out.iter_mut().zip(choices) {
            *o = if c != M::ZERO { t } else { f };
        }
    }
}

fn choose<M: Compute, T: bytemuck::Pod + Send + Sync>(
    srcs: [Src<'_, CpuStorage>; 3],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    Walk::new(srcs, dst, dst_layout).run(&|blocks| {
        let mut mask = zeroed::<M>();
        let [mut on_true, mut on_false, mut chosen] = [zeroed::<T>(); 3];
        for block in blocks {
            let cond = block.source(0, &mut mask);
            let (on_true, on_false) = (block.source(1, &mut on_true), block.source(2, &mut on_false));
            block.target(&mut chosen, |out| vectorised(Choose { cond, on_true, on_false, out }));
        }
    });
}

pub(super) fn where_cond(srcs: [Src<'_, CpuStorage>; 3], dst: &mut CpuStorage, dst_layout: &Layout) {
    let cond = srcs[0].storage().map_or(dst.dtype(), |(s, _)| s.dtype());
    dispatch_size!(dst.dtype(), T => match cond.size_in_bytes() {
        1 => choose::<u8, T>(srcs, dst, dst_layout),
        4 => choose::<u32, T>(srcs, dst, dst_layout),
        _ => choose::<i64, T>(srcs, dst, dst_layout),
    });
}
