//! Operations on images that find the same elements of every channel: threads take several
//! channels, so that finding them counts less.

use crate::launch::sizes;
use isobit_hal::Layout;

/// Some groups of channels of a result `[n, c, ..]`, all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups {
    /// The first channel.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// Channels of each.
    pub(crate) channels: usize,
}

/// Splits the channels into groups of one size and, if channels are left, one more group. A thread
/// has several channels only if there are still enough threads to fill the device.
pub(crate) fn groups(dst_layout: &Layout) -> impl Iterator<Item = Groups> {
    let (all, elements) = (dst_layout.dims()[1], dst_layout.elem_count());
    let wanted = elements / sizes::CHANNELS_ENOUGH.limit(elements);
    let channels = wanted.min(sizes::CHANNELS.limit(wanted)).clamp(1, all);
    let count = all / channels;
    let first = count * channels;
    let rest = Groups { first, count: 1, channels: all - first };
    [Groups { first: 0, count, channels }, rest].into_iter().filter(|groups| groups.channels > 0)
}
