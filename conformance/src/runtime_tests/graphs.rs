//! `device.graphs`: a step that is captured and replayed with new inputs gives the same result as
//! the eager step, also with its own memory, on several streams, from another thread, and after the
//! objects it was made with are gone.

use super::capture_errors;
use super::case::{Case, Checked, ensure};
use super::mirror::{Mirror, numbers};
use super::program::{self, Steps};
use super::step::{Buffers, Step, equal, perform};
use isobit_hal::{Affine, BackendDevice, BackendStorage, CpuDevice, Graph, Layout, Op, Result, Stream};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Buffers that both a captured step and the host use.
type Held<S> = Arc<Mutex<Buffers<S>>>;

fn lock<S>(held: &Held<S>) -> MutexGuard<'_, Buffers<S>> {
    held.lock()
}

/// The captured work.
#[derive(Debug, Clone)]
struct Captured {
    steps: Vec<Step>,
    /// The range of steps that run on a stream that is forked from the capture's and joined again;
    /// 0 and 0 for none.
    beside: (usize, usize),
    /// The number of the step whose factor an update changes, if there is one.
    factor: Option<usize>,
}

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    let mut mirror = Mirror::draw(case)?;
    let captured = draw(case, &mirror);
    let (held, factor) = (Arc::new(Mutex::new(std::mem::take(&mut mirror.buffers))), Arc::new(AtomicU32::new(1)));
    let step = {
        let (device, held, factor, captured) = (device.clone(), held.clone(), factor.clone(), captured.clone());
        move || perform_all(&device, &captured, factor.load(Ordering::Relaxed), &mut lock(&held))
    };
    // As users are told to do, everything that is created on first use is created before the
    // capture.
    perform_all(device, &captured, 1, &mut lock(&held))?;
    expect(&mut mirror, &captured, 1)?;
    let streams = case.streams(1, 3)?;
    let on = case.between(0, streams.len() - 1);
    case.say(format_args!("a graph is captured on stream {on}, of:"));
    captured.steps.iter().for_each(|s| case.said.push(format!("    {s}")));
    let mut graph = device.with_stream(&streams[on], || device.capture(step))?;
    let graphs = case.info.capabilities.graphs;
    ensure!(
        (graph.node_count() > 0) == graphs,
        "a graph of {} nodes, although the capability is {graphs}",
        graph.node_count()
    );
    check(case, &mirror, &held, "after the capture, which must not run the work")?;
    for _ in 0..case.between(1, 3) {
        inputs(case, &mut mirror, &held)?;
        let on = case.between(0, streams.len() - 1);
        let count = case.between(1, 2);
        case.say(format_args!("{count} replays on stream {on}"));
        for _ in 0..count {
            replay(device, &streams[on], &mut graph, false)?;
            expect(&mut mirror, &captured, factor.load(Ordering::Relaxed))?;
        }
        check(case, &mirror, &held, "after replays")?;
        if captured.factor.is_some() && case.draw.chance(50) {
            case.say("the graph is updated with another factor");
            factor.fetch_add(1, Ordering::Relaxed);
            device.with_stream(&streams[on], || graph.update())?;
            check(case, &mirror, &held, "after an update, which must not run the work")?;
        }
    }
    match case.between(0, 2) {
        0 => capture_errors::run(case)?,
        1 => {
            case.say("a replay in another thread");
            replay(device, &streams[0], &mut graph, true)?;
            expect(&mut mirror, &captured, factor.load(Ordering::Relaxed))?;
        }
        _ => {
            // The graph is dropped while its last replay may still run.
            replay(device, &streams[on], &mut graph, false)?;
            expect(&mut mirror, &captured, factor.load(Ordering::Relaxed))?;
            case.say("the graph is dropped");
            drop(graph);
        }
    }
    check(case, &mirror, &held, "at the end")
}

fn draw<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &Mirror<D>) -> Captured {
    let mut steps: Vec<Step> = (0..case.between(3, 9)).map(|_| program::draw(case, mirror, Steps::KEPT)).collect();
    let floats = (0..mirror.shape.dtypes.len()).find(|&i| mirror.shape.dtypes[i].is_float());
    let factor = floats.filter(|_| case.draw.chance(60)).map(|dst| {
        let layout = mirror.shape.whole();
        let op = Op::Affine(Affine::new(1.0, 0.0));
        let at = case.between(0, steps.len());
        steps.insert(at, Step { op, inputs: vec![(dst, layout.clone())], dst, layout, fresh: None });
        at
    });
    let begin = case.between(0, steps.len());
    let end = case.between(begin, steps.len());
    let beside = if case.draw.chance(40) { (begin, end) } else { (0, 0) };
    if beside.0 < beside.1 {
        case.say(format_args!("steps {} to {} of the graph run on a stream forked in the capture", begin + 1, end));
    }
    Captured { steps, beside, factor }
}

