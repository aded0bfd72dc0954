//! The order of work on several streams. If work is deferred as far as the interface allows
//! (`ISOBIT_SIM_DEFER=1` on a simulated card), a missing wait gives a wrong result every time;
//! elsewhere it may or may not.

use super::super::{Device, Storage};
use super::{device, fails, pool_is_exact, ramp, works};
use isobit_hal::{
    Affine, BackendDevice, BackendStorage, BinaryOp, CpuDevice, DType, ErrorKind, Indexing, Layout, Op, Result, Scalar,
    Sort, Src, Stream,
};
use isobit_kernels::StreamRuntime;

const N: usize = 1000;

/// Whether unsynchronised work is reliably seen as not done.
pub fn is_deferred() -> bool {
    std::env::var_os("ISOBIT_SIM_DEFER").is_some_and(|setting| setting == "1")
}

pub fn streams(device: &Device, n: usize) -> Vec<Stream> {
    (0..n).map(|_| device.new_stream().unwrap()).collect()
}

/// How a chain orders its links, in addition to or instead of the device's own tracking.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Link {
    None,
    Join,
    Event,
}

/// Applies `2x + 1` eight times to a ramp from 1, each time on the next stream; returns the last
/// result.
fn chain(device: &Device, streams: &[Stream], link: Link) -> Vec<f32> {
    const LINKS: usize = 8;
    let l = Layout::contiguous(N);
    let mut buffers: Vec<Storage> = (0..LINKS).map(|_| device.zeros(&N.into(), DType::F32).unwrap()).collect();
    buffers.insert(0, device.storage_from_slice(&(0..N).map(|i| 1.0 + i as f32).collect::<Vec<_>>()).unwrap());
    device.synchronize().unwrap();
    for i in 0..LINKS {
        let (before, now) = (&streams[i % streams.len()], &streams[(i + 1) % streams.len()]);
        match link {
            Link::None => {}
            Link::Join => now.join(before).unwrap(),
            Link::Event => {
                let event = device.new_event().unwrap();
                before.record(&event).unwrap();
                now.wait_event(&event).unwrap();
            }
        }
        let [from, to] = buffers.get_disjoint_mut([i, i + 1]).unwrap();
        let linked = || Storage::affine_into(Affine::new(2.0, 1.0), Src::Storage(from, &l), to, &l);
        device.with_stream(now, linked).unwrap();
    }
    let last = device.with_stream(&streams[LINKS % streams.len()], || buffers[LINKS].to_vec::<f32>()).unwrap();
    device.synchronize().unwrap();
    last
}

/// Returns 2^8 (1 + i) + 2^8 - 1, which f32 represents exactly.
fn chained() -> Vec<f32> {
    (0..N).map(|i| 256.0 * (1.0 + i as f32) + 255.0).collect()
}

#[test]
fn a_chain_over_streams_is_in_order_where_it_is_tracked_or_told_to_be() {
    let Some(device) = device() else { return };
    for n in [2, 3] {
        let streams = streams(&device, n);
        assert!(device.is_event_tracking());
        for link in [Link::None, Link::Join, Link::Event] {
            assert_eq!(chain(&device, &streams, link), chained(), "{n} streams, tracked, {link:?}");
        }
        // SAFETY: the code below orders its work itself, or does not need a correct result.
        unsafe { device.disable_event_tracking() };
        assert!(!device.is_event_tracking());
        for link in [Link::Join, Link::Event] {
            assert_eq!(chain(&device, &streams, link), chained(), "{n} streams, untracked, {link:?}");
        }
        let undone = chain(&device, &streams, Link::None);
        if is_deferred() {
            assert_ne!(undone, chained(), "{n} streams: nothing orders this chain, so the test can tell");
        }
        device.enable_event_tracking();
        assert_eq!(chain(&device, &streams, Link::None), chained(), "{n} streams, tracked again");
    }
    works(&device);
    assert_eq!(device.pool_stats().in_use, 0);
}

#[test]
fn work_from_before_the_second_stream_comes_before_it() {
    let Some(device) = device() else { return };
    let l = Layout::contiguous(N);
    let doubled = ramp(&device, N).affine(&l, 2.0, 0.0).unwrap();
    let second = device.new_stream().unwrap();
    let quadrupled = device.with_stream(&second, || doubled.affine(&l, 2.0, 0.0)).unwrap();
    let seen = device.with_stream(&second, || quadrupled.to_vec::<f32>()).unwrap();
    assert!(seen.iter().enumerate().all(|(i, &x)| x == 4.0 * i as f32));
}

