//! Approximate instructions: the values that the ISA documents list, and the error of results.

use super::*;

fn one(bench: &mut Bench, name: &'static str, x: u32) -> u32 {
    let mut out = 0;
    each(bench, &vector(name, 1), std::iter::once([x.into()]), |_, got| out = got as u32);
    out
}

#[test]
fn the_examples_of_the_documents() {
    for mut bench in Bench::all() {
        for (name, examples) in [
            ("v_exp_f32", &[(0xff80_0000, 0), (0x8000_0000, 0x3f80_0000), (0x7f80_0000, 0x7f80_0000)][..]),
            (
                "v_log_f32",
                &[
                    (0xff80_0000, 0xffc0_0000),
                    (0xbf80_0000, 0xffc0_0000),
                    (0x8000_0000, 0xff80_0000),
                    (0, 0xff80_0000),
                    (0x3f80_0000, 0),
                    (0x7f80_0000, 0x7f80_0000),
                ],
            ),
            (
                "v_rcp_f32",
                &[
                    (0xff80_0000, 0x8000_0000),
                    (0xc000_0000, 0xbf00_0000),
                    (0x8000_0000, 0xff80_0000),
                    (0, 0x7f80_0000),
                    (0x7f80_0000, 0),
                ],
            ),
            (
                "v_rsq_f32",
                &[
                    (0xff80_0000, 0xffc0_0000),
                    (0x8000_0000, 0xff80_0000),
                    (0, 0x7f80_0000),
                    (0x4080_0000, 0x3f00_0000),
                    (0x7f80_0000, 0),
                ],
            ),
            (
                "v_sqrt_f32",
                &[
                    (0xff80_0000, 0xffc0_0000),
                    (0x8000_0000, 0x8000_0000),
                    (0, 0),
                    (0x4080_0000, 0x4000_0000),
                    (0x7f80_0000, 0x7f80_0000),
                ],
            ),
            (
                "v_sin_f32",
                &[
                    (0xff80_0000, 0xffc0_0000),
                    (0xff7f_ffff, 0),
                    (0x8000_0000, 0x8000_0000),
                    (0x3e80_0000, 0x3f80_0000),
                    (0x7f80_0000, 0xffc0_0000),
                ],
            ),
            (
                "v_cos_f32",
                &[
                    (0xff80_0000, 0xffc0_0000),
                    (0xff7f_ffff, 0x3f80_0000),
                    (0x8000_0000, 0x3f80_0000),
                    (0x3e80_0000, 0),
                    (0x7f80_0000, 0xffc0_0000),
                ],
            ),
        ] {
            for &(x, want) in examples {
                assert_eq!(one(&mut bench, name, x), want, "{name} {x:#x}");
            }
        }
        // Subnormals are flushed, both operands and results.
        assert_eq!(one(&mut bench, "v_rcp_f32", 0x8000_0001), 0xff80_0000);
        assert_eq!(one(&mut bench, "v_rcp_f32", 0x7f00_0000), 0);
        assert_eq!(one(&mut bench, "v_rcp_f32", 0xfe80_0000), 0x8080_0000);
        assert_eq!(one(&mut bench, "v_exp_f32", (-126.5f32).to_bits()), 0);
        assert_eq!(one(&mut bench, "v_log_f32", 1), 0xff80_0000);
        assert_eq!(one(&mut bench, "v_sqrt_f32", 0x0070_0000), 0);
        assert_eq!(
            one(&mut bench, "v_rcp_f16", 0x7bff),
            u32::from(nearest_f16((1i128 << 72) / integer_f16(0x7bff)))
                | one(&mut bench, "v_rcp_f16", 0x7bff) & 0xffff_0000
        );
    }
}

/// Defines an exact value by an inequality: whether a binary32 is below `f(x)`.
type Below = fn(x: f64, candidate: f64) -> bool;

