//! Timing on a device, and the floor that a time is held against.

use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Matmul, Numerics, Result, Scalar};
use isobit_kernels::{DeviceOptions, GpuDevice, GpuRuntime, GpuStorage};
use serde::Serialize;

/// A device with what a fast run on it looks like.
pub struct Bench<R: GpuRuntime> {
    pub device: GpuDevice<R>,
    /// Bytes a second, read and written, of a 1 GiB copy.
    pub copy_rate: f64,
    launches: usize,
}

/// One measured row.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub op: String,
    pub dtype: String,
    pub work: String,
    /// Median over the timings, in microseconds.
    pub us: f64,
    /// Bytes that the operation must read and write.
    pub bytes: Option<f64>,
    /// Floating-point operations.
    pub flops: Option<f64>,
    /// Bytes over the copy rate, or flops over the vendor's rate, in microseconds.
    pub floor_us: Option<f64>,
    /// Time over floor.
    pub ratio: Option<f64>,
    /// The time of a peer for the same work, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_us: Option<f64>,
}

impl Row {
    /// Three decimals are more than the timings carry.
    pub fn round(&mut self) {
        let round = |x: &mut f64| *x = (*x * 1e3).round() / 1e3;
        round(&mut self.us);
        self.floor_us.iter_mut().for_each(round);
        self.ratio.iter_mut().for_each(round);
    }
}

impl<R: GpuRuntime> Bench<R> {
    pub fn new(ordinal: usize, launches: usize) -> Result<Self> {
        let device = GpuDevice::new_with(ordinal, DeviceOptions::default())?;
        let mut bench = Self { device, copy_rate: f64::NAN, launches };
        bench.copy_rate = bench.measure_copy()?;
        Ok(bench)
    }

    /// Median microseconds of one call, by events around a batch of them.
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
        times.sort_by(f64::total_cmp);
        Ok(times[TIMINGS / 2])
    }

    fn measure_copy(&self) -> Result<f64> {
        const BYTES: usize = 1 << 30;
        let src = self.random(BYTES / 4, DType::F32)?;
        let dst = self.random(BYTES / 4, DType::F32)?;
        let (runtime, stream) = (self.device.runtime(), &self.device.stream());
        // SAFETY: both storages have as many bytes, and are two.
        let us = self.time(|| unsafe { runtime.copy_on_device(stream, dst.ptr(), src.ptr(), BYTES) })?;
        Ok(2.0 * BYTES as f64 / (us * 1e-6))
    }

    /// A row that bytes bound.
    pub fn bytes_row(
        &self,
        op: &str,
        dtype: DType,
        work: &str,
        bytes: usize,
        call: impl FnMut() -> Result<()>,
    ) -> Result<Row> {
        let us = self.time(call)?;
        let floor = bytes as f64 / self.copy_rate * 1e6;
        Ok(Row {
            op: op.into(),
            dtype: dtype.to_string(),
            work: work.into(),
            us,
            bytes: Some(bytes as f64),
            flops: None,
            floor_us: Some(floor),
            ratio: Some(us / floor),
            peer_us: None,
        })
    }

    /// The vendor's and the portable row of a matrix product, the second held against the first.
    pub fn matmul_rows(&self, dtype: DType, [batch, m, n, k]: [usize; 4]) -> Result<Vec<Row>> {
        let [lhs, rhs] = [[batch, m, k], [batch, k, n]].map(Layout::contiguous);
        let (a, b) = (self.random(lhs.elem_count(), dtype)?, self.random(rhs.elem_count(), dtype)?);
        let out = Layout::contiguous([batch, m, n]);
        let mut c = self.random(out.elem_count(), dtype)?;
        let work = if batch == 1 { format!("{m}x{n}x{k}") } else { format!("{batch}x{m}x{n}x{k}") };
        let flops = 2.0 * (batch * m * n * k) as f64;
        let mut rows: Vec<Row> = Vec::new();
        let vendor: &[_] = if dtype == DType::F8E4M3 { &[] } else { &[("matmul_vendor", Numerics::Vendor)] };
        for (op, numerics) in vendor.iter().copied().chain([("matmul", Numerics::Portable)]) {
            let us = self.time(|| {
                BackendStorage::matmul_into(Matmul::with_numerics(numerics), &a, &lhs, &b, &rhs, &mut c, &out)
            })?;
            let floor = rows.first().map(|vendor| vendor.us);
            rows.push(Row {
                op: op.into(),
                dtype: dtype.to_string(),
                work: work.clone(),
                us,
                bytes: None,
                flops: Some(flops),
                floor_us: floor,
                ratio: floor.map(|f| us / f),
                peer_us: None,
            });
        }
        Ok(rows)
    }

    /// A storage of values in -2 .. 2, never all alike: zeros would flatter caches and power.
    pub fn random(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        let seed: Vec<f32> =
            (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 22) as f32 - 2.0).collect();
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

    /// A storage to write to, touched once.
    pub fn output(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        let mut out = self.device.zeros(&len.into(), dtype)?;
        out.const_set(Scalar::zero(dtype), &Layout::contiguous(len))?;
        Ok(out)
    }
}
