//! How accurate products are: the results of each numerics on a device against the exact value of
//! the same rounded operands, and against the bounds of `docs/numerics.md` section 9.
//!
//! A device gives only the rounded result, so that is what is compared, and the error of rounding
//! the exact value stands beside it. What a numerics adds to that error can be had all the same: an
//! error d before rounding, small against the distance u of two values of the dtype, gives the
//! other neighbour in a share |d|/u of results, and the square of the error then grows by d^2 on
//! average. So the mean of the squares of the errors, less that of the nearest values, is the mean
//! of d^2.

use super::bound::{Segments, Sum, digits};
use super::inputs::{Inputs, Lines};
use super::name_of;
use crate::accuracy::float::Float;
use crate::accuracy::{Format, Real};
use isobit_hal::{BackendDevice, BackendStorage, DType, F8E4M3, Layout, Matmul, Numerics, Result, bf16, f16};
use rayon::prelude::*;
use std::fmt::Write;

/// The unit of errors, relative to the sum of the products' magnitudes.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// m, k and n of each product.
    pub sides: [usize; 3],
    /// Products of each dtype and distribution.
    pub products: u64,
    /// The dtypes; those without block products are refused.
    pub dtypes: Vec<DType>,
    /// The seed.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        let dtypes = vec![DType::F8E4M3, DType::BF16, DType::F16, DType::F32];
        Self { sides: [48, 4096, 48], products: 16, dtypes, seed: 0 }
    }
}

/// The errors of many results: |result - exact| / sum |a b|, in units of 2^-24.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    results: u64,
    squares: f64,
    /// The largest one.
    pub max: f64,
    /// Results that are not the nearest value of the dtype.
    pub not_nearest: u64,
    /// The largest share of its bound that an error has.
    pub of_bound: f64,
}

impl Errors {
    fn add(&mut self, error: f64, nearest: bool, of_bound: f64) {
        self.results += 1;
        self.squares += error * error;
        self.max = self.max.max(error);
        self.not_nearest += u64::from(!nearest);
        self.of_bound = self.of_bound.max(of_bound);
    }

    fn join(mut self, other: Self) -> Self {
        self.results += other.results;
        self.squares += other.squares;
        self.max = self.max.max(other.max);
        self.not_nearest += other.not_nearest;
        self.of_bound = self.of_bound.max(other.of_bound);
        self
    }

    /// Returns the root of the mean square.
    pub fn rms(&self) -> f64 {
        (self.squares / self.results as f64).sqrt()
    }

    /// Returns the root of the mean square of the error before rounding, from what the squares
    /// exceed those of the nearest values by; 0 if every result is the nearest value.
    pub fn added(&self, nearest: &Errors) -> f64 {
        if self.not_nearest == 0 {
            return 0.0;
        }
        ((self.squares - nearest.squares) / self.results as f64).max(0.0).sqrt()
    }

    fn share_not_nearest(&self) -> f64 {
        self.not_nearest as f64 / self.results as f64
    }
}

/// The accuracy of products of one dtype and distribution.
#[derive(Debug, Clone)]
pub struct Row {
    /// The dtype.
    pub dtype: DType,
    /// The distribution.
    pub inputs: Inputs,
    /// The share of wide segments in the left operand.
    pub wide: f64,
    /// The errors of rounding the exact value.
    pub nearest: Errors,
    /// The errors of the results with each numerics.
    pub of: Vec<(Numerics, Errors)>,
}

/// Measures a device. Vendor numerics are measured where a library computes the products.
///
/// # Errors
/// Returns the errors of the device, and `UnsupportedDtype` for a dtype without block products.
pub fn measure<D: BackendDevice>(device: &D, options: &Options, mut row: impl FnMut(&Row)) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &dtype in &options.dtypes {
        for inputs in Inputs::ALL {
            // No number of these dtypes is as small and as large as that distribution's.
            if inputs == Inputs::Phi(4) && matches!(dtype, DType::F8E4M3 | DType::F16) {
                continue;
            }
            let measured = match dtype {
                DType::F8E4M3 => measure_inputs::<D, F8E4M3>(device, inputs, options)?,
                DType::F16 => measure_inputs::<D, f16>(device, inputs, options)?,
                DType::BF16 => measure_inputs::<D, bf16>(device, inputs, options)?,
                DType::F32 => measure_inputs::<D, f32>(device, inputs, options)?,
                other => {
                    let message = format!("{other} has no block products; f8e4m3, bf16, f16 and f32 have");
                    return Err(isobit_hal::Error::new(isobit_hal::ErrorKind::UnsupportedDtype, message));
                }
            };
            row(&measured);
            rows.push(measured);
        }
    }
    Ok(rows)
}

