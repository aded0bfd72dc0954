//! Checks the f64 recipes against the committed tables of true values,
//! `conformance/golden/f64_truth.bin` for ordinary inputs and `f64_hard.bin` for hard ones.
//!
//! The scripts beside the tables computed them with 400 bits of precision and describe the format.

use super::bound;
use super::check::Tally;
use crate::family::Operation;
use crate::schema::ResultRow;
use isobit_hal::{
    BackendStorage, BinaryOp, Celu, CpuStorage, DType, Elu, Error, ErrorKind, Layout, Op, Result, Src, UnaryOp,
};

const TABLE: &[u8] = include_bytes!("../../golden/f64_truth.bin");
const HARD: &[u8] = include_bytes!("../../golden/f64_hard.bin");

/// A true value: `hi + rest * 2^exponent`, where `rest` is at most one half.
struct Record {
    args: [f64; 2],
    hi: f64,
    rest: f64,
    exponent: i32,
}

/// The values of one function.
struct Function<'a> {
    name: &'a str,
    records: Vec<Record>,
}

/// Checks the functions that `wants` accepts.
///
/// # Errors
/// Returns `Other` if the table is damaged, and the errors of the CPU driver.
pub(super) fn run(wants: impl Fn(&str) -> bool, push: &mut impl FnMut(ResultRow)) -> Result<()> {
    let damaged = || Error::new(ErrorKind::Other, "the table of f64 true values is damaged");
    let mut functions = parse(TABLE).ok_or_else(damaged)?;
    for hard in parse(HARD).ok_or_else(damaged)? {
        let of = functions.iter_mut().find(|f| f.name == hard.name).ok_or_else(damaged)?;
        of.records.extend(hard.records);
    }
    for function in functions.iter().filter(|f| wants(f.name)) {
        let got = evaluate(function)?;
        let operation = Operation::find(function.name).ok_or_else(damaged)?;
        let bound = bound(operation.op(), DType::F64);
        let most = match bound {
            super::Bound::Ulps(most) => most,
            super::Bound::Rounded => 0.5,
        };
        let tally = compare(function, &got, most);
        push(tally.row(function.name, DType::F64, bound));
    }
    Ok(())
}

/// Returns the arguments of a function's hard inputs, one vector per argument; none if the table
/// does not have the function.
pub(crate) fn hard_inputs(name: &str) -> Vec<Vec<f64>> {
    let functions = parse(HARD).unwrap_or_default();
    let Some(function) = functions.iter().find(|f| f.name == name) else { return Vec::new() };
    (0..function.arity()).map(|i| function.records.iter().map(|r| r.args[i]).collect()).collect()
}

fn compare(function: &Function<'_>, got: &[f64], most: f64) -> Tally {
    let mut tally = Tally { cases: got.len() as u64, ..Tally::default() };
    for (record, &got) in function.records.iter().zip(got) {
        let ulps = record.ulps(got);
        tally.misrounded += u64::from(got.to_bits() != record.hi.to_bits() && !(got.is_nan() && record.hi.is_nan()));
        let good = ulps.is_some_and(|u| u <= most);
        tally.failed += u64::from(!good);
        tally.unmeasured += u64::from(ulps.is_none());
        let is_worst = ulps.is_some_and(|u| tally.worst.as_ref().is_none_or(|w| u > w.0));
        if is_worst || !good && tally.wrong.is_none() {
            let args: Vec<_> = record.args[..function.arity()].iter().map(|a| hex(*a)).collect();
            let error = ulps.map_or(String::new(), |u| format!(", {u:.4} ulp"));
            let text =
                format!("{}({}): got {}, nearest {}{error}", function.name, args.join(", "), hex(got), hex(record.hi));
            if !good {
                tally.wrong.get_or_insert_with(|| text.clone());
            }
            if let Some(u) = ulps.filter(|_| is_worst) {
                tally.worst = Some((u, text));
            }
        }
    }
    tally
}

fn hex(v: f64) -> String {
    format!("0x{:016x} = {v:e}", v.to_bits())
}

impl Record {
    /// Returns the error of a result; `None` if a number cannot express it.
    fn ulps(&self, got: f64) -> Option<f64> {
        let same = got.to_bits() == self.hi.to_bits() || got.is_nan() && self.hi.is_nan();
        if !self.hi.is_finite() || (self.hi == 0.0 && self.rest == 0.0) {
            return same.then_some(0.0);
        }
        if got.is_nan() || got == 0.0 && got.is_sign_negative() != self.hi.is_sign_negative() {
            return None;
        }
        // An infinity counts as 2^1024; computed in halves, so that the difference does not
        // overflow.
        let half = if got.is_infinite() { 2f64.powi(1023).copysign(got) } else { got / 2.0 };
        let difference =
            if got.is_infinite() || got.abs() > 1.0 { (half - self.hi / 2.0) * 2.0 } else { got - self.hi };
        // 2^-exponent may exceed the range, so the scaling takes two steps.
        let scaled = difference * 2f64.powi(-self.exponent / 2) * 2f64.powi(-self.exponent - -self.exponent / 2);
        Some((scaled - self.rest).abs())
    }
}

impl Function<'_> {
    fn arity(&self) -> usize {
        if ["pow", "elu", "celu", "atan2", "hypot"].contains(&self.name) { 2 } else { 1 }
    }
}

