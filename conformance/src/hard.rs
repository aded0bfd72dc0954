//! Hard inputs: fixed inputs at which recipes change their path, whose true values lie next to a
//! tie, or that need the longest reduction. `golden/hard.py` searched for them and says what they
//! are; ties of conversions follow from the formats.

use crate::accuracy;
use crate::case::{Format, format_of, power_of_two};
use crate::cells::Cell;
use isobit_hal::{BinaryOp, DType, Op};

const TABLE: &str = include_str!("../golden/hard_inputs.tsv");

/// Returns the inputs of a function of one or two arguments at a float dtype, as bits; none if the
/// tables do not have it.
pub(crate) fn of_function(name: &str, dtype: DType) -> Vec<Vec<u64>> {
    if dtype == DType::F64 {
        return accuracy::f64_hard_inputs(name)
            .into_iter()
            .map(|v| v.into_iter().map(f64::to_bits).collect())
            .collect();
    }
    let words = |line: &str| -> Option<Vec<u64>> {
        let rest = line.strip_prefix(name)?.strip_prefix('\t')?.strip_prefix(dtype.as_str())?.strip_prefix('\t')?;
        rest.split(' ').map(|word| u64::from_str_radix(word, 16).ok()).collect()
    };
    let Some(bits) = TABLE.lines().find_map(words) else { return Vec::new() };
    if !["pow", "atan2", "hypot"].contains(&name) {
        return vec![bits];
    }
    let column = |at: usize| bits.iter().skip(at).step_by(2).copied().collect();
    vec![column(0), column(1)]
}

/// Returns the inputs of a cell, of equal length; none if there are no hard ones.
pub(crate) fn inputs(cell: &Cell) -> Vec<Vec<u64>> {
    let (dtype, name) = (cell.dtypes[0], cell.operation.name());
    match cell.operation.op() {
        Op::Unary(_) if matches!(name, "round" | "floor" | "ceil" | "trunc") => {
            format_of(dtype).map(steps).into_iter().collect()
        }
        Op::Unary(_) => of_function(name, dtype),
        Op::Binary(BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot) => of_function(name, dtype),
        // The parameter is drawn.
        Op::Powf(_) => of_function("pow", dtype).into_iter().take(1).collect(),
        Op::Elu(_) | Op::Celu(_) if dtype == DType::F64 => of_function(name, dtype).into_iter().take(1).collect(),
        Op::Elu(_) | Op::Celu(_) => of_function("expm1", dtype),
        Op::Cast(_) => vec![ties(dtype, cell.dst_dtype())],
        _ => Vec::new(),
    }
    .into_iter()
    .filter(|bits| !bits.is_empty())
    .collect()
}

/// Returns integers and halves at both ends of each binade that has any, and their neighbours, of
/// both signs: where functions that round to an integer step.
fn steps(f: Format) -> Vec<u64> {
    let mut bits = Vec::new();
    for exponent in -2..=f.significand as i32 + 1 {
        let power = power_of_two(exponent);
        let points = [power, power + 0.5, power + 1.0, 1.5 * power, 2.0 * power - 0.5, 2.0 * power - 1.0];
        for at in points.into_iter().filter(|&point| point > 0.0).map(|point| f.near(point)) {
            let near = [at - 1, at, at + 1].into_iter().filter(|&b| b < f.infinity());
            bits.extend(near.flat_map(|b| [b, b | f.sign()]));
        }
    }
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Returns values halfway between two neighbours of a format, and one bit beside that: the last bit
/// of a wide source decides.
fn ties(from: DType, to: DType) -> Vec<u64> {
    let (source, Some(target)) = (format_of(from), format_of(to)) else { return Vec::new() };
    match source {
        Some(source) if source.significand > target.significand => float_ties(source, target),
        Some(_) => Vec::new(),
        None => integer_ties(from, target),
    }
}

fn float_ties(source: Format, target: Format) -> Vec<u64> {
    let dropped = source.significand - target.significand;
    let lowest = target.min_exponent() - target.significand as i32 - 1;
    let mut bits = Vec::new();
    for exponent in (lowest..=target.max_exponent()).filter(|&e| e >= source.min_exponent()) {
        // Below the normal numbers fewer bits are kept.
        let shift = dropped + (target.min_exponent() - exponent).max(0) as u32;
        let half = 1u64.checked_shl(shift.saturating_sub(1)).unwrap_or(0);
        let all = source.significand_mask();
        for kept in [0, 1 << shift, all & !(half | (half.wrapping_sub(1)))] {
            let tie = source.compose(false, exponent, (kept | half) & all);
            for near in [tie.wrapping_sub(1), tie, tie + 1] {
                bits.extend(
                    [near, near | source.sign()].into_iter().filter(|b| b & source.magnitude() < source.infinity()),
                );
            }
        }
    }
    bits.dedup();
    bits
}

fn integer_ties(from: DType, target: Format) -> Vec<u64> {
    let width = 8 * from.size_in_bytes() as u32;
    let signed = !from.is_unsigned();
    let mask = u64::MAX >> (64 - width);
    let mut bits = Vec::new();
    for length in target.significand + 1..width - u32::from(signed) {
        let place = 1u64 << (length - target.significand);
        let all = (1u64 << length) - place;
        for kept in [0, place, all] {
            let tie = 1u64 << length | kept | (place / 2);
            for near in [tie - 1, tie, tie + 1] {
                bits.push(near & mask);
                if signed {
                    bits.push(near.wrapping_neg() & mask);
                }
            }
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::UnaryOp;

    #[test]
    fn every_defined_function_has_hard_inputs() {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            for &op in UnaryOp::ALL.iter().filter(|op| op.is_float_only() && **op != UnaryOp::Sqrt) {
                let inputs = of_function(op.name(), dtype);
                assert!(inputs.len() == 1 && inputs[0].len() >= 20, "{op} of {dtype}: {inputs:?}");
            }
            for name in ["pow", "atan2", "hypot"] {
                let pairs = of_function(name, dtype);
                let count = pairs[0].len();
                assert!(pairs.len() == 2 && pairs[1].len() == count && count >= 100, "{name} of {dtype}");
            }
        }
    }

    #[test]
    fn steps_are_integers_halves_and_their_neighbours() {
        let bits = steps(format_of(DType::F32).unwrap());
        for x in [0.5f32, 1.5, 2.5, 4_194_304.5, 8_388_607.0, 8_388_609.0] {
            for x in [x, x.next_up(), x.next_down(), -x, -x.next_down()] {
                assert!(bits.contains(&x.to_bits().into()), "{x}");
            }
        }
        let cell = Cell::find("round", "f64", None).expect("it is an operation");
        assert!(inputs(cell)[0].contains(&0.5f64.next_down().to_bits()));
    }

    #[test]
    fn ties_of_conversions_lie_between_two_values() {
        let f = format_of(DType::F64).unwrap();
        let values: Vec<f64> = ties(DType::F64, DType::F16).into_iter().map(|b| f.to_f64(b)).collect();
        // 2049 lies halfway between 2048 and 2050; 2^-25 between 0 and the smallest subnormal.
        for tie in [2049.0, -2051.0, 2f64.powi(-25)] {
            for value in [tie, tie.next_up(), tie.next_down()] {
                assert!(values.contains(&value), "{value:e}");
            }
        }
        let ties = ties(DType::I64, DType::F32);
        assert!(ties.contains(&((1 << 24) + 1)) && ties.contains(&((1 << 62) + (1 << 38) + 1)));
    }
}
