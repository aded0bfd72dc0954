//! Every rounding of every operation, checked by comparing the result with the exact value.

use super::{F32, F64};
use crate::lanes::{Exact, Op, Random, Value, cases, check_rounded, rounding_of, value_of};
use std::cmp::Ordering;

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];
const TYPES: [(&str, &str, (u32, u32)); 2] = [("f32", "b32", F32), ("f64", "b64", F64)];
const COUNT: usize = 4000;

fn number(random: &mut Random, fields: (u32, u32)) -> u64 {
    random.float(fields.0, fields.1)
}

/// Runs an instruction on finite operands with every rounding and type, and passes the values,
/// signs, and the result to a check.
fn every<const N: usize>(opcode: &str, check: impl Fn([Value; N], [bool; N], u64, (u32, u32), &str)) {
    for (ty, register, fields) in TYPES {
        for rounding in ROUNDINGS {
            let text = format!("{opcode}.{rounding}.{ty}");
            let op = Op::new(&text, &vec![register; N + 1].join(" "));
            op.each(cases(COUNT, |random| std::array::from_fn(|_| number(random, fields))), |case: [u64; N], got| {
                let values = case.map(|bits| value_of(bits, fields.0, fields.1));
                if values.iter().all(Option::is_some) {
                    let signs = case.map(|bits| bits >> (fields.0 + fields.1) & 1 == 1);
                    check(values.map(Option::unwrap), signs, got, fields, &format!("{text} of {case:x?}"));
                }
            });
        }
    }
}

/// Returns the rounding in the name of an instruction.
fn rounding(what: &str) -> isobit_simgpu_nvidia::exec::Rounding {
    rounding_of(what.split('.').nth(1).unwrap())
}

/// Returns the sign of an exact zero that is the sum of two terms with these signs.
fn zero_sign(a: bool, b: bool, what: &str) -> bool {
    if a == b { a } else { what.contains(".rm.") }
}

/// Returns a function that compares a multiple of a sum with a number.
fn compared(sum: impl Fn(Exact, i128) -> Exact) -> impl Fn(&Exact, i128) -> Ordering {
    move |with, times| sum(negated(with), times).sign()
}

fn negated(x: &Exact) -> Exact {
    x.clone().negated()
}

#[test]
fn sums() {
    every("add", |[a, b], [x, y], got, fields, what| {
        let exact =
            compared(|from, times| from.plus(times * a.integer, a.exponent).plus(times * b.integer, b.exponent));
        check_rounded(got, fields, rounding(what), zero_sign(x, y, what), exact, &what);
    });
    every("sub", |[a, b], [x, y], got, fields, what| {
        let exact =
            compared(|from, times| from.plus(times * a.integer, a.exponent).plus(-times * b.integer, b.exponent));
        check_rounded(got, fields, rounding(what), zero_sign(x, !y, what), exact, &what);
    });
}

#[test]
fn products() {
    every("mul", |[a, b], [x, y], got, fields, what| {
        check_rounded(
            got,
            fields,
            rounding(what),
            x != y,
            compared(|from, times| from.plus_product(a, b, times)),
            &what,
        );
    });
}

#[test]
fn fused_products() {
    for opcode in ["fma", "mad"] {
        every(opcode, |[a, b, c], [x, y, z], got, fields, what| {
            let exact = compared(|from, times| from.plus_product(a, b, times).plus(times * c.integer, c.exponent));
            // An exact cancellation is the sum of numbers with different signs.
            check_rounded(got, fields, rounding(what), zero_sign(x != y, z, what), exact, &what);
        });
    }
}

/// A quotient is above a number if and only if the dividend is above the product of that number and
/// the divisor.
fn check_quotient(a: Value, b: Value, negative: bool, got: u64, fields: (u32, u32), what: &str) {
    let compare = |with: &Exact, times: i128| {
        let order = with.times(-b.integer, b.exponent).plus(times * a.integer, a.exponent).sign();
        if b.integer < 0 { order.reverse() } else { order }
    };
    check_rounded(got, fields, rounding(what), negative, compare, &what);
}

#[test]
fn quotients() {
    every("div", |[a, b], [x, y], got, fields, what| {
        if b.integer != 0 {
            check_quotient(a, b, x != y, got, fields, what);
        }
    });
    every("rcp", |[b], [y], got, fields, what| {
        if b.integer != 0 {
            check_quotient(Value::ONE, b, y, got, fields, what);
        }
    });
}

#[test]
fn roots() {
    every("sqrt", |[a], [x], got, fields, what| {
        if a.integer < 0 {
            return;
        }
        // A root is above a nonnegative number if and only if the operand is above its square. The
        // numbers here are sums of two numbers of the format.
        let compare = |with: &Exact, times: i128| match with.sign() {
            Ordering::Less => Ordering::Greater,
            _ => with.squared_against(times * times * a.integer, a.exponent),
        };
        check_rounded(got, fields, rounding(what), x, compare, &what);
    });
}

/// The default rounding is to nearest.
#[test]
fn the_default_is_to_nearest() {
    for (opcode, count) in [("add", 2), ("sub", 2), ("mul", 2)] {
        for (ty, register, fields) in TYPES {
            let operands = vec![register; count + 1].join(" ");
            let (plain, nearest) =
                (Op::new(&format!("{opcode}.{ty}"), &operands), Op::new(&format!("{opcode}.rn.{ty}"), &operands));
            plain.is(cases(300, |random| [number(random, fields), number(random, fields)]), |case| nearest.one(case));
        }
    }
}