/// The numerics that are measured, in the order of tables.
const NUMERICS: [Numerics; 3] = [Numerics::Portable, Numerics::Block, Numerics::Vendor];

/// The exact value of a result, as `value + low`, and the sum of the magnitudes of its products.
struct Exact {
    value: f64,
    low: f64,
    magnitude: f64,
}

impl Exact {
    /// Sums products in twice the precision of f64.
    fn of(row: &[f64], column: &[f64]) -> Self {
        let (mut sum, mut low, mut magnitude) = (0.0, 0.0, 0.0);
        for (a, b) in row.iter().zip(column) {
            // Exact, because no operand has more than 24 bits.
            let product = a * b;
            let next = sum + product;
            let taken = next - sum;
            low += (sum - (next - taken)) + (product - taken);
            sum = next;
            magnitude += product.abs();
        }
        let value = sum + low;
        Self { value, low: low - (value - sum), magnitude }
    }

    /// Returns |result - exact| / sum |a b| in units of 2^-24.
    fn error(&self, result: f64) -> f64 {
        ((result - self.value) - self.low).abs() / (self.magnitude * UNIT)
    }
}

fn measure_inputs<D: BackendDevice, T: Float>(device: &D, inputs: Inputs, options: &Options) -> Result<Row> {
    let mut row = Row { dtype: T::DTYPE, inputs, wide: 0.0, nearest: Errors::default(), of: Vec::new() };
    let mut wide = [0; 2];
    for product in 0..options.products {
        let seed = options.seed << 32 | product << 8 | inputs.index();
        let lines = rounded::<T>(inputs.draw(seed, options.sides), options.sides[1]);
        measure_product::<D, T>(device, options.sides, &lines, &mut row, &mut wide)?;
    }
    row.wide = wide[0] as f64 / wide[1] as f64;
    Ok(row)
}

/// Rounds operands to a dtype, scaled by a power of two if results could otherwise be too large.
fn rounded<T: Float>(lines: Lines, k: usize) -> [Vec<T>; 2] {
    let longest = lines
        .each_ref()
        .map(|x| x.chunks_exact(k).map(|line| line.iter().map(|v| v * v).sum::<f64>().sqrt()).fold(0.0, f64::max));
    // No sum of products exceeds the product of the norms.
    let scales = (0..).map(|n| libm::scalbn(1.0, -n));
    let scale = scales.into_iter().find(|s| longest[0] * s * longest[1] * s < T::FORMAT.max).unwrap_or(1.0);
    lines.map(|x| x.into_iter().map(|v| T::nearest(v * scale)).collect())
}

fn measure_product<D: BackendDevice, T: Float>(
    device: &D,
    [m, k, n]: [usize; 3],
    lines: &[Vec<T>; 2],
    row: &mut Row,
    wide: &mut [usize; 2],
) -> Result<()> {
    let values = lines.each_ref().map(|x| x.iter().map(|v| v.value()).collect::<Vec<f64>>());
    let segments = values
        .each_ref()
        .map(|x| x.par_chunks_exact(k).map(|line| Segments::of(line, digits(T::DTYPE))).collect::<Vec<_>>());
    for line in &segments[0] {
        let [some, all] = line.wide();
        *wide = [wide[0] + some, wide[1] + all];
    }
    let line = |operand: usize, at: usize| &values[operand][at * k..][..k];
    let exact: Vec<Exact> = (0..m * n).into_par_iter().map(|i| Exact::of(line(0, i / n), line(1, i % n))).collect();
    let nearest: Vec<f64> = exact
        .iter()
        .map(|e| T::FORMAT.round_real(Real { hi: e.value, lo: e.low, error: 0.0 }).expect("an exact value is decided"))
        .collect();
    // A row whose products are all zero has no error to speak of.
    let counted = || (0..m * n).filter(|&i| exact[i].magnitude > 0.0);
    for i in counted() {
        row.nearest.add(exact[i].error(nearest[i]), true, 0.0);
    }

    let storages = [device.storage_from_slice(&lines[0])?, device.storage_from_slice(&lines[1])?];
    let (left, right) = (Layout::contiguous([m, k]), Layout::contiguous([n, k]).transpose(0, 1)?);
    for numerics in NUMERICS {
        let calls = device.counters().vendor_calls;
        let result = storages[0].matmul(&left, &storages[1], &right, Matmul::with_numerics(numerics))?;
        let results = result.to_vec::<T>()?;
        if numerics == Numerics::Vendor && device.counters().vendor_calls == calls {
            continue;
        }
        let mut errors = Errors::default();
        for i in counted() {
            let sum = Sum { row: &segments[0][i / n], column: &segments[1][i % n], k, magnitude: exact[i].magnitude };
            let (got, before) = (results[i].value(), sum.bound(numerics));
            let error = exact[i].error(got);
            let last = rounding(T::FORMAT, exact[i].value.abs() + before, numerics);
            let of_bound = (error * UNIT * exact[i].magnitude - last) / before;
            errors.add(error, got == nearest[i], of_bound);
        }
        match row.of.iter_mut().find(|(of, _)| *of == numerics) {
            Some((_, sum)) => *sum = sum.join(errors),
            None => row.of.push((numerics, errors)),
        }
    }
    Ok(())
}

