//! Deadlocks within a block: lanes that wait for each other at barriers.

use crate::exec::warp::{Fragment, Wait as For};
use crate::exec::{Env, Warp};
use isobit_simgpu_core::check::Place;
use isobit_simgpu_core::deadlock::Wait;
use isobit_simgpu_core::finding::Fault;

/// Returns where the lanes of warps are.
pub(super) fn waits(warps: &[Warp], block: u32) -> Vec<Wait> {
    let of_warp = |warp: &Warp| {
        let who = Place { group: block, wave: warp.number, epoch: warp.epoch };
        let running = (warp.active != 0).then_some((warp.pc, warp.active, false));
        let others = warp.others.iter().map(|other| match other.wait {
            For::Barrier(_) => (other.pc - 1, other.lanes, true),
            _ => (other.pc, other.lanes, false),
        });
        let all = running.into_iter().chain(others);
        all.map(|(site, lanes, barrier)| Wait { who, lanes: lanes.into(), site: site as u32, barrier })
            .collect::<Vec<_>>()
    };
    warps.iter().flat_map(of_warp).collect()
}

/// Reports that lanes of a warp wait for each other.
pub(super) fn of_warp(warp: &Warp, env: &Env<'_>) -> Fault {
    let places = warp.others.iter().map(|other| {
        let place = env.describe.instruction(other.pc as u32);
        format!("{} at {place}", lanes(other.lanes))
    });
    let what = format!("the lanes of a warp wait for each other: {}", places.collect::<Vec<_>>().join("; "));
    report(std::slice::from_ref(warp), &what, env)
}

/// Reports that all live threads wait, and no barrier opens.
pub(super) fn at_barriers(warps: &[Warp], env: &Env<'_>) -> Fault {
    let fragments = || warps.iter().flat_map(|warp| warp.others.iter().map(move |other| (warp, other)));
    let barrier = |other: &Fragment| match other.wait {
        For::Barrier(barrier) => Some(barrier.number),
        _ => None,
    };
    let places = fragments().map(|(warp, other)| {
        let (step, of) = match barrier(other) {
            Some(number) => (other.pc - 1, format!("at barrier {number}, ")),
            None => (other.pc, "for others of the warp, ".to_owned()),
        };
        let place = env.describe.instruction(step as u32);
        format!("{} of warp {} wait {of}{place}", lanes(other.lanes), warp.number)
    });
    let places: Vec<String> = places.collect();
    let mut numbers: Vec<u32> = fragments().filter_map(|(_, other)| barrier(other)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let what = format!("at barrier {} in block {}: {}", numbers.join(" and "), env.block, places.join("; "));
    report(warps, &what, env)
}

fn report(warps: &[Warp], what: &str, env: &Env<'_>) -> Fault {
    env.launch.deadlock(waits(warps, env.block).first(), what, env.describe)
}

/// Formats the lanes of a mask in words.
fn lanes(mask: u32) -> String {
    match mask.count_ones() {
        1 => format!("lane {}", mask.trailing_zeros()),
        count => format!("{count} lanes ({mask:#010x})"),
    }
}
