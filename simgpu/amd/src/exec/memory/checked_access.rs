//! Accesses to the three memories by the lanes' addresses: each access is checked, and then done
//! for the lanes that the check allows.

use super::operation::{Form, Places, disagreeing};
use super::private;
use crate::exec::wave::SITE_CACHES;
use crate::exec::{Env, Flow, Step, Wave};
use isobit_simgpu_core::check::part::apart;
use isobit_simgpu_core::check::{LANES, run, run_local};

/// Accesses global memory. Device addresses are addresses of this process.
#[inline(always)]
pub fn global(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form, mask: u64, addresses: &[u64; LANES]) {
    let (place, site) = (wave.place(env), wave.site());
    let bytes = u64::from(form.bytes);
    if let Some(row) = form.row
        && let Some((start, lanes)) = run(mask, addresses, bytes)
    {
        let cache = &mut env.caches[site as usize % SITE_CACHES];
        if env.launch.check_run(&place, form.access, start, lanes * bytes, form.align, cache) {
            let first = mask.trailing_zeros() as usize;
            // SAFETY: the check found the whole row in a live allocation. If other threads of the
            // simulated card access it at the same time, the kernel has a race, which the checks
            // report.
            unsafe { row(wave, step, first, lanes as usize, start as *mut u8) };
            return;
        }
    }
    first_bytes(wave, step, env, form, form.bytes, mask, addresses);
}

/// Accesses the first `bytes` bytes of what the form accesses in global memory. The others read as
/// zero, and are not stored.
#[inline(never)]
pub fn first_bytes(
    wave: &mut Wave,
    step: &Step,
    env: &mut Env<'_>,
    form: &Form,
    bytes: u32,
    mask: u64,
    addresses: &[u64; LANES],
) {
    let (place, site) = (wave.place(env), wave.site());
    let cache = &mut env.caches[site as usize % SITE_CACHES];
    let &Form { access, align, .. } = form;
    let checked = env.launch.check_scattered(&place, access, site, mask, addresses, bytes, align, cache, env.describe);
    let places: Places = addresses.map(|address| address as *mut u8);
    let lanes = checked.lanes | checked.clipped;
    let clipped = if bytes < form.bytes { lanes } else { checked.clipped };
    if clipped == 0 {
        // SAFETY: the check found the bytes of these lanes in live allocations; races are as above.
        unsafe { (form.lanes)(wave, step, lanes, &places) };
    } else {
        let part = |lane: usize| {
            let part = env.launch.part(access, addresses[lane], bytes)?;
            Some((part, part.address as *mut u8))
        };
        // SAFETY: as above, for the clipped lanes with regard to their parts.
        unsafe { apart(access, clipped, &places, part, |places| (form.lanes)(wave, step, lanes, places)) };
    }
    if access.orders() {
        env.launch.performed(&place, access, addresses, &checked);
    }
    let address = |lane: usize| addresses[lane & 63];
    let stored = |lane: usize, at: u64| at - address(lane) < bytes.into() && env.launch.table().find(at).is_some();
    if checked.overlap != 0
        && let Some(lane) = disagreeing(wave, step, form, lanes, checked.overlap, address, stored)
    {
        env.launch.overlapping(&place, site, lane as u32, addresses[lane & 63], bytes, env.describe);
    }
}

/// Accesses group memory, by addresses relative to its start.
#[inline(always)]
pub fn local(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form, mask: u64, addresses: &[u32; LANES]) {
    let (place, site) = (wave.place(env), wave.site());
    let &Form { access, bytes, align, .. } = form;
    if let Some(row) = form.row
        && let Some((at, lanes)) = run_local(mask, addresses, bytes)
        && env.local.check_run(&place, access, at.into(), lanes as u32 * bytes, align, env.launch)
    {
        let start = env.local.bytes_mut().as_mut_ptr().wrapping_add(at as usize);
        // SAFETY: the check found the whole row inside. The memory starts at a multiple of eight,
        // and only this thread accesses it.
        unsafe { row(wave, step, mask.trailing_zeros() as usize, lanes as usize, start) };
        return;
    }
    let checked = env.local.check(&place, access, site, mask, addresses, bytes, align, env.launch, env.describe);
    let start = env.local.bytes_mut().as_mut_ptr();
    let places: Places = addresses.map(|address| start.wrapping_add(address as usize));
    let lanes = checked.lanes | checked.clipped;
    if checked.clipped == 0 {
        // SAFETY: the check found the bytes of these lanes inside; the rest is as for rows.
        unsafe { (form.lanes)(wave, step, lanes, &places) };
    } else {
        let part = |lane: usize| {
            let part = env.local.part(addresses[lane], bytes)?;
            Some((part, start.wrapping_add(part.address as usize)))
        };
        // SAFETY: as above, for the clipped lanes with regard to their parts.
        unsafe { apart(access, checked.clipped, &places, part, |places| (form.lanes)(wave, step, lanes, places)) };
    }
    let address = |lane: usize| addresses[lane & 63].into();
    let stored = |_: usize, at: u64| at < env.local.bytes().len() as u64;
    if checked.overlap != 0
        && let Some(lane) = disagreeing(wave, step, form, lanes, checked.overlap, address, stored)
    {
        env.local.overlapping(&place, site, lane as u32, addresses[lane & 63], bytes, env.launch, env.describe);
    }
}

/// Accesses private memory, by addresses within each lane's own part.
pub fn private(
    wave: &mut Wave,
    step: &Step,
    env: &mut Env<'_>,
    form: &Form,
    mask: u64,
    addresses: &[u32; LANES],
) -> Flow {
    let (lanes, clipped) = match private::check(wave, env, form, mask, addresses) {
        Ok(allowed) => allowed,
        Err(why) => {
            env.fault = Some(why);
            return Flow::Fault;
        }
    };
    let stride = wave.private.bytes_per_lane as usize;
    let start = wave.private.bytes_mut().as_mut_ptr();
    let places: Places = std::array::from_fn(|lane| start.wrapping_add(lane * stride + addresses[lane] as usize));
    if clipped == 0 {
        // SAFETY: the check found the bytes of these lanes inside each lane's own memory.
        unsafe { (form.lanes)(wave, step, lanes, &places) };
        return Flow::Next;
    }
    let part = |lane: usize| {
        let part = private::part(stride, addresses[lane], form.bytes)?;
        Some((part, start.wrapping_add(lane * stride + part.address as usize)))
    };
    let lanes = lanes | clipped;
    // SAFETY: as above, for the clipped lanes with regard to their parts.
    unsafe { apart(form.access, clipped, &places, part, |places| (form.lanes)(wave, step, lanes, places)) };
    Flow::Next
}
