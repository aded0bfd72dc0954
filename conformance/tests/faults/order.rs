//! Streams and events.

use crate::bench::{Action, Outcome, zeros};
use crate::calls::{Call, Expected};
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, ErrorKind, Layout, Result, UnaryOp};

fn new_stream(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.new_stream().map(drop)))
}

fn drop_stream(device: &AnyDevice) -> Result<Action> {
    let stream = device.new_stream()?;
    Ok(Box::new(move || {
        drop(stream);
        Ok(())
    }))
}

fn wait_for_stream(device: &AnyDevice) -> Result<Action> {
    let stream = device.new_stream()?;
    Ok(Box::new(move || stream.synchronize()))
}

fn wait_for_device(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.synchronize()))
}

fn ask_stream(device: &AnyDevice) -> Result<Action> {
    let stream = device.new_stream()?;
    Ok(Box::new(move || stream.query().map(|idle| assert!(idle))))
}

/// A stream that is asked before its work is done.
fn busy_stream(device: &AnyDevice) -> Result<Action> {
    let stream = device.new_stream()?;
    Ok(Box::new(move || stream.query().map(drop)))
}

/// Reads on one stream what another one wrote.
fn read_on_another(device: &AnyDevice) -> Result<Action> {
    let (device, stream) = (device.clone(), device.new_stream()?);
    let (storage, layout) = (zeros(&device, 100)?, Layout::contiguous(100));
    let made = storage.unary(&layout, UnaryOp::Neg)?;
    Ok(Box::new(move || device.with_stream(&stream, || made.unary(&layout, UnaryOp::Neg)).map(drop)))
}

fn join(device: &AnyDevice) -> Result<Action> {
    let (one, other) = (device.new_stream()?, device.new_stream()?);
    Ok(Box::new(move || one.join(&other)))
}

fn new_event(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.new_event().map(drop)))
}

fn drop_event(device: &AnyDevice) -> Result<Action> {
    let event = device.new_event()?;
    Ok(Box::new(move || {
        drop(event);
        Ok(())
    }))
}

fn record(device: &AnyDevice) -> Result<Action> {
    let (event, stream) = (device.new_event()?, device.default_stream()?);
    Ok(Box::new(move || stream.record(&event)))
}

fn recorded(device: &AnyDevice) -> Result<isobit::Event> {
    let event = device.new_event()?;
    device.default_stream()?.record(&event)?;
    Ok(event)
}

fn ask_event(device: &AnyDevice) -> Result<Action> {
    let event = recorded(device)?;
    Ok(Box::new(move || event.query().map(drop)))
}

fn wait_for_event(device: &AnyDevice) -> Result<Action> {
    let event = recorded(device)?;
    Ok(Box::new(move || event.synchronize()))
}

fn stream_waits(device: &AnyDevice) -> Result<Action> {
    let (event, stream) = (recorded(device)?, device.new_stream()?);
    device.default_stream()?.record(&event)?;
    Ok(Box::new(move || stream.wait_event(&event)))
}

fn elapsed(device: &AnyDevice) -> Result<Action> {
    let (from, to) = (recorded(device)?, recorded(device)?);
    Ok(Box::new(move || from.elapsed_time(&to).map(drop)))
}

const NOT_READY: [&str; 2] = ["CUDA_ERROR_NOT_READY", "hipErrorNotReady"];

const fn order(
    what: &'static str,
    names: [&'static str; 2],
    words: &'static str,
    prepare: fn(&AnyDevice) -> Result<Action>,
) -> Call {
    Call { what, names, nth: "1", expected: Expected::ItsKind(words), prepare }
}

pub const CALLS: &[Call] = &[
    order("a new stream", ["cuStreamCreate", "hipStreamCreateWithFlags"], "creating a stream", new_stream),
    order(
        "the new stream's wait for earlier work",
        ["cuStreamWaitEvent", "hipStreamWaitEvent"],
        "wait for an event",
        new_stream,
    ),
    Call {
        expected: Expected::ItsKindLater("destroying a stream"),
        ..order("the end of a stream", ["cuStreamDestroy_v2", "hipStreamDestroy"], "", drop_stream)
    },
    order(
        "a wait for a stream",
        ["cuStreamSynchronize", "hipStreamSynchronize"],
        "waiting for the device",
        wait_for_stream,
    ),
    order(
        "a wait for the device",
        ["cuStreamSynchronize", "hipStreamSynchronize"],
        "waiting for the device",
        wait_for_device,
    ),
    order("a query of a stream", ["cuStreamQuery", "hipStreamQuery"], "querying a stream", ask_stream),
    Call {
        expected: Expected::One(NOT_READY, Outcome::Works),
        ..order("a query of a stream that has work", ["cuStreamQuery", "hipStreamQuery"], "", busy_stream)
    },
    order(
        "the order of two streams",
        ["cuStreamWaitEvent", "hipStreamWaitEvent"],
        "wait for an event",
        read_on_another,
    ),
    order("the mark behind an operation", ["cuEventRecord", "hipEventRecord"], "recording an event", read_on_another),
    order("a stream that joins another", ["cuStreamWaitEvent", "hipStreamWaitEvent"], "wait for an event", join),
    order("a new event", ["cuEventCreate", "hipEventCreateWithFlags"], "creating an event", new_event),
    Call {
        expected: Expected::One(
            ["CUDA_ERROR_UNKNOWN", "hipErrorUnknown"],
            Outcome::Later(ErrorKind::Other, "destroying an event"),
        ),
        ..order("the end of an event", ["cuEventDestroy_v2", "hipEventDestroy"], "", drop_event)
    },
    order("a record of an event", ["cuEventRecord", "hipEventRecord"], "recording an event", record),
    order("a query of an event", ["cuEventQuery", "hipEventQuery"], "querying an event", ask_event),
    Call {
        expected: Expected::One(NOT_READY, Outcome::Works),
        ..order("a query of an event that is not reached", ["cuEventQuery", "hipEventQuery"], "", ask_event)
    },
    order("a wait for an event", ["cuEventSynchronize", "hipEventSynchronize"], "waiting for an event", wait_for_event),
    order(
        "a stream's wait for an event",
        ["cuStreamWaitEvent", "hipStreamWaitEvent"],
        "wait for an event",
        stream_waits,
    ),
    order(
        "the time between two events",
        ["cuEventElapsedTime", "hipEventElapsedTime"],
        "reading the time between two events",
        elapsed,
    ),
];
