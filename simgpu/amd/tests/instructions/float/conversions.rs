//! Conversions and roundings to integers.

use super::*;

#[test]
fn floats_to_integers_saturate() {
    for mut bench in Bench::all() {
        let mut random = Random(5);
        let words: Vec<[u64; 1]> = (0..20_000).map(|_| [word_f32(&mut random).to_bits().into()]).collect();
        // Convert towards zero in 128 bits, then clamp to the range.
        let towards = |x: f64, low: i64, high: i64| {
            if x.is_nan() { 0 } else { (x as i128).clamp(low.into(), high.into()) as i64 }
        };
        let (low, high) = (i32::MIN.into(), i32::MAX.into());
        each(&mut bench, &vector("v_cvt_i32_f32", 1), words.iter().copied(), |[x], got| {
            assert_eq!(i64::from(got as i32), towards(f32::from_bits(x as u32).into(), low, high), "{x:#x}");
        });
        each(&mut bench, &vector("v_cvt_u32_f32", 1), words.iter().copied(), |[x], got| {
            assert_eq!(got as u32 as i64, towards(f32::from_bits(x as u32).into(), 0, u32::MAX.into()), "{x:#x}");
        });
        each(&mut bench, &vector("v_cvt_floor_i32_f32", 1), words.iter().copied(), |[x], got| {
            assert_eq!(
                i64::from(got as i32),
                towards(f64::from(f32::from_bits(x as u32)).floor(), low, high),
                "{x:#x}"
            );
        });
        let wide: Vec<[u64; 1]> = (0..20_000)
            .map(|i| {
                [if i % 2 == 0 { word_f64(&mut random) } else { f64::from(word_f32(&mut random)) * 1.000_000_1 }
                    .to_bits()]
            })
            .collect();
        each(&mut bench, &vector("v_cvt_i32_f64", 1), wide.iter().copied(), |[x], got| {
            assert_eq!(i64::from(got as i32), towards(f64::from_bits(x), low, high), "{x:#x}");
        });
        each(&mut bench, &vector("v_cvt_u32_f64", 1), wide.iter().copied(), |[x], got| {
            assert_eq!(got as u32 as i64, towards(f64::from_bits(x), 0, u32::MAX.into()), "{x:#x}");
        });
        for (name, low, high) in [("v_cvt_i16_f16", -32768, 32767), ("v_cvt_u16_f16", 0, 65535)] {
            each(&mut bench, &vector(name, 1), (0..=0xffff).map(|x| [x]), |[x], got| {
                let exact = ::half::f16::from_bits(x as u16).to_f64_const();
                assert_eq!(got as u16, towards(exact, low, high) as u16, "{name} {x:#x}");
            });
        }
    }
}

/// Returns an integer rounded to a number of bits, ties to even, by dropping the low bits.
fn rounded(x: i64, bits: u32) -> f64 {
    let size = x.unsigned_abs();
    let drop = (64 - size.leading_zeros()).saturating_sub(bits);
    let (kept, rest) = (size >> drop, size & ((1 << drop) - 1));
    let half = if drop == 0 { 1 } else { 1 << (drop - 1) };
    let kept = kept + u64::from(rest > half || rest == half && drop > 0 && kept & 1 == 1);
    (kept << drop) as f64 * if x < 0 { -1.0 } else { 1.0 }
}

#[test]
fn integers_to_floats() {
    for mut bench in Bench::all() {
        let mut random = Random(6);
        let words: Vec<[u64; 1]> = (0..20_000).map(|_| [random.word().into()]).collect();
        for (name, value) in [
            ("v_cvt_f32_i32", (|x| i64::from(x as i32)) as fn(u64) -> i64),
            ("v_cvt_f32_u32", |x| x as u32 as i64),
            ("v_cvt_f32_ubyte0", |x| (x & 0xff) as i64),
            ("v_cvt_f32_ubyte1", |x| (x >> 8 & 0xff) as i64),
            ("v_cvt_f32_ubyte2", |x| (x >> 16 & 0xff) as i64),
            ("v_cvt_f32_ubyte3", |x| (x >> 24 & 0xff) as i64),
        ] {
            each(&mut bench, &vector(name, 1), words.iter().copied(), |[x], got| {
                assert_eq!(f64::from(f32::from_bits(got as u32)), rounded(value(x), 24), "{name} {x:#x}");
            });
        }
        each(&mut bench, &vector("v_cvt_f64_i32", 1), words.iter().copied(), |[x], got| {
            assert_eq!(f64::from_bits(got) as i64, i64::from(x as i32));
        });
        each(&mut bench, &vector("v_cvt_f64_u32", 1), words.iter().copied(), |[x], got| {
            assert_eq!(f64::from_bits(got) as i64, x as i64);
        });
        each(&mut bench, &vector("v_cvt_off_f32_i4", 1), (0..16).map(|x| [x]), |[x], got| {
            let want = if x < 8 { x as f32 } else { x as f32 - 16.0 } * 0.0625;
            assert_eq!(f32::from_bits(got as u32), want);
        });
        for (name, value) in
            [("v_cvt_f16_i16", (|x| i128::from(x as i16)) as fn(u64) -> i128), ("v_cvt_f16_u16", |x| x.into())]
        {
            each(&mut bench, &vector(name, 1), (0..=0xffff).map(|x| [x]), |[x], got| {
                assert_eq!(got as u16, nearest_f16(value(x) << 48), "{name} {x:#x}");
            });
        }
    }
}

