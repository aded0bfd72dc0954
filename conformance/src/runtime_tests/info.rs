//! `device.info`: checks the device's description of itself against its behaviour.

use super::case::{Case, Checked, Failed, ensure, fails};
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::step::{equal, perform};
use crate::cells::Cell;
use isobit_hal::{
    BackendDevice, BackendStorage, ComputeCapability, DType, ErrorKind, KernelSource, Layout, Matmul, Numerics, Op,
    Support,
};

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    identity(case)?;
    sizes(case)?;
    streams(case)?;
    match case.between(0, 3) {
        0 => vendor_matmul(case)?,
        1 => compiler(case)?,
        _ => supported(case)?,
    }
    let mut mirror = Mirror::draw(case)?;
    let step = program::draw(case, &mirror, Steps::ANY);
    case.say(&step);
    perform(case.device, &step, &mut mirror.buffers)?;
    mirror.expect(&step)?;
    mirror.check()
}

/// Handles of one device share an id; two devices have different ids.
fn identity<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let (device, another) = (case.device, case.another());
    let clone = device.clone();
    ensure!(clone.id() == device.id() && clone.same_device(device), "a handle to a device is another device");
    ensure!((another.id() == device.id()) == another.same_device(device), "ids and same_device disagree");
    let (location, info) = (device.location(), case.info);
    ensure!(
        info.driver == location.driver,
        "info names the driver {}, but location names {}",
        info.driver,
        location.driver
    );
    ensure!(another.location().driver == location.driver, "another device of the driver names another driver");
    ensure!(clone.location() == location, "a handle to a device has another location");
    for (what, text) in [("name", &info.name), ("arch", &info.arch), ("driver version", &info.driver_version)] {
        ensure!(!text.is_empty(), "the device's info has no {what}");
    }
    for library in &info.libraries {
        ensure!(
            !library.name.is_empty() && !library.version.is_empty(),
            "a library without name or version: {library:?}"
        );
    }
    ensure!(case.device.is_event_tracking(), "a device does not order the work of its streams by default");
    Ok(())
}

/// The limits are sufficient for the tree's kernels and agree with the rest of the info.
fn sizes<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let info = case.device.info()?;
    ensure!(info.memory_free <= info.memory_total, "{} of {} bytes are free", info.memory_free, info.memory_total);
    ensure!(
        info.warp_size >= 1 && info.multiprocessors >= 1,
        "a warp of {}, {} multiprocessors",
        info.warp_size,
        info.multiprocessors
    );
    let Some(limits) = &info.limits else {
        ensure!(info.warp_size == 1, "a device that launches nothing has warps of {}", info.warp_size);
        ensure!(info.compute_capability.is_none(), "a device that launches nothing has a compute capability");
        return Ok(());
    };
    ensure!(limits.warp_size as usize == info.warp_size, "warps of {} and {}", limits.warp_size, info.warp_size);
    ensure!(limits.multiprocessors as usize == info.multiprocessors, "multiprocessors: {limits:?}");
    ensure!(matches!(limits.warp_size, 32 | 64), "warps of {}", limits.warp_size);
    let block = limits.max_threads_per_block;
    ensure!(block >= 256 && block % limits.warp_size == 0, "blocks of at most {block} threads");
    ensure!(limits.max_threads_per_multiprocessor >= block, "a multiprocessor holds less than a block: {limits:?}");
    // Every card of either vendor has had at least this for a decade.
    ensure!(limits.shared_memory_per_block >= 32 << 10, "{} bytes of shared memory", limits.shared_memory_per_block);
    ensure!(limits.max_grid_x >= 0xffff && limits.max_grid_yz >= 0xffff, "grids: {limits:?}");
    ensure!(limits.max_threads_per_dim >= u64::from(limits.max_grid_x), "grids: {limits:?}");
    let Some(capability) = info.compute_capability else { return Ok(()) };
    let vendor = match capability {
        ComputeCapability::Cuda { .. } => "sm_",
        _ => "gfx",
    };
    ensure!(info.arch.starts_with(vendor), "compute capability {capability} of {}", info.arch);
    let arch = info.arch.split(':').next().unwrap_or_default();
    ensure!(capability.to_string() == arch, "compute capability {capability} of {}", info.arch);
    Ok(())
}