#[test]
fn work_of_a_stream_that_closed_comes_before_what_follows() {
    let Some(device) = device() else { return };
    let l = Layout::contiguous(N);
    for others in [0, 1] {
        let _others = streams(&device, others);
        let a = ramp(&device, N);
        let b = {
            let short_lived = device.new_stream().unwrap();
            device.with_stream(&short_lived, || a.affine(&l, 3.0, 0.0)).unwrap()
        };
        let c = b.affine(&l, 2.0, 0.0).unwrap();
        assert!(c.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &x)| x == 6.0 * i as f32), "{others}");
        // The device also waits for the work of a closed stream.
        let short_lived = device.new_stream().unwrap();
        let event = device.new_event().unwrap();
        device.with_stream(&short_lived, || a.affine(&l, 3.0, 0.0).map(drop)).unwrap();
        short_lived.record(&event).unwrap();
        drop(short_lived);
        device.synchronize().unwrap();
        assert!(event.query().unwrap());
    }
}

#[test]
fn a_block_freed_on_one_stream_is_written_on_another_only_after_it_was_read() {
    let Some(device) = device() else { return };
    if pool_is_exact() {
        eprintln!("skipped: in exact mode no block is given twice");
        return;
    }
    let l = Layout::contiguous(N);
    let (a, mut z) = (ramp(&device, N), device.zeros(&N.into(), DType::F32).unwrap());
    let [first, second] = [(); 2].map(|()| device.new_stream().unwrap());
    device.synchronize().unwrap();
    let y = device.with_stream(&first, || a.affine(&l, 2.0, 0.0)).unwrap();
    device
        .with_stream(&first, || Storage::affine_into(Affine::new(3.0, 0.0), Src::Storage(&y, &l), &mut z, &l))
        .unwrap();
    let address = y.device_ptr().unwrap();
    drop(y);
    let _entered = device.enter_stream(&second).unwrap();
    let w = device.storage_from_slice(&vec![7f32; N]).unwrap();
    assert_eq!(w.device_ptr().unwrap(), address, "the pool gives the block again");
    second.synchronize().unwrap();
    assert!(z.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &x)| x == 6.0 * i as f32));
    assert_eq!(w.to_vec::<f32>().unwrap(), vec![7.0; N]);
}

#[test]
fn memory_within_operations_is_apart_on_different_streams_also_untracked() {
    let Some(device) = device() else { return };
    // Rows too long for one block of threads: sorting them uses scratch memory from the pool.
    const LONG: usize = 20_000;
    let values: Vec<i32> = (0..LONG as i32).map(|i| (i * 7919) % 20_011).collect();
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let l = Layout::contiguous([1, LONG]);
    let a = device.storage_from_slice(&values).unwrap();
    let streams = streams(&device, 3);
    device.synchronize().unwrap();
    // SAFETY: each stream works on its own storages, and reads one that is never written.
    unsafe { device.disable_event_tracking() };
    let mut results = Vec::new();
    for _ in 0..3 {
        for stream in &streams {
            let sort = || Storage::apply(&Op::Sort(Sort::default()), &[(&a, &l)]);
            results.push((device.with_stream(stream, sort).unwrap(), stream));
        }
    }
    for (result, stream) in &results {
        assert_eq!(device.with_stream(stream, || result.to_vec::<i32>()).unwrap(), sorted);
    }
    device.synchronize().unwrap();
}

#[test]
fn a_stream_of_another_librarys_takes_its_place_among_the_others() {
    let Some(device) = device() else { return };
    let raw = device.runtime().new_stream().unwrap();
    let l = Layout::contiguous(N);
    let a = ramp(&device, N).affine(&l, 2.0, 0.0).unwrap();
    {
        // SAFETY: the stream belongs to the device's context and outlives the handle.
        let external = unsafe { device.stream_from_raw(device.runtime().raw_stream(&raw)).unwrap() };
        assert_eq!(external.raw(), device.runtime().raw_stream(&raw));
        assert_ne!(external.raw(), device.default_stream().unwrap().raw());
        let b = device.with_stream(&external, || a.affine(&l, 2.0, 0.0)).unwrap();
        let c = b.affine(&l, 2.0, 0.0).unwrap();
        assert!(c.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &x)| x == 8.0 * i as f32));
        external.synchronize().unwrap();
        assert!(external.query().unwrap());
    }
    // The handle is dropped, the stream is not.
    device.runtime().synchronize(&raw).unwrap();
    works(&device);
}