#[test]
fn between_floats() {
    for mut bench in Bench::all() {
        let mut random = Random(7);
        let narrow = |x: f64| {
            // Computed from the bits: 29 are dropped, or more if the result is subnormal.
            let bits = x.to_bits();
            let (exponent, sign) = ((bits >> 52 & 0x7ff) as i32 - 896, if bits >> 63 == 1 { -1.0 } else { 1.0 });
            if exponent > 254 {
                return f32::INFINITY * sign;
            }
            let drop = 29 + (1 - exponent).max(0) as u32;
            let fraction = bits & 0xf_ffff_ffff_ffff | 1 << 52;
            if drop > 54 {
                return 0.0 * sign;
            }
            let (kept, rest, half) = (fraction >> drop, fraction & ((1 << drop) - 1), 1u64 << (drop - 1));
            let kept = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
            // A carry goes into the exponent, as intended.
            f32::from_bits((kept as u32).wrapping_add(((exponent.max(1) - 1) as u32) << 23)) * sign
        };
        let wide = std::iter::repeat_with(|| {
            let x = if random.next() & 1 == 0 { word_f64(&mut random) } else { f64::from(word_f32(&mut random)) };
            let bits = x.to_bits() ^ (random.next() & 0x3fff_ffff & random.next());
            // Values in the range of binary32 and slightly beyond.
            [bits & !(0x7ff << 52) | ((bits >> 52 & 0x7ff) % 320 + 730) << 52]
        });
        each(&mut bench, &vector("v_cvt_f32_f64", 1), wide.take(40_000), |[x], got| {
            same_f32(got, narrow(f64::from_bits(x)), &x);
        });
        let words = std::iter::repeat_with(|| [word_f32(&mut random).to_bits().into()]).take(20_000);
        each(&mut bench, &vector("v_cvt_f64_f32", 1), words, |[x], got| {
            let x = f32::from_bits(x as u32);
            assert!(
                f64::from_bits(got).is_nan() && x.is_nan() || (f64::from_bits(got) as f32).to_bits() == x.to_bits()
            );
        });
        each(&mut bench, &vector("v_cvt_f32_f16", 1), (0..=0xffff).map(|x| [x]), |[x], got| {
            let want = ::half::f16::from_bits(x as u16);
            same_f32(got, want.to_f32_const(), &x);
        });
        // Towards zero: the nearest value, or the one before it.
        let pairs = std::iter::repeat_with(|| {
            [0; 2].map(|_: u64| {
                u64::from(if random.next() & 1 == 0 {
                    word_f32(&mut random).to_bits()
                } else {
                    0x3300_0000 + (random.next() as u32 & 0x1fff_ffff)
                })
            })
        });
        each(&mut bench, &vector("v_cvt_pk_rtz_f16_f32", 2), pairs.take(20_000), |x, got| {
            for (x, got) in [(x[0], got as u16), (x[1], (got >> 16) as u16)] {
                let x = f32::from_bits(x as u32);
                if x.is_nan() {
                    assert!(got & 0x7fff > 0x7c00);
                } else if x.is_finite() {
                    let (size, got) = (f64::from(x.abs()), got & 0x7fff);
                    let value = |bits: u16| integer_f16(bits) as f64 / 16_777_216.0;
                    assert!(
                        got < 0x7c00 && value(got) <= size && (got == 0x7bff || size < value(got + 1)),
                        "{x:e} {got:#x}"
                    );
                }
            }
        });
    }
}

