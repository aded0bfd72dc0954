//! Integer arithmetic, compared with 128-bit arithmetic.

use crate::lanes::{Op, cases};

/// The types, with their width and whether they are signed.
const TYPES: [(&str, u32, bool); 6] = [
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Returns the value of an integer's bits.
fn value(bits: u64, width: u32, signed: bool) -> i128 {
    let bits = i128::from(bits & mask(width));
    if signed && bits >> (width - 1) & 1 == 1 { bits - (1 << width) } else { bits }
}

fn registers(width: u32, count: usize) -> String {
    vec![format!("b{width}"); count].join(" ")
}

/// Checks an instruction whose operands have the same type against a function of the values,
/// truncated to the type.
fn check<const N: usize>(name: &str, types: &[(&str, u32, bool)], want: impl Fn([i128; N], u32, bool) -> i128) {
    for &(ty, width, signed) in types {
        let op = Op::new(&format!("{name}.{ty}"), &registers(width, N + 1));
        op.is(cases(2000, |random| std::array::from_fn(|_| random.integer(width))), |case| {
            want(case.map(|bits| value(bits, width, signed)), width, signed) as u64 & mask(width)
        });
    }
}

#[test]
fn sums_and_differences() {
    check("add", &TYPES, |[a, b], _, _| a + b);
    check("sub", &TYPES, |[a, b], _, _| a - b);
    let limits = |x: i128| x.clamp(i32::MIN.into(), i32::MAX.into());
    check("add.sat", &TYPES[3..4], |[a, b], _, _| limits(a + b));
    check("sub.sat", &TYPES[3..4], |[a, b], _, _| limits(a - b));
    for op in [Op::new("add.u16x2", "b32 b32 b32"), Op::new("add.s16x2", "b32 b32 b32")] {
        op.is(cases(1000, |random| [random.integer(32), random.integer(32)]), |[a, b]| {
            (a + b) & 0xffff | (((a >> 16) + (b >> 16)) & 0xffff) << 16
        });
    }
}

/// Three-word numbers are added, subtracted and multiplied word by word.
#[test]
fn carries_go_from_word_to_word() {
    for (ty, width) in [("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)] {
        let three = registers(width, 3);
        let steps = |opcode: &str| {
            [("", "cc."), ("c", "cc."), ("c", "")].map(|(with, cc)| {
                let (text, carry) = (format!("{opcode}{with}.{cc}{ty}"), 0);
                Op::new(&text, &three).with_carry(carry)
            })
        };
        for (opcode, plus) in [("add", true), ("sub", false)] {
            let mut ops = steps(opcode);
            let lanes: Vec<[u64; 6]> = cases(32, |random| std::array::from_fn(|_| random.integer(width))).collect();
            let mut carry = 0xdead_beef;
            let mut words = Vec::new();
            for (at, op) in ops.iter_mut().enumerate() {
                let operands: Vec<Vec<u64>> = lanes.iter().map(|lane| vec![lane[at], lane[at + 3]]).collect();
                let (results, after) =
                    std::mem::replace(op, Op::new("add.u32", "b32 b32 b32")).with_carry(carry).warp(&operands);
                words.push(results);
                if at == 2 {
                    assert_eq!(after, carry, "without .cc no carry is written");
                }
                carry = after;
            }
            for (lane, operands) in lanes.iter().enumerate() {
                // Three words, of which the highest may wrap: compares with a sum that is computed
                // word by word.
                let (mut left, modulus) = (0i128, 1i128 << width);
                for at in 0..3 {
                    let (a, b) = (i128::from(operands[at]), i128::from(operands[at + 3]));
                    let total = if plus { a + b + left } else { a - b - left };
                    assert_eq!(i128::from(words[at][lane][0]), total.rem_euclid(modulus), "{opcode} {ty} word {at}");
                    left = i128::from(total < 0 || total >= modulus);
                }
            }
        }
    }
}

#[test]
fn products_carry() {
    for (ty, width, signed) in [("u32", 32, false), ("s32", 32, true), ("u64", 64, false), ("s64", 64, true)] {
        for high in [false, true] {
            let part = if high { "hi" } else { "lo" };
            for (text, takes, gives) in [
                (format!("mad.{part}.cc.{ty}"), 0, true),
                (format!("madc.{part}.cc.{ty}"), 1, true),
                (format!("madc.{part}.{ty}"), 1, false),
            ] {
                let before = 0x0f0f_3355;
                let op = Op::new(&text, &registers(width, 4)).with_carry(before);
                let lanes: Vec<[u64; 3]> = cases(32, |random| std::array::from_fn(|_| random.integer(width))).collect();
                let (results, after) = op.warp(&lanes.iter().map(|lane| lane.to_vec()).collect::<Vec<_>>());
                for (lane, [a, b, c]) in lanes.into_iter().enumerate() {
                    let (x, y) = (value(a, width, signed), value(b, width, signed));
                    // A product of two u64 does not fit into i128, but it has the same halves as
                    // the u128 product.
                    let product = if signed { (x * y) as u128 } else { u128::from(a) * u128::from(b) };
                    let part = (if high { product >> width } else { product }) as u64 & mask(width);
                    let carry = if takes == 1 { u128::from(before >> lane & 1) } else { 0 };
                    let total = u128::from(part) + u128::from(c) + carry;
                    assert_eq!(results[lane][0], total as u64 & mask(width), "{text}");
                    let carried = if gives { (total >> width) as u32 } else { before >> lane & 1 };
                    assert_eq!(after >> lane & 1, carried, "{text}: the carry");
                }
            }
        }
    }
}

#[test]
fn products() {
    let whole = |a: i128, b: i128| a.wrapping_mul(b);
    check("mul.lo", &TYPES, |[a, b], _, _| whole(a, b));
    check(
        "mul.hi",
        &TYPES,
        |[a, b], width, signed| {
            if signed { whole(a, b) >> width } else { ((a as u128 * b as u128) >> width) as i128 }
        },
    );
    check("mad.lo", &TYPES, |[a, b, c], _, _| whole(a, b).wrapping_add(c));
    check("mad.hi", &TYPES, |[a, b, c], width, signed| {
        (if signed { whole(a, b) >> width } else { ((a as u128 * b as u128) >> width) as i128 }) + c
    });
    check("mad.hi.sat", &TYPES[3..4], |[a, b, c], _, _| (((a * b) >> 32) + c).clamp(i32::MIN.into(), i32::MAX.into()));
    for (ty, width, signed) in &TYPES[..4] {
        let (narrow, wide) = (format!("b{width}"), format!("b{}", width * 2));
        let random =
            |count| cases(count, |random| [random.integer(*width), random.integer(*width), random.integer(width * 2)]);
        Op::new(&format!("mul.wide.{ty}"), &format!("{wide} {narrow} {narrow}"))
            .is(random(2000).map(|[a, b, _]| [a, b]), |[a, b]| {
                (value(a, *width, *signed) * value(b, *width, *signed)) as u64 & mask(width * 2)
            });
        Op::new(&format!("mad.wide.{ty}"), &format!("{wide} {narrow} {narrow} {wide}")).is(
            random(2000),
            |[a, b, c]| {
                (value(a, *width, *signed) * value(b, *width, *signed) + i128::from(c)) as u64 & mask(width * 2)
            },
        );
    }
}

#[test]
fn products_of_24_bits() {
    let short = |x: i128, signed: bool| value(x as u64, 24, signed);
    let words = &TYPES[2..4];
    check("mul24.lo", words, |[a, b], _, signed| short(a, signed) * short(b, signed));
    check("mul24.hi", words, |[a, b], _, signed| (short(a, signed) * short(b, signed)) >> 16);
    check("mad24.lo", words, |[a, b, c], _, signed| short(a, signed) * short(b, signed) + c);
    check("mad24.hi", words, |[a, b, c], _, signed| ((short(a, signed) * short(b, signed)) >> 16) + c);
    check("mad24.hi.sat", &TYPES[3..4], |[a, b, c], _, _| {
        let product = value(((short(a, true) * short(b, true)) >> 16) as u64, 32, true);
        (product + c).clamp(i32::MIN.into(), i32::MAX.into())
    });
}

#[test]
fn quotients_and_remainders() {
    check("div", &TYPES, |[a, b], _, _| if b == 0 { -1 } else { a / b });
    check("rem", &TYPES, |[a, b], _, _| if b == 0 { !0 } else { a % b });
}

#[test]
fn order_and_signs() {
    check("min", &TYPES, |[a, b], _, _| a.min(b));
    check("max", &TYPES, |[a, b], _, _| a.max(b));
    check("min.relu", &TYPES[3..4], |[a, b], _, _| a.min(b).max(0));
    check("max.relu", &TYPES[3..4], |[a, b], _, _| a.max(b).max(0));
    let signed = [TYPES[1], TYPES[3], TYPES[5]];
    check("abs", &signed, |[a], _, _| a.abs());
    check("neg", &signed, |[a], _, _| -a);
    check("sad", &TYPES, |[a, b, c], _, _| (a - b).abs() + c);
    for (ty, signed, relu) in [("u16x2", false, ""), ("s16x2", true, ""), ("s16x2", true, "relu.")] {
        for max in [false, true] {
            let op = Op::new(&format!("{}.{relu}{ty}", if max { "max" } else { "min" }), "b32 b32 b32");
            op.is(cases(1000, |random| [random.integer(32), random.integer(32)]), |[a, b]| {
                let half = |shift: u32| {
                    let (a, b) = (value(a >> shift, 16, signed), value(b >> shift, 16, signed));
                    let chosen = if max { a.max(b) } else { a.min(b) };
                    (if relu.is_empty() { chosen } else { chosen.max(0) }) as u64 & 0xffff
                };
                half(0) | half(16) << 16
            });
        }
    }
}

#[test]
fn dot_products() {
    for (a_type, b_type) in [("u32", "u32"), ("u32", "s32"), ("s32", "u32"), ("s32", "s32")] {
        let (a_signed, b_signed) = (a_type == "s32", b_type == "s32");
        let words = || cases(2000, |random| std::array::from_fn(|_| random.integer(32)));
        Op::new(&format!("dp4a.{a_type}.{b_type}"), "b32 b32 b32 b32").is(words(), |[a, b, c]| {
            let products = (0..4).map(|at| value(a >> (8 * at), 8, a_signed) * value(b >> (8 * at), 8, b_signed));
            (products.sum::<i128>() + i128::from(c)) as u64 & mask(32)
        });
        for (half, first) in [("lo", 0), ("hi", 2)] {
            Op::new(&format!("dp2a.{half}.{a_type}.{b_type}"), "b32 b32 b32 b32").is(words(), |[a, b, c]| {
                let products =
                    (0..2).map(|at| value(a >> (16 * at), 16, a_signed) * value(b >> (8 * (first + at)), 8, b_signed));
                (products.sum::<i128>() + i128::from(c)) as u64 & mask(32)
            });
        }
    }
}
