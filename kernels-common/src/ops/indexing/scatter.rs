//! Sets elements at positions, or combines others with them: chooses the kernels.

use super::in_place::has_whole_words;
use super::lines::Strips;
use super::{from_end, id_strides, in_order, tuples};
use crate::launch::index::{Dim, IndexDims, count};
use crate::launch::sizes;
use crate::manifest::instances::indexing::{combined_ids, in_place};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Indexing, Layout, Op, Result, ScatterOp, Src};

/// Sources per line that a block processes quickly.
const SHORT: usize = 8192;
/// The most destinations per source: all destinations of a line are read and written.
const SPARSE: usize = 16;

/// A scatter into a destination that already holds the first operand's elements: the action at each
/// position, and the location of all operands.
pub(super) struct Scatter<'a, R: GpuRuntime> {
    pub(super) dst: &'a GpuStorage<R>,
    pub(super) combine: ScatterOp,
    pub(super) ids: DType,
    /// The first elements of destination, ids and source.
    pub(super) at: [DevicePtr; 3],
    /// The step from one element of a line to the next in each, and in the places of the ids in
    /// their order.
    pub(super) along: [usize; 4],
    /// Sources per line; `size` is the number of destinations per line.
    pub(super) n: usize,
    pub(super) size: usize,
    /// The number of destinations per line if negative ids count from the end, else 0.
    pub(super) from_end: usize,
    /// Whether the words that hold the destination's elements hold nothing else.
    pub(super) whole_words: bool,
    pub(super) flag: DevicePtr,
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Whether sources replace the destination's elements.
    pub(super) fn sets(&self) -> bool {
        self.combine == ScatterOp::Set
    }

    /// Returns the addresses of the operands moved by an offset, for values in units of `unit`
    /// bytes.
    pub(super) fn moved(&self, offset: [usize; 4], unit: usize) -> [DevicePtr; 3] {
        let sizes = [unit, self.ids.size_in_bytes(), unit];
        std::array::from_fn(|o| DevicePtr(self.at[o].0 + (offset[o] * sizes[o]) as u64))
    }
}

/// Runs the scatter operations whose ids index one dimension.
pub(super) fn scatter<R: GpuRuntime>(
    op: &Op,
    combine: ScatterOp,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Indexing { dim, .. } = op.indexing().expect("an operation with single ids");
    let ((ids, ids_layout), (src, src_layout)) = (stored(srcs, 1), stored(srcs, 2));
    if src_layout.elem_count() == 0 {
        return Ok(());
    }
    let rank = src_layout.dims().len();
    let size = dst_layout.dims()[dim];
    let device = dst.device();
    let flag = device.index_faults(op, [ids_layout.dims(), dst_layout.dims()])?;
    let converted;
    let (ids, ids_layout, from_end) = if combine == ScatterOp::Set || combined_ids(combine, ids.dtype()) == ids.dtype()
    {
        (ids, ids_layout.clone(), from_end(op, size))
    } else {
        let (positions, layout) = tuples::widened(op, size, (ids, ids_layout), flag.ptr())?;
        converted = positions;
        (&converted, layout, 0)
    };
    let [id_strides, places] = id_strides(&ids_layout, op, dim, rank);
    let strides = |d: usize| [dst_layout.stride()[d], id_strides[d], src_layout.stride()[d], places[d]];
    let scatter = Scatter {
        combine,
        ids: ids.dtype(),
        at: [
            dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
            ids.ptr().at(ids.dtype(), ids_layout.start_offset()),
            src.ptr().at(src.dtype(), src_layout.start_offset()),
        ],
        along: strides(dim),
        n: src_layout.dims()[dim],
        size,
        from_end,
        whole_words: has_whole_words(dst, dst_layout),
        flag: flag.ptr(),
        dst,
    };
    let others = (0..rank).filter(|&d| d != dim).map(|d| Dim { size: src_layout.dims()[d], stride: strides(d) });
    // SAFETY: the layouts were validated against their buffers, the destination has its own buffer,
    // and the kernels check the ids.
    unsafe { scatter.run(others.collect()) }
}

/// The other dimensions of a scatter than that of its lines.
struct Others {
    all: IndexDims<4>,
    /// Those along which an id stays the same, and the others.
    slice: IndexDims<4>,
    lines: IndexDims<4>,
    /// Whether elements of one line are closer than those of neighbouring lines.
    nearest: bool,
}

