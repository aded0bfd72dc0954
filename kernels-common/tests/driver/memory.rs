//! Memory operations of the public API: pinned buffers, copies between devices, foreign pointers,
//! limits, and the message of a failed allocation.

use super::super::{Device, Storage, device_count};
use super::streams::is_deferred;
use super::{device, fails, pool_is_exact, ramp, works};
use isobit_hal::{
    Affine, BackendDevice, BackendStorage, CpuDevice, DType, ErrorKind, Layout, PinnedBuffer, Scalar, Src,
};
use isobit_kernels::{DevicePtr, MemoryRuntime};

const N: usize = 1000;

fn pinned(device: &Device, values: impl Iterator<Item = f32>) -> PinnedBuffer {
    let values: Vec<f32> = values.collect();
    let mut buffer = device.alloc_pinned(4 * values.len()).unwrap();
    buffer.as_mut_slice::<f32>().unwrap().copy_from_slice(&values);
    buffer
}

fn is(values: &[f32], expected: impl Fn(f32) -> f32) -> bool {
    values.len() == N && values.iter().enumerate().all(|(i, &x)| x == expected(i as f32))
}

#[test]
fn pinned_memory_begins_as_zeros_and_has_the_size_that_was_asked_for() {
    let Some(device) = device() else { return };
    for bytes in [0, 1, 4096, 100_003] {
        let mut buffer = device.alloc_pinned(bytes).unwrap();
        assert_eq!((buffer.len(), buffer.is_empty()), (bytes, bytes == 0));
        assert_eq!(buffer.bytes().unwrap(), vec![0; bytes]);
        assert_eq!(buffer.as_ptr().as_ptr() as usize % 64, 0);
        buffer.bytes_mut().unwrap().fill(7);
        assert_eq!(buffer.as_slice::<u32>().unwrap(), vec![0x0707_0707; bytes / 4]);
    }
    fails(device.alloc_pinned(1 << 50), ErrorKind::OutOfMemory);
    works(&device);
}

#[test]
fn the_host_changes_a_pinned_buffer_only_after_the_device_has_read_it() {
    let Some(device) = device() else { return };
    let mut buffer = pinned(&device, (0..N).map(|i| i as f32));
    let mut a = device.zeros(&N.into(), DType::F32).unwrap();
    a.copy_from_pinned(0, &buffer, 0..4 * N).unwrap();
    buffer.as_mut_slice::<f32>().unwrap().fill(-1.0);
    assert!(is(&a.to_vec::<f32>().unwrap(), |i| i));
    // Partial copies in both directions: the bytes have arrived when the host reads them.
    a.copy_from_pinned(8, &buffer, 4..12).unwrap();
    let b = a.affine(&Layout::contiguous(N), 2.0, 0.0).unwrap();
    b.copy_to_pinned(0, &mut buffer, 0..4 * N).unwrap();
    assert!(is(buffer.as_slice().unwrap(), |i| if i == 2.0 || i == 3.0 { -2.0 } else { 2.0 * i }));
    b.copy_to_pinned(4 * (N - 1), &mut buffer, 0..4).unwrap();
    assert_eq!(buffer.as_slice::<f32>().unwrap()[0], 2.0 * (N - 1) as f32);
    // A buffer that is dropped immediately is read first.
    a.copy_from_pinned(0, &pinned(&device, (0..N).map(|i| 5.0 * i as f32)), 0..4 * N).unwrap();
    drop(pinned(&device, (0..N).map(|_| 9.0)));
    assert!(is(&a.to_vec::<f32>().unwrap(), |i| 5.0 * i));
    a.copy_from_pinned(4, &buffer, 7..7).unwrap();
    fails(a.copy_from_pinned(2, &buffer, 0..4), ErrorKind::InvalidArgument);
    fails(a.copy_from_pinned(4 * N, &buffer, 0..4), ErrorKind::InvalidArgument);
    fails(a.copy_to_pinned(0, &mut buffer, 4 * N..4 * N + 4), ErrorKind::InvalidArgument);
}

