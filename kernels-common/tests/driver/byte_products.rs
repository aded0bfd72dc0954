//! Products of signed bytes, which the vendor's library computes where it can, and the kernel
//! elsewhere: the same integers either way. Each driver includes this file and defines its device
//! type. Without a GPU, each test reports that it was skipped.

use super::vendor::device;
use super::{Device, Storage};
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, MatmulInteger, Op, Src};
use std::sync::{Arc, Mutex};

fn bytes(n: usize, salt: usize) -> Vec<i8> {
    (0..n).map(|i| ((i * 89 + i / 7 * 31 + salt * 53) % 256) as u8 as i8).collect()
}

/// Multiplies matrices in memory of `values`, and compares with sums in i64. Returns whether a
/// library was called.
fn multiplied(device: &Device, values: [&[i8]; 2], layouts: [&Layout; 2]) -> bool {
    let [a, b] = values.map(|values| device.storage_from_slice(values).unwrap());
    let calls = device.counters().vendor_calls;
    let result: Storage = a.matmul_integer(layouts[0], &b, layouts[1], [None, None]).unwrap();
    let called = device.counters().vendor_calls - calls;
    let at = |side: usize, batch: usize, row: usize, col: usize| {
        let (layout, &[.., r, c]) = (layouts[side], layouts[side].stride()) else { unreachable!() };
        let step = if layout.dims().len() == 3 { layout.stride()[0] } else { 0 };
        i64::from(values[side][layout.start_offset() + batch * step + row * r + col * c])
    };
    let &[.., m, k] = layouts[0].dims() else { unreachable!() };
    let batches = if layouts[0].dims().len() == 3 { layouts[0].dims()[0] } else { 1 };
    let n = *layouts[1].dims().last().unwrap();
    let got = result.to_vec::<i32>().unwrap();
    for (i, &got) in got.iter().enumerate() {
        let (batch, row, col) = (i / (m * n), i / n % m, i % n);
        let exact: i64 = (0..k).map(|j| at(0, batch, row, j) * at(1, batch, j, col)).sum();
        assert_eq!(got, exact as i32, "{layouts:?}, row {row}, column {col}");
    }
    assert_eq!(got.len(), batches * m * n);
    called > 0
}

#[test]
fn the_library_multiplies_lines_in_any_layout() {
    let Some(device) = device() else { return };
    let has = device.info().unwrap().capabilities.vendor_matmul;
    let (a, b) = (bytes(4096, 1), bytes(4096, 2));
    let plain = |rows, cols| Layout::contiguous([rows, cols]);
    let columns = |rows: usize, cols: usize| Layout::contiguous([cols, rows]).transpose(0, 1).unwrap();
    for (lhs, rhs) in [
        (plain(20, 36), plain(36, 24)),
        (plain(20, 36), columns(36, 24)),
        (columns(20, 36), plain(36, 24)),
        (columns(20, 36), columns(36, 24)),
        (columns(20, 35), columns(35, 23)),
        (plain(2, 36), plain(36, 24)),
        (plain(20, 36), plain(36, 3)),
        (Layout::contiguous_with_offset([20, 35], 1), plain(35, 23)),
        (Layout::contiguous([3, 17, 36]), Layout::contiguous([3, 36, 16])),
    ] {
        // A library may have no kernel for some of these sizes.
        assert!(!multiplied(&device, [&a, &b], [&lhs, &rhs]) || has);
    }
    assert_eq!(multiplied(&device, [&a, &b], [&plain(32, 64), &plain(64, 32)]), has);
}

#[test]
fn rows_are_for_the_kernel() {
    let Some(device) = device() else { return };
    let (a, b) = (bytes(4096, 3), bytes(4096, 4));
    assert!(!multiplied(&device, [&a, &b], [&Layout::contiguous([1, 36]), &Layout::contiguous([36, 24])]));
}

#[test]
fn the_first_product_can_be_captured() {
    let Some(device) = device() else { return };
    let (rows, columns) = (Layout::contiguous([32, 64]), Layout::contiguous([32, 64]).transpose(0, 1).unwrap());
    let (a, b) = (bytes(2048, 5), bytes(2048, 6));
    let operands = Arc::new([&a, &b].map(|values| device.storage_from_slice(values).unwrap()));
    let captured = || {
        let out = Arc::new(Mutex::new(device.zeros(&[32, 32].into(), DType::I32).unwrap()));
        let step = {
            let (operands, rows, columns, out) = (operands.clone(), rows.clone(), columns.clone(), out.clone());
            move || {
                let inputs = [Src::Storage(&operands[0], &rows), Src::Storage(&operands[1], &columns)];
                let op = Op::MatmulInteger(MatmulInteger::new());
                Storage::apply_into(&op, &inputs, &mut out.lock().unwrap(), &Layout::contiguous([32, 32]))
            }
        };
        device.capture(step).unwrap().replay().unwrap();
        out.lock().unwrap().to_vec::<i32>().unwrap()
    };
    // The library has no handle yet, and gets none during a capture.
    let first = captured();
    assert_eq!(device.counters().vendor_calls, 0);
    multiplied(&device, [&a, &b], [&rows, &columns]);
    assert_eq!(captured(), first);
    let exact: Vec<i32> = (0..32 * 32)
        .map(|i| (0..64).map(|k| i32::from(a[i / 32 * 64 + k]) * i32::from(b[i % 32 * 64 + k])).sum())
        .collect();
    assert_eq!(first, exact);
}

#[test]
fn long_sums_wrap() {
    let Some(device) = device() else { return };
    for k in [(1 << 17) - 4, 1 << 17] {
        let least = vec![i8::MIN; 16 * k];
        let (lhs, rhs) = (Layout::contiguous([16, k]), Layout::contiguous([16, k]).transpose(0, 1).unwrap());
        // The longer sums are 2^31, which a library may replace by 2^31 - 1.
        assert!(!multiplied(&device, [&least, &least], [&lhs, &rhs]) || k < 1 << 17);
    }
}
