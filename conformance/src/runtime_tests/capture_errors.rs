//! What cannot be captured is refused with the reason, and the device and its streams work on.

use super::case::{Case, Checked, ensure, fails};
use super::mirror::numbers;
use isobit_hal::{BackendDevice, BackendStorage, DType, Error, ErrorKind, Layout, Result, Stream};
use parking_lot::Mutex;
use std::sync::Arc;

/// What a step may not do.
#[derive(Debug, Clone, Copy)]
enum Refused {
    SynchronizeDevice,
    SynchronizeStream,
    Query,
    Read,
    Write,
    Capture,
    /// It fails by itself.
    Error,
}

const ALL: [Refused; 7] = [
    Refused::SynchronizeDevice,
    Refused::SynchronizeStream,
    Refused::Query,
    Refused::Read,
    Refused::Write,
    Refused::Capture,
    Refused::Error,
];

/// One refusal, drawn, on a stream of its own or the default one.
pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    let what = case.draw.one_of(&ALL);
    let stream = if case.draw.chance(50) { device.new_stream()? } else { device.default_stream()? };
    let host = numbers(case, DType::F32, 100)?;
    let storage = Arc::new(Mutex::new(device.storage_from_cpu_storage(&host)?));
    case.say(format_args!("a step is captured that does what may not be: {what:?}"));
    let step = {
        let (device, stream, storage) = (device.clone(), stream.clone(), storage.clone());
        move || {
            let mut storage = storage.lock();
            // Something that may be captured comes first.
            let layout = Layout::contiguous([100]);
            let doubled = storage.affine(&layout, 2.0, 0.0)?;
            doubled.copy_strided_src(&mut storage, 0, &layout)?;
            attempt(&device, &stream, &mut storage, what)
        }
    };
    let captured = device.with_stream(&stream, || device.capture(step));
    match what {
        Refused::Error => {
            // The step's own error, from whichever call runs it.
            let replayed = captured.and_then(|mut graph| device.with_stream(&stream, || graph.replay()));
            fails(replayed, ErrorKind::Other, &["of the step's own"])?;
        }
        _ if case.info.capabilities.graphs => {
            let e = fails(captured, ErrorKind::CaptureViolation, &["captur"])?;
            ensure!(e.device().is_some(), "what is refused in a capture names no device: {e}");
        }
        // The step itself is the graph: there is nothing that it may not do.
        _ => {
            let mut graph = captured?;
            device.with_stream(&stream, || graph.replay())?;
        }
    }
    // The stream and the device go on as if nothing had been.
    stream.synchronize()?;
    ensure!(stream.query()?, "a stream that was waited for has work left");
    let (layout, storage) = (Layout::contiguous([100]), storage.lock());
    let before = storage.to_cpu_storage()?;
    let got = device.with_stream(&stream, || storage.affine(&layout, 1.0, 3.0))?;
    let expected = before.affine(&layout, 1.0, 3.0)?;
    ensure!(
        got.to_cpu_storage()?.as_bytes() == expected.as_bytes(),
        "after a refused capture the stream computes wrongly"
    );
    Ok(())
}

fn attempt<D: BackendDevice>(device: &D, stream: &Stream, storage: &mut D::Storage, what: Refused) -> Result<()> {
    match what {
        Refused::SynchronizeDevice => device.synchronize(),
        Refused::SynchronizeStream => stream.synchronize(),
        Refused::Query => stream.query().map(|_| ()),
        Refused::Read => storage.to_cpu_storage().map(|_| ()),
        Refused::Write => storage.write_slice(0, &[1.0f32; 100]),
        Refused::Capture => device.capture(|| Ok(())).map(|_| ()),
        Refused::Error => Err(Error::new(ErrorKind::Other, "an error of the step's own")),
    }
}