#[test]
fn events_say_when_work_is_done_and_how_long_it_took() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let [from, to, never] = [(); 3].map(|()| device.new_event().unwrap());
    assert!(never.query().unwrap(), "what was never recorded is nothing to wait for");
    never.synchronize().unwrap();
    stream.wait_event(&never).unwrap();
    fails(from.elapsed_time(&to), ErrorKind::InvalidArgument);
    stream.record(&from).unwrap();
    fails(from.elapsed_time(&never), ErrorKind::InvalidArgument);
    device
        .with_stream(&stream, || {
            works(&device);
            Ok(())
        })
        .unwrap();
    stream.record(&to).unwrap();
    let ms = from.elapsed_time(&to).unwrap();
    assert!(ms > 0.0 && ms < 60_000.0, "{ms} ms");
    assert!(to.query().unwrap(), "its time is known, so it is reached");
    if is_deferred() {
        let a = ramp(&device, N);
        let pending = device.with_stream(&stream, || a.affine(&Layout::contiguous(N), 2.0, 0.0)).unwrap();
        stream.record(&to).unwrap();
        to.synchronize().unwrap();
        assert!(to.query().unwrap() && stream.query().unwrap());
        drop(pending);
    }
}

#[test]
fn streams_and_events_of_others_are_refused_or_waited_for() {
    let Some(first) = device() else { return };
    let second = Device::new(0).unwrap();
    let (of_first, of_second) = (first.new_stream().unwrap(), second.new_stream().unwrap());
    let error = fails(first.enter_stream(&of_second), ErrorKind::DeviceMismatch);
    assert!(error.message().contains(&first.location().to_string()), "{error}");
    fails(of_first.join(&of_second), ErrorKind::DeviceMismatch);
    let event = second.new_event().unwrap();
    fails(of_first.record(&event), ErrorKind::DeviceMismatch);
    // Work of another device, and of another driver, can be waited for.
    of_second.record(&event).unwrap();
    of_first.wait_event(&event).unwrap();
    let host = CpuDevice::new(0).unwrap();
    let on_host = host.new_event().unwrap();
    host.default_stream().unwrap().record(&on_host).unwrap();
    of_first.wait_event(&on_host).unwrap();
    fails(event.elapsed_time(&on_host), ErrorKind::InvalidArgument);
    works(&first);
    works(&second);
}

#[test]
fn a_bad_index_is_told_of_by_the_stream_that_met_it_and_once() {
    let Some(device) = device() else { return };
    let [first, second] = [(); 2].map(|()| device.new_stream().unwrap());
    let a = ramp(&device, 4);
    let gathered = device.with_stream(&first, || Ok(super::gather(&a, &[1, 4, 3]))).unwrap();
    let error = fails(first.synchronize(), ErrorKind::IndexOutOfRange);
    assert_eq!(error.op(), Some(Op::Gather(Indexing::new(0)).name()), "{error}");
    second.synchronize().unwrap();
    device.synchronize().unwrap();
    device.with_stream(&second, || Ok(super::gather(&a, &[9]))).unwrap();
    fails(device.synchronize(), ErrorKind::IndexOutOfRange);
    device.synchronize().unwrap();
    assert_eq!(gathered.to_vec::<f32>().unwrap(), [1.0, 0.0, 3.0]);
    for i in 0..1100 {
        device.with_stream([&first, &second][i % 2], || Ok(super::gather(&a, &[i64::from(i == 700) * 4]))).unwrap();
    }
    fails(device.synchronize(), ErrorKind::IndexOutOfRange);
    device.synchronize().unwrap();
}

#[test]
fn threads_read_one_storage_on_streams_of_their_own_and_another_frees_it() {
    let Some(device) = device() else { return };
    let l = Layout::contiguous(N);
    for round in 0..20u8 {
        let shared = std::sync::Arc::new(ramp(&device, N).affine(&l, 2.0, f64::from(round)).unwrap());
        let read = |shared: std::sync::Arc<Storage>| -> Result<()> {
            let stream = device.new_stream()?;
            let sum = device.with_stream(&stream, || shared.binary(&l, &shared, &l, BinaryOp::Add))?;
            drop(shared);
            // Another thread may have dropped the storage last; its block may be reused for this
            // one.
            let mut other = device.zeros(&N.into(), DType::F32)?;
            other.const_set(Scalar::F32(-1.0), &l)?;
            let right = |(i, &x): (usize, &f32)| x == 2.0 * (2.0 * i as f32 + f32::from(round));
            assert!(sum.to_vec::<f32>()?.iter().enumerate().all(right));
            assert_eq!(other.to_vec::<f32>()?, vec![-1.0; N]);
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(|| read(shared.clone())));
            threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        });
    }
    assert_eq!(device.pool_stats().in_use, 0);
}
