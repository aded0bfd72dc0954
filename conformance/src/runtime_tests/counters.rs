//! `device.counters`: launches, replays, allocations and compiled sources are counted, and nothing
//! else is.

use super::case::{Case, Checked, ensure};
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::source;
use super::step::Step;
use isobit_hal::{BackendDevice, BackendStorage, Counters, DType, Layout, Op, Scalar};
use parking_lot::Mutex;
use std::sync::Arc;

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    let mut mirror = Mirror::draw(case)?;
    // Operations that are a kernel on every device; a copy or a fill may be a call of the driver.
    let is_kernel = |step: &Step| matches!(&step.op, Op::Affine(_) | Op::Unary(_) | Op::Binary(_));
    let step = std::iter::repeat_with(|| program::draw(case, &mirror, Steps::BARE)).find(is_kernel);
    let step = step.expect("an endless search ends with what it looked for");
    mirror.step(&step)?;
    let start = device.counters();
    if start == Counters::default() {
        // A device that counts nothing for a launch and the buffers' memory must never count
        // anything.
        compiled(case, false)?;
        ensure!(device.counters() == start, "a device without counters has a nonzero counter: {:?}", device.counters());
        return mirror.check();
    }
    let count = case.between(1, 8) as u64;
    case.say(format_args!("{count} times: {step}"));
    for _ in 0..count {
        mirror.step(&step)?;
    }
    let after = device.counters();
    ensure!(
        after.launches == start.launches + count,
        "{count} elementwise operations are {} launches",
        after.launches - start.launches
    );
    let still =
        |c: Counters| (c.graph_replays, c.vendor_calls, c.vendor_fallbacks, c.pool_hits, c.pool_misses, c.compiles);
    ensure!(still(after) == still(start), "a launch into a buffer changed other counters: {start:?}, then {after:?}");
    let zeros = device.zeros(&case.between(1, 1000).into(), mirror.shape.dtypes[0])?;
    let allocated = device.counters();
    let answered = |c: Counters| c.pool_hits + c.pool_misses;
    ensure!(answered(allocated) == answered(after) + 1, "one allocation: {after:?}, then {allocated:?}");
    drop(zeros);
    replays(case)?;
    compiled(case, case.info.capabilities.runtime_compile)?;
    mirror.check()
}

/// Replays of a graph are counted; the launches inside it are not.
fn replays<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device.clone();
    if !case.info.capabilities.graphs {
        return Ok(());
    }
    let storage = Arc::new(Mutex::new(device.zeros(&100.into(), DType::F32)?));
    let step = move || {
        let mut storage = storage.lock();
        storage.const_set(Scalar::F32(1.0), &Layout::contiguous([100]))
    };
    let mut graph = device.capture(step)?;
    let (before, count) = (device.counters(), case.between(1, 5) as u64);
    case.say(format_args!("{count} replays of a graph"));
    for _ in 0..count {
        graph.replay()?;
    }
    let after = device.counters();
    ensure!(after.graph_replays == before.graph_replays + count, "{count} replays: {before:?}, then {after:?}");
    ensure!(
        after.launches == before.launches,
        "the launches of a graph are counted as the device's: {before:?}, then {after:?}"
    );
    device.synchronize()?;
    Ok(())
}

/// A source is compiled once, or found on disk, and then known.
fn compiled<D: BackendDevice>(case: &mut Case<'_, D>, compiles: bool) -> Checked {
    let source = source::draw(case);
    let sources = |c: Counters| c.compiles + c.compile_hits;
    let start = sources(case.device.counters());
    let first = case.device.compile(source::NAME, &source.text);
    if !compiles {
        ensure!(first.is_err(), "a device without a compiler compiled a source");
        return Ok(());
    }
    first?;
    let once = sources(case.device.counters());
    ensure!(once <= start + 1, "one source was counted {} times", once - start);
    case.device.compile(source::NAME, &source.text)?;
    let twice = sources(case.device.counters());
    ensure!(twice == once, "a source that is known was compiled or read again");
    Ok(())
}
