//! Device memory and page-locked memory: allocations that fail at any place, and frees.

use crate::bench::{Action, Bench, Outcome, zeros};
use crate::calls::{CHECKED, Call, Expected};
use crate::row::Row;
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, ErrorKind, Layout, Reduce, ReduceOp, Result, Sort};

/// Too large for a block that the pool has.
const LARGE: usize = 300_000;

const OUT_OF_MEMORY: [&str; 2] = ["CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory"];
const UNKNOWN: [&str; 2] = ["CUDA_ERROR_UNKNOWN", "hipErrorUnknown"];

const ALLOCATE: [&str; 2] = ["cuMemAlloc_v2", "hipMalloc"];

fn allocate(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    device.trim(0);
    Ok(Box::new(move || zeros(&device, LARGE).map(drop)))
}

/// Frees a block when nothing is kept for reuse.
fn free(device: &AnyDevice) -> Result<Action> {
    let (device, storage) = (device.clone(), zeros(device, LARGE)?);
    Ok(Box::new(move || {
        drop(storage);
        device.trim(0);
        Ok(())
    }))
}

/// Fills the device's cache, so that an allocation can succeed once it is released.
fn allocate_beside_a_cache(device: &AnyDevice) -> Result<Action> {
    device.trim(0);
    drop((zeros(device, LARGE)?, zeros(device, 2 * LARGE)?));
    let device = device.clone();
    Ok(Box::new(move || zeros(&device, 3 * LARGE).map(drop)))
}

fn pin(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.alloc_pinned(4096).map(drop)))
}

fn unpin(device: &AnyDevice) -> Result<Action> {
    let pinned = device.alloc_pinned(4096)?;
    Ok(Box::new(move || {
        drop(pinned);
        Ok(())
    }))
}

pub const CALLS: &[Call] = &[
    Call {
        what: "an allocation, for another reason than memory",
        names: ALLOCATE,
        nth: "1",
        expected: Expected::One(UNKNOWN, Outcome::Fails(ErrorKind::Other, "allocating device memory")),
        prepare: allocate,
    },
    Call {
        what: "an allocation, and the one after the cache was released",
        names: ALLOCATE,
        nth: "*",
        expected: Expected::One(OUT_OF_MEMORY, Outcome::Fails(ErrorKind::OutOfMemory, "cannot allocate 1200000 bytes")),
        prepare: allocate,
    },
    Call {
        what: "an allocation, until the cache is released",
        names: ALLOCATE,
        nth: "1",
        expected: Expected::One(OUT_OF_MEMORY, Outcome::Works),
        prepare: allocate_beside_a_cache,
    },
    Call {
        what: "an allocation, and the query of the free memory for its message",
        names: ["cuMemGetInfo_v2", "hipMemGetInfo"],
        nth: "1",
        expected: Expected::One(
            UNKNOWN,
            Outcome::Fails(ErrorKind::OutOfMemory, "the free memory of the device is unknown"),
        ),
        prepare: allocate_too_much,
    },
    Call {
        what: "a free",
        names: ["cuMemFree_v2", "hipFree"],
        nth: "1",
        expected: Expected::ItsKindLater("freeing device memory"),
        prepare: free,
    },
    Call {
        what: "an allocation of page-locked memory",
        names: ["cuMemHostAlloc", "hipHostMalloc"],
        nth: "1",
        expected: Expected::ItsKind("allocating page-locked memory"),
        prepare: pin,
    },
    Call {
        what: "a free of page-locked memory",
        names: ["cuMemFreeHost", "hipHostFree"],
        nth: "1",
        expected: Expected::ItsKindLater("freeing page-locked memory"),
        prepare: unpin,
    },
];

/// Asks for more memory than is left, and ignores that it is refused unless the message is wrong.
fn allocate_too_much(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    // The step must succeed without the fault: the message then has the free memory.
    Ok(Box::new(move || match zeros(&device, 1 << 40) {
        Err(e) if e.message().contains("bytes of the device are free") => Ok(()),
        other => other.map(drop),
    }))
}

/// A step with temporary memory: a sort, a reduction and a product.
fn step(device: &AnyDevice) -> Result<Vec<f32>> {
    let data: Vec<f32> = (0..5000).map(|i| (i * 7919 % 5000) as f32).collect();
    let (x, row) = (device.storage_from_slice(&data)?, Layout::contiguous([1, 5000]));
    let (sorted, _) = x.sort_last_dim(&row, Sort::default())?;
    let square = Layout::contiguous([50, 100]);
    let product = sorted.matmul(&square, &x, &Layout::contiguous([100, 50]), Default::default())?;
    let product = product.reduce(&Layout::contiguous([50, 50]), &Reduce::new(ReduceOp::Sum, &[1]))?;
    let mut all = sorted.to_vec::<f32>()?;
    all.extend(product.to_vec::<f32>()?);
    Ok(all)
}

/// Every allocation of a step fails once, and then all from that one on.
pub fn every_allocation(bench: &Bench) -> Vec<Row> {
    let (vendor, device) = (bench.card.vendor, &bench.device);
    let (function, code) = (ALLOCATE[vendor], OUT_OF_MEMORY[vendor]);
    let expected = step(device).expect("the step works");
    let calls = || bench.simulator.counts().get(function).map_or(0, |count| count.calls);
    device.trim(0);
    let before = calls();
    step(device).expect("the step works");
    let allocations = calls() - before;
    assert!(allocations >= 5, "{}: the step allocates {allocations} times only", bench.card.id);
    for n in 1..=allocations {
        // Once: the pool releases its cache and asks again.
        device.trim(0);
        bench.simulator.fail(&format!("{function}:{n}:{code}"));
        let found = step(device);
        bench.simulator.fail("");
        assert_eq!(found.expect("one refusal is no failure"), expected, "{}: allocation {n}", bench.card.id);
        // From then on: a product needs no workspace of its library, all else fails.
        device.trim(0);
        bench.simulator.fail(&format!("{function}:{n}+:{code}"));
        let found = step(device);
        bench.simulator.fail("");
        match found {
            Ok(found) => assert_eq!(found.len(), expected.len(), "{}: allocation {n}", bench.card.id),
            Err(e) => assert_eq!(e.kind(), ErrorKind::OutOfMemory, "{}: allocation {n}: {e:?}", bench.card.id),
        }
        device.synchronize().expect("no error is left");
        assert_eq!(device.pool_stats().in_use, 0, "{}: allocation {n} leaks", bench.card.id);
        bench.works();
    }
    let fault = |n| format!("{function}:{n}:{code}");
    vec![
        Row::new("each allocation of a sort, a product and a sum, once", fault("N"), "works", "result, no leak, works"),
        Row::new("each allocation of that step and all after it", fault("N+"), "OutOfMemory", CHECKED),
    ]
}
