//! Comparisons, checked by the order of their operands.

use crate::lanes::{Op, Random, cases};
use std::cmp::Ordering;

const INTEGERS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const FLOATS: [&str; 14] = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// Whether a comparison holds for an order of its operands; `None` if one is a NaN.
fn holds(name: &str, order: Option<Ordering>) -> bool {
    let Some(order) = order else { return name == "nan" || name.len() == 3 && name.ends_with('u') };
    match name.trim_end_matches('u') {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        "ge" | "hs" => order.is_ge(),
        "num" => true,
        _ => false,
    }
}

/// The order of the values of two operands.
type Order = fn(u64, u64) -> Option<Ordering>;
/// Returns an interesting operand.
type Make = fn(&mut Random) -> u64;

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f16_order(a: u64, b: u64) -> Option<Ordering> {
    half::f16::from_bits(a as u16).partial_cmp(&half::f16::from_bits(b as u16))
}

fn bf16_order(a: u64, b: u64) -> Option<Ordering> {
    half::bf16::from_bits(a as u16).partial_cmp(&half::bf16::from_bits(b as u16))
}

fn types() -> Vec<(&'static str, &'static str, &'static [&'static str], Make, Order)> {
    let unsigned: Order = |a, b| Some(a.cmp(&b));
    vec![
        ("b16", "b16", &INTEGERS[..2], |random| random.integer(16), unsigned),
        ("b32", "b32", &INTEGERS[..2], |random| random.integer(32), unsigned),
        ("b64", "b64", &INTEGERS[..2], |random| random.integer(64), unsigned),
        (
            "u16",
            "b16",
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
            |random| random.integer(16),
            unsigned,
        ),
        (
            "u32",
            "b32",
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
            |random| random.integer(32),
            unsigned,
        ),
        (
            "u64",
            "b64",
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
            |random| random.integer(64),
            unsigned,
        ),
        ("s16", "b16", &INTEGERS, |random| random.integer(16), |a, b| Some((a as i16).cmp(&(b as i16)))),
        ("s32", "b32", &INTEGERS, |random| random.integer(32), |a, b| Some((a as i32).cmp(&(b as i32)))),
        ("s64", "b64", &INTEGERS, |random| random.integer(64), |a, b| Some((a as i64).cmp(&(b as i64)))),
        ("f32", "b32", &FLOATS, Random::f32, |a, b| f32_of(a).partial_cmp(&f32_of(b))),
        ("f64", "b64", &FLOATS, Random::f64, |a, b| f64::from_bits(a).partial_cmp(&f64::from_bits(b))),
        ("f16", "b16", &FLOATS, |random| random.float(5, 10), f16_order),
        ("bf16", "b16", &FLOATS, |random| random.float(8, 7), bf16_order),
    ]
}

/// Returns pairs of operands, which are often equal.
fn pairs(make: Make) -> impl Iterator<Item = [u64; 2]> {
    cases(400, move |random| {
        let a = make(random);
        [a, if random.next() & 3 == 0 { a } else { make(random) }]
    })
}

#[test]
fn predicates() {
    for (ty, register, names, make, order) in types() {
        for name in names {
            let plain = Op::new(&format!("setp.{name}.{ty}"), &format!("pred {register} {register}"));
            plain.is(pairs(make), |[a, b]| holds(name, order(a, b)).into());
        }
    }
}

#[test]
fn joined_with_a_predicate() {
    for (ty, register, names, make, order) in types() {
        for name in names.iter().step_by(3) {
            for (join, of) in
                [("and", (|a, b| a && b) as fn(bool, bool) -> bool), ("or", |a, b| a || b), ("xor", |a, b| a != b)]
            {
                for negated in [false, true] {
                    let third = if negated { "!pred" } else { "pred" };
                    let op = Op::new(
                        &format!("setp.{name}.{join}.{ty}"),
                        &format!("pred|pred {register} {register} {third}"),
                    );
                    for ([a, b], c) in pairs(make).take(40).zip([0, 1].into_iter().cycle()) {
                        let (test, with) = (holds(name, order(a, b)), (c == 1) != negated);
                        let want = [of(test, with), of(!test, with)].map(u64::from);
                        assert_eq!(op.all([a, b, c]), want, "{name}.{join}.{ty} {a:#x} {b:#x} {with}");
                    }
                }
            }
        }
    }
    assert_eq!(Op::new("setp.lt.u32", "_|pred b32 b32").all([1, 2]), [0]);
    assert_eq!(Op::new("setp.lt.u32", "pred|_ b32 b32").all([1, 2]), [1]);
}

