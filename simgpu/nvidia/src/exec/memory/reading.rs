//! Reads of the device runtime for one thread, at generic addresses: checked like the thread's own
//! loads.

use super::checked_access::{check_scattered, check_shared};
use super::{APERTURE, LOCAL_APERTURE, SHARED_APERTURE, pending, private};
use crate::exec::{Env, LANES, Warp};
use isobit_simgpu_core::check::Access;

/// The memory of an address, and the address in it.
enum Memory {
    Global(u64),
    Shared(u64),
    Local(u64),
}

impl Memory {
    fn of(address: u64) -> Self {
        let within = |start: u64| Some(address.wrapping_sub(start)).filter(|at| *at < APERTURE);
        match (within(SHARED_APERTURE), within(LOCAL_APERTURE)) {
            (Some(at), _) => Self::Shared(at),
            (_, Some(at)) => Self::Local(at),
            _ => Self::Global(address),
        }
    }
}

/// Reads bytes at a multiple of their number. Returns false, after a report, if they may not be
/// read.
pub fn read(warp: &mut Warp, env: &mut Env<'_>, lane: usize, address: u64, to: &mut [u8]) -> bool {
    aligned(warp, env, lane, address, to, to.len() as u32)
}

/// Reads a string without its NUL; with `most`, at most so many bytes, and then no NUL is needed.
/// Returns `None`, after a report, if it leaves its memory.
pub fn text(warp: &mut Warp, env: &mut Env<'_>, lane: usize, address: u64, most: Option<usize>) -> Option<Vec<u8>> {
    let most = most.unwrap_or(usize::MAX);
    let (length, ended) = extent(warp, env, lane, address, most);
    // A NUL is read too. A string that does not end reads one byte more than its memory has.
    let mut bytes = vec![0; if length == most { length } else { length + 1 }];
    if !aligned(warp, env, lane, address, &mut bytes, 1) || !ended {
        return None;
    }
    bytes.truncate(length);
    Some(bytes)
}

/// Returns how many bytes of a string come before its NUL, before the end of its memory, and before
/// `most`; and whether it ends there.
fn extent(warp: &mut Warp, env: &mut Env<'_>, lane: usize, address: u64, most: usize) -> (usize, bool) {
    let (start, room) = match Memory::of(address) {
        Memory::Global(at) => match env.launch.table().find(at) {
            Some(found) => (at as *const u8, (found.base + found.bytes - at) as usize),
            None => return (0, false),
        },
        Memory::Shared(at) => {
            let shared = env.shared.bytes_mut();
            (shared.as_ptr().wrapping_add(at as usize), shared.len().saturating_sub(at as usize))
        }
        Memory::Local(at) => {
            let room = (warp.private.ends()[lane] as usize).saturating_sub(at as usize);
            (warp.private.places(&[at; LANES])[lane].cast_const(), room)
        }
    };
    let limit = room.min(most);
    // SAFETY: the bytes are in a live allocation, or in the memory of the block or the thread.
    // Other threads of the simulated card may write them meanwhile; the check that follows reports
    // that.
    let end = (0..limit).find(|at| unsafe { start.add(*at).read_volatile() } == 0);
    (end.unwrap_or(limit), end.is_some() || limit == most)
}

fn aligned(warp: &mut Warp, env: &mut Env<'_>, lane: usize, address: u64, to: &mut [u8], align: u32) -> bool {
    let Ok(bytes) = u32::try_from(to.len()) else { return false };
    if bytes == 0 {
        return true;
    }
    let mask = 1 << lane;
    let from = match Memory::of(address) {
        Memory::Global(at) => {
            let checked = check_scattered(warp, env, Access::Load, (bytes, align), mask, &[at; LANES]);
            (checked.lanes != 0).then_some(at as *const u8)
        }
        Memory::Shared(at) => {
            let checked = check_shared(warp, env, Access::Load, (bytes, align), mask, &[at; LANES]);
            (checked.lanes != 0).then(|| env.shared.bytes_mut().as_ptr().wrapping_add(at as usize))
        }
        Memory::Local(at) => {
            let form = super::Form { align, ..pending::form(Access::Load, bytes, pending::take) };
            let (lanes, _) = private::check(warp, env, &form, mask, &[at; LANES]);
            (lanes != 0).then(|| warp.private.places(&[at; LANES])[lane].cast_const())
        }
    };
    let Some(from) = from else { return false };
    // SAFETY: the check found the bytes in a live allocation, in shared memory or in the thread's
    // local memory; races are reported by it.
    unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    true
}
