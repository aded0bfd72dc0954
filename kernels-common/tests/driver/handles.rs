//! Vendor libraries on several streams and in captures, for the drivers' tests. Sums of small
//! integers are exact in any order, so every library gives the same bits.

use super::{Device, Storage, device};
use isobit_hal::{BackendDevice, BackendStorage, Conv2d, Layout, Matmul, Numerics, Op, Src};

const N: usize = 24;

fn square(device: &Device, factor: usize) -> Storage {
    device.storage_from_slice(&(0..N * N).map(|i| (i * factor % 7) as f32).collect::<Vec<_>>()).unwrap()
}

/// Returns the product of two of those matrices, computed by definition.
fn expected(a: usize, b: usize) -> Vec<f32> {
    let at = |factor: usize, row: usize, col: usize| ((row * N + col) * factor % 7) as f32;
    (0..N * N).map(|i| (0..N).map(|k| at(a, i / N, k) * at(b, k, i % N)).sum()).collect()
}

fn vendor() -> Matmul {
    Matmul::with_numerics(Numerics::Vendor)
}

fn product(a: &Storage, b: &Storage) -> Vec<f32> {
    let layout = Layout::contiguous([N, N]);
    a.matmul(&layout, b, &layout, vendor()).unwrap().to_vec().unwrap()
}

#[test]
fn streams_come_and_go_and_each_has_a_handle() {
    let Some(device) = device() else { return };
    let (a, b) = (square(&device, 3), square(&device, 5));
    for _ in 0..4 {
        let streams = [(); 2].map(|()| device.new_stream().unwrap());
        for stream in &streams {
            let found = device.with_stream(stream, || Ok(product(&a, &b))).unwrap();
            assert_eq!(found, expected(3, 5));
        }
    }
    assert_eq!(product(&a, &b), expected(3, 5), "the default stream has its own");
}

#[test]
fn threads_on_streams_of_their_own_call_libraries_at_once() {
    let Some(device) = device() else { return };
    let operands: Vec<_> = (1..=4).map(|factor| square(&device, factor)).collect();
    std::thread::scope(|scope| {
        for (i, a) in operands.iter().enumerate() {
            let (device, b) = (&device, &operands[(i + 1) % operands.len()]);
            scope.spawn(move || {
                let stream = device.new_stream().unwrap();
                let _entered = device.enter_stream(&stream).unwrap();
                for _ in 0..4 {
                    assert_eq!(product(a, b), expected(i + 1, (i + 1) % 4 + 1));
                }
            });
        }
    });
    device.synchronize().unwrap();
}

#[test]
fn a_library_whose_first_call_is_captured_is_replayed() {
    let Some(device) = device() else { return };
    // A stream for which no library has a handle.
    let stream = device.new_stream().unwrap();
    let _entered = device.enter_stream(&stream).unwrap();
    let layout = Layout::contiguous([N, N]);
    let image = Layout::contiguous([1, 1, N, N]);
    let one = Layout::contiguous([1, 1, 1, 1]);
    let (a, b, three) = (square(&device, 1), square(&device, 2), device.storage_from_slice(&[3f32]).unwrap());
    let out = device.storage_from_slice(&[0f32; N * N]).unwrap();
    let scaled = device.storage_from_slice(&[0f32; N * N]).unwrap();
    let shared = std::sync::Arc::new(std::sync::Mutex::new((a, b, three, out, scaled)));
    let held = shared.clone();
    let step = move || {
        let (a, b, three, out, scaled) = &mut *held.lock().unwrap();
        Storage::matmul_into(vendor(), a, &layout, b, &layout, out, &layout)?;
        let conv = Op::Conv2d(Conv2d::default().with_numerics(Numerics::Vendor));
        let operands = [Src::Storage(out, &image), Src::Storage(three, &one)];
        Storage::apply_into(&conv, &operands, scaled, &image)
    };
    let mut graph = device.capture(step).unwrap();
    for factor in [1, 4] {
        let next = square(&device, factor);
        shared.lock().unwrap().0.write_slice(0, &next.to_vec::<f32>().unwrap()).unwrap();
        graph.replay().unwrap();
        // Runs concurrently with the replay, on the stream that it was captured on.
        assert_eq!(product(&next, &next), expected(factor, factor));
        let scaled = shared.lock().unwrap().4.to_vec::<f32>().unwrap();
        assert!(scaled.iter().zip(expected(factor, 2)).all(|(x, y)| *x == 3.0 * y));
    }
}