#[test]
fn roundings_to_integers() {
    for mut bench in Bench::all() {
        let mut random = Random(8);
        // Quarters around zero and around the largest odd numbers, and random values.
        let some = |random: &mut Random| match random.next() & 3 {
            0 => (random.next() % 4096) as f32 / 4.0 - 512.0,
            1 => 8_388_608.0 - (random.next() % 64) as f32 / 2.0,
            _ => word_f32(random),
        };
        let floor = |x: f64| {
            // Compare with integers if there can be a fraction.
            if x.abs() >= 4_503_599_627_370_496.0 || x.is_nan() {
                x
            } else {
                (x as i64 - i64::from((x as i64 as f64) > x)) as f64
            }
        };
        let sign = |r: f64, x: f64| if r == 0.0 { r.copysign(x) } else { r };
        let names: [(&str, &dyn Fn(f64) -> f64); 4] = [
            ("floor", &|x| sign(floor(x), x)),
            ("ceil", &|x| sign(-floor(-x), x)),
            ("trunc", &|x| sign(if x < 0.0 { -floor(-x) } else { floor(x) }, x)),
            ("rndne", &|x| {
                let (down, up) = (floor(x), -floor(-x));
                let even = if floor(down / 2.0) * 2.0 == down { down } else { up };
                let near = if x - down < up - x {
                    down
                } else if x - down > up - x {
                    up
                } else {
                    even
                };
                sign(if down == up { x } else { near }, x)
            }),
        ];
        for (operation, want) in names {
            let find = |suffix: &str| {
                isobit_simgpu_amd::exec::lower::names().find(|n| *n == format!("v_{operation}_{suffix}")).unwrap()
            };
            let words: Vec<f32> = (0..10_000).map(|_| some(&mut random)).collect();
            each(&mut bench, &vector(find("f32"), 1), words.iter().map(|x| [x.to_bits().into()]), |[x], got| {
                same_f32(got, want(f32::from_bits(x as u32).into()) as f32, &(operation, x));
            });
            each(
                &mut bench,
                &vector(find("f64"), 1),
                words.iter().map(|x| [(f64::from(*x) * 1.5).to_bits()]),
                |[x], got| {
                    same_f64(got, want(f64::from_bits(x)), &(operation, x));
                },
            );
            each(&mut bench, &vector(find("f16"), 1), (0..=0xffff).map(|x| [x]), |[x], got| {
                let want = want(::half::f16::from_bits(x as u16).to_f64_const());
                let got = ::half::f16::from_bits(got as u16).to_f64_const();
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{operation} {x:#x}: {got}");
            });
        }
        for (x, want) in
            [(3.75, 0.75), (-1.25, 0.75), (-1e-30, 1.0 - f32::EPSILON / 2.0), (-0.0, 0.0), (8_388_609.0, 0.0)]
        {
            let x: f32 = x;
            each(&mut bench, &vector("v_fract_f32", 1), std::iter::once([x.to_bits().into()]), |_, got| {
                same_f32(got, want, &x)
            });
        }
        each(&mut bench, &vector("v_fract_f64", 1), std::iter::once([(-1e-300f64).to_bits()]), |_, got| {
            assert_eq!(got, 0x3fef_ffff_ffff_ffff);
        });
        each(&mut bench, &vector("v_fract_f16", 1), std::iter::once([0x8001]), |_, got| assert_eq!(got as u16, 0x3bff));
    }
}

#[test]
fn fractions_of_the_largest_integer() {
    for mut bench in Bench::all() {
        for (x, signed, unsigned) in [
            (0.0f32, 0i16, 0u16),
            (1.0, 32767, 65535),
            (-1.0, -32767, 0),
            (7.0, 32767, 65535),
            (-9.0, -32767, 0),
            (0.5, 16384, 32768),
            (f32::NAN, 0, 0),
            (1.0 / 65535.0, 0, 1),
        ] {
            let x = [u64::from(x.to_bits()), 0];
            each(&mut bench, &vector("v_cvt_pk_norm_i16_f32", 2), std::iter::once(x), |_, got| {
                assert_eq!(got as i16, signed)
            });
            each(&mut bench, &vector("v_cvt_pk_norm_u16_f32", 2), std::iter::once(x), |_, got| {
                assert_eq!(got as u16, unsigned)
            });
        }
    }
}
