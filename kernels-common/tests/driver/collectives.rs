//! Collectives over several cards and over several instances of one: in order with the work of all
//! ranks' streams, tracked or not. `device.collectives` of the suite compares random programs.

use super::super::{Device, Storage, device_count};
use super::streams::streams;
use super::{device, fails, works};
use isobit_hal::collective::Call;
use isobit_hal::{
    Affine, BackendDevice, BackendStorage, Communicator, DType, ErrorKind, Layout, Reduce, ReduceOp, Src,
};
use std::sync::Arc;

const N: usize = 1000;

/// Returns devices for ranks: every card in turn, each rank with an instance of its own.
fn ranks_of(size: usize) -> Vec<Device> {
    let cards = device_count().unwrap();
    (0..size).map(|rank| Device::new(rank % cards).unwrap()).collect()
}

/// Element `i` of a rank: an integer that f32 represents, also summed over ranks.
fn element(rank: usize, i: usize) -> f32 {
    (i * (rank + 1)) as f32
}

fn upload(device: &Device, rank: usize) -> Storage {
    device.storage_from_slice(&(0..N).map(|i| element(rank, i)).collect::<Vec<_>>()).unwrap()
}

/// Sources that are still computed when the collective is called and overwritten right after it,
/// and results that are used before they are there, each on the stream of its rank.
fn in_order(communicator: &Communicator<Device>, tracked: bool) {
    let (device, rank, size) = (communicator.device(), communicator.rank(), communicator.size());
    let stream = &streams(device, 1)[0];
    let l = Layout::contiguous(N);
    let sum = |i: usize| (0..size).map(|rank| 2.0 * element(rank, i)).sum::<f32>();
    let done = device.with_stream(stream, || {
        let mut x = upload(device, rank);
        let mut gathered = device.zeros(&(size * N).into(), DType::F32)?;
        // The uploads come before what other streams do with the memory.
        device.synchronize()?;
        for _ in 0..3 {
            x.write_slice(0, &(0..N).map(|i| element(rank, i)).collect::<Vec<_>>())?;
            let mut doubled = x.affine(&l, 2.0, 0.0)?;
            communicator.all_gather((&doubled, &l).into(), &mut gathered, &Layout::contiguous(size * N))?;
            communicator.all_reduce(Src::InPlace, &mut doubled, &l, ReduceOp::Sum)?;
            Storage::affine_into(Affine::new(0.0, -1.0), Src::InPlace, &mut x, &l)?;
            let used = doubled.affine(&l, 1.0, 1.0)?;
            // Untracked, the memory of a storage with pending work may go to another rank's stream.
            let kept = (!tracked).then_some(doubled);
            assert!(used.to_vec::<f32>()?.iter().enumerate().all(|(i, &y)| y == sum(i) + 1.0), "tracked {tracked}");
            drop(kept);
            let all = gathered.to_vec::<f32>()?;
            assert!(all.iter().enumerate().all(|(i, &y)| y == 2.0 * element(i / N, i % N)), "tracked {tracked}");
        }
        device.synchronize()
    });
    done.unwrap();
}

#[test]
fn collectives_come_after_the_work_on_their_operands() {
    let Some(device) = device() else { return };
    // The last ranks share a device and differ in their streams.
    for devices in [ranks_of(2), ranks_of(3), ranks_of(8), vec![device.clone(), device.clone(), device]] {
        for tracked in [true, false] {
            if !tracked {
                // SAFETY: each rank works on one stream, and waits for it before storages that
                // another stream may have used are dropped.
                devices.iter().for_each(|device| unsafe { device.disable_event_tracking() });
            }
            let ranks = Communicator::from_devices(&devices).unwrap();
            std::thread::scope(|scope| {
                for rank in ranks {
                    scope.spawn(move || in_order(&rank, tracked));
                }
            });
        }
        devices.iter().for_each(|device| {
            device.enable_event_tracking();
            works(device);
            assert_eq!(device.pool_stats().in_use, 0);
        });
    }
}

#[test]
fn one_device_is_several_ranks() {
    let Some(device) = device() else { return };
    let ranks = Communicator::from_devices(&[device.clone(), device.clone(), device.clone()]).unwrap();
    let l = Layout::contiguous(N);
    let mut x: Vec<Storage> = (0..3).map(|rank| upload(&device, rank)).collect();
    let calls = ranks.iter().zip(&mut x);
    Communicator::group(calls.map(|(rank, x)| (rank, Call::all_reduce(Src::InPlace, x, &l, ReduceOp::Mean)))).unwrap();
    for x in &x {
        // The mean of i, 2i and 3i.
        assert!(x.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &y)| y == 2.0 * i as f32));
    }
}

#[test]
fn a_reduction_over_cards_is_one_over_stacked_elements() {
    let Some(device) = device() else { return };
    let devices = ranks_of(5);
    let bytes: Vec<u8> = (0..8 * 5 * N).map(|i| (i * i * 7 + i * 13 + i / 5) as u8).collect();
    let ranks = Communicator::from_devices(&devices).unwrap();
    for &dtype in DType::ALL {
        for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max] {
            if !op.takes(dtype) {
                continue;
            }
            let width = N * dtype.size_in_bytes();
            let of = |device: &Device, range: std::ops::Range<usize>| {
                device.storage_from_bytes(dtype, &bytes[range.start * width..range.end * width]).unwrap()
            };
            let stacked = of(&device, 0..5).reduce(&Layout::contiguous([5, N]), &Reduce::new(op, &[0])).unwrap();
            let expected = stacked.to_cpu_storage().unwrap();
            let l = Layout::contiguous(N);
            let mut x: Vec<Storage> = devices.iter().enumerate().map(|(r, d)| of(d, r..r + 1)).collect();
            let calls = ranks.iter().zip(&mut x);
            let calls = calls.map(|(rank, x)| (rank, Call::all_reduce(Src::InPlace, x, &l, op)));
            Communicator::group(calls).unwrap();
            for x in &x {
                assert_eq!(x.to_cpu_storage().unwrap().as_bytes(), expected.as_bytes(), "{op} of {dtype}");
            }
        }
    }
}

/// The host meets the other ranks, which a replay would not repeat.
#[test]
fn a_collective_is_not_captured() {
    let Some(_) = device() else { return };
    let devices = ranks_of(2);
    let ranks = Arc::new(Communicator::from_devices(&devices).unwrap());
    let x = devices[0].zeros(&8.into(), DType::F32).unwrap();
    let mut y = devices[0].zeros(&8.into(), DType::F32).unwrap();
    let own = ranks.clone();
    let captured = devices[0].capture(move || {
        own[0].all_reduce((&x, &Layout::contiguous(8)).into(), &mut y, &Layout::contiguous(8), ReduceOp::Sum)
    });
    fails(captured, ErrorKind::CaptureViolation);
    works(&devices[0]);
    works(&devices[1]);
}