/// Returns how far rounding to the dtype may move a number of a size.
fn rounding(format: Format, size: f64, numerics: Numerics) -> f64 {
    let ulp = libm::scalbn(1.0, format.last_place(size));
    if numerics == Numerics::Vendor { ulp } else { ulp / 2.0 }
}

/// Whether no error exceeds its bound.
pub fn within_bounds(rows: &[Row]) -> bool {
    rows.iter().flat_map(|row| &row.of).all(|(_, errors)| errors.of_bound <= 1.0)
}

/// Returns the tables in Markdown.
pub fn tables(rows: &[Row], options: &Options) -> String {
    let measured = NUMERICS.into_iter().filter(|n| rows.iter().any(|row| row.of.iter().any(|(of, _)| of == n)));
    let measured: Vec<Numerics> = measured.collect();
    let names: Vec<&str> = measured.iter().map(|&n| name_of(n)).collect();
    let [m, k, n] = options.sides;
    let results = options.products * (m * n) as u64;
    let mut out = format!(
        "Errors of results: rms / max of |c - exact| / Σ|ab| in units of 2^-24, over {} products of {m} x {k} x {n} each \
         ({results} results). *nearest* is the exact value rounded to the dtype; *wide* is the share of wide segments in \
         the left operand.\n\n",
        options.products
    );
    let ruler = |columns: usize| "---|".repeat(columns);
    let _ = writeln!(
        out,
        "| dtype | inputs | wide | nearest | {} |\n|---|---|---|---|{}",
        names.join(" | "),
        ruler(names.len())
    );
    for row in rows {
        let _ = write!(out, "| {} | {} | {} |", row.dtype, row.inputs.name(), percent(row.wide));
        for errors in std::iter::once(Some(&row.nearest)).chain(measured.iter().map(|&n| row.errors(n))) {
            let cell = errors.map_or_else(|| "–".into(), |e| format!("{} / {}", digits_3(e.rms()), digits_3(e.max)));
            let _ = write!(out, " {cell} |");
        }
        out.push('\n');
    }
    out += "\nWhat each adds to the error of rounding: the rms of the error before rounding, in the same units, and the \
            share of results that are not the nearest value of the dtype.";
    let against = measured.contains(&Numerics::Vendor);
    if against {
        out += " The last column is the rms error of block results as a multiple of that of the vendor's.";
    }
    let last = if against { " block : vendor |" } else { "" };
    let _ = writeln!(
        out,
        "\n\n| dtype | inputs | {} |{last}\n|---|---|{}",
        names.join(" | "),
        ruler(names.len() + usize::from(against))
    );
    for row in rows {
        let _ = write!(out, "| {} | {} |", row.dtype, row.inputs.name());
        for &numerics in &measured {
            let cell = row.errors(numerics).map_or_else(
                || "–".into(),
                |e| format!("{} ({})", digits_3(e.added(&row.nearest)), percent(e.share_not_nearest())),
            );
            let _ = write!(out, " {cell} |");
        }
        if against {
            let ratio = row.errors(Numerics::Block).zip(row.errors(Numerics::Vendor)).map(|(b, v)| b.rms() / v.rms());
            let _ = write!(out, " {} |", ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.3}")));
        }
        out.push('\n');
    }
    let shares = measured.iter().map(|&n| {
        let most = rows.iter().filter_map(|row| row.errors(n)).fold(0.0f64, |most, e| most.max(e.of_bound));
        format!("{} of {}'s", percent(most), name_of(n))
    });
    let shares: Vec<String> = shares.collect();
    let verdict = if within_bounds(rows) { "No error exceeds its bound" } else { "**An error exceeds its bound**" };
    let _ = writeln!(out, "\n{verdict}; the largest, less the last rounding, is {}.", shares.join(", "));
    out
}

