//! What a user chooses on the command line: the device, the numerics and the dtype; and what a
//! program says in the end.

use anyhow::{Context, Result};
use clap::ValueEnum;
use isobit::{AnyDevice, DType, Numerics};
use std::process::ExitCode;

/// The implementation of matrix products and of attention.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Who {
    /// Isobit's own kernels, chains of fused multiply-adds: the same bits on every device.
    Portable,
    /// Isobit's own kernels, exact sums of integers on integer matrix units: the same bits on every
    /// device, and faster than `portable`.
    Block,
    /// The vendor's libraries: fast.
    Vendor,
}

impl From<Who> for Numerics {
    fn from(who: Who) -> Self {
        match who {
            Who::Portable => Numerics::Portable,
            Who::Block => Numerics::Block,
            Who::Vendor => Numerics::Vendor,
        }
    }
}

/// The dtype of weights and intermediate results.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Held {
    /// 32 bits.
    F32,
    /// 16 bits, 11 of them significant.
    F16,
    /// 16 bits, 8 of them significant.
    Bf16,
}

impl From<Held> for DType {
    fn from(held: Held) -> Self {
        match held {
            Held::F32 => DType::F32,
            Held::F16 => DType::F16,
            Held::Bf16 => DType::BF16,
        }
    }
}

/// Returns the exit code of a program, and prints its error if it failed.
pub fn exit_code(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|e| {
        eprintln!("error: {e:#}");
        ExitCode::FAILURE
    })
}

/// Opens a device by a driver's name for it, such as `cuda:0`, with `numerics` as its default.
/// [`simulated::resolve`](crate::simulated::resolve) returns such names.
///
/// # Errors
/// Fails if there is no such device, or with the errors of the driver.
pub fn open(name: &str, numerics: Numerics) -> Result<AnyDevice> {
    AnyDevice::open_with(name, numerics)
        .with_context(|| format!("`{name}` does not open; examples are cpu, cuda:0, rocm:0, sim-cuda and sim-rocm"))
}
