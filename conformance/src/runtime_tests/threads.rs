//! `device.threads`: several threads at once, each with its own programs on its own streams, on one
//! device and on another if there is one.

use super::case::{Case, Checked, Failed, ensure};
use super::stress::{Stress, stress};
use isobit_hal::BackendDevice;

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let threads = case.between(2, 4);
    let operations = threads as u64 * case.between(6, 10) as u64;
    let seed = case.between(0, 1 << 30) as u64;
    let devices = if case.has_another() && case.draw.chance(50) {
        vec![case.device.clone(), case.another().clone()]
    } else {
        vec![case.device.clone()]
    };
    case.say(format_args!("{threads} threads do {operations} operations on {} devices", devices.len()));
    let plan = Stress { threads, operations, seed };
    let done = stress(&devices, &plan).map_err(|e| Failed { message: e.message, lost: e.lost })?;
    ensure!(done.operations >= operations, "{} of {operations} operations were done", done.operations);
    Ok(())
}