impl<R: GpuRuntime> Scatter<'_, R> {
    fn others(&self, mut all: IndexDims<4>) -> Others {
        all.retain(|d| d.size != 1);
        let nearest = all.iter().all(|d| d.stride[0] >= self.along[0]);
        let (slice, lines) = all.iter().copied().partition(|d| d.stride[1] == 0);
        Others { all, slice, lines, nearest }
    }

    /// Whether whole slices share an id, and each has so few elements that they are combined one by
    /// one.
    fn has_small_slices(&self, others: &Others) -> bool {
        let bytes = count(&others.slice).saturating_mul(self.dst.dtype().size_in_bytes());
        has_slices(others) && !sizes::SCATTER_SLICE.is_exceeded(bytes)
    }

    /// Whether lines have enough sources for reading and writing all of their destinations.
    fn is_dense(&self) -> bool {
        let most = self.n.max(SHORT / SPARSE);
        sizes::SCATTER_SPARSE.limit_or(self.size / SPARSE, most) >= self.size / SPARSE
    }

    /// Whether blocks that hold the destinations of lines process them quickly.
    fn is_quick(&self, strips: &Strips) -> bool {
        let multiprocessors = self.dst.device().runtime().limits().multiprocessors as usize;
        let enough = !sizes::SCATTER_SHORT.is_exceeded(self.n)
            || sizes::SCATTER_ENOUGH.is_reached_or(strips.blocks(), multiprocessors);
        enough && self.is_dense() && !sizes::SCATTER_RANGES.is_exceeded(strips.ranges())
    }

    /// Whether a scatter with this slice for each id is one that [`run`](Self::run) would make in
    /// place if a kernel can, element by element.
    pub(super) fn is_for_each(&self, slice: IndexDims<4>) -> bool {
        let others = self.others(slice);
        let alone = others.all.is_empty() && !self.is_quick(&self.strips(IndexDims::new(), true));
        self.whole_words && (alone || self.has_small_slices(&others))
    }

    /// # Safety
    /// Every element of the lines must be allocated, and no element of the destination may occur
    /// twice.
    pub(super) unsafe fn run(&self, others: IndexDims<4>) -> Result<()> {
        let others = self.others(others);
        let in_place = in_place(self.combine, self.dst.dtype(), self.ids).filter(|_| self.whole_words);
        if let Some(key) = in_place
            && self.has_small_slices(&others)
        {
            // SAFETY: the caller promises that every element of the lines is allocated, and no
            // element of the destination occurs twice.
            return unsafe { self.in_place(key, others.all, others.nearest) };
        }
        // The number of destinations is a key too.
        let can_sort = !sizes::SCATTER_SORTED.is_exceeded(self.n.max(self.size + 1));
        if can_sort && has_slices(&others) {
            // SAFETY: the caller promises that every element of the lines is allocated, and no
            // element of the destination occurs twice.
            return unsafe { self.sorted(&in_order(others.lines), others.slice) };
        }
        let strips = self.strips(in_order(others.all.clone()), others.nearest);
        let is_quick = self.is_quick(&strips);
        if let Some(key) = in_place
            && !is_quick
        {
            // SAFETY: the caller promises that every element of the lines is allocated, and no
            // element of the destination occurs twice.
            return unsafe { self.in_place(key, others.all, others.nearest) };
        }
        if !can_sort || is_quick {
            // SAFETY: the caller promises that every element of the lines is allocated, and no
            // element of the destination occurs twice.
            return unsafe { self.along_lines(strips) };
        }
        let Others { all, slice, lines, nearest } = others;
        if self.is_dense() && self.size > 0 && slice.is_empty() && !nearest {
            let turned = self.turned(&all);
            if !sizes::SCATTER_RANGES.is_exceeded(turned.ranges()) {
                // SAFETY: the caller promises that every element of the lines is allocated, and no
                // element of the destination occurs twice.
                return unsafe { self.along_rows(turned) };
            }
        }
        // If every element has its own id, a slice is one element.
        let (slice, lines) = if count(&slice) > 1 && !nearest { (slice, lines) } else { (IndexDims::new(), all) };
        // SAFETY: the caller promises that every element of the lines is allocated, and no element
        // of the destination occurs twice.
        unsafe { self.sorted(&in_order(lines), slice) }
    }
}

fn has_slices(others: &Others) -> bool {
    !others.slice.is_empty() && !others.nearest
}