/// There is one default stream, and it is current if no other was entered.
fn streams<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let device = case.device;
    let [first, second] = [device.default_stream()?, device.default_stream()?];
    ensure!(first.id() == second.id(), "the default stream changes its id");
    ensure!(device.current_stream()?.id() == first.id(), "a thread that entered no stream is not on the default one");
    let new = device.new_stream()?;
    let native = new.raw() != 0;
    let concurrent = case.info.capabilities.concurrent_streams;
    ensure!(native == concurrent, "concurrent_streams is {concurrent}, and a new stream's handle {:#x}", new.raw());
    let entered = device.enter_stream(&new)?;
    let inner = device.enter_stream(&first)?;
    ensure!(device.current_stream()?.id() == first.id(), "the stream entered last is not the current one");
    // Guards may be dropped in any order.
    drop(entered);
    ensure!(device.current_stream()?.id() == first.id(), "leaving an outer stream also left the inner one");
    drop(inner);
    ensure!(
        device.current_stream()?.id() == first.id(),
        "after all guards were dropped, the current stream is not the default one"
    );
    Ok(())
}

/// Vendor numerics use the vendor's library if there is one, else give the kernel's own bits, and
/// they are counted.
fn vendor_matmul<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let n = case.between(1, 24);
    // Integers, so that the product is exact in any order of summation.
    let values: Vec<f32> = (0..n * n).map(|i| ((i * 7 + n) % 5) as f32 - 2.0).collect();
    let (a, l) = (case.device.storage_from_slice(&values)?, Layout::contiguous([n, n]));
    let before = case.device.counters();
    let [vendor, portable] =
        [Numerics::Vendor, Numerics::Portable].map(|by| a.matmul(&l, &a, &l, Matmul::with_numerics(by)));
    let after = case.device.counters();
    let [vendor, portable] = [vendor?.to_cpu_storage()?, portable?.to_cpu_storage()?];
    case.say(format_args!("a product of {n} by {n} with vendor and portable numerics"));
    equal("vendor's product of small integers", DType::F32, portable.as_bytes(), vendor.as_bytes())?;
    let calls = after.vendor_calls - before.vendor_calls;
    if after != isobit_hal::Counters::default() {
        let fallbacks = after.vendor_fallbacks - before.vendor_fallbacks;
        ensure!(
            calls + fallbacks == 1,
            "one product is counted as {calls} calls of a library and {fallbacks} fall-backs"
        );
        let has = case.info.capabilities.vendor_matmul;
        ensure!(has || calls == 0, "a library was called although the device says that it has none");
    }
    Ok(())
}

/// A device with a compiler compiles; one without it returns an error that says so.
fn compiler<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let source = KernelSource::new("nothing", "extern \"C\" __global__ void nothing() {}");
    let compiled = case.device.compile("nothing", &source);
    case.say("an empty kernel is compiled");
    match (case.info.capabilities.runtime_compile, compiled) {
        (true, compiled) => ensure!(compiled?.name() == "nothing", "a kernel does not have the requested name"),
        (false, Ok(_)) => return Err(Failed::new("a source was compiled by a device without runtime_compile")),
        (false, Err(e)) => {
            let kinds = [ErrorKind::UnsupportedOp, ErrorKind::LibraryUnavailable];
            ensure!(kinds.contains(&e.kind()), "without a compiler: {:?}: {e}", e.kind());
        }
    }
    Ok(())
}

/// The answers of `supports` are correct: an undefined combination of dtypes is refused, and a
/// defined one runs (as the cells show).
fn supported<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let bf16 = case.device.supports(&Op::Matmul(Matmul::default()), &[DType::BF16; 3]).is_supported();
    ensure!(bf16 == case.device.supports_bf16(), "supports_bf16 and supports disagree");
    let cell = &Cell::all()[case.between(0, Cell::all().len() - 1)];
    let (op, mut dtypes) = (cell.op(), cell.dtypes.clone());
    let at = case.between(0, dtypes.len() - 1);
    dtypes[at] = case.draw.one_of(DType::ALL);
    let defined = op.check_dtypes(&dtypes);
    case.say(format_args!("{op} of {dtypes:?}"));
    let answer = case.device.supports(&op, &dtypes);
    ensure!(
        defined.is_ok() || !answer.is_supported(),
        "{op} of {dtypes:?} is not defined, but the device says that it supports it"
    );
    let preloaded = case.device.preload(&[(op, &dtypes)]);
    match answer {
        Support::Supported => preloaded?,
        Support::Unsupported { kind, .. } => drop(fails(preloaded, kind, &[])?),
    }
    // The call also refuses a wrong dtype, with the same kind.
    let l = Layout::contiguous([4]);
    let (a, mut to) = (case.device.zeros(&4.into(), DType::U8)?, case.device.zeros(&4.into(), DType::F32)?);
    let refused =
        D::Storage::affine_into(isobit_hal::Affine::new(1.0, 0.0), isobit_hal::Src::Storage(&a, &l), &mut to, &l);
    fails(refused, ErrorKind::UnsupportedDtype, &["affine"])?;
    Ok(())
}
