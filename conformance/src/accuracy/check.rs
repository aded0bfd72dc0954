//! Evaluates a recipe over many inputs and keeps the worst result.

use super::Bound;
use super::float::{Float, Real};
use super::inputs::Inputs;
use crate::schema::{Class, ResultRow, Status};
use isobit_hal::{BackendStorage, CpuStorage, DType, Layout, Result};
use rayon::prelude::*;

/// The results for the inputs so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) cases: u64,
    pub(super) failed: u64,
    /// The number of results that are not correctly rounded.
    pub(super) misrounded: u64,
    /// The largest measured error, and the input and result that have it.
    pub(super) worst: Option<(f64, String)>,
    /// The number of results whose error no number can express.
    pub(super) unmeasured: u64,
    /// The first result that exceeds the bound.
    pub(super) wrong: Option<String>,
}

impl Tally {
    /// Merges two tallies; of equal errors the first is kept, so that the order of work has no
    /// effect.
    pub(super) fn merge(self, other: Self) -> Self {
        let worst = match (self.worst, other.worst) {
            (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        Self {
            cases: self.cases + other.cases,
            failed: self.failed + other.failed,
            misrounded: self.misrounded + other.misrounded,
            unmeasured: self.unmeasured + other.unmeasured,
            worst,
            wrong: self.wrong.or(other.wrong),
        }
    }

    /// Applies `f` to the descriptions.
    pub(super) fn named(mut self, f: impl Fn(&str) -> String) -> Self {
        self.worst = self.worst.map(|(ulps, text)| (ulps, f(&text)));
        self.wrong = self.wrong.map(|text| f(&text));
        self
    }

    /// Returns the row of a report.
    pub(super) fn row(self, op: &str, dtype: DType, bound: Bound) -> ResultRow {
        let measured = self.worst.as_ref().filter(|_| self.unmeasured == 0).map(|w| w.0);
        // If the only errors are measured ones that are too large, the largest is the most
        // informative.
        let only_measured = self.unmeasured == 0 && bound != Bound::Rounded;
        let worst = self.worst.map(|w| w.1);
        let text = if only_measured { worst.or(self.wrong) } else { self.wrong.or(worst) };
        ResultRow {
            op: op.into(),
            dtypes: dtype.as_str().into(),
            subject: "cpu".into(),
            reference: "exact".into(),
            class: Class::Accuracy,
            numerics: None,
            status: if self.failed == 0 { Status::Pass } else { Status::Fail },
            cases: self.cases,
            failed: self.failed,
            max_ulp: measured,
            bit_exact: self.misrounded == 0,
            repeatable: None,
            layouts: vec!["contiguous".into()],
            reason: None,
            worst: text.map(|t| format!("{t}; bound: {bound}")),
            repro: (self.failed > 0)
                .then(|| format!("cargo xtask conformance --devices cpu --ops {op} --dtypes {dtype}")),
        }
    }
}

/// Evaluates a function through `apply` at every input and compares with `truth`.
///
/// # Errors
/// Returns the first error of `apply`.
pub(super) fn scan<T: Float, const N: usize>(
    op: &str,
    inputs: &Inputs<T, N>,
    apply: &(impl Fn(&[CpuStorage; N], &mut CpuStorage, &Layout) -> Result<()> + Sync),
    truth: impl Fn([f64; N]) -> Real + Sync,
    bound: Bound,
) -> Result<Tally>
where
    CpuStorage: From<Vec<T>>,
{
    let chunk = |index: usize| {
        let args = inputs.chunk(index);
        let len = args[0].len();
        let layout = Layout::contiguous(len);
        let sources = args.each_ref().map(|v| CpuStorage::from(v.clone()));
        let mut results = CpuStorage::zeros(len, T::DTYPE)?;
        apply(&sources, &mut results, &layout)?;
        let got: Vec<T> = results.to_vec()?;
        Ok(compare(op, &args, &got, &truth, bound))
    };
    (0..inputs.chunks()).into_par_iter().map(chunk).try_reduce(Tally::default, |a, b| Ok(a.merge(b)))
}

/// Compares one chunk.
fn compare<T: Float, const N: usize>(
    op: &str,
    args: &[Vec<T>; N],
    got: &[T],
    truth: &impl Fn([f64; N]) -> Real,
    bound: Bound,
) -> Tally {
    let mut tally = Tally { cases: got.len() as u64, ..Tally::default() };
    let (mut worst, mut worst_at, mut wrong_at) = (-1.0, 0, None);
    for (i, &result) in got.iter().enumerate() {
        let real = truth(args.each_ref().map(|v| v[i].value()));
        let result = result.value();
        let ulps = T::FORMAT.ulps(result, real);
        // The distance decides, except close to a tie. There the true value is rounded, which costs
        // more than everything else.
        let rounded = ulps.is_some_and(|u| {
            u < 0.49 || u < 0.51 && T::FORMAT.round_real(real).is_some_and(|w| w.to_bits() == result.to_bits())
        });
        tally.misrounded += u64::from(!rounded);
        let good = match bound {
            Bound::Rounded => rounded,
            Bound::Ulps(most) => ulps.is_some_and(|u| u <= most),
        };
        if !good {
            tally.failed += 1;
            wrong_at = wrong_at.or(Some(i));
        }
        match ulps {
            Some(u) if u > worst => (worst, worst_at) = (u, i),
            Some(_) => {}
            None => tally.unmeasured += 1,
        }
    }
    let describe = |i: usize| {
        let real = truth(args.each_ref().map(|v| v[i].value()));
        let digits = T::FORMAT.bits as usize / 4;
        let text = |v: T| format!("0x{:0digits$x} = {:e}", v.bits(), v.value());
        let arguments: Vec<_> = args.iter().map(|v| text(v[i])).collect();
        let error = T::FORMAT.ulps(got[i].value(), real).map_or(String::new(), |u| format!(", {u:.4} ulp"));
        format!("{op}({}): got {}, the true value is {:e}{error}", arguments.join(", "), text(got[i]), real.hi)
    };
    tally.worst = (worst >= 0.0).then(|| (worst, describe(worst_at)));
    tally.wrong = wrong_at.map(describe);
    tally
}
