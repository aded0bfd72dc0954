//! Taking elements from positions: block by block through the result, or slice by slice if a whole
//! slice has one id.

use super::{Faults, Ids, Read, Shared, offsets, start};
use crate::cpu::CpuStorage;
use crate::cpu::walk::{BLOCK, parallel};
use crate::{Layout, collapse};

/// Where the elements of a result come from: the elements at position 0, in the result's shape, and
/// the positions, which are `step` apart.
pub(super) struct Taken {
    pub base: Layout,
    pub size: usize,
    pub step: usize,
}

/// Takes the elements of a source at the positions given by ids of the result's shape.
pub(super) fn take<T: bytemuck::Pod + Send + Sync>(
    src: &CpuStorage,
    &Taken { ref base, size, step }: &Taken,
    ids: &Ids,
    dst: &mut CpuStorage,
    dl: &Layout,
    faults: &Faults,
) {
    let walk = collapse(&[dl, &ids.layout, base, &ids.places]);
    let src = Read(start::<T>(src, base));
    let (dst, dims) = (Shared::<T>::of(dst, dl), &walk.dims[..]);
    let [to, from_ids, from, numbers] = [0, 1, 2, 3].map(|i| &walk.strides[i][..]);
    // Slices with one id each that are contiguous on both sides are copied whole.
    let (outer, run) = match dims.split_last() {
        Some((&run, outer)) if (to[outer.len()], from_ids[outer.len()], from[outer.len()]) == (1, 0, 1) => (outer, run),
        _ => (dims, 1),
    };
    let [to, from_ids, from] = [to, from_ids, from].map(|s| &s[..outer.len()]);
    let count: usize = outer.iter().product();
    parallel(count.div_ceil(BLOCK), (16 / run).max(1), &|blocks| {
        let [mut from_id, mut place, mut base] = [[0usize; BLOCK]; 3];
        for block in blocks {
            let range = block * BLOCK..count.min((block + 1) * BLOCK);
            let n = range.len();
            offsets(outer, from_ids, range.clone(), &mut from_id);
            offsets(outer, to, range.clone(), &mut place);
            offsets(outer, from, range.clone(), &mut base);
            for i in 0..n {
                let to = dst.at(place[i]);
                // SAFETY: the offset is of an element of the layout.
                let id = unsafe { ids.at(from_id[i]) };
                let place = || {
                    let mut place = [0];
                    offsets(outer, &numbers[..outer.len()], range.start + i..range.start + i + 1, &mut place);
                    place[0]
                };
                match ids.position(id, size, faults, place) {
                    // SAFETY: the id is inside the dimension, so the run lies in the validated
                    // layout of the source; the destination was validated to lie in its buffer and
                    // not to overlap itself, so no other run has these elements.
                    Some(at) => unsafe { std::ptr::copy_nonoverlapping(src.at(base[i] + at * step), to, run) },
                    // SAFETY: as above.
                    None => (0..run).for_each(|j| unsafe { *to.add(j) = T::zeroed() }),
                }
            }
        }
    });
}
