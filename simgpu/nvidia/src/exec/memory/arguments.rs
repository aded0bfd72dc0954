//! Loads from the argument buffer by offset (`ld.param`). Kernels cannot write it, so there are no
//! races.

use super::checked_access::{Shape, partly, shape};
use super::operation::{Form, lanes_in};
use crate::exec::{Env, LANES, Warp};
use isobit_simgpu_core::check::part::{Part, global_error};
use isobit_simgpu_core::finding::{Finding, FindingKind};

/// Reads the argument buffer, by offset.
#[inline(always)]
pub fn load(warp: &mut Warp, env: &mut Env<'_>, form: &Form, mask: u32, addresses: &[u64; LANES]) {
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
    let fitting = lanes_in(mask).filter(|lane| fits(addresses[*lane])).fold(0, |lanes, lane| lanes | 1 << lane);
    let places = addresses.map(|at| start.wrapping_add(at as usize));
    if fitting == mask {
        // SAFETY: the bytes of these lanes are inside the buffer, and lowering rejects forms that
        // write it.
        unsafe { (form.lanes)(warp, env.program, form, mask, &places) };
        return;
    }
    let others = mask & !fitting;
    let first = others.trailing_zeros() as usize;
    tell(warp, env, form, first, addresses[first]);
    let part = |lane: usize| {
        let part = Part::of(0..end, addresses[lane], form.bytes.into())?;
        Some((part, start.wrapping_add(part.address as usize)))
    };
    // SAFETY: the bytes of the fitting lanes and the parts of the others are inside the buffer.
    unsafe { partly(warp, env, form, form.lanes, (mask, others), &places, part) };
}

/// Reports the first lane whose load does not fit.
#[cold]
fn tell(warp: &Warp, env: &Env<'_>, form: &Form, lane: usize, at: u64) {
    let instruction = env.describe.instruction(warp.site());
    let thread = env.describe.thread(&warp.place(env), lane as u32);
    let (bytes, all) = (form.bytes, 0..env.arguments.len() as u64);
    let buffer = format!("argument buffer of {} bytes", all.end);
    let (kind, what) = match at.is_multiple_of(form.align.into()) {
        false => (FindingKind::Misaligned, "is misaligned"),
        true => {
            let what = match Part::of(all.clone(), at, bytes.into()) {
                Some(_) => "lies partly outside",
                None => "lies outside",
            };
            // The buffer is constant memory, which is allocated as global memory is.
            (global_error(form.access, &all, at, bytes.into()), what)
        }
    };
    let offset = at as i64;
    env.launch.report(Finding {
        kind,
        kernel: env.launch.kernel().to_owned(),
        message: format!("{instruction}, {thread}: a load of {bytes} bytes at byte {offset} of the {buffer} {what}"),
        instruction,
        thread,
        buffer,
        offset,
    });
}