/// Runs the steps with a factor, one of them through a storage that lives no longer than the step.
fn perform_all<D: BackendDevice>(
    device: &D,
    captured: &Captured,
    factor: u32,
    buffers: &mut Buffers<D::Storage>,
) -> Result<()> {
    let mut side: Option<(Stream, Stream)> = None;
    for (n, step) in captured.steps.iter().enumerate() {
        if n == captured.beside.0 && n < captured.beside.1 {
            let main = device.current_stream()?;
            side = Some((main.fork()?, main));
        }
        if n == captured.beside.1
            && let Some((forked, main)) = side.take()
        {
            main.join(&forked)?;
        }
        let step = with_factor(captured, n, step, factor);
        match &side {
            Some((forked, _)) => device.with_stream(forked, || through_temporary(device, &step, buffers))?,
            None => through_temporary(device, &step, buffers)?,
        }
    }
    match side {
        Some((forked, main)) => main.join(&forked),
        None => Ok(()),
    }
}

fn with_factor(captured: &Captured, n: usize, step: &Step, factor: u32) -> Step {
    let mut step = step.clone();
    if captured.factor == Some(n) {
        step.op = Op::Affine(Affine::new(0.5, f64::from(factor)));
    }
    step
}

/// Runs a step; if its first input is a whole buffer, runs it on a copy that is dropped at once.
fn through_temporary<D: BackendDevice>(device: &D, step: &Step, buffers: &mut Buffers<D::Storage>) -> Result<()> {
    let first = step.inputs.first().filter(|(i, layout)| *i != step.dst && layout.is_contiguous());
    let Some((i, layout)) = first else { return perform(device, step, buffers) };
    let copy = buffers[*i].as_ref().map(|s| s.try_clone(layout)).transpose()?;
    let mut step = step.clone();
    step.inputs[0] = (buffers.len(), Layout::contiguous(layout.shape()));
    buffers.push(copy);
    let done = perform(device, &step, buffers);
    buffers.pop();
    done
}

fn expect<D: BackendDevice>(mirror: &mut Mirror<D>, captured: &Captured, factor: u32) -> Checked {
    let steps = captured.steps.iter().enumerate();
    steps.map(|(n, step)| with_factor(captured, n, step, factor)).try_for_each(|step| mirror.expect(&step))
}

fn replay<D: BackendDevice>(device: &D, stream: &Stream, graph: &mut Graph, in_thread: bool) -> Checked {
    let mut again = || device.with_stream(stream, || graph.replay());
    if in_thread {
        std::thread::scope(|s| s.spawn(again).join().unwrap_or_else(|p| std::panic::resume_unwind(p)))?;
    } else {
        again()?;
    }
    Ok(())
}

/// Writes new contents to a buffer, as a framework gives a captured step its next inputs.
fn inputs<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, held: &Held<D::Storage>) -> Checked {
    let i = case.between(0, mirror.shape.dtypes.len() - 1);
    case.say(format_args!("buffer {i} is written"));
    let host = numbers(case, mirror.shape.dtypes[i], mirror.shape.side * mirror.shape.side)?;
    if let Some(buffer) = &mut lock(held)[i] {
        buffer.write_bytes(0, host.as_bytes())?;
    }
    mirror.expected[i] = Some(CpuDevice.storage_from_cpu_storage(&host)?);
    Ok(())
}

fn check<D: BackendDevice>(case: &Case<'_, D>, mirror: &Mirror<D>, held: &Held<D::Storage>, when: &str) -> Checked {
    let held = lock(held);
    for (i, (buffer, expected)) in held.iter().zip(&mirror.expected).enumerate() {
        let (Some(buffer), Some(expected)) = (buffer, expected) else { continue };
        ensure!(buffer.device().same_device(case.device), "buffer {i} is on another device");
        let got = buffer.to_cpu_storage()?;
        equal(&format!("{when}: buffer {i}"), expected.dtype(), expected.as_bytes(), got.as_bytes())?;
    }
    Ok(())
}
