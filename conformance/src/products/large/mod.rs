//! Large products on a device, with sides up to 8,192, compared with the CPU bit for bit.
//!
//! The device computes every product whole. The CPU computes the whole product too if the time
//! allows, and otherwise some of its rows and columns, which are drawn: a result depends on its row
//! and column alone, so the product of those rows and columns has the same bits. The corners are
//! always among them.

mod case;
mod pace;
mod values;

use crate::compare::show;
use case::{Case, Operand};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, DType, Error, ErrorKind, F8E4M3, Layout, Matmul, Numerics, Result, bf16,
    f16,
};
use pace::Pace;
use rayon::prelude::*;
use std::fmt;
use std::time::{Duration, Instant};
use values::Value;

/// Which products to compute.
#[derive(Debug, Clone)]
pub struct Options {
    /// The index of the first product, and how many follow.
    pub first: u64,
    /// The number of products.
    pub products: u64,
    /// The largest side.
    pub max_side: usize,
    /// The dtypes, in turns.
    pub dtypes: Vec<DType>,
    /// The numerics: portable or block.
    pub numerics: Numerics,
    /// The seed; a product depends on it, its index and the largest side alone.
    pub seed: u64,
    /// The time for all of it.
    pub time: Duration,
}

/// What was compared.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Products of which results were compared.
    pub products: u64,
    /// Those compared whole.
    pub whole: u64,
    /// The results of the products, and how many of them were compared.
    pub results: u64,
    /// Results that were compared.
    pub compared: u64,
    /// The multiply-adds of the products.
    pub work: f64,
    /// Products with results that differ, with the first such result.
    pub failures: Vec<Failure>,
}

/// A product with results that differ from the CPU's.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The index of the product.
    pub index: u64,
    /// What it is.
    pub product: String,
    /// How many results differ, of those that were compared.
    pub differing: u64,
    /// The batch, row and column of the first one.
    pub at: [usize; 3],
    /// The device's value and the CPU's.
    pub values: [String; 2],
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([batch, row, column], [got, want]) = (self.at, &self.values);
        write!(
            f,
            "product {}, {}: {} results differ, first at batch {batch}, row {row}, column {column}: got {got}, want {want}",
            self.index, self.product, self.differing
        )
    }
}

/// Runs the products, until they are done or the time is up. `done` is called after each.
///
/// # Errors
/// Returns the errors of the device, and `UnsupportedDtype` for dtypes that are not floats.
pub fn run<D: BackendDevice>(device: &D, options: &Options, mut done: impl FnMut(&Outcome)) -> Result<Outcome> {
    let (start, mut pace, mut outcome) = (Instant::now(), Pace::default(), Outcome::default());
    for index in options.first..options.first + options.products {
        let left = options.time.saturating_sub(start.elapsed());
        if left.is_zero() {
            break;
        }
        let work = pace.work(left, options.first + options.products - index);
        let dtype = options.dtypes[(index % options.dtypes.len() as u64) as usize];
        let case = Case::draw(options, index, dtype);
        match dtype {
            DType::F8E4M3 => compare::<D, F8E4M3>(device, &case, work, &mut pace, &mut outcome)?,
            DType::BF16 => compare::<D, bf16>(device, &case, work, &mut pace, &mut outcome)?,
            DType::F16 => compare::<D, f16>(device, &case, work, &mut pace, &mut outcome)?,
            DType::F32 => compare::<D, f32>(device, &case, work, &mut pace, &mut outcome)?,
            DType::F64 => compare::<D, f64>(device, &case, work, &mut pace, &mut outcome)?,
            other => {
                return Err(Error::new(ErrorKind::UnsupportedDtype, format!("no product of {other}: not a float")));
            }
        }
        done(&outcome);
    }
    Ok(outcome)
}

fn compare<D: BackendDevice, T: Value>(
    device: &D,
    case: &Case,
    work: f64,
    pace: &mut Pace,
    outcome: &mut Outcome,
) -> Result<()> {
    let start = Instant::now();
    let [lhs, rhs] = case.operands.each_ref().map(Operand::fill::<T>);
    let there = [device.storage_from_slice(&lhs)?, device.storage_from_slice(&rhs)?];
    let mut result = device.zeros(&case.result_len.into(), T::DTYPE)?;
    let op = Matmul::with_numerics(case.numerics);
    let [left, right] = &case.operands;
    // The device computes while the CPU does.
    D::Storage::matmul_into(op, &there[0], &left.layout, &there[1], &right.layout, &mut result, &case.result)?;

    let [m, k, n] = case.sides;
    let strip = case.strip(work);
    let (rows, columns) = (strip.rows.len(), strip.columns.len());
    let host = [left.lines(&lhs, &strip.batches, &strip.rows), right.lines(&rhs, &strip.batches, &strip.columns)];
    let host = [CpuDevice.storage_from_slice(&host[0])?, CpuDevice.storage_from_slice(&host[1])?];
    let batches = strip.batches.len();
    let by_row = Layout::contiguous([batches, rows, k]);
    let by_column = Layout::contiguous([batches, columns, k]).transpose(1, 2)?;
    let reference = Instant::now();
    let want = host[0].matmul(&by_row, &host[1], &by_column, op)?.to_vec::<T>()?;
    let reference = reference.elapsed();

    let got = result.to_vec::<T>()?;
    let place =
        |i: usize| [strip.batches[i / (rows * columns)], strip.rows[i / columns % rows], strip.columns[i % columns]];
    let stride = case.result.stride();
    let value = |i: usize| {
        let at = place(i);
        got[case.result.start_offset() + at.iter().zip(stride).map(|(at, stride)| at * stride).sum::<usize>()]
    };
    let differs = |&i: &usize| !value(i).same(want[i]);
    let differing = (0..want.len()).into_par_iter().filter(differs).count() as u64;
    if let Some(first) = (0..want.len()).into_par_iter().find_first(differs) {
        outcome.failures.push(Failure {
            index: case.index,
            product: case.to_string(),
            differing,
            at: place(first),
            values: [value(first), want[first]].map(|v| show(T::DTYPE, v.bits())),
        });
    }
    outcome.products += 1;
    outcome.results += (case.batch * m * n) as u64;
    outcome.compared += want.len() as u64;
    outcome.whole += u64::from(want.len() == case.batch * m * n);
    outcome.work += case.work();
    pace.note(want.len() as f64 * k as f64, reference, start.elapsed());
    Ok(())
}
