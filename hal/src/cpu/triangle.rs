//! Triangles of matrices: the bits of the elements on one side of a diagonal are copied, the others
//! become 0.

use super::CpuStorage;
use super::walk::{Walk, dispatch_size, zeroed};
use crate::{Layout, Src, Triangle};
use std::ops::Range;

/// Returns the columns of a row that are kept.
fn kept(op: Triangle, row: usize, columns: usize) -> Range<usize> {
    // 128-bit arithmetic cannot overflow here.
    let end = |column: i128| column.clamp(0, columns as i128) as usize;
    let diagonal = row as i128 + i128::from(op.diagonal);
    if op.upper { end(diagonal)..columns } else { 0..end(diagonal + 1) }
}

pub(super) fn triangle(op: Triangle, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let [.., rows, columns] = *dst_layout.dims() else { unreachable!("validated to be matrices") };
    dispatch_size!(dst.dtype(), T => {
        Walk::new([src], dst, dst_layout).run(&|blocks| {
            let (mut gathered, mut scattered) = (zeroed::<T>(), zeroed::<T>());
            for block in blocks {
                let source = block.source(0, &mut gathered);
                block.target(&mut scattered, |out| {
                    // Go row by row; the block may start and end within a row of a matrix.
                    let (mut done, first) = (0, block.start());
                    while done < out.len() {
                        let (row, column) = ((first + done) / columns % rows, (first + done) % columns);
                        let n = (columns - column).min(out.len() - done);
                        let stays = kept(op, row, columns);
                        let at = |c: usize| done + c.clamp(column, column + n) - column;
                        let stays = at(stays.start)..at(stays.end.max(stays.start));
                        out[done..stays.start].fill(0);
                        out[stays.clone()].copy_from_slice(&source[stays.clone()]);
                        out[stays.end..done + n].fill(0);
                        done += n;
                    }
                });
            }
        });
    });
}
