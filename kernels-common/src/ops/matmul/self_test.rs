//! The test that matrix units pass on a card before products run on them.
//!
//! AMD documents no order in which `v_mfma` adds. That its f32 and f64 forms are chains of fused
//! multiply-adds is known from a published model (`docs/numerics.md`, section 9). So each device
//! multiplies two small matrices twice when a product could first use a unit: on the unit, and by
//! fma. If a single bit differs, its products stay on the ordinary kernel, whose bits are the same
//! by definition. The test has a stream and memory of its own, so that it neither waits for the
//! caller's work nor appears in the counters.

use super::{Operand, Problem, TILE_M, TILE_N, TILE_THREADS, key};
use crate::args;
use crate::device::{GpuDevice, OnDevice};
use crate::launch::index::IndexDims;
use crate::manifest::instances::matmul::{TILE, TILE_UNIT};
use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{DType, LaunchConfig, Result, trace};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::OnceLock;

/// The sides of the product: one tile of results, and segments of which one ends within a unit's
/// step along k and within a tile.
const M: usize = TILE_M;
const N: usize = TILE_N;
const K: usize = 256 + 27;

/// The outcome of the test of one unit.
#[derive(Debug, Default)]
struct Outcome {
    passed: OnceLock<bool>,
    /// Held by the thread that runs the test.
    running: Mutex<()>,
}

/// The outcomes of a device's tests.
#[derive(Debug, Default)]
pub(crate) struct UnitTests {
    f32: Outcome,
    f64: Outcome,
}

/// Returns whether the unit of f32 or f64 computes chains on this device, and runs the test if it
/// has not run. While work is captured the test cannot run, and without an outcome the answer is
/// no.
pub(super) fn passes<R: GpuRuntime>(device: &GpuDevice<R>, compute: DType) -> bool {
    let tests = device.unit_tests();
    let outcome = if compute == DType::F64 { &tests.f64 } else { &tests.f32 };
    if let Some(&passed) = outcome.passed.get() {
        return passed;
    }
    if device.stream().is_capturing() {
        return false;
    }
    let _running = outcome.running.lock();
    if let Some(&passed) = outcome.passed.get() {
        return passed;
    }
    let (device_name, unit) = (device.location_of(), compute.as_str());
    match run(device, compute) {
        Ok(0) => {
            tracing::debug!(target: trace::TARGET, device = %device_name, unit, "matrix unit passed its test");
            *outcome.passed.get_or_init(|| true)
        }
        Ok(differ) => {
            tracing::warn!(
                target: trace::TARGET,
                device = %device_name,
                unit,
                differ,
                of = M * N,
                "matrix unit stays off: its results are not chains of fused multiply-adds"
            );
            *outcome.passed.get_or_init(|| false)
        }
        // The product at hand meets the cause too, or it was a shortage that passes.
        Err(error) => {
            tracing::debug!(target: trace::TARGET, device = %device_name, unit, %error, "matrix unit not tested");
            false
        }
    }
}

/// Memory of the test.
struct Memory<'a, R: GpuRuntime>(&'a R, DevicePtr);

impl<R: GpuRuntime> Drop for Memory<'_, R> {
    fn drop(&mut self) {
        // SAFETY: `run` allocated it, and synchronizes with its work before it returns.
        unsafe { self.0.free(self.1) };
    }
}

