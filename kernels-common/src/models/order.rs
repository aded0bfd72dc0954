//! The order of work on different streams that different threads enqueue: no wait is lost. The
//! ledger checks every access of the models.

use super::driver::{device, on, read, storage, write};
use super::explore;
use super::ledger::Use;
use crate::runtime::DevicePtr;
use crate::sync::atomic::{AtomicBool, Ordering};
use isobit_hal::{BackendDevice, BackendStorage};
use std::sync::Arc;

/// The ledger sees what it is for: without the record of uses, a second stream does not wait.
#[test]
#[should_panic(expected = "without waiting for the write of stream 1")]
fn the_ledger_sees_a_lost_wait() {
    explore(|| {
        let device = device();
        let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
        let mut x = storage(&device);
        // SAFETY: this is the very mistake that the ledger must see.
        unsafe { device.disable_event_tracking() };
        on(&device, &a, || write(&device, &mut x));
        on(&device, &b, || read(&device, &x));
    });
}

/// Two threads record their reads of one block at the same time. The write waits for both.
#[test]
fn a_write_waits_for_the_reads_of_two_threads() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
        let mut x = storage(&device);
        write(&device, &mut x);
        let x = Arc::new(x);
        let threads = [a, b].map(|stream| {
            let (device, x) = (device.clone(), x.clone());
            loom::thread::spawn(move || on(&device, &stream, || read(&device, &x)))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut x = Arc::into_inner(x).expect("the threads are gone");
        write(&device, &mut x);
        drop((x, device));
        ledger.is_clear();
    });
}

/// Two threads write different blocks on one stream at the same time; a third stream then reads
/// both. A mark that covers the later work of the stream covers the earlier too, in whichever order
/// the threads record their marks.
#[test]
fn threads_that_share_a_stream_are_both_waited_for() {
    explore(|| {
        let device = device();
        let shared = device.new_stream().unwrap();
        let other = device.new_stream().unwrap();
        let threads = [storage(&device), storage(&device)].map(|mut x| {
            let (device, shared) = (device.clone(), shared.clone());
            loom::thread::spawn(move || {
                on(&device, &shared, || write(&device, &mut x));
                x
            })
        });
        let written = threads.map(|thread| thread.join().unwrap());
        on(&device, &other, || written.iter().for_each(|x| read(&device, x)));
    });
}

/// A block that one thread drops after work on its stream goes to a thread on another stream, or to
/// the driver if a third thread trims in between.
#[test]
fn a_block_taken_on_another_stream_waits_for_its_earlier_use() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
        let mut x = on(&device, &a, || storage(&device));
        let first = {
            let device = device.clone();
            loom::thread::spawn(move || {
                on(&device, &a, || {
                    write(&device, &mut x);
                    drop(x);
                });
            })
        };
        let trimmer = {
            let device = device.clone();
            loom::thread::spawn(move || device.trim(0))
        };
        on(&device, &b, || {
            let mut y = storage(&device);
            write(&device, &mut y);
        });
        first.join().unwrap();
        trimmer.join().unwrap();
        let stats = device.pool_stats();
        assert_eq!((stats.in_use, stats.hits + stats.misses), (0, 2));
        drop((b, device));
        ledger.is_clear();
    });
}

/// Scratch memory has no record of its operation's end. The next user on another stream waits for
/// the point after it.
#[test]
fn scratch_memory_of_another_stream_is_waited_for() {
    explore(|| {
        let device = device();
        let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
        let first = {
            let device = device.clone();
            loom::thread::spawn(move || {
                on(&device, &a, || {
                    let scratch = device.alloc(super::driver::BYTES, isobit_hal::DType::U8).unwrap();
                    device.runtime().work(&device.stream(), scratch.ptr(), Use::Writes);
                });
            })
        };
        on(&device, &b, || {
            let mut y = storage(&device);
            write(&device, &mut y);
        });
        first.join().unwrap();
    });
}

/// While a device has one stream, work leaves no record. A stream that another thread creates at
/// the same time either starts after the work or finds its record.
#[test]
fn work_without_a_record_is_before_a_new_stream() {
    explore(|| {
        let device = device();
        let mut x = storage(&device);
        let second = {
            let device = device.clone();
            loom::thread::spawn(move || device.new_stream().unwrap())
        };
        write(&device, &mut x);
        let second = second.join().unwrap();
        on(&device, &second, || read(&device, &x));
        write(&device, &mut x);
    });
}

/// An event that was recorded after work orders it before a stream that waits for the event.
#[test]
fn a_recorded_event_is_waited_for() {
    explore(|| {
        let device = device();
        // SAFETY: the event orders the work.
        unsafe { device.disable_event_tracking() };
        let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
        let (event, recorded) = (device.new_event().unwrap(), Arc::new(AtomicBool::new(false)));
        let x = storage(&device);
        let at: DevicePtr = x.ptr();
        let writer = {
            let (device, event, recorded) = (device.clone(), event.clone(), recorded.clone());
            loom::thread::spawn(move || {
                on(&device, &a, || device.runtime().work(&device.stream(), at, Use::Writes));
                a.record(&event).unwrap();
                recorded.store(true, Ordering::SeqCst);
            })
        };
        let seen = recorded.load(Ordering::SeqCst);
        b.wait_event(&event).unwrap();
        if seen {
            on(&device, &b, || device.runtime().work(&device.stream(), at, Use::Reads));
        }
        writer.join().unwrap();
        b.wait_event(&event).unwrap();
        on(&device, &b, || device.runtime().work(&device.stream(), at, Use::Writes));
    });
}

/// Two threads record one event on their streams while a third waits for it. The stream that waits
/// takes no other point for reached than the one that it waits for.
#[test]
fn an_event_recorded_again_stands_for_one_point() {
    explore(|| {
        let device = device();
        let streams = [device.new_stream().unwrap(), device.new_stream().unwrap()];
        let waiting = device.new_stream().unwrap();
        let event = device.new_event().unwrap();
        let threads = streams.map(|stream| {
            let (device, event) = (device.clone(), event.clone());
            let mut x = storage(&device);
            loom::thread::spawn(move || {
                on(&device, &stream, || write(&device, &mut x));
                stream.record(&event).unwrap();
                (stream, x)
            })
        });
        waiting.wait_event(&event).unwrap();
        for (_stream, x) in threads.map(|thread| thread.join().unwrap()) {
            on(&device, &waiting, || read(&device, &x));
        }
    });
}

/// Page-locked memory is freed by the host, which first waits for the copies of other streams.
#[test]
fn page_locked_memory_outlives_its_copies() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let pinned = Arc::new(device.alloc_pinned(super::driver::BYTES).unwrap());
        let threads = [0, 1].map(|_| {
            let (device, pinned) = (device.clone(), pinned.clone());
            let stream = device.new_stream().unwrap();
            let mut x = storage(&device);
            loom::thread::spawn(move || {
                on(&device, &stream, || x.copy_from_pinned(0, &pinned, 0..super::driver::BYTES)).unwrap();
            })
        });
        drop(pinned);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(device);
        ledger.is_clear();
    });
}
