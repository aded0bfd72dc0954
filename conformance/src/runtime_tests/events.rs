//! `device.events`: a chain of steps over several streams that only events order, and the times
//! between events.

use super::case::{Case, Checked, Untracked, ensure, fails};
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::step::perform;
use isobit_hal::{BackendDevice, ErrorKind, Stream};
use std::time::Instant;

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let mut mirror = Mirror::draw(case)?;
    let streams = case.streams(2, 3)?;
    never_recorded(case, &streams)?;
    chain(case, &mut mirror, &streams)?;
    elapsed(case, &mut mirror, &streams)?;
    if case.has_another() {
        of_another(case, &mut mirror, &streams)?;
    }
    mirror.check()
}

/// An event that was never recorded counts as reached, delays nothing, and has no time.
fn never_recorded<D: BackendDevice>(case: &mut Case<'_, D>, streams: &[Stream]) -> Checked {
    let [never, recorded] = [case.device.new_event()?, case.device.new_event()?];
    ensure!(never.device() == case.device.id(), "a new event names another device");
    ensure!(never.query()?, "an event that was never recorded is not reached");
    never.synchronize()?;
    let stream = case.draw.one_of(&[0, 1]);
    streams[stream].wait_event(&never)?;
    streams[stream].record(&recorded)?;
    recorded.synchronize()?;
    fails(never.elapsed_time(&recorded), ErrorKind::InvalidArgument, &["never recorded"])?;
    fails(recorded.elapsed_time(&never), ErrorKind::InvalidArgument, &["never recorded"])?;
    Ok(())
}

/// Each step runs on a stream other than that of the step before, after an event recorded behind
/// that step. Two events alternate, so recording one again must move its point.
fn chain<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, streams: &[Stream]) -> Checked {
    let device = case.device;
    device.synchronize()?;
    let events = [device.new_event()?, device.new_event()?];
    // SAFETY: each event orders its step after the one before it; nothing is dropped meanwhile, and
    // the guard synchronizes the device.
    let _untracked = unsafe { Untracked::new(device) };
    case.say("order is left to events");
    let mut last = None;
    for n in 0..case.between(4, 8) {
        let on = match last {
            Some((before, _)) => (before + case.between(1, streams.len() - 1)) % streams.len(),
            None => case.between(0, streams.len() - 1),
        };
        let step = program::draw(case, mirror, Steps::BARE);
        case.say(format_args!("on stream {on}, after the event of the last step: {step}"));
        if let Some((_, event)) = last {
            streams[on].wait_event(event)?;
        }
        device.with_stream(&streams[on], || perform(device, &step, &mut mirror.buffers))?;
        mirror.expect(&step)?;
        let event = &events[n % 2];
        streams[on].record(event)?;
        last = Some((on, event));
    }
    let (_, event) = last.expect("a chain has steps");
    event.synchronize()?;
    ensure!(event.clone().query()?, "an event is not reached after synchronize");
    // The whole chain precedes its last event, so no work is pending.
    mirror.check()
}

/// The time between two events is not negative, is not longer than the time on the host, and is
/// negative in the other direction.
fn elapsed<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, streams: &[Stream]) -> Checked {
    let device = case.device;
    let on = case.between(0, streams.len() - 1);
    let (start, end) = (device.new_event()?, device.new_event()?);
    device.synchronize()?;
    let began = Instant::now();
    streams[on].record(&start)?;
    for _ in 0..case.between(0, 3) {
        let step = program::draw(case, mirror, Steps::ANY);
        case.say(format_args!("timed on stream {on}: {step}"));
        device.with_stream(&streams[on], || perform(device, &step, &mut mirror.buffers))?;
        mirror.expect(&step)?;
    }
    streams[on].record(&end)?;
    let forward = start.elapsed_time(&end)?;
    ensure!(end.query()?, "the time between two events was returned before the second was reached");
    let (back, none) = (end.elapsed_time(&start)?, start.elapsed_time(&start)?);
    // The clocks of host and device may differ: allow a tenth, and the resolution that CUDA and HIP
    // document.
    let most = began.elapsed().as_secs_f32() * 1e3 * 1.1 + 1.0;
    ensure!((0.0..=most).contains(&forward), "{forward} ms between two events, but at most {most} ms on the host");
    ensure!(back <= 0.0 && (forward + back).abs() <= 1e-3 + 1e-3 * forward, "{forward} ms forward and {back} ms back");
    ensure!(none == 0.0, "{none} ms from an event to itself");
    Ok(())
}

/// A stream can wait for an event of another device, but cannot record it.
fn of_another<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, streams: &[Stream]) -> Checked {
    let theirs = case.another().new_event()?;
    fails(streams[0].record(&theirs), ErrorKind::DeviceMismatch, &["another device"])?;
    case.another().current_stream()?.record(&theirs)?;
    streams[1].wait_event(&theirs)?;
    let step = program::draw(case, mirror, Steps::ANY);
    case.say(format_args!("on stream 1, after an event of another device: {step}"));
    case.device.with_stream(&streams[1], || perform(case.device, &step, &mut mirror.buffers))?;
    mirror.expect(&step)
}