#[test]
fn binary32_results_are_within_a_unit_and_best_without_a_shift() {
    // Each inequality is exact in binary64 or has ample margin: candidates are midpoints with 25
    // bits.
    let functions: [(&str, Below, f32, f32); 3] = [
        ("v_rcp_f32", |x, c| c * x < 1.0, 1e-30, 1e30),
        ("v_sqrt_f32", |x, c| c * c < x, 1e-30, 1e30),
        (
            "v_rsq_f32",
            |x, c| {
                let square = c * c;
                square.mul_add(x, -1.0) < 0.0
            },
            1e-30,
            1e30,
        ),
    ];
    for mut bench in Bench::all() {
        for (name, below, least, most) in functions {
            for approximation in [0, 1, -1] {
                bench.approximation = approximation;
                let mut random = Random(11);
                let (low, high) = (u64::from(least.to_bits()), u64::from(most.to_bits()));
                let operands = std::iter::repeat_with(|| [low + random.next() % (high - low)]);
                let operands = [[0x4080_0000], [0x4000_0000]].into_iter().chain(operands);
                let mut on_its_side = 0;
                each(&mut bench, &vector(name, 1), operands.take(10_000), |[x], got| {
                    let (x, got) = (f64::from(f32::from_bits(x as u32)), f32::from_bits(got as u32));
                    let place = |by: i32| f64::from(f32::from_bits((got.to_bits() as i32 + by) as u32));
                    let half = |by: i32| (place(0) + place(by)) / 2.0;
                    // The result is not beyond the neighbours; an exact value may equal a
                    // neighbour.
                    let within = below(x, place(-1).next_down()) && !below(x, place(1).next_up());
                    assert!(within, "{name} {x:e} {got:e}");
                    on_its_side += u32::from(match approximation {
                        0 => below(x, half(-1)) && !below(x, half(1)),
                        1 => !below(x, place(0)),
                        _ => below(x, place(0).next_down()),
                    });
                });
                // A reciprocal is not moved if Newton's method would not converge back.
                let enough = if approximation == 0 { 10_000 } else { 9_990 };
                assert!(on_its_side >= enough, "{name}, {approximation}: {on_its_side}");
            }
        }
    }
}

#[test]
fn exact_results_stay_whatever_the_shift() {
    for mut bench in Bench::all() {
        for approximation in [0, 1, -1] {
            bench.approximation = approximation;
            for exponent in -60i32..=60 {
                let power = |by: i32| ((127 + by) as u32) << 23;
                assert_eq!(one(&mut bench, "v_rcp_f32", power(exponent)), power(-exponent));
                assert_eq!(one(&mut bench, "v_rcp_iflag_f32", power(exponent)), power(-exponent));
                assert_eq!(one(&mut bench, "v_sqrt_f32", power(2 * exponent)), power(exponent));
                assert_eq!(one(&mut bench, "v_rsq_f32", power(2 * exponent)), power(-exponent));
                assert_eq!(one(&mut bench, "v_exp_f32", (exponent as f32).to_bits()), power(exponent));
                assert_eq!(one(&mut bench, "v_log_f32", power(exponent)), (exponent as f32).to_bits());
            }
        }
    }
}

#[test]
fn exponential_logarithm_and_sine_agree_with_other_formulas() {
    for mut bench in Bench::all() {
        let mut random = Random(12);
        let operands: Vec<[u64; 1]> =
            (0..10_000).map(|_| [u64::from((((random.next() >> 40) as f32) / 131_072.0 - 64.0).to_bits())]).collect();
        each(&mut bench, &vector("v_exp_f32", 1), operands.iter().copied(), |[x], got| {
            let x = f64::from(f32::from_bits(x as u32));
            let want = (x * std::f64::consts::LN_2).exp();
            assert!((f64::from(f32::from_bits(got as u32)) - want).abs() <= want * 6e-8, "{x}");
        });
        each(&mut bench, &vector("v_log_f32", 1), operands.iter().copied(), |[x], got| {
            let x = f64::from(f32::from_bits(x as u32));
            let (want, got) = (x.ln() / std::f64::consts::LN_2, f64::from(f32::from_bits(got as u32)));
            assert!(x < 0.0 && got.is_nan() || x == 0.0 || (got - want).abs() <= want.abs() * 6e-8 + 1e-15, "{x}");
        });
        for (name, function) in [("v_sin_f32", f64::sin as fn(f64) -> f64), ("v_cos_f32", f64::cos)] {
            each(&mut bench, &vector(name, 1), operands.iter().copied(), |[x], got| {
                let x = f64::from(f32::from_bits(x as u32));
                let want = function(x * std::f64::consts::TAU);
                assert!(
                    (f64::from(f32::from_bits(got as u32)) - want).abs() <= want.abs() * 6e-8 + 1e-13,
                    "{name} {x}"
                );
            });
        }
    }
}