impl Row {
    /// Returns the errors with some numerics, if they were measured.
    pub fn errors(&self, numerics: Numerics) -> Option<&Errors> {
        self.of.iter().find(|(of, _)| *of == numerics).map(|(_, errors)| errors)
    }
}

/// Formats a number with three significant digits.
fn digits_3(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let decimals = (2 - x.abs().log10().floor() as i32).clamp(0, 4) as usize;
    format!("{x:.decimals$}")
}

fn percent(share: f64) -> String {
    if share == 0.0 { "0".into() } else { format!("{}%", digits_3(100.0 * share)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::CpuDevice;

    #[test]
    fn what_is_added_to_the_rounding_is_found_in_the_rounded_results() {
        // Numbers between 1 and 2, rounded to bf16 with an error before of a hundredth of an ulp.
        let (mut nearest, mut got, mut bits) = (Errors::default(), Errors::default(), 1u64);
        let ulp = bf16::FORMAT.last_place(1.0);
        let before = 0.01 * libm::scalbn(1.0, ulp);
        for _ in 0..1_000_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = 1.0 + (bits >> 12) as f64 / (1u64 << 52) as f64;
            let exact = Exact { value, low: 0.0, magnitude: 1.0 };
            let (right, off) = (bf16::FORMAT.round(value), bf16::FORMAT.round(value + before));
            nearest.add(exact.error(right), true, 0.0);
            got.add(exact.error(off), right == off, 0.0);
        }
        let found = got.added(&nearest) * UNIT;
        assert!((found / before - 1.0).abs() < 0.05, "{found}, not {before}");
        assert!((got.share_not_nearest() - 0.01).abs() < 5e-4);
    }

    #[test]
    fn exact_values_have_what_an_f64_loses() {
        let exact = Exact::of(&[1.0, 2f64.powi(-60), -1.0, 3.0], &[1.0, 1.0, 1.0, 2f64.powi(-70)]);
        assert_eq!(exact.value + exact.low, 2f64.powi(-60) + 3.0 * 2f64.powi(-70));
        assert_eq!(exact.magnitude, 2.0);
        let big = Exact::of(&[1.0, 2f64.powi(-60)], &[1.0, 1.0]);
        assert_eq!((big.value, big.low), (1.0, 2f64.powi(-60)));
        assert_eq!(big.error(1.0 + UNIT), 1.0 - 2f64.powi(-36));
    }

    /// The CPU stays within the bounds, and one place more at the end is beyond them.
    #[test]
    fn errors_are_measured_against_the_bounds() {
        let options = Options { sides: [3, 300, 4], products: 2, ..Options::default() };
        let mut told = 0;
        let mut rows = measure(&CpuDevice, &options, |_| told += 1).unwrap();
        assert_eq!((rows.len(), told), (26, 26));
        assert!(within_bounds(&rows));
        for row in &rows {
            assert_eq!(row.nearest.results, 24);
            let of: Vec<Numerics> = row.of.iter().map(|(numerics, _)| *numerics).collect();
            assert_eq!(of, [Numerics::Portable, Numerics::Block], "the CPU has no library");
            assert!(
                row.of.iter().all(|(_, errors)| errors.rms() > 0.999 * row.nearest.rms() && errors.max >= errors.rms())
            );
        }
        let text = tables(&rows, &options);
        assert!(text.contains("| bf16 | phi 2 |") && text.contains("No error exceeds its bound"), "{text}");
        rows[3].of[1].1.add(1.0, true, 1.01);
        assert!(!within_bounds(&rows) && tables(&rows, &options).contains("**An error exceeds its bound**"));
    }

    #[test]
    fn operands_are_scaled_so_that_no_result_is_too_large() {
        for inputs in Inputs::ALL {
            let lines = rounded::<F8E4M3>(inputs.draw(1, [4, 4096, 4]), 4096);
            let values = lines.each_ref().map(|x| x.iter().map(|v| v.value()).collect::<Vec<_>>());
            let exact = Exact::of(&values[0][..4096], &values[1][..4096]);
            assert!(exact.magnitude > 0.0 && exact.magnitude < 448.0, "{inputs:?}: {}", exact.magnitude);
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 0.012_34, 1.234, 12.34, 123.4, 12_345.0].map(digits_3),
            ["0", "0.0123", "1.23", "12.3", "123", "12345"]
        );
        assert_eq!([0.0, 0.012_34, 1.0].map(percent), ["0", "1.23%", "100%"]);
    }
}