#[test]
fn constants_are_compared() {
    assert_eq!(Op::new("setp.eq.s32", "pred b32 #-5").one([-5i32 as u32 as u64]), 1);
    assert_eq!(Op::new("setp.gt.s64", "pred #3 b64").one([2]), 1);
    assert_eq!(Op::new("setp.gt.f32", "pred b32 f:3f800000").one([2f32.to_bits().into()]), 1);
}

/// Subnormal numbers count as zeros.
#[test]
fn flushed() {
    for (ty, register, tiny) in [("f32", "b32", 5u64), ("f16", "b16", 5)] {
        assert_eq!(Op::new(&format!("setp.gt.{ty}"), &format!("pred {register} {register}")).one([tiny, 0]), 1);
        assert_eq!(Op::new(&format!("setp.gt.ftz.{ty}"), &format!("pred {register} {register}")).one([tiny, 0]), 0);
        assert_eq!(Op::new(&format!("setp.eq.ftz.{ty}"), &format!("pred {register} {register}")).one([tiny, 0]), 1);
    }
}

#[test]
fn pairs_of_halves() {
    for (ty, order, exponent, fraction) in [("f16x2", f16_order as Order, 5, 10), ("bf16x2", bf16_order, 8, 7)] {
        for name in FLOATS {
            let op = Op::new(&format!("setp.{name}.and.{ty}"), "pred|pred b32 b32 pred");
            let set = Op::new(&format!("set.{name}.{ty}.{ty}"), "b32 b32 b32");
            let ones = Op::new(&format!("set.{name}.u32.{ty}"), "b32 b32 b32");
            let mut random = Random(3);
            for n in 0..50 {
                let [a, b, x, y] = std::array::from_fn(|_| random.float(exponent, fraction));
                let y = if n % 3 == 0 { x } else { y };
                let (low, high) = (holds(name, order(a, b)), holds(name, order(x, y)));
                let operands = [a | x << 16, b | y << 16];
                assert_eq!(op.all([operands[0], operands[1], 1]), [u64::from(low), u64::from(high)], "{name}");
                assert_eq!(op.all([operands[0], operands[1], 0]), [0, 0]);
                let one = if ty == "f16x2" { 0x3c00 } else { 0x3f80 };
                assert_eq!(set.one(operands), (u64::from(low) * one) | ((u64::from(high) * one) << 16));
                assert_eq!(ones.one(operands), (u64::from(low) * 0xffff) | ((u64::from(high) * 0xffff) << 16));
            }
        }
    }
}

#[test]
fn values() {
    for (to, register, one) in [
        ("u32", "b32", 0xffff_ffff),
        ("s32", "b32", 0xffff_ffff),
        ("f32", "b32", 0x3f80_0000),
        ("u16", "b16", 0xffff),
        ("s16", "b16", 0xffff),
        ("f16", "b16", 0x3c00),
        ("bf16", "b16", 0x3f80u64),
    ] {
        for (ty, source, names, make, order) in types() {
            let op = Op::new(&format!("set.{}.{to}.{ty}", names[1]), &format!("{register} {source} {source}"));
            op.is(pairs(make).take(60), |[a, b]| u64::from(holds(names[1], order(a, b))) * one);
        }
    }
    let joined = Op::new("set.lt.and.u32.s32", "b32 b32 b32 !pred");
    assert_eq!(joined.one([1, 2, 0]), 0xffff_ffff);
    assert_eq!(joined.one([1, 2, 1]), 0);
}