#[test]
fn every_binary16_operand() {
    let finite = |x: u64| finite_f16(x as u16);
    for mut bench in Bench::all() {
        for approximation in [0, 1, -1] {
            bench.approximation = approximation;
            let all = || (0..=0xffff).map(|x| [x]);
            let value = |bits: u16| f64::from(integer_f16(bits) as f32) / 16_777_216.0;
            // The result lies between the midpoints on both sides; the products have at most 24
            // bits and are exact.
            let within = |got: u16, below: &dyn Fn(f64) -> bool| {
                let got = got & 0x7fff;
                let low = if got == 0 { 0.0 } else { (value(got - 1) + value(got)) / 2.0 };
                let high = if got == 0x7bff { 65520.0 } else { (value(got) + value(got + 1)) / 2.0 };
                (got == 0 || below(low)) && !below(high)
            };
            each(&mut bench, &vector("v_rcp_f16", 1), all(), |[x], got| {
                let got = got as u16;
                if finite(x) && x & 0x7fff > 0x200 {
                    let size = value(x as u16 & 0x7fff);
                    assert!(within(got, &|c| c * size < 1.0), "{x:#x} {got:#x}");
                    assert_eq!(got & 0x8000, x as u16 & 0x8000);
                }
            });
            each(&mut bench, &vector("v_sqrt_f16", 1), all(), |[x], got| {
                if x < 0x7c00 {
                    assert!(within(got as u16, &|c| c * c < value(x as u16)), "{x:#x}");
                }
            });
            each(&mut bench, &vector("v_rsq_f16", 1), all(), |[x], got| {
                if x > 0 && x < 0x7c00 {
                    assert!(within(got as u16, &|c| c * c * value(x as u16) < 1.0), "{x:#x}");
                }
            });
            each(&mut bench, &vector("v_exp_f16", 1), all(), |[x], got| {
                let exact = (::half::f16::from_bits(x as u16).to_f64_const() * std::f64::consts::LN_2).exp();
                if finite(x) && exact < 65000.0 {
                    let unit = 2f64.powi((exact.log2().floor() as i32 - 10).max(-24));
                    assert!((value(got as u16) - exact).abs() <= unit * 0.500_001, "{x:#x}");
                }
            });
        }
    }
}

#[test]
fn binary64_seeds_stay_within_what_is_documented() {
    for mut bench in Bench::all() {
        for approximation in [0i64, 1, -1] {
            bench.approximation = approximation as i8;
            let mut random = Random(13);
            for (name, exact) in [
                ("v_rcp_f64", (|x| 1.0 / x) as fn(f64) -> f64),
                ("v_sqrt_f64", f64::sqrt),
                ("v_rsq_f64", |x| x.powf(-0.5)),
            ] {
                let operands =
                    std::iter::repeat_with(|| [(random.next() >> 2) % 0x6000_0000_0000_0000 + 0x1000_0000_0000_0000]);
                each(&mut bench, &vector(name, 1), operands.take(4000), |[x], got| {
                    let off = got as i64 - exact(f64::from_bits(x)).to_bits() as i64;
                    assert!((off - (approximation << 28)).abs() <= 2 && off.abs() < 1 << 29, "{name} {x:#x} {off}");
                });
            }
        }
    }
}