#[test]
fn copies_through_one_pinned_buffer_are_in_order_over_streams_and_devices() {
    let Some(device) = device() else { return };
    let others = [device.clone(), Device::new(0).unwrap()];
    for other in others {
        let [first, second] = [device.new_stream().unwrap(), other.new_stream().unwrap()];
        let mut buffer = device.alloc_pinned(4 * N).unwrap();
        let a = ramp(&device, N);
        let mut b = other.zeros(&N.into(), DType::F32).unwrap();
        for round in 1..4 {
            let factor = f64::from(round);
            let down = || a.affine(&Layout::contiguous(N), factor, 0.0)?.copy_to_pinned(0, &mut buffer, 0..4 * N);
            device.with_stream(&first, down).unwrap();
            other.with_stream(&second, || b.copy_from_pinned(0, &buffer, 0..4 * N)).unwrap();
        }
        assert!(is(&b.to_vec::<f32>().unwrap(), |i| 3.0 * i));
    }
    // Memory of another kind is copied too.
    let mut plain = CpuDevice::new(0).unwrap().alloc_pinned(4 * N).unwrap();
    plain.as_mut_slice::<f32>().unwrap().fill(3.0);
    let mut a = ramp(&device, N);
    a.copy_from_pinned(0, &plain, 0..4 * (N - 1)).unwrap();
    a.copy_to_pinned(4, &mut plain, 0..4 * (N - 1)).unwrap();
    assert_eq!(plain.as_slice::<f32>().unwrap()[N - 3..], [3.0, 999.0, 3.0]);
}

/// Copies between two devices, with earlier work on one and later work on both.
fn transfers(from: &Device, to: &Device) {
    let l = Layout::contiguous(N);
    assert!(from.can_access_peer(from));
    for several in [false, true] {
        let _second = several.then(|| [from.new_stream().unwrap(), to.new_stream().unwrap()]);
        let mut a = ramp(from, N).affine(&l, 2.0, 1.0).unwrap();
        let mut b = to.zeros(&N.into(), DType::F32).unwrap();
        a.transfer_into(&mut b).unwrap();
        // The source changes and is dropped immediately, and other storages take its place.
        Storage::affine_into(Affine::new(0.0, -5.0), Src::InPlace, &mut a, &l).unwrap();
        drop(a);
        let refill = from.storage_from_slice(&vec![-6f32; N]).unwrap();
        from.synchronize().unwrap();
        let c = b.affine(&l, 10.0, 0.0).unwrap();
        assert!(is(&c.to_vec::<f32>().unwrap(), |i| 20.0 * i + 10.0), "{several}");
        assert_eq!(refill.to_vec::<f32>().unwrap(), vec![-6.0; N]);
        let back = c.to_device(from).unwrap();
        assert!(back.device().same_device(from));
        assert!(is(&back.to_vec::<f32>().unwrap(), |i| 20.0 * i + 10.0), "{several}");
    }
    let (a, mut b) = (ramp(from, 8), to.zeros(&9.into(), DType::F32).unwrap());
    fails(a.transfer_into(&mut b), ErrorKind::ShapeMismatch);
    fails(a.transfer_into(&mut to.zeros(&8.into(), DType::I32).unwrap()), ErrorKind::UnsupportedDtype);
    a.transfer_into(&mut ramp(from, 8)).unwrap();
    a.transfer_range_into(2..5, &mut b, 6).unwrap();
    assert_eq!(b.to_vec::<f32>().unwrap(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 3.0, 4.0]);
    fails(a.transfer_range_into(2..5, &mut b, 7), ErrorKind::InvalidArgument);
    fails(a.transfer_range_into(6..9, &mut b, 0), ErrorKind::InvalidArgument);
    ramp(from, 0).transfer_into(&mut ramp(to, 0)).unwrap();
}

#[test]
fn storages_are_copied_between_devices() {
    let Some(device) = device() else { return };
    transfers(&device, &Device::new(0).unwrap());
    for ordinal in 1..device_count().unwrap() {
        let other = Device::new(ordinal).unwrap();
        transfers(&device, &other);
        transfers(&other, &device);
    }
}

