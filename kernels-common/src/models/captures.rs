//! Captures next to the work of other threads: a graph keeps its memory, and its replays wait.

use super::driver::{Device, Storage, device, on, read, storage, write};
use super::explore;
use crate::capture::capture_gate::{Capturing, between_captures};
use crate::sync::atomic::{AtomicUsize, Ordering};
use isobit_hal::BackendDevice;
use std::sync::Arc;

/// A thread on another stream that takes a block of the same size and writes it.
fn neighbour(device: &Device) -> loom::thread::JoinHandle<()> {
    let device = device.clone();
    let stream = device.new_stream().unwrap();
    loom::thread::spawn(move || {
        on(&device, &stream, || {
            let mut own = storage(&device);
            write(&device, &mut own);
        });
    })
}

/// A storage that the step uses last is dropped during the capture, while another thread asks for
/// memory of its size. The graph still owns it: a replay meets nobody on it.
#[test]
fn a_storage_dropped_in_a_capture_belongs_to_the_graph() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let mut x: Option<Storage> = Some(storage(&device));
        let other = neighbour(&device);
        let step = {
            let device = device.clone();
            move || {
                if let Some(mut x) = x.take() {
                    write(&device, &mut x);
                }
                Ok(())
            }
        };
        let mut graph = device.capture(step).unwrap();
        graph.replay().unwrap();
        other.join().unwrap();
        graph.replay().unwrap();
        assert_eq!(graph.node_count(), 1);
        drop(graph);
        drop(device);
        ledger.is_clear();
    });
}

/// Memory that the step itself allocates is the graph's until the graph is dropped, and then goes
/// to others only after the last replay.
#[test]
fn memory_of_a_graph_is_reused_after_its_replays() {
    explore(|| {
        let device = device();
        let ledger = device.runtime().ledger();
        let step = {
            let device = device.clone();
            move || {
                let mut own = storage(&device);
                write(&device, &mut own);
                read(&device, &own);
                Ok(())
            }
        };
        let mut graph = device.capture(step).unwrap();
        let other = neighbour(&device);
        graph.replay().unwrap();
        drop(graph);
        other.join().unwrap();
        drop(device);
        ledger.is_clear();
    });
}

/// A block that a graph reads is written by the host's thread on another stream between replays.
#[test]
fn a_replay_waits_for_what_other_streams_wrote() {
    explore(|| {
        let device = device();
        let x = Arc::new(storage(&device));
        let step = {
            let (device, x) = (device.clone(), x.clone());
            move || {
                read(&device, &x);
                Ok(())
            }
        };
        let mut graph = device.capture(step).unwrap();
        let reader = {
            let (device, x) = (device.clone(), x.clone());
            let stream = device.new_stream().unwrap();
            loom::thread::spawn(move || on(&device, &stream, || read(&device, &x)))
        };
        graph.replay().unwrap();
        drop(graph);
        reader.join().unwrap();
        let mut x = Arc::into_inner(x).expect("the graph and the thread are gone");
        write(&device, &mut x);
    });
}

/// Calls that would invalidate a capture of another thread wait for its end, and a capture for
/// theirs. A thread does not wait for itself. No time limit is needed for that.
#[test]
fn captures_and_calls_of_different_threads_exclude_each_other() {
    explore(|| {
        let capturing = Arc::new(AtomicUsize::new(0));
        let theirs = capturing.clone();
        let caller = loom::thread::spawn(move || {
            between_captures(|| assert_eq!(theirs.load(Ordering::SeqCst), 0, "a call meets a capture"));
        });
        {
            let _capture = Capturing::begin();
            capturing.fetch_add(1, Ordering::SeqCst);
            between_captures(|| ());
            capturing.fetch_sub(1, Ordering::SeqCst);
        }
        caller.join().unwrap();
    });
}
