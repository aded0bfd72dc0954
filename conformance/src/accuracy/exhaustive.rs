//! Compares a device with the CPU on every input, bit for bit.

use super::float::Float;
use crate::schema::{Class, ResultRow, Status};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, DType, Error, ErrorKind, F8E4M3, F8E5M2, Layout, Op, Result, Src,
    UnaryOp, bf16, f16,
};
use rayon::prelude::*;

/// The result for one operation at one dtype.
#[derive(Debug, Clone, PartialEq)]
pub struct BitCheck {
    /// The operation.
    pub op: UnaryOp,
    /// The dtype.
    pub dtype: DType,
    /// The number of inputs that were compared.
    pub inputs: u64,
    /// The number of results that differ from the CPU's (any NaN equals any NaN).
    pub mismatches: u64,
    /// The mismatch with the lowest bit pattern as input.
    pub first: Option<Mismatch>,
}

/// An input whose results differ, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// The input.
    pub input: u32,
    /// The device's result.
    pub got: u32,
    /// The CPU's result.
    pub want: u32,
}

/// The default number of elements of a chunk: a quarter of a GiB of f32.
const CHUNK: usize = 1 << 26;

/// Runs unary operations on every value of a dtype (all of the narrow floats, and all 2^32 of f32)
/// on a device, and compares with the CPU. `chunk` elements are on the device at a time (`None`:
/// 2^26), each uploaded once for all operations; the CPU computes at the same time as the device.
/// `progress` is called with the completed fraction.
///
/// # Errors
/// Returns `UnsupportedDtype` for a dtype that is not a float or has too many values to try all,
/// and the errors of the device.
pub fn exhaustive_bits<D: BackendDevice>(
    device: &D,
    ops: &[UnaryOp],
    dtype: DType,
    chunk: Option<usize>,
    progress: impl FnMut(f64),
) -> Result<Vec<BitCheck>> {
    let chunk = chunk.unwrap_or(CHUNK).max(1);
    match dtype {
        DType::F8E4M3 => every::<D, F8E4M3>(device, ops, chunk, progress),
        DType::F8E5M2 => every::<D, F8E5M2>(device, ops, chunk, progress),
        DType::F16 => every::<D, f16>(device, ops, chunk, progress),
        DType::BF16 => every::<D, bf16>(device, ops, chunk, progress),
        DType::F32 => every::<D, f32>(device, ops, chunk, progress),
        other => Err(Error::new(
            ErrorKind::UnsupportedDtype,
            format!("cannot try every value of {other}; possible dtypes: f8e4m3, f8e5m2, f16, bf16 and f32"),
        )),
    }
}

fn every<D: BackendDevice, T: Float>(
    device: &D,
    ops: &[UnaryOp],
    chunk: usize,
    mut progress: impl FnMut(f64),
) -> Result<Vec<BitCheck>> {
    let check = |&op| BitCheck { op, dtype: T::DTYPE, inputs: 0, mismatches: 0, first: None };
    let mut checks: Vec<BitCheck> = ops.iter().map(check).collect();
    let all = 1usize << T::FORMAT.bits;
    for start in (0..all).step_by(chunk) {
        let end = (start + chunk).min(all);
        let input: Vec<T> = (start..end).into_par_iter().map(|bits| T::from_bits(bits as u32)).collect();
        let layout = Layout::contiguous(input.len());
        let there = device.storage_from_slice(&input)?;
        let here = CpuDevice.storage_from_slice(&input)?;
        let mut results = device.zeros(layout.shape(), T::DTYPE)?;
        for (i, check) in checks.iter_mut().enumerate() {
            D::Storage::unary_into(check.op, Src::Storage(&there, &layout), &mut results, &layout)?;
            let want = here.unary(&layout, check.op)?;
            let got = results.to_cpu_storage()?;
            let (got, want) = (elements::<T>(&got)?, elements::<T>(&want)?);
            let differs = |i: &usize| {
                let (got, want) = (got[*i], want[*i]);
                got.bits() != want.bits() && !(got.value().is_nan() && want.value().is_nan())
            };
            check.inputs += got.len() as u64;
            let mismatches = (0..got.len()).into_par_iter().filter(differs).count() as u64;
            check.mismatches += mismatches;
            if mismatches > 0 && check.first.is_none() {
                let first = (0..got.len()).into_par_iter().find_first(differs);
                check.first =
                    first.map(|i| Mismatch { input: (start + i) as u32, got: got[i].bits(), want: want[i].bits() });
            }
            progress((start as f64 + (end - start) as f64 * (i + 1) as f64 / ops.len() as f64) / all as f64);
        }
    }
    Ok(checks)
}

fn elements<T: Float>(storage: &isobit_hal::CpuStorage) -> Result<&[T]> {
    storage.as_slice().ok_or_else(|| {
        let message = format!("the device returned {} instead of {}", storage.dtype(), T::DTYPE);
        Error::new(ErrorKind::Other, message)
    })
}

impl BitCheck {
    /// Returns the row of a report: `subject` against the CPU.
    pub fn row(&self, subject: &str) -> ResultRow {
        let class = Class::from(Op::Unary(self.op).class(&[self.dtype; 2]));
        let digits = self.dtype.size_in_bytes() * 2;
        let worst = self.first.map(|m| {
            let hex = |bits: u32| format!("0x{bits:0digits$x}");
            format!("{}({}): got {}, want {}", self.op, hex(m.input), hex(m.got), hex(m.want))
        });
        ResultRow {
            op: self.op.name().into(),
            dtypes: self.dtype.as_str().into(),
            subject: subject.into(),
            reference: "cpu".into(),
            class,
            numerics: None,
            status: if self.mismatches == 0 { Status::Pass } else { Status::Fail },
            cases: self.inputs,
            failed: self.mismatches,
            max_ulp: (self.mismatches == 0).then_some(0.0),
            bit_exact: self.mismatches == 0,
            repeatable: None,
            layouts: vec!["contiguous".into()],
            reason: None,
            repro: worst.as_ref().map(|_| {
                let (op, dtype) = (self.op, self.dtype);
                format!("cargo xtask conformance --devices cpu,{subject} --ops {op} --dtypes {dtype} --exhaustive")
            }),
            worst,
        }
    }
}
