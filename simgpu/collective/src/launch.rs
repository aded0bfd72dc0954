//! The numbers of collectives and messages in graphs. Each has a number among those that its
//! communicator captured, and another one for each launch, so that it meets the same launch in the
//! other ranks, no matter when they run. Numbers of what is not captured are others.

/// Only in the numbers of what is captured.
const CAPTURED: u64 = 1 << 63;
/// How far the launch's number reaches.
const LAUNCH_BITS: u32 = 32;

/// Returns the number of captured work in a launch.
pub(crate) fn join(number: u64, launch: u64) -> u64 {
    CAPTURED | number << LAUNCH_BITS | launch & ((1 << LAUNCH_BITS) - 1)
}

/// Returns number and launch of captured work, or nothing for other work.
pub(crate) fn split(number: u64) -> Option<(u64, u64)> {
    let launch = number & ((1 << LAUNCH_BITS) - 1);
    (number & CAPTURED != 0).then_some(((number & !CAPTURED) >> LAUNCH_BITS, launch))
}
