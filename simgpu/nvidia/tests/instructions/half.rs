//! Halves, compared with exact arithmetic; exhaustive if the operands are few.

use crate::lanes::{Exact, Op, Random, cases, check_rounded, value_of};
use isobit_simgpu_nvidia::exec::Rounding;
use std::cmp::Ordering;

/// The types, with the sizes of their fields and their pair types.
const TYPES: [(&str, &str, (u32, u32)); 2] = [("f16", "f16x2", (5, 10)), ("bf16", "bf16x2", (8, 7))];
const NAN: u64 = 0x7fff;

fn infinity((exponent, fraction): (u32, u32)) -> u64 {
    ((1 << exponent) - 1) << fraction
}

fn is_nan(bits: u64, fields: (u32, u32)) -> bool {
    bits & 0x7fff > infinity(fields)
}

fn wide(bits: u64, fields: (u32, u32)) -> f64 {
    if fields.0 == 5 { half::f16::from_bits(bits as u16).to_f64() } else { half::bf16::from_bits(bits as u16).to_f64() }
}

fn random(random: &mut Random, (exponent, fraction): (u32, u32)) -> u64 {
    random.float(exponent, fraction)
}

/// Every operation is `a b + c` of these three terms: operands, or constants that leave the result
/// unchanged.
fn terms(opcode: &str, case: [u64; 3], fields: (u32, u32)) -> [u64; 3] {
    let one = ((1 << (fields.0 - 1)) - 1) << fields.1;
    let [a, b, c] = case;
    match opcode {
        "add" => [a, one, b],
        "sub" => [a, one, b ^ 0x8000],
        "mul" => [a, b, if (a ^ b) & 0x8000 == 0 { 0 } else { 0x8000 }],
        _ => [a, b, c],
    }
}

/// Checks a result of `a b + c`.
fn check(got: u64, terms: [u64; 3], fields: (u32, u32), what: &str) {
    let [a, b, c] = terms;
    let values = terms.map(|bits| value_of(bits, fields.0, fields.1));
    let [Some(x), Some(y), Some(z)] = values else {
        // Infinities and NaNs behave the same in binary64.
        let want = wide(a, fields) * wide(b, fields) + wide(c, fields);
        let got_value = wide(got, fields);
        assert!(if want.is_nan() { got == NAN } else { got_value == want }, "{what}: {got:#x}, not {want}");
        return;
    };
    let product_negative = (a ^ b) & 0x8000 != 0;
    let zero = product_negative && c & 0x8000 != 0;
    let compare = |with: &Exact, times: i128| -> Ordering {
        with.clone().negated().plus_product(x, y, times).plus(times * z.integer, z.exponent).sign()
    };
    check_rounded(got, fields, Rounding::Nearest, zero, compare, &what);
}

#[test]
fn arithmetic_is_rounded_once() {
    for (ty, _, fields) in TYPES {
        for opcode in ["add", "sub", "mul", "fma"] {
            let count = if opcode == "fma" { 3 } else { 2 };
            let rounding = if opcode == "mul" { "" } else { ".rn" };
            let text = if opcode == "fma" { format!("fma.rn.{ty}") } else { format!("{opcode}{rounding}.{ty}") };
            let op = Op::new(&text, &vec!["b16"; count + 1].join(" "));
            let operands: Vec<[u64; 3]> = cases(12_000, |r| std::array::from_fn(|_| random(r, fields))).collect();
            for lanes in operands.chunks(32) {
                let (results, _) = op.warp(&lanes.iter().map(|case| case[..count].to_vec()).collect::<Vec<_>>());
                for (case, result) in lanes.iter().zip(results) {
                    check(result[0], terms(opcode, *case, fields), fields, &format!("{text} of {case:x?}"));
                }
            }
        }
    }
}

