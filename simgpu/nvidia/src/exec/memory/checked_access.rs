//! Accesses of lanes to the memories: checks each access, then performs it for the lanes that pass.

use super::operation::{Form, disagreeing, lanes_in, stored};
use super::{APERTURE, LOCAL_APERTURE, SHARED_APERTURE, private};
use crate::exec::warp::SITE_CACHES;
use crate::exec::{Env, LANES, Warp};
use isobit_simgpu_core::check::{Access, Checked, LANES as CHECKED_LANES};
use isobit_simgpu_core::finding::{Finding, FindingKind};

/// The pattern of a warp's accesses, if it is a simple one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The active lanes are consecutive, and so are their bytes, starting here.
    Row(u64),
    /// All lanes access the same address.
    Same(u64),
    /// Any other pattern.
    Other,
}

/// Returns the pattern of accesses of `bytes` bytes by the lanes of `mask`. The mask is not empty.
#[inline(always)]
pub fn shape(mask: u32, addresses: &[u64; LANES], bytes: u32) -> Shape {
    let first = mask.trailing_zeros();
    let at = addresses[first as usize & 31];
    let start = at.wrapping_sub(u64::from(first * bytes));
    let (mut rows, mut places) = (0, 0);
    if mask == u32::MAX {
        for (lane, address) in addresses.iter().enumerate() {
            rows |= address ^ start.wrapping_add(lane as u64 * u64::from(bytes));
            places |= address ^ at;
        }
    } else {
        for (lane, address) in addresses.iter().enumerate() {
            let active = u64::from(mask >> lane & 1).wrapping_neg();
            rows |= (address ^ start.wrapping_add(lane as u64 * u64::from(bytes))) & active;
            places |= (address ^ at) & active;
        }
        // The lanes are consecutive if adding the lowest bit to the mask clears all of them.
        rows |= u64::from(mask & mask.wrapping_add(1 << first));
    }
    match (rows, places) {
        (0, _) => Shape::Row(at),
        (_, 0) => Shape::Same(at),
        _ => Shape::Other,
    }
}

/// Accesses global memory. Device addresses are addresses of this process.
#[inline(always)]
pub fn global(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    if !form.access.is_atomic() {
        let (place, site) = (warp.place(env), warp.site());
        let cache = &mut env.caches[site as usize % SITE_CACHES];
        let bytes = u64::from(form.bytes);
        match shape(mask, addresses, form.bytes) {
            Shape::Row(at) => {
                let all = u64::from(mask.count_ones()) * bytes;
                if env.launch.check_run(&place, form.access, at, all, form.align, cache) {
                    // SAFETY: the check found the whole row in a live allocation. If other threads
                    // of the simulated card access it at the same time, the kernel has a race,
                    // which the checks report.
                    unsafe { form.in_row(warp, env.program, form.lanes, mask, at as *mut u8) };
                    return;
                }
            }
            Shape::Same(at) => {
                if let Some(same) = form.same
                    && env.launch.check_run(&place, form.access, at, bytes, form.align, cache)
                {
                    // SAFETY: as for rows.
                    unsafe { same(warp, env.program, form, mask, at as *mut u8) };
                    return;
                }
            }
            Shape::Other => {}
        }
    }
    scattered(warp, env, form, mask, addresses);
}

#[inline(never)]
fn scattered(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let checked = check_scattered(warp, env, form.access, (form.bytes, form.align), mask, addresses);
    let lanes = checked.lanes as u32;
    // SAFETY: the check found the bytes of these lanes in live allocations; as for rows.
    unsafe { (form.lanes)(warp, env.program, form, lanes, &addresses.map(|address| address as *mut u8)) };
    if form.access.is_atomic() {
        env.launch.performed(&checked);
    }
    if checked.overlap != 0
        && let stored = stored(warp, env.program, form, lanes)
        && let Some(lane) = disagreeing(&stored, form.bytes, lanes, checked.overlap, addresses)
    {
        let place = warp.place(env);
        env.launch.overlapping(&place, warp.site(), lane as u32, addresses[lane], form.bytes, env.describe);
    }
}

/// Checks accesses to global memory of this size and alignment, lane by lane.
pub fn check_scattered(
    warp: &Warp,
    env: &mut Env<'_>,
    access: Access,
    (bytes, align): (u32, u32),
    mask: u32,
    addresses: &[u64; LANES],
) -> Checked {
    let (place, site) = (warp.place(env), warp.site());
    let cache = &mut env.caches[site as usize % SITE_CACHES];
    let mut all = [0; CHECKED_LANES];
    all[..LANES].copy_from_slice(addresses);
    env.launch.check_scattered(&place, access, site, mask.into(), &all, bytes, align, cache, env.describe)
}

/// Accesses shared memory, by address within it.
#[inline(always)]
pub fn shared(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    if !form.access.is_atomic() {
        let place = warp.place(env);
        match shape(mask, addresses, form.bytes) {
            Shape::Row(at) => {
                let all = mask.count_ones() * form.bytes;
                if env.shared.check_run(&place, form.access, at, all, form.align, env.launch) {
                    let at = env.shared.bytes_mut().as_mut_ptr().wrapping_add(at as usize);
                    // SAFETY: the check found the whole row inside, and only this host thread
                    // accesses it.
                    unsafe { form.in_row(warp, env.program, form.shared, mask, at) };
                    return;
                }
            }
            Shape::Same(at) => {
                if let Some(same) = form.same
                    && env.shared.check_run(&place, form.access, at, form.bytes, form.align, env.launch)
                {
                    let at = env.shared.bytes_mut().as_mut_ptr().wrapping_add(at as usize);
                    // SAFETY: as for rows.
                    unsafe { same(warp, env.program, form, mask, at) };
                    return;
                }
            }
            Shape::Other => {}
        }
    }
    shared_scattered(warp, env, form, mask, addresses);
}

