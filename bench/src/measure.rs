//! Timing on the device and on the host, and the operands to time with.

use crate::row::{Row, median};
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Result, Scalar};
use isobit_kernels::{DeviceOptions, GpuDevice, GpuRuntime, GpuStorage};
use std::time::Instant;

/// A device and its copy rate.
pub struct Bench<R: GpuRuntime> {
    pub device: GpuDevice<R>,
    /// Bytes read and written per second by a 1 GiB copy.
    pub copy_rate: f64,
    launches: usize,
}

impl<R: GpuRuntime> Bench<R> {
    pub fn new(ordinal: usize, launches: usize) -> Result<Self> {
        let device = GpuDevice::new_with(ordinal, DeviceOptions::default())?;
        let mut bench = Self { device, copy_rate: f64::NAN, launches };
        bench.copy_rate = bench.measure_copy()?;
        Ok(bench)
    }

    /// Returns the median microseconds per call, from events around a batch of calls.
    pub fn time(&self, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        const TIMINGS: usize = 5;
        let (runtime, stream) = (self.device.runtime(), &self.device.stream());
        for _ in 0..3 {
            call()?;
        }
        let mut times = Vec::with_capacity(TIMINGS);
        for _ in 0..TIMINGS {
            let (from, to) = (runtime.new_event()?, runtime.new_event()?);
            runtime.record(&from, stream)?;
            for _ in 0..self.launches {
                call()?;
            }
            runtime.record(&to, stream)?;
            times.push(f64::from(runtime.elapsed_ms(&from, &to)?) * 1e3 / self.launches as f64);
        }
        Ok(median(&times))
    }

    /// Returns the median host time per call in microseconds. The device is drained between
    /// batches of `calls` calls.
    pub fn host_time(&self, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        const TIMINGS: usize = 21;
        let mut times = Vec::with_capacity(TIMINGS);
        for _ in 0..TIMINGS {
            self.device.synchronize()?;
            let start = Instant::now();
            for _ in 0..calls {
                call()?;
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
        }
        Ok(median(&times))
    }

    fn measure_copy(&self) -> Result<f64> {
        const BYTES: usize = 1 << 30;
        let src = self.random(BYTES / 4, DType::F32)?;
        let dst = self.random(BYTES / 4, DType::F32)?;
        let (runtime, stream) = (self.device.runtime(), &self.device.stream());
        // SAFETY: the storages are distinct and both have `BYTES` bytes.
        let us = self.time(|| unsafe { runtime.copy_on_device(stream, dst.ptr(), src.ptr(), BYTES) })?;
        Ok(2.0 * BYTES as f64 / (us * 1e-6))
    }

    /// Measures a memory-bound row.
    pub fn bytes_row(
        &self,
        op: &str,
        dtype: DType,
        work: &str,
        bytes: usize,
        call: impl FnMut() -> Result<()>,
    ) -> Result<Row> {
        let floor = bytes as f64 / self.copy_rate * 1e6;
        let row = Row::new(op, dtype, work, self.time(call)?).with_floor(Some(floor));
        Ok(Row { bytes: Some(bytes as f64), ..row })
    }

    /// Allocates a storage of varying values in -2 .. 2. All zeros would give better times,
    /// because of caches and power limits.
    pub fn random(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        self.repeat(len, dtype, |x| x)
    }

    /// Allocates a storage of elements of which few are large: segments of 128 count as wide in
    /// block products of bf16, f16 and f32.
    pub fn wide(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        self.repeat(len, dtype, |x| x.signum() * (16.0 * (x.abs() - 1.0).powi(5) - 1.0).exp2())
    }

    /// Allocates a storage and fills it with values made of numbers from -2 to 2, again and again.
    fn repeat(&self, len: usize, dtype: DType, value: impl Fn(f32) -> f32) -> Result<GpuStorage<R>> {
        let number = |i: u32| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 22) as f32 - 2.0;
        let seed: Vec<f32> = (0..1u32 << 20).map(|i| value(number(i))).collect();
        let seed = self.device.storage_from_slice(&seed)?.to_dtype(&Layout::contiguous(seed.len()), dtype)?;
        let mut out = self.device.zeros(&len.into(), dtype)?;
        let mut at = 0;
        while at < len {
            let n = seed.len().min(len - at);
            seed.copy_strided_src(&mut out, at, &Layout::contiguous(n))?;
            at += n;
        }
        Ok(out)
    }

    /// Allocates a storage for results and writes it once.
    pub fn output(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        let mut out = self.device.zeros(&len.into(), dtype)?;
        out.const_set(Scalar::zero(dtype), &Layout::contiguous(len))?;
        Ok(out)
    }
}