#[test]
fn memory_of_another_librarys_is_used_and_not_freed() {
    let Some(device) = device() else { return };
    let runtime = device.runtime();
    let raw = runtime.alloc(4 * N).unwrap();
    {
        // SAFETY: the memory was just allocated with room for the elements, and is freed after the
        // storage is dropped.
        let mut foreign = unsafe { device.storage_from_raw(raw.0, N, DType::F32).unwrap() };
        assert_eq!(foreign.device_ptr().unwrap(), raw.0);
        foreign.write_slice(0, &(0..N).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let l = Layout::contiguous(N);
        let second = device.new_stream().unwrap();
        let negate = || Storage::affine_into(Affine::new(-1.0, 0.0), Src::InPlace, &mut foreign, &l);
        device.with_stream(&second, negate).unwrap();
        assert!(is(&foreign.affine(&l, 2.0, 0.0).unwrap().to_vec::<f32>().unwrap(), |i| -2.0 * i));
    }
    assert_eq!(device.pool_stats().in_use, 0);
    // SAFETY: the memory was allocated above, and no work on it is pending after the wait.
    unsafe {
        let part = device.storage_from_raw(raw.0 + 4 * (N as u64 - 1), 1, DType::F32).unwrap();
        assert_eq!(part.to_vec::<f32>().unwrap(), [-((N - 1) as f32)]);
        fails(device.storage_from_raw(raw.0 + 2, 1, DType::F32), ErrorKind::InvalidArgument);
        fails(device.storage_from_raw(0, 1, DType::F32), ErrorKind::InvalidArgument);
        drop(part);
        device.synchronize().unwrap();
        runtime.free(DevicePtr(raw.0));
    }
    works(&device);
}

#[test]
fn a_limit_is_kept_and_named() {
    let Some(device) = device() else { return };
    let held = device.zeros(&4096.into(), DType::U8).unwrap();
    device.set_memory_limit(3 << 20);
    let room = device.zeros(&(2usize << 20).into(), DType::U8).unwrap();
    let error = fails(device.zeros(&(1usize << 20).into(), DType::U8), ErrorKind::OutOfMemory);
    for part in ["allocate 1048576 bytes", "2101248 are in use", "0 cached", "bytes of the device are free", "3145728"]
    {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    assert_eq!(device.pool_stats().in_use, 4096 + (2 << 20));
    drop(room);
    // The cache is released to make room.
    let other = device.zeros(&(5usize << 19).into(), DType::U8).unwrap();
    assert_eq!(device.pool_stats().cached, 0);
    drop(other);
    device.set_memory_limit(u64::MAX);
    device.set_cache_limit(0);
    drop(device.zeros(&(4usize << 20).into(), DType::U8).unwrap());
    assert_eq!(device.pool_stats().cached, 0);
    device.set_cache_limit(u64::MAX);
    drop(held);
    assert_eq!(device.pool_stats().cached, if pool_is_exact() { 0 } else { 4096 });
    works(&device);
}

#[test]
fn bytes_are_read_and_written_in_parts_without_new_memory() {
    let Some(device) = device() else { return };
    let mut a = ramp(&device, N);
    let before = device.pool_stats();
    a.write_slice(10, &[-1f32, -2.0]).unwrap();
    let mut part = [0f32; 4];
    a.read_slice(9, &mut part).unwrap();
    assert_eq!(part, [9.0, -1.0, -2.0, 12.0]);
    a.write_bytes(0, &[]).unwrap();
    a.read_bytes(4 * N, &mut []).unwrap();
    assert_eq!((before.hits, before.misses), (device.pool_stats().hits, device.pool_stats().misses));
    fails(a.write_slice(N - 1, &[1f32, 2.0]), ErrorKind::InvalidArgument);
    fails(a.read_slice(0, &mut [0i32]), ErrorKind::UnsupportedDtype);
    fails(a.read_bytes(2, &mut [0; 4]), ErrorKind::InvalidArgument);
    // The data that another stream writes is there when it is read.
    let second = device.new_stream().unwrap();
    let fill = || a.const_set(Scalar::F32(4.0), &Layout::contiguous(N));
    device.with_stream(&second, fill).unwrap();
    a.read_slice(0, &mut part).unwrap();
    assert_eq!(part, [4.0; 4], "deferred: {}", is_deferred());
}
