//! Checks the CPU's recipes against the true value of each function.
//!
//! The true values are computed in f64, by code that shares nothing with the recipes ([`truth`]),
//! for every input of a narrow float and for f32 inputs, sampled or all 2^32. For f64 they come
//! from a committed table computed with 400 bits of precision (`f64_truth`). The recipes are called
//! only through the CPU driver, as a framework would do. [`exhaustive_bits`] then compares any
//! other device with the CPU on every input.

mod bound;
mod check;
mod exhaustive;
mod f64_truth;
pub(crate) mod float;
mod inputs;
mod table;
pub mod truth;

pub use bound::{Bound, bound};
pub use exhaustive::{BitCheck, Mismatch, exhaustive_bits};
pub(crate) use f64_truth::hard_inputs as f64_hard_inputs;
pub use float::{Format, Real};
pub use table::exhaustive_table;

use crate::hard;
use crate::schema::ResultRow;
use check::{Tally, scan};
use float::Float;
use inputs::Inputs;
use isobit_hal::{
    BackendStorage, BinaryOp, Celu, CpuStorage, DType, Elu, F8E4M3, F8E5M2, Layout, Op, Powf, Result, Src, UnaryOp,
    bf16, f16,
};

/// What to check, and how thoroughly.
#[derive(Debug, Clone)]
pub struct Options {
    /// The names of operations; empty means all.
    pub ops: Vec<String>,
    /// The dtypes; empty means all floats.
    pub dtypes: Vec<DType>,
    /// Checks all 2^32 inputs of f32 instead of `samples` for functions of one argument, and 16
    /// times the samples for `powf`, `elu` and `celu`.
    pub exhaustive: bool,
    /// The number of f32 inputs to draw (and of input pairs for `pow`, `atan2` and `hypot`, for
    /// every dtype but f64).
    pub samples: usize,
    /// The seed of the draws.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { ops: Vec::new(), dtypes: Vec::new(), exhaustive: false, samples: 1 << 20, seed: 0 }
    }
}

impl Options {
    fn wants(&self, op: &str, dtype: DType) -> bool {
        (self.ops.is_empty() || self.ops.iter().any(|o| o == op))
            && (self.dtypes.is_empty() || self.dtypes.contains(&dtype))
    }
}

/// The exponents at which `powf` is checked.
const EXPONENTS: [f64; 12] = [0.5, -0.5, 1.0 / 3.0, 2.0, 3.0, -1.0, -2.0, 2.5, 10.0, 1.0, 0.0, -7.25];

/// The factors at which `elu` and `celu` are checked: the usual one, SELU's, and others of both
/// signs.
const ALPHAS: [f64; 5] = [1.0, 1.673_263_242_354_377_2, 0.5, -2.0, 0.1];

/// Runs the checks that the options select; calls `progress` with each finished row.
///
/// # Errors
/// Returns the error of the CPU driver if it refuses an operation that it must support.
pub fn run(options: &Options, mut progress: impl FnMut(&ResultRow)) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    let mut push = |row: ResultRow| {
        progress(&row);
        rows.push(row);
    };
    for &op in UnaryOp::ALL.iter().filter(|op| !op.is_int_only()) {
        let apply = |src: &[CpuStorage; 1], dst: &mut CpuStorage, layout: &Layout| {
            CpuStorage::unary_into(op, Src::Storage(&src[0], layout), dst, layout)
        };
        each_dtype(options, &Op::Unary(op), |case| case.elements(&apply, |x, _| truth::unary(op, x)), &mut push)?;
    }
    each_dtype(options, &Op::Powf(Powf::new(1.0)), |case| case.over(&EXPONENTS, powf_into, truth::pow), &mut push)?;
    each_dtype(options, &Op::Elu(Elu::new(1.0)), |case| case.over(&ALPHAS, elu_into, truth::elu), &mut push)?;
    each_dtype(options, &Op::Celu(Celu::new(1.0)), |case| case.over(&ALPHAS, celu_into, truth::celu), &mut push)?;
    each_dtype(options, &Op::Binary(BinaryOp::Pow), |case| case.pairs(BinaryOp::Pow, truth::pow), &mut push)?;
    each_dtype(options, &Op::Binary(BinaryOp::Atan2), |case| case.pairs(BinaryOp::Atan2, truth::atan2), &mut push)?;
    each_dtype(options, &Op::Binary(BinaryOp::Hypot), |case| case.pairs(BinaryOp::Hypot, truth::hypot), &mut push)?;
    f64_truth::run(|op| options.wants(op, DType::F64), &mut push)?;
    Ok(rows)
}

fn powf_into(exponent: f64, src: &[CpuStorage; 1], dst: &mut CpuStorage, layout: &Layout) -> Result<()> {
    CpuStorage::powf_into(Powf::new(exponent), Src::Storage(&src[0], layout), dst, layout)
}

