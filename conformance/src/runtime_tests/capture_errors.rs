//! What cannot be captured must be refused with the reason, and the device and its streams must
//! keep working.

use super::case::{Case, Checked, ensure, fails};
use super::mirror::numbers;
use isobit_hal::{BackendDevice, BackendStorage, DType, Error, ErrorKind, Layout, Result, Stream};
use parking_lot::Mutex;
use std::sync::Arc;

/// The calls that a captured step may not make.
#[derive(Debug, Clone, Copy)]
enum Refused {
    SynchronizeDevice,
    SynchronizeStream,
    Query,
    Read,
    Write,
    Capture,
    /// The step fails by itself.
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

/// Tests one drawn refusal, on a new stream or the default one.
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
            // The step's own error is returned by whichever call runs the step.
            let replayed = captured.and_then(|mut graph| device.with_stream(&stream, || graph.replay()));
            fails(replayed, ErrorKind::Other, &["of the step's own"])?;
        }
        _ if case.info.capabilities.graphs => {
            let e = fails(captured, ErrorKind::CaptureViolation, &["captur"])?;
            ensure!(e.device().is_some(), "the error of a refused capture names no device: {e}");
        }
        // Without graph support the step itself serves as the graph, so it may make every call.
        _ => {
            let mut graph = captured?;
            device.with_stream(&stream, || graph.replay())?;
        }
    }
    // The stream and the device must work as if nothing had happened.
    stream.synchronize()?;
    ensure!(stream.query()?, "a stream has work left after synchronize");
    let (layout, storage) = (Layout::contiguous([100]), storage.lock());
    let before = storage.to_cpu_storage()?;
    let got = device.with_stream(&stream, || storage.affine(&layout, 1.0, 3.0))?;
    let expected = before.affine(&layout, 1.0, 3.0)?;
    ensure!(
        got.to_cpu_storage()?.as_bytes() == expected.as_bytes(),
        "the stream gives wrong results after a refused capture"
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
