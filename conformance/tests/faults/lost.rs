//! The device is lost in each phase: the call and everything after it fail with `DeviceLost`,
//! closing the device is no panic, and after a reset it opens again.

use crate::bench::{Action, works, zeros};
use crate::calls::CHECKED;
use crate::card::{Card, Names};
use crate::row::Row;
use crate::simulator::Simulator;
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, ErrorKind, Layout, Matmul, Result, UnaryOp};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A phase: what it is called, its call, and the step that makes it.
type Phase = (&'static str, Names, fn(&AnyDevice) -> Result<Action>);

const PHASES: &[Phase] = &[
    ("an allocation", ["cuMemAlloc_v2", "hipMalloc"], |device| {
        let device = device.clone();
        Ok(Box::new(move || zeros(&device, 1 << 16).map(drop)))
    }),
    ("a copy to the device", ["cuMemcpyHtoDAsync_v2", "hipMemcpyAsync"], |device| {
        let mut storage = zeros(device, 64)?;
        Ok(Box::new(move || storage.write_slice(0, &[1f32; 64])))
    }),
    ("a copy to the host", ["cuMemcpyDtoHAsync_v2", "hipMemcpyAsync"], |device| {
        let storage = zeros(device, 64)?;
        Ok(Box::new(move || storage.to_vec::<f32>().map(drop)))
    }),
    ("a launch", ["cuLaunchKernel", "hipModuleLaunchKernel"], |device| {
        let (storage, layout) = (zeros(device, 64)?, Layout::contiguous(64));
        Ok(Box::new(move || storage.unary(&layout, UnaryOp::Neg).map(drop)))
    }),
    ("loading a module", ["cuModuleLoadDataEx", "hipModuleLoadData"], |device| {
        let (storage, layout) = (zeros(device, 64)?, Layout::contiguous(64));
        Ok(Box::new(move || storage.unary(&layout, UnaryOp::Neg).map(drop)))
    }),
    ("a wait for the device", ["cuStreamSynchronize", "hipStreamSynchronize"], |device| {
        let device = device.clone();
        Ok(Box::new(move || device.synchronize()))
    }),
    ("a new stream", ["cuStreamCreate", "hipStreamCreateWithFlags"], |device| {
        let device = device.clone();
        Ok(Box::new(move || device.new_stream().map(drop)))
    }),
    ("a record of an event", ["cuEventRecord", "hipEventRecord"], |device| {
        let (event, stream) = (device.new_event()?, device.default_stream()?);
        Ok(Box::new(move || stream.record(&event)))
    }),
    ("a wait for an event", ["cuEventSynchronize", "hipEventSynchronize"], |device| {
        let (event, stream) = (device.new_event()?, device.default_stream()?);
        stream.record(&event)?;
        Ok(Box::new(move || event.synchronize()))
    }),
    ("the begin of a capture", ["cuStreamBeginCapture_v2", "hipStreamBeginCapture"], |device| {
        let (device, storage, layout) = (device.clone(), zeros(device, 64)?, Layout::contiguous(64));
        Ok(Box::new(move || device.capture(move || storage.unary(&layout, UnaryOp::Neg).map(drop)).map(drop)))
    }),
    ("a launch in a capture", ["cuLaunchKernel", "hipModuleLaunchKernel"], |device| {
        let (device, storage, layout) = (device.clone(), zeros(device, 64)?, Layout::contiguous(64));
        storage.unary(&layout, UnaryOp::Neg)?;
        Ok(Box::new(move || device.capture(move || storage.unary(&layout, UnaryOp::Neg).map(drop)).map(drop)))
    }),
    ("instantiating a graph", ["cuGraphInstantiateWithFlags", "hipGraphInstantiate"], |device| {
        let (device, storage, layout) = (device.clone(), zeros(device, 64)?, Layout::contiguous(64));
        storage.unary(&layout, UnaryOp::Neg)?;
        Ok(Box::new(move || device.capture(move || storage.unary(&layout, UnaryOp::Neg).map(drop)).map(drop)))
    }),
    ("launching a graph", ["cuGraphLaunch", "hipGraphLaunch"], |device| {
        let (storage, layout) = (zeros(device, 64)?, Layout::contiguous(64));
        storage.unary(&layout, UnaryOp::Neg)?;
        let mut graph = device.capture(move || storage.unary(&layout, UnaryOp::Neg).map(drop))?;
        Ok(Box::new(move || graph.replay()))
    }),
    ("an allocation of page-locked memory", ["cuMemHostAlloc", "hipHostMalloc"], |device| {
        let device = device.clone();
        Ok(Box::new(move || device.alloc_pinned(256).map(drop)))
    }),
    // The product's own fill or copy: the BLAS library works on the stream that is lost.
    ("a wait behind a product of the BLAS library", ["cuStreamSynchronize", "hipStreamSynchronize"], |device| {
        let (storage, layout) = (zeros(device, 64)?, Layout::contiguous([8, 8]));
        let product = storage.matmul(&layout, &storage, &layout, Matmul::default())?;
        Ok(Box::new(move || product.to_vec::<f32>().map(drop)))
    }),
];

pub fn run(card: &'static Card) -> Vec<Row> {
    let simulator = Simulator::new(card);
    let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
    works(&device).expect("it works");
    let free = device.info().expect("it is described").memory_free;
    drop(device);
    let mut rows = Vec::new();
    for (what, names, prepare) in PHASES {
        let fault = format!("{}:1:lost", names[card.vendor]);
        lose(card, &simulator, &fault, *prepare);
        simulator.reset();
        let device = AnyDevice::open(card.opened_as).unwrap_or_else(|e| panic!("{}, after {fault}: {e:?}", card.id));
        works(&device).unwrap_or_else(|e| panic!("{}, after {fault}: {e:?}", card.id));
        drop(device);
        // Everything that the lost device had is free again.
        let device = AnyDevice::open(card.opened_as).expect("it opens");
        let after = device.info().expect("it is described").memory_free;
        assert!(after >= free, "{}, {fault}: {free} bytes were free, now {after}", card.id);
        rows.push(Row::new(
            format!("the device is lost in {what}"),
            fault,
            "DeviceLost",
            format!("later calls, {CHECKED} after a reset"),
        ));
    }
    rows
}

/// Loses the device in a step, and checks what comes after.
fn lose(card: &Card, simulator: &Simulator, fault: &str, prepare: fn(&AnyDevice) -> Result<Action>) {
    let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
    let held = zeros(&device, 100).expect("the device still works");
    let pinned = device.alloc_pinned(64).expect("the device still works");
    let (stream, event) = (device.new_stream().expect("it works"), device.new_event().expect("it works"));
    let action = prepare(&device).unwrap_or_else(|e| panic!("{}, {fault}: preparing it fails: {e:?}", card.id));
    simulator.fail(fault);
    let is_lost = |result: Result<()>, then: &str| {
        let e = result.expect_err(then);
        assert_eq!(e.kind(), ErrorKind::DeviceLost, "{}, {fault}, {then}: {e:?}", card.id);
        assert!(e.native().is_some(), "{}, {fault}, {then}: {e:?}", card.id);
    };
    let done = catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|_| panic!("{}, {fault}: it panicked", card.id));
    is_lost(done, "the call itself");
    let layout = Layout::contiguous(100);
    is_lost(zeros(&device, 1 << 20).map(drop), "a new storage");
    is_lost(held.unary(&layout, UnaryOp::Exp).map(drop), "an operation");
    is_lost(held.to_vec::<f32>().map(drop), "a read");
    is_lost(device.synchronize(), "a wait for the device");
    is_lost(stream.synchronize(), "a wait for another stream");
    is_lost(stream.record(&event), "a record of an event");
    is_lost(works(&device), "new work");
    // What closes cannot report anything, and must not panic.
    drop((held, pinned, stream, event, device));
    simulator.fail("");
}