/// Returns the results of the CPU driver.
fn evaluate(function: &Function<'_>) -> Result<Vec<f64>> {
    let column = |c: usize| function.records.iter().map(|r| r.args[c]).collect::<Vec<f64>>();
    let x = CpuStorage::from(column(0));
    let layout = Layout::contiguous(function.records.len());
    if let Some(&op) = UnaryOp::ALL.iter().find(|op| op.name() == function.name) {
        return x.unary(&layout, op)?.to_vec();
    }
    if let Some(&op) = BinaryOp::ALL.iter().find(|op| op.name() == function.name) {
        return x.binary(&layout, &CpuStorage::from(column(1)), &layout, op)?.to_vec();
    }
    match function.name {
        name @ ("elu" | "celu") => {
            let mut dst = CpuStorage::zeros(function.records.len(), DType::F64)?;
            for (i, alpha) in column(1).into_iter().enumerate() {
                let one = Layout::contiguous_with_offset(1, i);
                let op = if name == "elu" { Op::Elu(Elu::new(alpha)) } else { Op::Celu(Celu::new(alpha)) };
                CpuStorage::apply_into(&op, &[Src::Storage(&x, &one)], &mut dst, &one)?;
            }
            dst.to_vec()
        }
        name => {
            Err(Error::new(ErrorKind::Other, format!("the f64 table contains `{name}`, which is not an operation")))
        }
    }
}

/// Parses the whole table; `None` if it does not have the format that its script writes.
fn parse(bytes: &[u8]) -> Option<Vec<Function<'_>>> {
    let mut input = Input(bytes);
    (input.take(8)? == b"F64TRUE1").then_some(())?;
    let functions = (0..input.u32()?).map(|_| input.function()).collect::<Option<Vec<_>>>()?;
    input.0.is_empty().then_some(functions)
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    fn function(&mut self) -> Option<Function<'a>> {
        let [length] = self.array()?;
        let name = str::from_utf8(self.take(length.into())?).ok()?;
        let [arity] = self.array()?;
        let count = self.u32()?;
        let records = (0..count)
            .map(|_| {
                let x = self.f64()?;
                let y = if arity == 2 { self.f64()? } else { 0.0 };
                let hi = self.f64()?;
                let rest = f32::from_le_bytes(self.array()?).into();
                let exponent = i16::from_le_bytes(self.array()?).into();
                Some(Record { args: [x, y], hi, rest, exponent })
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Function { name, records })
    }
}

#[cfg(test)]
mod tests {
    use super::super::truth;
    use super::*;

    /// The table must agree with the known digits of mathematical constants.
    #[test]
    fn the_table_holds_known_values() {
        let functions = parse(TABLE).expect("it parses");
        let at = |name: &str, x: f64| {
            let f = functions.iter().find(|f| f.name == name).expect("a function of the table");
            assert!(f.records.len() >= 100, "{name} has {} values", f.records.len());
            f.records.iter().find(|r| r.args[0] == x).map(|r| (r.hi, r.rest))
        };
        // e = 2.718281828459045 235..., and its ulp is 2^-51. The rest is (0.2353602874713527e-15 -
        // that of the double) / 2^-51.
        let (e, rest) = at("exp", 1.0).expect("exp(1)");
        assert_eq!(e, std::f64::consts::E);
        // E is exactly 2.718281828459045 09079559829842764884233...
        let expected = (0.235_360_287_471_352_7e-15 - 0.090_795_598_298_427_65e-15) / 2f64.powi(-51);
        assert!((rest - expected).abs() < 1e-6, "{rest} {expected}");
    }

    #[test]
    fn errors_are_counted_from_the_true_value() {
        let record = |hi: f64, rest: f64, exponent: i32| Record { args: [0.0; 2], hi, rest, exponent };
        let one = record(1.0, 0.25, -52);
        assert_eq!(one.ulps(1.0), Some(0.25));
        assert_eq!(one.ulps(1.0 + 2f64.powi(-52)), Some(0.75));
        assert_eq!(one.ulps(f64::NAN), None);
        assert_eq!(record(0.0, 0.0, -1074).ulps(-0.0), None);
        assert_eq!(record(f64::NAN, 0.0, -1074).ulps(f64::NAN), Some(0.0));
        assert_eq!(record(f64::from_bits(3), 0.0, -1074).ulps(f64::from_bits(5)), Some(2.0));
        assert_eq!(record(f64::MAX, 0.0, 971).ulps(f64::INFINITY), Some(1.0));
        assert_eq!(record(f64::MAX, 0.0, 971).ulps(f64::from_bits(f64::MAX.to_bits() - 2)), Some(2.0));
    }

    /// The f64 functions that give the true values for narrower types are compared with the table's
    /// 400 bits.
    #[test]
    fn the_truth_of_narrower_types_has_the_accuracy_it_states() {
        let mut checked = 0;
        for function in parse(TABLE).expect("it parses") {
            let op = UnaryOp::ALL.iter().find(|op| op.name() == function.name);
            for record in &function.records {
                let [x, y] = record.args;
                let real = match op {
                    Some(&op) => truth::unary(op, x),
                    None => match function.name {
                        "pow" => truth::pow(x, y),
                        "atan2" => truth::atan2(x, y),
                        "hypot" => truth::hypot(x, y),
                        "celu" => truth::celu(x, y),
                        _ => truth::elu(x, y),
                    },
                };
                let case = || format!("{}({x:e}, {y:e}): {:e} for {:e}", function.name, real.hi, record.hi);
                // No accuracy is claimed for inputs and results outside the range of the narrower
                // types.
                let range = 1e-50..1e39;
                if !range.contains(&record.hi.abs()) || x.abs() > f64::from(f32::MAX) {
                    continue;
                }
                checked += 1;
                let error = ((real.hi - record.hi) + real.lo) / record.hi;
                assert!(error.abs() <= real.error + f64::EPSILON, "{}", case());
            }
        }
        assert!(checked > 5000, "{checked}");
    }
}