fn elu_into(alpha: f64, src: &[CpuStorage; 1], dst: &mut CpuStorage, layout: &Layout) -> Result<()> {
    CpuStorage::elu_into(Elu::new(alpha), Src::Storage(&src[0], layout), dst, layout)
}

fn celu_into(alpha: f64, src: &[CpuStorage; 1], dst: &mut CpuStorage, layout: &Layout) -> Result<()> {
    CpuStorage::celu_into(Celu::new(alpha), Src::Storage(&src[0], layout), dst, layout)
}

/// One cell to check: an operation at a dtype.
struct Case<'a> {
    options: &'a Options,
    op: &'a str,
    dtype: DType,
    bound: Bound,
}

/// Runs `check` for every dtype whose true values are computed, and converts its tallies to rows.
fn each_dtype(
    options: &Options,
    op: &Op,
    check: impl Fn(&Case<'_>) -> Result<Tally>,
    push: &mut impl FnMut(ResultRow),
) -> Result<()> {
    for dtype in [DType::F8E4M3, DType::F16, DType::BF16, DType::F32, DType::F8E5M2] {
        if !options.wants(op.name(), dtype) {
            continue;
        }
        let case = Case { options, op: op.name(), dtype, bound: bound(op, dtype) };
        push(check(&case)?.row(op.name(), dtype, case.bound));
    }
    Ok(())
}

/// Evaluates an expression with a name bound to the Rust type of a float whose true values are
/// computed.
macro_rules! with_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F8E4M3 => {
                type $T = F8E4M3;
                $body
            }
            DType::F8E5M2 => {
                type $T = F8E5M2;
                $body
            }
            DType::F16 => {
                type $T = f16;
                $body
            }
            DType::BF16 => {
                type $T = bf16;
                $body
            }
            _ => {
                type $T = f32;
                $body
            }
        }
    };
}

impl Case<'_> {
    /// Returns every input of a narrow type, or the f32 inputs that the options select.
    fn inputs<T: Float>(&self) -> Inputs<T, 1> {
        if T::FORMAT.bits < 32 || self.options.exhaustive {
            Inputs::every()
        } else {
            let hard = hard::of_function(self.op, self.dtype).into_iter().flatten();
            let hard = hard.map(|bits| T::from_bits(bits as u32)).collect();
            Inputs::sampled(hard, self.options.samples, self.options.seed)
        }
    }

    /// Checks a function of one argument.
    fn elements(
        &self,
        apply: &(impl Fn(&[CpuStorage; 1], &mut CpuStorage, &Layout) -> Result<()> + Sync),
        truth: impl Fn(f64, f64) -> Real + Sync,
    ) -> Result<Tally> {
        with_float!(self.dtype, T => scan(self.op, &self.inputs::<T>(), apply, |[x]| truth(x, 0.0), self.bound))
    }

    /// Checks a function of one argument with a parameter, which is rounded to f32 as
    /// `docs/numerics.md` says.
    fn over(
        &self,
        parameters: &[f64],
        apply: impl Fn(f64, &[CpuStorage; 1], &mut CpuStorage, &Layout) -> Result<()> + Sync,
        truth: impl Fn(f64, f64) -> Real + Sync,
    ) -> Result<Tally> {
        // Testing every f32 input for one of many parameters would add little, so more inputs are
        // drawn instead.
        let more = if self.options.exhaustive { 16 } else { 1 };
        let options = &Options { exhaustive: false, samples: self.options.samples * more, ..self.options.clone() };
        let sampled = Case { options, ..*self };
        let mut tally = Tally::default();
        for &p in parameters {
            let apply = |src: &[CpuStorage; 1], dst: &mut CpuStorage, layout: &Layout| apply(p, src, dst, layout);
            let of_p = sampled.elements(&apply, |x, _| truth(x, f64::from(p as f32)))?;
            tally = tally.merge(of_p.named(|worst| format!("parameter {p}: {worst}")));
        }
        Ok(tally)
    }

    /// Checks a function of two arguments on pairs that often give a finite result, and on all
    /// pairs of special values.
    fn pairs(&self, op: BinaryOp, truth: impl Fn(f64, f64) -> Real + Sync) -> Result<Tally> {
        let apply = |src: &[CpuStorage; 2], dst: &mut CpuStorage, layout: &Layout| {
            let [x, y] = src.each_ref().map(|s| Src::Storage(s, layout));
            CpuStorage::binary_into(op, x, y, dst, layout)
        };
        let Options { samples, seed, .. } = *self.options;
        let hard = hard::of_function(self.op, self.dtype);
        with_float!(self.dtype, T => {
            let inputs = match op {
                BinaryOp::Pow => Inputs::<T, 2>::powers(hard, samples, seed),
                _ => Inputs::<T, 2>::sides(hard, samples, seed),
            };
            scan(self.op, &inputs, &apply, |[x, y]| truth(x, y), self.bound)
        })
    }
}
