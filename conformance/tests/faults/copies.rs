//! Copies and fills of device memory, also from and to page-locked memory.

use crate::bench::{Action, zeros};
use crate::calls::Call;
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, Layout, Result};

const N: usize = 1000;

/// A storage that a fault may leave with any content, and an operation on it.
fn on_storage(
    device: &AnyDevice,
    work: impl FnOnce(&mut isobit::AnyStorage) -> Result<()> + 'static,
) -> Result<Action> {
    let mut storage = zeros(device, N)?;
    Ok(Box::new(move || work(&mut storage)))
}

fn up(device: &AnyDevice) -> Result<Action> {
    on_storage(device, |storage| storage.write_slice(0, &[1f32; N]))
}

fn new(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.storage_from_slice(&[1f32; N]).map(drop)))
}

fn down(device: &AnyDevice) -> Result<Action> {
    on_storage(device, |storage| storage.to_vec::<f32>().map(drop))
}

fn fill(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || zeros(&device, N).map(drop)))
}

fn across(device: &AnyDevice) -> Result<Action> {
    let mut other = zeros(device, N)?;
    on_storage(device, move |storage| storage.copy_strided_src(&mut other, 0, &Layout::contiguous(N)))
}

fn from_pinned(device: &AnyDevice) -> Result<Action> {
    let pinned = device.alloc_pinned(4 * N)?;
    on_storage(device, move |storage| storage.copy_from_pinned(0, &pinned, 0..4 * N))
}

fn to_pinned(device: &AnyDevice) -> Result<Action> {
    let mut pinned = device.alloc_pinned(4 * N)?;
    on_storage(device, move |storage| storage.copy_to_pinned(0, &mut pinned, 0..4 * N))
}

/// Reads page-locked memory to which a copy is pending.
fn read_pinned(device: &AnyDevice) -> Result<Action> {
    let (storage, mut pinned) = (zeros(device, N)?, device.alloc_pinned(4 * N)?);
    storage.copy_to_pinned(0, &mut pinned, 0..4 * N)?;
    Ok(Box::new(move || pinned.bytes().map(|bytes| assert_eq!(bytes.len(), 4 * N))))
}

pub const CALLS: &[Call] = &[
    Call::new("a copy to the device", ["cuMemcpyHtoDAsync_v2", "hipMemcpyAsync"], "copying to the device", up),
    Call::new("the copy into a new storage", ["cuMemcpyHtoDAsync_v2", "hipMemcpyAsync"], "copying to the device", new),
    Call::new("a copy to the host", ["cuMemcpyDtoHAsync_v2", "hipMemcpyAsync"], "copying to the host", down),
    Call::new(
        "the wait for a copy to the host",
        ["cuStreamSynchronize", "hipStreamSynchronize"],
        "waiting for the device",
        down,
    ),
    Call::new("a copy on the device", ["cuMemcpyDtoDAsync_v2", "hipMemcpyAsync"], "copying on the device", across),
    Call::new("a fill", ["cuMemsetD8Async", "hipMemsetD8Async"], "setting device memory", fill),
    Call::new(
        "a copy from page-locked memory",
        ["cuMemcpyHtoDAsync_v2", "hipMemcpyAsync"],
        "copying from page-locked memory",
        from_pinned,
    ),
    Call::new(
        "a copy to page-locked memory",
        ["cuMemcpyDtoHAsync_v2", "hipMemcpyAsync"],
        "copying to page-locked memory",
        to_pinned,
    ),
    Call::new("the mark behind such a copy", ["cuEventRecord", "hipEventRecord"], "recording an event", from_pinned),
    Call::new(
        "the host's wait for such a copy",
        ["cuEventSynchronize", "hipEventSynchronize"],
        "waiting for an event",
        read_pinned,
    ),
];