#[inline(never)]
fn shared_scattered(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let checked = check_shared(warp, env, form.access, (form.bytes, form.align), mask, addresses);
    let lanes = checked.lanes as u32;
    let start = env.shared.bytes_mut().as_mut_ptr();
    let places = addresses.map(|address| start.wrapping_add(address as usize));
    // SAFETY: the check found the bytes of these lanes inside, and only this host thread accesses
    // them.
    unsafe { (form.shared)(warp, env.program, form, lanes, &places) };
    if checked.overlap != 0
        && let stored = stored(warp, env.program, form, lanes)
        && let Some(lane) = disagreeing(&stored, form.bytes, lanes, checked.overlap, addresses)
    {
        let (place, at) = (warp.place(env), addresses[lane] as u32);
        env.shared.overlapping(&place, warp.site(), lane as u32, at, form.bytes, env.launch, env.describe);
    }
}

/// Checks accesses to shared memory of this size and alignment.
pub fn check_shared(
    warp: &Warp,
    env: &mut Env<'_>,
    access: Access,
    (bytes, align): (u32, u32),
    mask: u32,
    addresses: &[u64; LANES],
) -> Checked {
    let mut all = [0; CHECKED_LANES];
    for (word, address) in all.iter_mut().zip(addresses) {
        *word = low(*address);
    }
    let place = warp.place(env);
    env.shared.check(&place, access, warp.site(), mask.into(), &all, bytes, align, env.launch, env.describe)
}

/// Returns an address in shared or local memory as 32 bits; a larger address becomes the largest
/// 32-bit one, which is out of bounds.
#[inline(always)]
pub fn low(address: u64) -> u32 {
    address.min(u32::MAX.into()) as u32
}

/// Accesses local memory, by address within each thread's memory.
#[inline(always)]
pub fn local(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let lanes = private::check(warp, env, form, mask, addresses);
    let places = warp.private.places(addresses);
    // SAFETY: the check found the bytes of these lanes inside each lane's memory.
    unsafe { (form.lanes)(warp, env.program, form, lanes, &places) };
}

/// Reads the argument buffer, by offset.
#[inline(always)]
pub fn arguments(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let end = env.arguments.len() as u64;
    let fits = |at: u64| at.is_multiple_of(form.align.into()) && at <= end && u64::from(form.bytes) <= end - at;
    let start = env.arguments.as_ptr().cast_mut();
    if let (Shape::Same(at), Some(same)) = (shape(mask, addresses, form.bytes), form.same)
        && fits(at)
    {
        // SAFETY: the bytes are inside the buffer, and a form that has `same` only loads.
        unsafe { same(warp, env.program, form, mask, start.wrapping_add(at as usize)) };
        return;
    }
    let mut lanes = mask;
    for lane in lanes_in(mask).filter(|lane| !fits(addresses[*lane])) {
        if lanes == mask {
            outside_of_arguments(warp, env, form, lane, addresses[lane]);
        }
        lanes &= !(1 << lane);
    }
    let places = addresses.map(|at| start.wrapping_add(at as usize));
    // SAFETY: the bytes of these lanes are inside the buffer, and lowering rejects forms that write
    // it.
    unsafe { (form.lanes)(warp, env.program, form, lanes, &places) };
}

#[cold]
fn outside_of_arguments(warp: &Warp, env: &Env<'_>, form: &Form, lane: usize, at: u64) {
    let instruction = env.describe.instruction(warp.site());
    let thread = env.describe.thread(&warp.place(env), lane as u32);
    let buffer = format!("argument buffer of {} bytes", env.arguments.len());
    let (kind, what) = match at.is_multiple_of(form.align.into()) {
        true => (FindingKind::OutOfBounds, "lies outside"),
        false => (FindingKind::Misaligned, "is misaligned"),
    };
    let bytes = form.bytes;
    env.launch.findings().push(Finding {
        kind,
        kernel: env.launch.kernel().to_owned(),
        message: format!("{instruction}, {thread}: a load of {bytes} bytes at byte {at} of the {buffer} {what}"),
        instruction,
        thread,
        buffer,
        offset: at as i64,
    });
}

/// Accesses generic addresses: those in the apertures refer to shared and local memory, all others
/// to global memory.
#[inline(always)]
pub fn generic(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let high = addresses.iter().enumerate().fold(0, |high, (lane, address)| {
        let active = u64::from(mask >> lane & 1).wrapping_neg();
        high | address & active
    });
    if high < SHARED_APERTURE {
        global(warp, env, form, mask, addresses);
    } else {
        mixed(warp, env, form, mask, addresses);
    }
}

#[inline(never)]
fn mixed(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let within = |start: u64| {
        let lane_in = |lane: usize| u32::from(addresses[lane].wrapping_sub(start) < APERTURE) << lane;
        mask & (0..LANES).fold(0, |lanes, lane| lanes | lane_in(lane))
    };
    let (in_shared, in_local) = (within(SHARED_APERTURE), within(LOCAL_APERTURE));
    if in_shared != 0 {
        shared(warp, env, form, in_shared, &addresses.map(|address| address.wrapping_sub(SHARED_APERTURE)));
    }
    if in_local != 0 {
        local(warp, env, form, in_local, &addresses.map(|address| address.wrapping_sub(LOCAL_APERTURE)));
    }
    let in_global = mask & !in_shared & !in_local;
    if in_global != 0 {
        global(warp, env, form, in_global, addresses);
    }
}
