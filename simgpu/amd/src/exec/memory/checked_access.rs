//! Accesses to the three memories by the lanes' addresses: each access is checked, and then done
//! for the lanes that the check allows.

use super::operation::{Form, Places, disagreeing};
use super::private;
use crate::exec::wave::SITE_CACHES;
use crate::exec::{Env, Step, Wave};
use isobit_simgpu_core::check::{Access, LANES, run, run_local};

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
    scattered(wave, step, env, form, mask, addresses);
}

#[inline(never)]
fn scattered(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form, mask: u64, addresses: &[u64; LANES]) {
    let (place, site) = (wave.place(env), wave.site());
    let cache = &mut env.caches[site as usize % SITE_CACHES];
    let &Form { access, bytes, align, .. } = form;
    let checked = env.launch.check_scattered(&place, access, site, mask, addresses, bytes, align, cache, env.describe);
    let places: Places = addresses.map(|address| address as *mut u8);
    // SAFETY: the check found the bytes of these lanes in live allocations; races are as above.
    unsafe { (form.lanes)(wave, step, checked.lanes, &places) };
    if access == Access::Atomic {
        env.launch.performed(&checked);
    }
    if checked.overlap != 0
        && let Some(lane) = disagreeing(wave, step, form, checked.lanes, checked.overlap, |lane| addresses[lane & 63])
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
    // SAFETY: the check found the bytes of these lanes inside; the rest is as for rows.
    unsafe { (form.lanes)(wave, step, checked.lanes, &places) };
    if checked.overlap != 0
        && let Some(lane) =
            disagreeing(wave, step, form, checked.lanes, checked.overlap, |lane| addresses[lane & 63].into())
    {
        env.local.overlapping(&place, site, lane as u32, addresses[lane & 63], bytes, env.launch, env.describe);
    }
}

/// Accesses private memory, by addresses within each lane's own part.
pub fn private(wave: &mut Wave, step: &Step, env: &Env<'_>, form: &Form, mask: u64, addresses: &[u32; LANES]) {
    let lanes = private::check(wave, env, form, mask, addresses);
    let stride = wave.private.bytes_per_lane as usize;
    let start = wave.private.bytes_mut().as_mut_ptr();
    let places: Places = std::array::from_fn(|lane| start.wrapping_add(lane * stride + addresses[lane] as usize));
    // SAFETY: the check found the bytes of these lanes inside each lane's own part.
    unsafe { (form.lanes)(wave, step, lanes, &places) };
}
