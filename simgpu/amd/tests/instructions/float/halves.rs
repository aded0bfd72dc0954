//! Tests of binary16 against exact integers.

use super::*;
use isobit_simgpu_amd::exec::float::half::{fma, narrow, narrow_f64, widen};
use isobit_simgpu_amd::exec::value::F16;

#[test]
fn every_binary16_goes_to_binary32_and_back() {
    for bits in 0..=u16::MAX {
        let wide = widen(F16(bits));
        if finite_f16(bits) {
            assert_eq!(f64::from(wide), integer_f16(bits) as f64 / 16_777_216.0, "{bits:#x}");
            assert_eq!(wide.is_sign_negative(), bits >> 15 == 1);
            assert_eq!(narrow(wide), F16(bits));
        } else if bits & 0x3ff == 0 {
            assert_eq!(wide, if bits >> 15 == 1 { f32::NEG_INFINITY } else { f32::INFINITY });
            assert_eq!(narrow(wide), F16(bits));
        } else {
            assert!(wide.is_nan());
            assert_eq!(wide.to_bits(), u32::from(bits & 0x8000) << 16 | 0x7fc0_0000 | u32::from(bits & 0x3ff) << 13);
            assert_eq!(narrow(wide), F16(bits | 0x200), "quiet, the payload kept");
        }
    }
}

#[test]
fn conversions_from_wider_types_round_once_to_nearest_even() {
    let check = |x: f64| {
        let want = F16(nearest_f16_at((x * 2f64.powi(100)) as i128, 100));
        assert_eq!(narrow_f64(x), want, "{x:e}");
        if f64::from(x as f32) == x {
            assert_eq!(narrow(x as f32), want, "{x:e}");
        }
    };
    // All midpoints, with their neighbours in binary32 and binary64.
    for bits in 1..0x7c00u16 {
        let middle = (integer_f16(bits - 1) + integer_f16(bits)) as f64 / 33_554_432.0;
        for step in [-1i64, 0, 1] {
            check(f64::from_bits((middle.to_bits() as i64 + step) as u64));
            check(-f64::from(f32::from_bits(((middle as f32).to_bits() as i64 + step) as u32)));
        }
    }
    check(65519.999);
    check(65520.0);
    assert_eq!(narrow(f32::MAX), F16(0x7c00));
    assert_eq!(narrow(-1e-30), F16(0x8000));
    assert_eq!(narrow_f64(f64::MIN_POSITIVE), F16(0));
}

#[test]
fn fused_products_are_rounded_once() {
    let mut random = Random(16);
    for round in 0..400_000u64 {
        let any = random.next();
        let [a, b, mut c] =
            [any as u16, (any >> 16) as u16, (any >> 32) as u16].map(|x| x & 0xbfff | (round as u16 & 0x4000));
        if any >> 62 == 0 {
            // Close to the negated product, so that the result is small.
            c = narrow(-(widen(F16(a)) * widen(F16(b)))).0 ^ (any >> 48) as u16 & 3;
        }
        if ![a, b, c].into_iter().all(finite_f16) {
            continue;
        }
        let exact = integer_f16(a) * integer_f16(b) + (integer_f16(c) << 24);
        let got = fma(F16(a), F16(b), F16(c));
        if exact == 0 {
            assert_eq!(got.0 & 0x7fff, 0);
        } else {
            assert_eq!(got, F16(nearest_f16(exact)), "{a:#x} {b:#x} {c:#x}");
        }
    }
}

