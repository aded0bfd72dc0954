//! Accesses of lanes to the memories: checks each access, then performs it for the lanes that pass.

use super::operation::{Form, Lanes, Places, disagreeing, stored};
use super::{APERTURE, LOCAL_APERTURE, SHARED_APERTURE, private};
use crate::exec::warp::SITE_CACHES;
use crate::exec::{Env, LANES, Warp};
use isobit_simgpu_core::check::part::{Part, apart};
use isobit_simgpu_core::check::{Access, Checked, LANES as CHECKED_LANES};

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
    let lanes = (checked.lanes | checked.clipped) as u32;
    let places = addresses.map(|address| address as *mut u8);
    if checked.clipped == 0 {
        // SAFETY: the check found the bytes of these lanes in live allocations; as for rows.
        unsafe { (form.lanes)(warp, env.program, form, lanes, &places) };
    } else {
        let launch = env.launch;
        let part = |lane: usize| {
            let part = launch.part(form.access, addresses[lane], form.bytes)?;
            Some((part, part.address as *mut u8))
        };
        // SAFETY: as above, for the clipped lanes with regard to their parts.
        unsafe { partly(warp, env, form, form.lanes, (lanes, checked.clipped as u32), &places, part) };
    }
    if form.access.orders() {
        env.launch.performed(&warp.place(env), form.access, addresses, &checked);
    }
    let inside = |at: u64| env.launch.table().find(at).is_some();
    if checked.overlap != 0
        && let stored = stored(warp, env.program, form, lanes)
        && let Some(lane) = disagreeing(&stored, form.bytes, lanes, checked.overlap, addresses, inside)
    {
        let place = warp.place(env);
        env.launch.overlapping(&place, warp.site(), lane as u32, addresses[lane], form.bytes, env.describe);
    }
}

/// Runs a form for lanes of which the `clipped` ones lie only partly in memory.
///
/// # Safety
/// The requirements of [`apart`] for the clipped lanes, and those of `run` for the others.
pub(super) unsafe fn partly(
    warp: &mut Warp,
    env: &Env<'_>,
    form: &Form,
    run: Lanes,
    (lanes, clipped): (u32, u32),
    places: &Places,
    part: impl Fn(usize) -> Option<(Part, *mut u8)>,
) {
    let program = env.program;
    // SAFETY: the caller meets the requirements of the form for lanes that are not clipped. The
    // others get copies, which are as long as any form's access.
    unsafe {
        apart(form.access, clipped.into(), places, part, |places| run(warp, program, form, lanes, places));
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
    let lanes = (checked.lanes | checked.clipped) as u32;
    let start = env.shared.bytes_mut().as_mut_ptr();
    let places = addresses.map(|address| start.wrapping_add(address as usize));
    if checked.clipped == 0 {
        // SAFETY: the check found the bytes of these lanes inside, and only this host thread
        // accesses them.
        unsafe { (form.shared)(warp, env.program, form, lanes, &places) };
    } else {
        let part = |lane: usize| {
            let part = env.shared.part(low(addresses[lane]), form.bytes)?;
            Some((part, start.wrapping_add(part.address as usize)))
        };
        // SAFETY: as above, for the clipped lanes with regard to their parts.
        unsafe { partly(warp, env, form, form.shared, (lanes, checked.clipped as u32), &places, part) };
    }
    let inside = |at: u64| at < env.shared.bytes().len() as u64;
    if checked.overlap != 0
        && let stored = stored(warp, env.program, form, lanes)
        && let Some(lane) = disagreeing(&stored, form.bytes, lanes, checked.overlap, addresses, inside)
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

/// Returns an address in shared or local memory as 32 bits, of which the upper half are negative
/// addresses. One that does not fit becomes the largest positive one, which is out of bounds.
#[inline(always)]
pub fn low(address: u64) -> u32 {
    const NEGATIVE: u64 = 1 << 31;
    let fits = address.wrapping_add(NEGATIVE) < NEGATIVE + (1 << 32);
    if fits { address as u32 } else { i32::MAX as u32 }
}

/// Accesses local memory, by address within each thread's memory.
#[inline(always)]
pub fn local(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
    let (lanes, clipped) = private::check(warp, env, form, mask, addresses);
    let places = warp.private.places(addresses);
    if clipped == 0 {
        // SAFETY: the check found the bytes of these lanes inside each lane's memory.
        unsafe { (form.lanes)(warp, env.program, form, lanes, &places) };
        return;
    }
    let (starts, ends) = (warp.private.places(&[0; LANES]), *warp.private.ends());
    let part = |lane: usize| {
        let part = private::part(ends[lane], addresses[lane], form.bytes)?;
        Some((part, starts[lane].wrapping_add(part.address as usize)))
    };
    // SAFETY: as above, for the clipped lanes with regard to their parts.
    unsafe { partly(warp, env, form, form.lanes, (lanes | clipped, clipped), &places, part) };
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
