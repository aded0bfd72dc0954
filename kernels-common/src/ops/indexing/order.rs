//! Sorts the sources of a scatter by destination on the device (stable).

use super::scatter::Scatter;
use crate::args;
use crate::launch::Launch;
use crate::launch::index::{Dim, Divisor, Index, count};
use crate::manifest::instances::indexing::{KEYS, of_ids};
use crate::ops::sort;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Result, Sort};
use std::mem::offset_of;

/// Threads per block; must match order.cu.
const BLOCK: usize = 256;

/// The layout of the kernels' `Keys`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Keys {
    lines: Index<4>,
    step: u64,
    place_step: u64,
    place: u64,
    n: Divisor,
    size: u32,
    from_end: u32,
    count: u32,
    nowhere: u32,
}

const _: () = assert!(size_of::<Keys>() == 416);
const _: () = assert!(offset_of!(Keys, step) == 360 && offset_of!(Keys, n) == 384);
const _: () = assert!(offset_of!(Keys, size) == 396);

/// Sources sorted by key, and by position if keys are equal. A key is the number of a destination
/// among those of all lines; `nowhere` follows the last one.
pub(super) struct Order<R: GpuRuntime> {
    pub(super) keys: GpuStorage<R>,
    pub(super) sources: GpuStorage<R>,
    pub(super) count: usize,
    pub(super) nowhere: usize,
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Sorts the sources of the lines that begin at an offset. There must be fewer than 2^31
    /// sources and destinations in total.
    ///
    /// # Safety
    /// Every id of the lines must be allocated.
    pub(super) unsafe fn order(&self, lines: &[Dim<4>], offset: [usize; 4]) -> Result<Order<R>> {
        let device = self.dst.device();
        let (sources, nowhere) = (count(lines) * self.n, count(lines) * self.size);
        let scratch = |len: usize| device.alloc(len, DType::U32);
        let (unsorted, sorted, order) = (scratch(sources)?, scratch(sources)?, scratch(sources)?);
        let parameters = Keys {
            lines: Index::new(lines),
            step: self.along[1] as u64,
            place_step: self.along[3] as u64,
            place: offset[3] as u64,
            n: Divisor::new(self.n),
            size: self.size as u32,
            from_end: self.from_end as u32,
            count: sources as u32,
            nowhere: nowhere as u32,
        };
        let [_, ids, _] = self.moved(offset, 0);
        let launch = Launch::linear(of_ids(KEYS, self.ids), sources.div_ceil(BLOCK) as u32, BLOCK as u32);
        let sort = sort::Radix {
            device,
            dtype: DType::U32,
            order: sort::Order::new(DType::U32, Sort::ascending()),
            bits: (usize::BITS - nowhere.leading_zeros()).max(1),
            rows: &[],
            steps: [1, 1],
            length: sources,
        };
        let results = sort::Moved { elements: sorted.ptr(), positions: order.ptr() };
        // SAFETY: the caller promises valid ids, and there is space for every key and its position.
        unsafe {
            launch.on(device, args![ids, unsorted.ptr(), parameters, self.flag])?;
            sort.run(unsorted.ptr(), results)?;
        }
        Ok(Order { keys: sorted, sources: order, count: sources, nowhere })
    }
}
