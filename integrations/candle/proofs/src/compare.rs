//! Comparisons of results: with candle's CPU by a bound, and with every other device by their bits.

use anyhow::{Context, Result, ensure};
use candle_core::cuda::isobit::{BackendDevice, Numerics};
use candle_core::{DType, Device, Tensor};
use std::io::Write as _;
use twox_hash::XxHash3_128;

/// The digests of all results with portable numerics, by name.
const DIGESTS: &str = include_str!("../digests.tsv");

/// Names a file to which digests are added instead of being compared.
const BLESS: &str = "ISOBIT_CANDLE_BLESS";

/// Fails if a result differs from that of candle's CPU by more than `bound` times the largest
/// magnitude. Returns the error found, relative to that magnitude.
///
/// # Errors
/// If it differs, or cannot be read.
pub fn close(name: &str, result: &Tensor, expected: &Tensor, bound: f64) -> Result<f64> {
    ensure!(result.dims() == expected.dims(), "{name}: shape {:?}, not {:?}", result.dims(), expected.dims());
    let values = |t: &Tensor| t.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>();
    let (result, expected) = (values(result)?, values(expected)?);
    let largest = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    ensure!(largest > 0.0 && largest.is_finite(), "{name}: the expected result is {largest}");
    let error = result.iter().zip(&expected).fold(0.0f64, |most, (a, b)| match (a - b).abs() {
        difference if difference.is_nan() => f64::INFINITY,
        difference => most.max(difference),
    });
    let relative = error / largest;
    ensure!(relative <= bound, "{name}: the relative error is {relative:e}, more than {bound:e}");
    println!("{name}: relative error {relative:.1e}");
    Ok(relative)
}

/// Returns the digest of the bytes of some tensors.
///
/// # Errors
/// If they cannot be read.
pub fn digest(tensors: &[&Tensor]) -> Result<String> {
    let mut bytes = Vec::new();
    for tensor in tensors {
        let tensor = tensor.to_device(&Device::Cpu)?.flatten_all()?;
        match tensor.dtype() {
            DType::F32 => tensor.to_vec1::<f32>()?.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            DType::BF16 => tensor.to_vec1::<half::bf16>()?.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            DType::F16 => tensor.to_vec1::<half::f16>()?.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            DType::U32 => tensor.to_vec1::<u32>()?.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
            other => anyhow::bail!("no digest of {other:?}"),
        }
    }
    Ok(format!("{:032x}", XxHash3_128::oneshot(&bytes)))
}

/// Fails if a result with portable numerics does not have the bits that it has on every device.
///
/// # Errors
/// If the bits differ, or cannot be read.
pub fn same_bits(name: &str, device: &Device, tensors: &[&Tensor]) -> Result<()> {
    if device.as_cuda_device()?.isobit().default_numerics() != Numerics::Portable {
        return Ok(());
    }
    let found = digest(tensors)?;
    if let Some(file) = std::env::var_os(BLESS) {
        let mut file = std::fs::File::options().append(true).create(true).open(file)?;
        return Ok(writeln!(file, "{name}\t{found}")?);
    }
    let mut known = DIGESTS.lines().filter_map(|line| line.split_once('\t'));
    let (_, expected) = known.find(|(known, _)| *known == name).with_context(|| format!("{name} has no digest yet"))?;
    ensure!(found == expected, "{name}: the digest is {found}, not {expected}");
    Ok(())
}