/// Returns how many results of the unit differ from those by fma.
fn run<R: GpuRuntime>(device: &GpuDevice<R>, compute: DType) -> Result<usize> {
    let runtime = device.runtime();
    let format = if compute == DType::F64 { Format::F64 } else { Format::F32 };
    let (a, b) = format.factors();
    let (a, b) = (format.bytes(&a), format.bytes(&b));
    let results = M * N * format.size();
    let stream = runtime.new_stream().on_device(device)?;
    let memory = Memory(runtime, runtime.alloc(a.len() + b.len() + 2 * results).on_device(device)?);
    let place = |bytes: usize| DevicePtr(memory.1.0 + bytes as u64);
    let (a_at, b_at, c_at) = (place(0), place(a.len()), place(a.len() + b.len()));
    let mut found = vec![0; 2 * results];
    let computed = (|| {
        // SAFETY: the memory has room for both operands, and after them for two results.
        unsafe {
            runtime.copy_to_device(&stream, a_at, &a)?;
            runtime.copy_to_device(&stream, b_at, &b)?;
            // What a kernel does not write is a NaN.
            runtime.set_bytes(&stream, c_at, 0xff, 2 * results)?;
        }
        for (variant, c) in [(TILE, c_at), (TILE_UNIT, place(a.len() + b.len() + results))] {
            let problem = Problem {
                device,
                dtype: compute,
                m: M,
                n: N,
                k: K,
                a: Operand { ptr: a_at, row: K, col: 1 },
                b: Operand { ptr: b_at, row: 1, col: K },
                c: Operand { ptr: c, row: N, col: 1 },
                batch: IndexDims::new(),
                zeros: None,
                scales: None,
            };
            let (function, _) = device.function(key(compute, variant))?;
            let (product, no_partial) = (problem.product(1, 1, 1), DevicePtr(0));
            let args = args![a_at, b_at, c, no_partial, product];
            // SAFETY: these are the kernel's parameters; the operands and the results have the
            // sizes of the problem, and one block computes its only tile.
            unsafe { runtime.launch(&stream, function, &LaunchConfig::linear(1, TILE_THREADS as u32), args)? };
        }
        // SAFETY: both results are there, one after the other.
        unsafe { runtime.copy_to_host(&stream, &mut found, c_at) }
    })();
    let done = runtime.synchronize(&stream);
    computed.and(done).on_device(device)?;
    let (by_fma, by_unit) = found.split_at(results);
    let pairs = by_fma.chunks_exact(format.size()).zip(by_unit.chunks_exact(format.size()));
    Ok(pairs.filter(|(fma, unit)| format.differ(fma, unit)).count())
}

/// An IEEE format: the bits of its fraction and its bias.
#[derive(Debug, Clone, Copy)]
struct Format {
    fraction: u32,
    bias: i64,
}

impl Format {
    const F32: Self = Self { fraction: 23, bias: 127 };
    const F64: Self = Self { fraction: 52, bias: 1023 };

    const fn size(self) -> usize {
        if self.fraction == 52 { 8 } else { 4 }
    }

    fn sign(self) -> u64 {
        1 << (8 * self.size() - 1)
    }

    /// Returns numbers in memory order.
    fn bytes(self, numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|x| x.to_le_bytes().into_iter().take(self.size())).collect()
    }

    /// Whether two results differ, as bytes. All NaNs count as equal.
    fn differ(self, x: &[u8], y: &[u8]) -> bool {
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        let infinite = (2 * self.bias as u64 + 1) << self.fraction;
        let is_nan = |bits: u64| bits & !self.sign() > infinite;
        x != y && !(is_nan(bits(x)) && is_nan(bits(y)))
    }

    /// The exponents of the numbers of a kind, biased.
    fn exponents(self, kind: usize) -> Range<i64> {
        let (bias, fraction) = (self.bias, i64::from(self.fraction));
        match kind {
            // Any but those of infinities and NaNs.
            1 => 0..2 * bias + 1,
            // Products are subnormal, or just not.
            2 => (bias - fraction) / 2 - 4..bias / 2 + 3,
            // Products and sums are close to overflow.
            3 => 3 * bias / 2 - 4..3 * bias / 2 + 2,
            // Subnormal.
            4 => 0..1,
            // Like sizes, which cancel to some bits.
            _ => bias - 3..bias + 3,
        }
    }

    /// Returns the rows of the left operand and the columns of the right one, in kinds by turns, so
    /// that every kind meets every other one.
    fn factors(self) -> (Vec<u64>, Vec<u64>) {
        let mut random = Random(0x6973_6f62_6974);
        let mut lines = |count: usize, is_left: bool| -> Vec<u64> {
            let line = |i: usize| self.line(&mut random, i % KINDS, is_left);
            (0..count).flat_map(line).collect()
        };
        (lines(M, true), lines(N, false))
    }

    fn line(self, random: &mut Random, kind: usize, is_left: bool) -> Vec<u64> {
        let smallest_normal = 1 << self.fraction;
        let mut line: Vec<u64> = (0..K).map(|_| self.number(random, &self.exponents(kind))).collect();
        match kind {
            // The sum of products that underflow is -0, which a later product of zeros must keep.
            5 => line.fill(smallest_normal | if is_left { self.sign() } else { 0 }),
            // Neighbours cancel, or all but the last bit.
            6 => {
                for pair in line.chunks_exact_mut(2) {
                    pair[1] = if is_left { (pair[0] ^ self.sign()) ^ (random.bits() & 1) } else { pair[0] };
                }
            }
            // Zeros of both signs between other numbers.
            7 => {
                for x in line.iter_mut().filter(|x| **x & 3 == 0) {
                    *x &= self.sign();
                }
            }
            _ => {}
        }
        line
    }

    /// Returns a number of any sign and fraction with one of these exponents.
    fn number(self, random: &mut Random, exponents: &Range<i64>) -> u64 {
        let bits = random.bits();
        let exponent = exponents.start as u64 + (bits >> 32) % (exponents.end - exponents.start) as u64;
        let sign = if bits & 1 == 0 { self.sign() } else { 0 };
        random.bits() >> (64 - self.fraction) | exponent << self.fraction | sign
    }
}

