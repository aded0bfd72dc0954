//! `device.streams`: a program on several streams gives the same result as the same program in
//! order.
//!
//! In two of three cases the device orders the work; in the third, tracking is disabled and only
//! the necessary joins and events order it. Streams are also joined without need, forked, dropped
//! with pending work, and entered by other threads.

use super::case::{Case, Checked, Untracked, ensure, fails};
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::step::{Step, perform};
use isobit_hal::{BackendDevice, ErrorKind, Stream};
use std::collections::BTreeSet;

/// The numbers of the streams that worked on a buffer since it was last ordered by hand.
#[derive(Debug, Clone, Default)]
struct Uses {
    writer: Option<usize>,
    readers: BTreeSet<usize>,
}

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    // Dropped last: the variables declared below may keep handles made from a raw handle of these.
    let mut owners = Vec::new();
    let mut mirror = Mirror::draw(case)?;
    let mut streams = case.streams(2, 4)?;
    let tracked = !case.draw.chance(33);
    if tracked && case.draw.chance(30) {
        owners.extend(external(case, &mut streams)?);
    }
    let by_threads = case.draw.chance(25);
    if !tracked {
        case.say("order is left to the caller");
        device.synchronize()?;
    }
    // SAFETY: `order` below orders everything that uses a buffer, nothing is dropped while the
    // guard lives, and the guard synchronizes the device.
    let _untracked = (!tracked).then(|| unsafe { Untracked::new(device) });
    let mut uses = vec![Uses::default(); mirror.buffers.len()];
    for _ in 0..case.between(6, 12) {
        if case.draw.chance(20) {
            let (a, b) = (case.between(0, streams.len() - 1), case.between(0, streams.len() - 1));
            case.say(format_args!("stream {a} waits for stream {b}"));
            streams[a].join(&streams[b])?;
        }
        if case.draw.chance(10) {
            replace(case, &mut streams, tracked)?;
        }
        if tracked && case.draw.chance(12) {
            alone(case, &mut streams, &mut mirror)?;
        }
        let on = case.between(0, streams.len() - 1);
        let step = program::draw(case, &mirror, if tracked { Steps::ANY } else { Steps::BARE });
        if !tracked {
            order(case, &step, on, &streams, &mut uses)?;
        }
        case.say(format_args!("on stream {on}: {step}"));
        on_stream(device, &streams[on], by_threads, || perform(device, &step, &mut mirror.buffers))?;
        mirror.expect(&step)?;
    }
    if tracked {
        // Each buffer is read while it may still be written, on any stream.
        for i in 0..mirror.buffers.len() {
            let on = case.between(0, streams.len() - 1);
            case.say(format_args!("on stream {on}: buffer {i} is read"));
            device.with_stream(&streams[on], || Ok(mirror.check_one(i)))??;
        }
    } else {
        streams.iter().try_for_each(Stream::synchronize)?;
        ensure!(
            streams.iter().try_fold(true, |all, s| Ok::<_, isobit_hal::Error>(all & s.query()?))?,
            "a stream has work left after synchronize"
        );
        mirror.check()?;
    }
    Ok(())
}

/// Runs a call with a stream as the current one, in a new thread if requested, and checks the
/// current stream before, during and after.
fn on_stream<D: BackendDevice, T: Send>(
    device: &D,
    stream: &Stream,
    in_thread: bool,
    f: impl FnOnce() -> isobit_hal::Result<T> + Send,
) -> Checked<T> {
    let entered = move || -> Checked<T> {
        let before = device.current_stream()?.id();
        let result = device.with_stream(stream, || {
            let inside = device.current_stream()?.id();
            f().map(|done| (inside, done))
        });
        let after = device.current_stream()?.id();
        let (inside, done) = result?;
        ensure!(inside == stream.id(), "the entered stream is not the thread's current one");
        ensure!(before == after, "after leaving a stream, the current one is not the one from before");
        Ok(done)
    };
    if !in_thread {
        return entered();
    }
    // A panic continues in the thread of the case, where it is caught.
    std::thread::scope(|scope| scope.spawn(entered).join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
}

/// Drops a stream with its pending work and replaces it with a new one.
fn replace<D: BackendDevice>(case: &mut Case<'_, D>, streams: &mut [Stream], tracked: bool) -> Checked {
    let (i, from) = (case.between(1, streams.len() - 1), case.between(0, streams.len() - 1));
    case.say(format_args!("stream {i} is dropped; a fork of stream {from} takes its place"));
    let new = streams[from].fork()?;
    if !tracked {
        new.join(&streams[i])?;
    }
    streams[i] = new;
    Ok(())
}

/// Drops every stream with its pending work. The default stream goes on alone, and its work comes
/// after theirs; then there are new streams.
fn alone<D: BackendDevice>(case: &mut Case<'_, D>, streams: &mut Vec<Stream>, mirror: &mut Mirror<D>) -> Checked {
    case.say("every stream is dropped, and the default stream goes on alone");
    let ends = streams.iter().map(|stream| {
        let end = case.device.new_event()?;
        stream.record(&end).map(|()| end)
    });
    let ends = ends.collect::<isobit_hal::Result<Vec<_>>>()?;
    streams.clear();
    let step = program::draw(case, mirror, Steps::ANY);
    case.say(format_args!("on the default stream: {step}"));
    perform(case.device, &step, &mut mirror.buffers)?;
    mirror.expect(&step)?;
    if case.draw.chance(50) {
        case.say("the device finishes all work");
        case.device.synchronize()?;
        let done = ends.iter().try_fold(true, |all, end| Ok::<_, isobit_hal::Error>(all & end.query()?))?;
        ensure!(done, "a dropped stream has work left after the device has synchronized");
    }
    *streams = case.streams(2, 4)?;
    Ok(())
}

/// Makes a stream wait, by a join or an event, for the work of others that a step depends on.
fn order<D: BackendDevice>(
    case: &mut Case<'_, D>,
    step: &Step,
    on: usize,
    streams: &[Stream],
    uses: &mut [Uses],
) -> Checked {
    let mut waits = BTreeSet::new();
    for (i, _) in &step.inputs {
        waits.extend(uses[*i].writer);
        uses[*i].readers.insert(on);
    }
    let dst = &mut uses[step.dst];
    waits.extend(dst.writer);
    waits.extend(std::mem::take(&mut dst.readers));
    dst.writer = Some(on);
    waits.remove(&on);
    for other in waits {
        if case.draw.chance(50) {
            case.say(format_args!("stream {on} joins stream {other}"));
            streams[on].join(&streams[other])?;
        } else {
            case.say(format_args!("stream {on} waits for an event of stream {other}"));
            let event = case.device.new_event()?;
            streams[other].record(&event)?;
            streams[on].wait_event(&event)?;
        }
    }
    Ok(())
}

/// Adds a stream made from a raw handle, as another library would give it, and returns the stream
/// that must outlive it.
fn external<D: BackendDevice>(case: &mut Case<'_, D>, streams: &mut Vec<Stream>) -> Checked<Option<Stream>> {
    let owner = case.device.new_stream()?;
    // SAFETY: the handle belongs to a stream of this device, which the caller keeps longer.
    let external = unsafe { case.device.stream_from_raw(owner.raw()) };
    if owner.raw() == 0 {
        fails(external, ErrorKind::UnsupportedOp, &["streams"])?;
        return Ok(None);
    }
    let external = external?;
    ensure!(external.raw() == owner.raw(), "a stream made from a raw handle has another handle");
    case.say(format_args!("stream {} is another library's", streams.len()));
    streams.push(external);
    Ok(Some(owner))
}
