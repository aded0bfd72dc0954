//! `device.errors`: each way to fail gives its kind and context on any stream, takes no memory, and
//! leaves the device working.

use super::case::{Case, Checked};
use super::failures;
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::step::perform;
use isobit_hal::BackendDevice;

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let mut mirror = Mirror::draw(case)?;
    let streams = case.streams(1, 3)?;
    for _ in 0..case.between(2, 4) {
        // Work is pending when the failure happens.
        for _ in 0..case.between(0, 2) {
            step(case, &mut mirror, &streams)?;
        }
        let all = failures::all::<D>();
        let (name, fail) = all[case.between(0, all.len() - 1)];
        let on = case.between(0, streams.len() - 1);
        case.say(format_args!("on stream {on}: {name}"));
        let entered = case.device.enter_stream(&streams[on])?;
        fail(case)?;
        drop(entered);
        step(case, &mut mirror, &streams)?;
    }
    case.device.synchronize()?;
    mirror.check()
}

fn step<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, streams: &[isobit_hal::Stream]) -> Checked {
    let (on, step) = (case.between(0, streams.len() - 1), program::draw(case, mirror, Steps::ANY));
    case.say(format_args!("on stream {on}: {step}"));
    case.device.with_stream(&streams[on], || perform(case.device, &step, &mut mirror.buffers))?;
    mirror.expect(&step)
}
