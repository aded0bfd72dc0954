//! Tests of scaling by powers of two, decomposition, and the segments of 2/pi.

use super::*;

#[test]
fn scaling_rounds_once() {
    for mut bench in Bench::all() {
        let mut random = Random(9);
        let shift = |random: &mut Random, by: u64| (random.next() % (2 * by)) as i32 - by as i32;
        let operands =
            std::iter::repeat_with(|| [word_f32(&mut random).to_bits().into(), shift(&mut random, 320) as u32 as u64]);
        each(&mut bench, &vector("v_ldexp_f32", 2), operands.take(20_000), |[x, n], got| {
            let (x, n) = (f32::from_bits(x as u32), n as i32);
            same_f32(got, (f64::from(x) * 2f64.powi(n)) as f32, &(x, n));
        });
        let operands =
            std::iter::repeat_with(|| [word_f64(&mut random).to_bits(), shift(&mut random, 2200) as u32 as u64]);
        each(&mut bench, &vector("v_ldexp_f64", 2), operands.take(40_000), |[x, n], got| {
            let (x, n) = (f64::from_bits(x), n as i32);
            if !x.is_finite() || x == 0.0 {
                return same_f64(got, x, &n);
            }
            // Computed in integers: the fraction, and the bits that are dropped below the smallest
            // subnormal.
            let exponent = (x.to_bits() >> 52 & 0x7ff) as i32;
            let fraction = x.to_bits() & 0xf_ffff_ffff_ffff | if exponent == 0 { 0 } else { 1 << 52 };
            let place = exponent.max(1) - 1075 + n;
            let length = 64 - fraction.leading_zeros() as i32;
            let want = if place + length > 1024 {
                f64::INFINITY
            } else if place >= -1074 {
                let up = place.min(971);
                ((fraction << (place - up)) as f64) * 2f64.powi(up / 2) * 2f64.powi(up - up / 2)
            } else {
                let drop = (-1074 - place).min(60) as u32;
                let (kept, rest, half) = (fraction >> drop, fraction & ((1 << drop) - 1), 1u64 << (drop - 1));
                f64::from_bits(kept + u64::from(rest > half || rest == half && kept & 1 == 1))
            };
            same_f64(got, want.copysign(x), &(x, n));
        });
        let operands = (0..=0xffffu64).flat_map(|x| [-40i64, -15, -3, 0, 2, 29].map(|n| [x, n as u16 as u64]));
        each(&mut bench, &vector("v_ldexp_f16", 2), operands, |[x, n], got| {
            let x = x as u16;
            if finite_f16(x) && x & 0x7fff != 0 {
                let n = n as i16;
                let exact = integer_f16(x) << 24;
                let want =
                    if n < 0 { nearest_f16_at(exact, 48 + n.unsigned_abs() as u32) } else { nearest_f16(exact << n) };
                assert_eq!(got as u16, want, "{x:#x} {n}");
            }
        });
    }
}

#[test]
fn numbers_taken_apart_go_together_again() {
    for mut bench in Bench::all() {
        let mut random = Random(10);
        let words: Vec<[u64; 1]> = (0..10_000).map(|_| [word_f64(&mut random).to_bits()]).collect();
        let exponents = std::cell::RefCell::new(Vec::new());
        each(&mut bench, &vector("v_frexp_exp_i32_f64", 1), words.iter().copied(), |_, got| {
            exponents.borrow_mut().push(got as i32)
        });
        let mut at = 0;
        each(&mut bench, &vector("v_frexp_mant_f64", 1), words.iter().copied(), |[x], got| {
            let (x, fraction, exponent) = (f64::from_bits(x), f64::from_bits(got), exponents.borrow()[at]);
            at += 1;
            if x.is_finite() && x != 0.0 {
                assert!((0.5..1.0).contains(&fraction.abs()), "{x:e}");
                assert_eq!(fraction * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2), x);
            } else {
                assert_eq!(exponent, 0);
                assert!(fraction.is_nan() && x.is_nan() || fraction.to_bits() == x.to_bits());
            }
        });
        for (x, fraction, exponent) in
            [(1.0f32, 0.5f32, 1), (-0.0, -0.0, 0), (f32::from_bits(3), 0.75, -147), (-12.0, -0.75, 4)]
        {
            let x = [u64::from(x.to_bits())];
            each(&mut bench, &vector("v_frexp_mant_f32", 1), std::iter::once(x), |_, got| {
                assert_eq!(got as u32, fraction.to_bits())
            });
            each(&mut bench, &vector("v_frexp_exp_i32_f32", 1), std::iter::once(x), |_, got| {
                assert_eq!(got as i32, exponent)
            });
        }
        for (x, fraction, exponent) in [(0x3c00, 0x3800, 1i16), (0x8001, 0xb800, -23), (0x7c00, 0x7c00, 0)] {
            each(&mut bench, &vector("v_frexp_mant_f16", 1), std::iter::once([x]), |_, got| {
                assert_eq!(got as u16, fraction)
            });
            each(&mut bench, &vector("v_frexp_exp_i16_f16", 1), std::iter::once([x]), |_, got| {
                assert_eq!(got as i16, exponent)
            });
        }
    }
}

#[test]
fn parts_of_two_over_pi_follow_each_other() {
    for mut bench in Bench::all() {
        // The sum of the segments is 2/pi to the precision of binary64; each starts where the
        // previous one ends.
        let mut sum = 0.0;
        let part = |bench: &mut Bench, angle: f64, segment: u64| {
            let mut out = 0.0;
            each(bench, &vector("v_trig_preop_f64", 2), std::iter::once([angle.to_bits(), segment]), |_, got| {
                out = f64::from_bits(got)
            });
            out
        };
        for segment in (0..4).rev() {
            sum += part(&mut bench, 1.0, segment);
        }
        assert_eq!(sum, std::f64::consts::FRAC_2_PI);
        let mut above = 1.0;
        for segment in 0..18 {
            let here = part(&mut bench, 1.0, segment);
            assert!(here < above, "{segment}");
            above = 2f64.powi(-53 * (segment as i32 + 1));
            assert_eq!((here / above).fract(), 0.0, "{segment}");
        }
        // For a large angle the first bits only contribute whole turns. They are skipped, by the
        // amount that its exponent is larger.
        let large = part(&mut bench, 2f64.powi(60), 0);
        let (first, second) = (part(&mut bench, 1.0, 0), part(&mut bench, 1.0, 1));
        let skipped = (first * 64.0).floor() / 64.0;
        let want = first - skipped + (second * 2f64.powi(59)).floor() / 2f64.powi(59);
        assert_eq!(large, want);
        // From 2^945 the segments are scaled.
        assert!(part(&mut bench, 2f64.powi(945), 0) > 2f64.powi(-945 + 54 + 128 - 53 - 53));
    }
}
