//! Streams and devices that one thread closes while others use what they worked on.

use super::driver::{device, on, read, storage, write};
use super::explore;
use isobit_hal::BackendDevice;

/// The work of a closed stream goes on. A reader on another stream waits for it.
#[test]
fn the_work_of_a_closed_stream_is_waited_for() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
        let mut x = storage(&device);
        on(&device, &a, || write(&device, &mut x));
        let closing = loom::thread::spawn(move || drop(a));
        on(&device, &b, || read(&device, &x));
        closing.join().unwrap();
        drop(b);
        // With one stream again, work leaves no record; it runs after that of the closed streams.
        write(&device, &mut x);
        drop((x, device));
        ledger.is_clear();
    });
}

/// The last stream closes, so that the device returns to one stream, while a thread enqueues work
/// and another creates a stream.
#[test]
fn a_device_returns_to_one_stream_between_the_work_of_others() {
    explore(|| {
        let device = device();
        let a = device.new_stream().unwrap();
        let mut x = storage(&device);
        on(&device, &a, || write(&device, &mut x));
        let closing = loom::thread::spawn(move || drop(a));
        let opening = {
            let device = device.clone();
            loom::thread::spawn(move || device.new_stream().unwrap())
        };
        write(&device, &mut x);
        let b = opening.join().unwrap();
        closing.join().unwrap();
        on(&device, &b, || read(&device, &x));
        write(&device, &mut x);
    });
}

/// A stream and a storage keep their device open. The last of them closes it, whoever drops it.
#[test]
fn a_device_closes_after_its_last_stream_and_storage() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let (stream, x) = (device.new_stream().unwrap(), storage(&device));
        let user = {
            let device = device.clone();
            let mut x = x;
            loom::thread::spawn(move || {
                on(&device, &stream, || write(&device, &mut x));
                drop(device);
                stream.synchronize().unwrap();
                drop(stream);
                drop(x);
            })
        };
        drop(device);
        user.join().unwrap();
        ledger.is_clear();
    });
}