/// The kinds of [`Format::line`].
const KINDS: usize = 8;

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the data tells a chain from other ways of adding products, in steps of `$depth`
    /// as units take them.
    macro_rules! tells {
        ($float:ident, $bits:ident, $format:expr, $depth:literal) => {{
            let (a, b) = $format.factors();
            let number = |x: &u64| $float::from_bits(*x as $bits);
            let result = |unit: &dyn Fn($float, &[($float, $float)]) -> $float, row: usize, col: usize| {
                let line = |of: &[u64], i: usize| of[i * K..][..K].iter().map(number).collect::<Vec<_>>();
                let pairs: Vec<_> = line(&a, row).into_iter().zip(line(&b, col)).collect();
                let segments = pairs.chunks(256).map(|segment| segment.chunks($depth).fold(0.0, unit));
                segments.reduce(|sum, next| sum + next).expect("a segment")
            };
            let chain = |sum: $float, step: &[($float, $float)]| step.iter().fold(sum, |p, (a, b)| a.mul_add(*b, p));
            let flushed = |x: $float| if x.is_subnormal() { 0.0 * x } else { x };
            let others: [(&str, &dyn Fn($float, &[($float, $float)]) -> $float); 8] = [
                ("products rounded", &|sum, step| step.iter().fold(sum, |p, (a, b)| p + a * b)),
                ("descending k", &|sum, step| step.iter().rev().fold(sum, |p, (a, b)| a.mul_add(*b, p))),
                ("a step added first", &|sum, step| sum + step.iter().fold(0.0, |p: $float, (a, b)| a.mul_add(*b, p))),
                ("subnormal factors flushed", &|sum, step| {
                    step.iter().fold(sum, |p, (a, b)| flushed(*a).mul_add(flushed(*b), p))
                }),
                ("subnormal sums flushed", &|sum, step| step.iter().fold(sum, |p, (a, b)| flushed(a.mul_add(*b, p)))),
                ("no -0", &|sum, step| step.iter().fold(sum, |p, (a, b)| a.mul_add(*b, p)) + 0.0),
                ("saturated", &|sum, step| {
                    step.iter().fold(sum, |p, (a, b)| a.mul_add(*b, p).clamp($float::MIN, $float::MAX))
                }),
                ("no last step", &|sum, step| if step.len() < $depth { sum } else { chain(sum, step) }),
            ];
            for (name, other) in others {
                let differ = |row: usize, col: usize| {
                    let [x, y] = [result(&chain, row, col), result(other, row, col)].map($float::to_le_bytes);
                    $format.differ(&x, &y)
                };
                assert!((0..M * N).any(|i| differ(i / N, i % N)), "{} {name}", stringify!($float));
            }
            assert!(!$format.differ(&$float::NAN.to_le_bytes(), &(-$float::NAN).to_le_bytes()));
            assert!($format.differ(&(0.0 as $float).to_le_bytes(), &(-0.0 as $float).to_le_bytes()));
            assert!($format.differ(&$float::NAN.to_le_bytes(), &$float::INFINITY.to_le_bytes()));
        }};
    }

    #[test]
    fn the_data_tells_chains_from_other_sums() {
        tells!(f32, u32, Format::F32, 2);
        tells!(f64, u64, Format::F64, 4);
    }
}