#[test]
fn sums_and_products_on_every_target() {
    for mut bench in Bench::all() {
        let mut random = Random(17);
        for (name, exact) in [
            ("v_add_f16", (|a, b| (a + b) << 24) as fn(i128, i128) -> i128),
            ("v_sub_f16", |a, b| (a - b) << 24),
            ("v_subrev_f16", |a, b| (b - a) << 24),
            ("v_mul_f16", |a, b| a * b),
        ] {
            let operands = std::iter::repeat_with(|| [random.next() & 0xffff, random.next() & 0xffff]).take(20_000);
            each(&mut bench, &vector(name, 2), operands, |[a, b], got| {
                let (a, b) = (a as u16, b as u16);
                if finite_f16(a) && finite_f16(b) {
                    let want = exact(integer_f16(a), integer_f16(b));
                    if want != 0 {
                        assert_eq!(got as u16, nearest_f16(want), "{name} {a:#x} {b:#x}");
                    }
                }
            });
        }
        // Both halves of a packed instruction behave like the single one.
        let operands = std::iter::repeat_with(|| [0; 3].map(|_: u64| random.next() & 0xffff_ffff)).take(20_000);
        each(
            &mut bench,
            &inst("v_pk_fma_f16", Encoding::Vop3p, Operand::Vgpr(RESULT), &SOURCES.map(Operand::Vgpr)[..3]),
            operands,
            |x, got| {
                for half in [0, 16] {
                    let [a, b, c] = x.map(|x| F16((x >> half) as u16));
                    let (got, want) = ((got >> half) as u16, fma(a, b, c).0);
                    assert!(got == want || got & want & 0x7fff > 0x7c00, "{x:x?}");
                }
            },
        );
    }
}

#[test]
fn half_results_leave_or_clear_the_rest_of_the_register() {
    for mut bench in Bench::all() {
        for (name, count, kept_on_gfx9) in
            [("v_add_f16", 2, false), ("v_fma_f16", 3, true), ("v_cvt_f16_f32", 1, false)]
        {
            bench.wave.v[usize::from(RESULT)].0.fill(0xabcd_1234);
            bench.run(&vector(name, count));
            let kept = if bench.arch.is_gfx9() && !kept_on_gfx9 { 0 } else { 0xabcd };
            assert_eq!(bench.word(RESULT, 3) >> 16, kept, "{name} on {}", bench.arch.name());
        }
    }
}

#[test]
fn mixed_products_take_each_operand_as_what_it_is() {
    for mut bench in Bench::all() {
        let mut random = Random(18);
        for halves in 0..8u8 {
            for name in ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"] {
                let fields = random.next();
                let mixed = Inst {
                    op_sel_hi: halves,
                    op_sel: fields as u8 & 7,
                    neg: (fields >> 8) as u8 & 7,
                    neg_hi: (fields >> 16) as u8 & 7,
                    ..inst(name, Encoding::Vop3p, Operand::Vgpr(RESULT), &SOURCES.map(Operand::Vgpr)[..3])
                };
                let operands = std::iter::repeat_with(|| [0; 3].map(|_: u64| random.next() >> 32)).take(256);
                bench.wave.v[usize::from(RESULT)].0.fill(0x1111_2222);
                each(&mut bench, &mixed, operands, |x, got| {
                    let number = |at: usize| {
                        let bit = |field: u8| field >> at & 1 == 1;
                        let half = (x[at] >> if bit(mixed.op_sel) { 16 } else { 0 }) as u16;
                        let number = if bit(halves) {
                            ::half::f16::from_bits(half).to_f32()
                        } else {
                            f32::from_bits(x[at] as u32)
                        };
                        let number = if bit(mixed.neg_hi) { number.abs() } else { number };
                        if bit(mixed.neg) { -number } else { number }
                    };
                    let want = number(0).mul_add(number(1), number(2));
                    match name {
                        "v_fma_mix_f32" => same_f32(got, want, &(name, x)),
                        _ if want.is_nan() => {}
                        "v_fma_mixlo_f16" => {
                            assert_eq!(got as u32, 0x1111_0000 | u32::from(::half::f16::from_f32_const(want).to_bits()))
                        }
                        _ => assert_eq!(
                            got as u32,
                            0x2222 | u32::from(::half::f16::from_f32_const(want).to_bits()) << 16
                        ),
                    }
                });
            }
        }
    }
}
