//! Products of f8 with scales by the vendor's library, and those that it is not asked for: near the
//! portable product either way. Each driver includes this file and defines its device type. Without
//! a GPU, each test reports that it was skipped.

use super::vendor::device;
use super::{Device, Storage};
use isobit_hal::{BackendDevice, BackendStorage, DType, F8E4M3, F8E5M2, Layout, Numerics, ScaledMatmul};

/// Multiplies [5, 64] by [64, 32] with both numerics, and compares. Returns how often a library was
/// called, and how often it declined.
fn multiplied(device: &Device, rhs: &Layout, dtype: DType, of_scales: [&[usize]; 2]) -> [u64; 2] {
    let number = |i: usize, salt: usize| ((i * 37 + salt) % 64) as f32 / 16.0 - 2.0;
    let a: Vec<_> = (0..5 * 64).map(|i| F8E4M3::from_f32(number(i, 3))).collect();
    let b: Vec<_> = (0..64 * 32).map(|i| F8E5M2::from_f32(number(i, 5))).collect();
    let (a, b) = (device.storage_from_slice(&a).unwrap(), device.storage_from_slice(&b).unwrap());
    let layouts = of_scales.map(Layout::contiguous);
    let scales = layouts.each_ref().map(|layout| {
        let values: Vec<f32> = (0..layout.elem_count()).map(|i| 0.5 + number(i, 7).abs()).collect();
        device.storage_from_slice(&values).unwrap()
    });
    let by = |numerics| {
        let (lhs, scales) = (Layout::contiguous([5, 64]), [(&scales[0], &layouts[0]), (&scales[1], &layouts[1])]);
        let op = ScaledMatmul::with_numerics(numerics);
        let result: Storage = a.scaled_matmul(&lhs, &b, rhs, scales, dtype, op).unwrap();
        result.to_dtype(&Layout::contiguous(160), DType::F32).unwrap().to_vec::<f32>().unwrap()
    };
    let portable = by(Numerics::Portable);
    let before = device.counters();
    let vendor = by(Numerics::Vendor);
    let after = device.counters();
    // Magnitudes of sums are below 64 * 4 * 3^2; the library adds with 13 bits, and rounds once.
    for (i, (p, v)) in portable.iter().zip(&vendor).enumerate() {
        assert!((p - v).abs() <= 2304.0 / 64.0, "{i}: {p} and {v}");
    }
    [after.vendor_calls - before.vendor_calls, after.vendor_fallbacks - before.vendor_fallbacks]
}

#[test]
fn a_library_is_asked_for_scales_of_tensors_and_of_lines() {
    let Some(device) = device() else { return };
    let (columns, rows) = (Layout::contiguous([32, 64]).transpose(0, 1).unwrap(), Layout::contiguous([64, 32]));
    // cuBLASLt has these products since Hopper; here only a simulated card is known to have them.
    // hipBLASLt has them on gfx950 and gfx12, of which no card is simulated.
    let has = device.info().unwrap().capabilities.vendor_matmul && std::env::var_os("ISOBIT_SIM_CUDA").is_some();
    let lacks = std::env::var_os("ISOBIT_SIM_ROCM").is_some();
    for rhs in [&columns, &rows] {
        for dtype in [DType::F16, DType::BF16, DType::F32] {
            for scales in [[&[1][..], &[][..]], [&[5, 1], &[1, 32]]] {
                let [calls, fallbacks] = multiplied(&device, rhs, dtype, scales);
                assert_eq!(calls + fallbacks, 1, "{rhs:?} {dtype} {scales:?}");
                assert!(if has { calls == 1 } else { calls == 0 || !lacks }, "{rhs:?} {dtype} {scales:?}");
            }
        }
    }
}

#[test]
fn blocks_and_mixtures_of_scales_are_for_the_kernel() {
    let Some(device) = device() else { return };
    let columns = Layout::contiguous([32, 64]).transpose(0, 1).unwrap();
    for scales in [[&[5, 1][..], &[1][..]], [&[1, 1], &[1, 32]]] {
        assert_eq!(multiplied(&device, &columns, DType::F32, scales), [0, 1], "{scales:?}");
    }
}
