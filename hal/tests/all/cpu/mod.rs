//! Tests of the CPU driver. Expected values come from the specification, by a different arithmetic
//! than the driver's: wide integers, exact rationals, or a literal implementation of a rule.

mod attention;
mod baseline;
mod block;
mod cast;
mod compact;
mod conv;
mod elementwise;
mod errors;
mod index_map;
mod indexing;
mod layouts;
mod matmul;
mod norm;
mod oracle;
mod packed;
mod packed_dtype;
mod quantized;
mod random;
mod reduce;
mod reduce_norms;
mod reduce_spread;
mod scan;
mod shape;
mod sort;

use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Result, Scalar, WithDType, dispatch_dtype,
};

/// SplitMix64 (Steele, Lea and Flood, 2014): good enough for test data, and the same on every
/// machine.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns values with random bits, including NaNs, infinities, subnormals and extremes.
    fn bits<T: bytemuck::Pod>(&mut self, n: usize) -> Vec<T> {
        let bytes: Vec<u8> = (0..n * size_of::<T>()).map(|_| self.next() as u8).collect();
        bytemuck::pod_collect_to_vec(&bytes)
    }

    /// Returns floats of moderate size and both signs.
    fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }
}

fn storage<T: WithDType>(data: &[T]) -> CpuStorage {
    CpuDevice.storage_from_slice(data).unwrap()
}

fn vec<T: WithDType>(storage: &CpuStorage) -> Vec<T> {
    storage.to_vec().unwrap()
}

/// Returns the bits of a storage, with every NaN replaced by one NaN.
fn canonical(storage: &CpuStorage) -> Vec<u64> {
    dispatch_dtype!(storage.dtype(), T => {
        #[allow(clippy::eq_op)]
        vec::<T>(storage).into_iter().map(|v| if v != v { u64::MAX } else { v.to_scalar().to_bits() }).collect()
    })
}

/// Asserts that the values are equal except for the bits of NaNs.
#[track_caller]
fn assert_same<T: WithDType>(got: &[T], want: &[T]) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        #[allow(clippy::eq_op)]
        let same = g.to_scalar().to_bits() == w.to_scalar().to_bits() || (g != g && w != w);
        assert!(same, "element {i}: {g:?} (bits {:x}), not {w:?}", g.to_scalar().to_bits());
    }
}
