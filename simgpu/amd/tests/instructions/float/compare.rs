//! Comparisons, classes, minima and maxima.

use super::*;

const CONDITIONS: [&str; 16] =
    ["f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "t"];

/// Whether a condition holds for two numbers, by its name.
fn holds(condition: &str, a: f64, b: f64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = a.partial_cmp(&b);
    match condition {
        "f" => false,
        "t" => true,
        "o" => order.is_some(),
        "u" => order.is_none(),
        "lt" => order == Some(Less),
        "eq" => order == Some(Equal),
        "le" => matches!(order, Some(Less | Equal)),
        "gt" => order == Some(Greater),
        "lg" => matches!(order, Some(Less | Greater)),
        "ge" => matches!(order, Some(Greater | Equal)),
        "neq" => order != Some(Equal),
        _ => !holds(&condition[1..], a, b),
    }
}

fn name(text: String) -> &'static str {
    isobit_simgpu_amd::exec::lower::names()
        .find(|name| *name == text)
        .unwrap_or_else(|| panic!("no instruction {text}"))
}

/// A type of comparisons: its suffix, a generator of bits, and their value.
type Numbers = (&'static str, fn(&mut Random) -> u64, fn(u64) -> f64);

const TYPES: [Numbers; 3] = [
    (
        "f16",
        |random| {
            let x = random.next();
            if x >> 60 == 0 { 0x7e00 } else { x & 0x8fff | x >> 8 & 0x7000 }
        },
        |x| ::half::f16::from_bits(x as u16).to_f64_const(),
    ),
    ("f32", |random| word_f32(random).to_bits().into(), |x| f32::from_bits(x as u32).into()),
    ("f64", |random| word_f64(random).to_bits(), f64::from_bits),
];

#[test]
fn all_conditions_of_all_types() {
    for mut bench in Bench::all() {
        let mut random = Random(1);
        for (suffix, any, value) in TYPES {
            for condition in CONDITIONS {
                for _ in 0..20 {
                    let exec = random.next();
                    let mut want = 0u64;
                    for lane in 0..bench.wave.width {
                        let a = any(&mut random);
                        let b = if random.next() & 3 == 0 { a } else { any(&mut random) };
                        bench.set_pair(SOURCES[0], lane, a);
                        bench.set_pair(SOURCES[1], lane, b);
                        want |= u64::from(holds(condition, value(a), value(b))) << lane;
                    }
                    bench.wave.set_exec(exec & bench.wave.live);
                    want &= bench.wave.exec();
                    bench.run(&comparison(name(format!("v_cmp_{condition}_{suffix}"))));
                    assert_eq!(bench.wave.mask(sreg::VCC_LO), want, "v_cmp_{condition}_{suffix}");
                    let mut cmpx = comparison(name(format!("v_cmpx_{condition}_{suffix}")));
                    if !bench.arch.is_gfx9() {
                        cmpx.dst = Operand::Sgpr(sreg::EXEC_LO);
                    }
                    bench.wave.set_mask(sreg::VCC_LO, !0);
                    bench.run(&cmpx);
                    assert_eq!(bench.wave.exec(), want, "v_cmpx_{condition}_{suffix}");
                    let vcc = bench.wave.mask(sreg::VCC_LO);
                    assert_eq!(vcc, if bench.arch.is_gfx9() { want } else { 0xffff_ffff });
                    bench.wave.set_exec(bench.wave.live);
                }
            }
        }
    }
}

#[test]
fn classes() {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    for mut bench in Bench::all() {
        let mut random = Random(2);
        for lanes in 0..200 {
            let set = random.next() & 0x3ff;
            let mut want = [0u64; 2];
            for lane in 0..bench.wave.width {
                let (x, y) = (word_f32(&mut random), word_f64(&mut random));
                bench.set_pair(SOURCES[0], lane, u64::from(x.to_bits()));
                bench.set_pair(SOURCES[2], lane, y.to_bits());
                bench.set_pair(SOURCES[1], lane, set);
                let class = |kind, negative, quiet| match (kind, negative) {
                    (Nan, _) => u32::from(quiet),
                    (Infinite, true) => 2,
                    (Normal, true) => 3,
                    (Subnormal, true) => 4,
                    (Zero, true) => 5,
                    (Zero, false) => 6,
                    (Subnormal, false) => 7,
                    (Normal, false) => 8,
                    (Infinite, false) => 9,
                };
                let x = class(x.classify(), x.is_sign_negative(), x.to_bits() >> 22 & 1 == 1);
                let y = class(y.classify(), y.is_sign_negative(), y.to_bits() >> 51 & 1 == 1);
                want[0] |= (set >> x & 1) << lane;
                want[1] |= (set >> y & 1) << lane;
            }
            bench.run(&comparison("v_cmp_class_f32"));
            assert_eq!(bench.wave.mask(sreg::VCC_LO), want[0], "{set:#x} {lanes}");
            let mut wide = comparison("v_cmp_class_f64");
            wide.src[0] = Operand::Vgpr(SOURCES[2]);
            bench.run(&wide);
            assert_eq!(bench.wave.mask(sreg::VCC_LO), want[1], "{set:#x} {lanes}");
        }
        // One value of each class, in the order of the bits.
        let halves = [0x7d00, 0x7e00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00];
        for (bit, half) in halves.into_iter().enumerate() {
            for other in 0..10 {
                bench.set_pair(SOURCES[0], 0, half);
                bench.set_pair(SOURCES[1], 0, 1 << other);
                bench.run(&comparison("v_cmp_class_f16"));
                assert_eq!(bench.wave.mask(sreg::VCC_LO) & 1 == 1, bit == other, "{half:#x} {other}");
            }
        }
    }
}

/// Returns the smaller or larger of two numbers that are not NaN, with -0 below +0.
fn pick(a: f64, b: f64, greater: bool) -> f64 {
    let first = if a == b { a.is_sign_negative() } else { a < b };
    if first != greater { a } else { b }
}

#[test]
fn minima_maxima_and_medians() {
    for mut bench in Bench::all() {
        let mut random = Random(3);
        for (suffix, any, value) in TYPES {
            for (operation, greater) in [("min", false), ("max", true)] {
                let operands = std::iter::repeat_with(|| [any(&mut random), any(&mut random)]).take(4000);
                each(&mut bench, &vector(name(format!("v_{operation}_{suffix}")), 2), operands, |x, got| {
                    let [a, b] = x.map(value);
                    let quiet = |bits: u64| {
                        bits >> match suffix {
                            "f16" => 9,
                            "f32" => 22,
                            _ => 51,
                        } & 1
                            == 1
                    };
                    let got = value(got);
                    let signalling = a.is_nan() && !quiet(x[0]) || b.is_nan() && !quiet(x[1]);
                    if signalling || a.is_nan() && b.is_nan() {
                        assert!(got.is_nan());
                    } else {
                        let want = if a.is_nan() {
                            b
                        } else if b.is_nan() {
                            a
                        } else {
                            pick(a, b, greater)
                        };
                        assert_eq!(got.to_bits(), want.to_bits(), "v_{operation}_{suffix} {x:x?}");
                    }
                });
            }
        }
        let words = std::iter::repeat_with(|| [0; 3].map(|_: u64| (word_f32(&mut random) + 0.0).to_bits().into()));
        let words: Vec<[u64; 3]> =
            words.filter(|x| x.iter().all(|x| !f32::from_bits(*x as u32).is_nan())).take(4000).collect();
        for (name, want) in
            [("v_min3_f32", (|s| s[0]) as fn(&[f32; 3]) -> f32), ("v_med3_f32", |s| s[1]), ("v_max3_f32", |s| s[2])]
        {
            each(&mut bench, &vector(name, 3), words.iter().copied(), |x, got| {
                let mut sorted = x.map(|x| f32::from_bits(x as u32));
                sorted.sort_by(f32::total_cmp);
                assert_eq!(f32::from_bits(got as u32), want(&sorted), "{name} {x:x?}");
            });
        }
        let with_nan = std::iter::once([0x7fc0_0000, 0x4000_0000, 0x3f80_0000]);
        each(&mut bench, &vector("v_med3_f32", 3), with_nan, |_, got| assert_eq!(got as u32, 0x3f80_0000));
    }
}

#[test]
fn of_two_quiet_nans_the_generations_give_another() {
    for mut bench in Bench::all() {
        let want = if bench.arch.is_gfx9() { 0x7fc0_0002 } else { 0x7fc0_0001 };
        for name in ["v_min_f32", "v_max_f32"] {
            let operands = std::iter::once([0x7fc0_0001, 0x7fc0_0002]);
            each(&mut bench, &vector(name, 2), operands, |_, got| assert_eq!(got as u32, want));
        }
    }
}