/// Sums very close to the midpoint of two numbers, for which double rounding is wrong.
#[test]
fn sums_beside_ties() {
    for (ty, _, fields) in TYPES {
        let op = Op::new(&format!("fma.rn.{ty}"), "b16 b16 b16 b16");
        let (bias, fraction) = ((1 << (fields.0 - 1)) - 1, fields.1);
        let power = |exponent: i64| ((exponent + bias) as u64) << fraction;
        for tiny in [0, 1, 2, 1 << fraction] {
            for sign in [0, 0x8000] {
                for digits in 0..1 << fraction {
                    // An odd full-length product ends half a unit below the last place of the
                    // addend.
                    let (a, b) = (power(0) | digits | 1, power(0) | 1);
                    for c in [power(fraction as i64 + 1) | digits, tiny] {
                        check(
                            op.one([a, b, c | sign]),
                            [a, b, c | sign],
                            fields,
                            &format!("{ty} {a:x} {b:x} {c:x} {sign:x}"),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn flushing_and_saturation() {
    let (fields, least) = ((5, 10), 0x400);
    let flush = |x: u64| if x & 0x7fff < least { x & 0x8000 } else { x };
    let saturated = |x: u64| match wide(x, fields) {
        value if value >= 1.0 => 0x3c00,
        value if value > 0.0 => x,
        _ => 0,
    };
    for opcode in ["add", "sub", "mul", "fma.rn"] {
        let three = || cases(1500, |r| -> [u64; 3] { std::array::from_fn(|_| random(r, (5, 10))) });
        let count = if opcode == "fma.rn" { 3 } else { 2 };
        let registers = vec!["b16"; count + 1].join(" ");
        let op = |modifiers: &str| Op::new(&format!("{opcode}{modifiers}.f16"), &registers);
        let (plain, ftz, sat, both) = (op(""), op(".ftz"), op(".sat"), op(".ftz.sat"));
        for case in three() {
            let run = |op: &Op, case: [u64; 3]| op.warp(&[case[..count].to_vec()]).0[0][0];
            assert_eq!(run(&ftz, case), flush(run(&plain, case.map(flush))), "{opcode} of {case:x?}");
            assert_eq!(run(&sat, case), saturated(run(&plain, case)), "{opcode} of {case:x?}");
            assert_eq!(run(&both, case), saturated(flush(run(&plain, case.map(flush)))), "{opcode} of {case:x?}");
        }
    }
}

#[test]
fn relu() {
    for (ty, pair, fields) in TYPES {
        let (plain, relu) = (format!("fma.rn.{ty}"), format!("fma.rn.relu.{ty}"));
        let [plain, relu] = [plain, relu].map(|text| Op::new(&text, "b16 b16 b16 b16"));
        relu.is(cases(1000, |r| std::array::from_fn(|_| random(r, fields))), |case: [u64; 3]| {
            let result = plain.one(case);
            if result & 0x8000 != 0 { 0 } else { result }
        });
        assert_eq!(
            Op::new(&format!("fma.rn.relu.{pair}"), "b32 b32 b32 b32").one([0x7fff_8001, 0xffff_0001, 0]),
            NAN << 16
        );
    }
}

/// Pair instructions do the same to each half as the single ones.
#[test]
fn pairs() {
    for (ty, pair, fields) in TYPES {
        for (name, count) in [
            ("add", 2),
            ("sub", 2),
            ("mul", 2),
            ("fma.rn", 3),
            ("min", 2),
            ("max.NaN", 2),
            ("min.xorsign.abs", 2),
            ("neg", 1),
            ("abs", 1),
            ("tanh.approx", 1),
        ] {
            let single = Op::new(&format!("{name}.{ty}"), &vec!["b16"; count + 1].join(" "));
            let double = Op::new(&format!("{name}.{pair}"), &vec!["b32"; count + 1].join(" "));
            let mut r = Random(9);
            for _ in 0..200 {
                let [low, high]: [Vec<u64>; 2] = [0, 1].map(|_| (0..count).map(|_| random(&mut r, fields)).collect());
                let both: Vec<u64> = low.iter().zip(&high).map(|(low, high)| low | high << 16).collect();
                let halves = single.warp(&[low, high]).0;
                assert_eq!(double.warp(&[both]).0[0][0], halves[0][0] | halves[1][0] << 16, "{name}");
            }
        }
    }
}

#[test]
fn signs_of_all() {
    for (ty, _, fields) in TYPES {
        let all = || (0..=0xffffu64).map(|a| [a]);
        Op::new(&format!("neg.{ty}"), "b16 b16").is(all(), |[a]| a ^ 0x8000);
        Op::new(&format!("abs.{ty}"), "b16 b16").is(all(), |[a]| a & 0x7fff);
        let least = 1 << fields.1;
        Op::new(&format!("neg.ftz.{ty}"), "b16 b16")
            .is(all(), |[a]| (if a & 0x7fff < least { a & 0x8000 } else { a }) ^ 0x8000);
    }
}

/// Selects the lesser or greater by value, with -0 below +0.
#[test]
fn order() {
    for (ty, _, fields) in TYPES {
        for max in [false, true] {
            for (modifiers, keep_nan, xorsign) in
                [("", false, false), (".NaN", true, false), (".xorsign.abs", false, true)]
            {
                let text = format!("{}{modifiers}.{ty}", if max { "max" } else { "min" });
                Op::new(&text, "b16 b16 b16").is(cases(4000, |r| [random(r, fields), random(r, fields)]), |[a, b]| {
                    let (sign, nans) = ((a ^ b) & 0x8000, [a, b].map(|bits| is_nan(bits, fields)));
                    let [a, b] = [a, b].map(|bits| if xorsign { bits & 0x7fff } else { bits });
                    if nans == [true; 2] || keep_nan && nans != [false; 2] {
                        return NAN;
                    }
                    let below = wide(a, fields).total_cmp(&wide(b, fields)).is_lt();
                    let chosen = match nans {
                        [true, _] => b,
                        [_, true] => a,
                        _ => {
                            if below != max {
                                a
                            } else {
                                b
                            }
                        }
                    };
                    if xorsign { chosen | sign } else { chosen }
                });
            }
        }
    }
}

/// `ex2` and `tanh` of every half: the nearest number or, if shifted, a neighbour within one unit.
#[test]
fn approximations_of_all() {
    for (text, fields, ftz, function) in [
        ("ex2.approx.f16", (5, 10), false, f64::exp2 as fn(f64) -> f64),
        ("tanh.approx.f16", (5, 10), false, f64::tanh),
        ("ex2.approx.ftz.bf16", (8, 7), true, f64::exp2),
        ("tanh.approx.bf16", (8, 7), false, f64::tanh),
    ] {
        let least = 1 << fields.1;
        let flush = |x: u64| if ftz && x & 0x7fff < least { x & 0x8000 } else { x };
        let near = Op::new(text, "b16 b16");
        let mut moved = 0;
        for shift in [-1, 0, 1] {
            let op = Op::shifted(text, "b16 b16", shift);
            op.each((0..=0xffffu64).step_by(if shift == 0 { 1 } else { 7 }).map(|a| [a]), |[a], got| {
                let exact = function(wide(flush(a), fields));
                if exact.is_nan() {
                    assert_eq!(got, NAN, "{text} of {a:#x}");
                    return;
                }
                let below = |bits: u64| wide(bits, fields);
                let great = infinity(fields);
                if got == great || got & 0x7fff == 0 {
                    assert!(
                        exact.abs() > below(great - 1) || exact.abs() < below(if ftz { least + 1 } else { 1 }),
                        "{text} of {a:#x}"
                    );
                    return;
                }
                let size = got & 0x7fff;
                // The unit above the number, which is the larger one at a power of two.
                let unit =
                    if size + 1 == great { below(size) - below(size - 1) } else { below(size + 1) - below(size) };
                let bound = if shift == 0 { 0.5 } else { 1.0 };
                assert!((wide(got, fields) - exact).abs() <= bound * unit, "{text} of {a:#x}: {got:#x}");
                moved += usize::from(shift != 0 && got != near.one([a]));
            });
        }
        assert!(moved > 1000, "{text} is hardly shifted: {moved}");
    }
}
