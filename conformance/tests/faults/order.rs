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

pub const CALLS: &[Call] = &[
    Call::new("a new stream", ["cuStreamCreate", "hipStreamCreateWithFlags"], "creating a stream", new_stream),
    Call::new(
        "the new stream's wait for earlier work",
        ["cuStreamWaitEvent", "hipStreamWaitEvent"],
        "wait for an event",
        new_stream,
    ),
    Call {
        expected: Expected::ItsKindLater("destroying a stream"),
        ..Call::new("the end of a stream", ["cuStreamDestroy_v2", "hipStreamDestroy"], "", drop_stream)
    },
    Call::new(
        "a wait for a stream",
        ["cuStreamSynchronize", "hipStreamSynchronize"],
        "waiting for the device",
        wait_for_stream,
    ),
    Call::new(
        "a wait for the device",
        ["cuStreamSynchronize", "hipStreamSynchronize"],
        "waiting for the device",
        wait_for_device,
    ),
    Call::new("a query of a stream", ["cuStreamQuery", "hipStreamQuery"], "querying a stream", ask_stream),
    Call {
        expected: Expected::One(NOT_READY, Outcome::Works),
        ..Call::new("a query of a stream that has work", ["cuStreamQuery", "hipStreamQuery"], "", busy_stream)
    },
    Call::new(
        "the order of two streams",
        ["cuStreamWaitEvent", "hipStreamWaitEvent"],
        "wait for an event",
        read_on_another,
    ),
    Call::new(
        "the mark behind an operation",
        ["cuEventRecord", "hipEventRecord"],
        "recording an event",
        read_on_another,
    ),
    Call::new("a stream that joins another", ["cuStreamWaitEvent", "hipStreamWaitEvent"], "wait for an event", join),
    Call::new("a new event", ["cuEventCreate", "hipEventCreateWithFlags"], "creating an event", new_event),
    Call {
        expected: Expected::One(
            ["CUDA_ERROR_UNKNOWN", "hipErrorUnknown"],
            Outcome::Later(ErrorKind::Other, "destroying an event"),
        ),
        ..Call::new("the end of an event", ["cuEventDestroy_v2", "hipEventDestroy"], "", drop_event)
    },
    Call::new("a record of an event", ["cuEventRecord", "hipEventRecord"], "recording an event", record),
    Call::new("a query of an event", ["cuEventQuery", "hipEventQuery"], "querying an event", ask_event),
    Call {
        expected: Expected::One(NOT_READY, Outcome::Works),
        ..Call::new("a query of an event that is not reached", ["cuEventQuery", "hipEventQuery"], "", ask_event)
    },
    Call::new(
        "a wait for an event",
        ["cuEventSynchronize", "hipEventSynchronize"],
        "waiting for an event",
        wait_for_event,
    ),
    Call::new(
        "a stream's wait for an event",
        ["cuStreamWaitEvent", "hipStreamWaitEvent"],
        "wait for an event",
        stream_waits,
    ),
    Call::new(
        "the time between two events",
        ["cuEventElapsedTime", "hipEventElapsedTime"],
        "reading the time between two events",
        elapsed,
    ),
];
