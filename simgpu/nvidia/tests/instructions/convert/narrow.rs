//! Pairs, TensorFloat-32, 8-bit formats, and packing.

use super::{range, value};
use crate::lanes::{Exact, Op, Random, cases, check_rounded, value_of};
use isobit_simgpu_nvidia::exec::Rounding;

#[test]
fn pairs_of_halves() {
    for (ty, single) in [("f16x2", "f16"), ("bf16x2", "bf16")] {
        for modifiers in ["rn", "rz", "rn.relu", "rz.relu", "rn.satfinite", "rn.relu.satfinite"] {
            let one = Op::new(&format!("cvt.{modifiers}.{single}.f32"), "b16 b32");
            let two = Op::new(&format!("cvt.{modifiers}.{ty}.f32"), "b32 b32 b32");
            two.is(cases(300, |random| [random.f32(), random.f32()]), |[a, b]| one.one([a]) << 16 | one.one([b]));
        }
    }
}

#[test]
fn relu_and_satfinite() {
    for (ty, infinity) in [("f16", 0x7c00), ("bf16", 0x7f80)] {
        let op = |modifiers: &str| Op::new(&format!("cvt.rn{modifiers}.{ty}.f32"), "b16 b32");
        let (plain, relu, finite) = (op(""), op(".relu"), op(".satfinite"));
        for [x] in cases(1000, |random| [random.f32()]) {
            let result = plain.one([x]);
            let nan = result & 0x7fff > infinity;
            assert_eq!(relu.one([x]), if result & 0x8000 != 0 && !nan { 0 } else { result }, "{ty} of {x:#x}");
            assert_eq!(
                finite.one([x]),
                if result & 0x7fff == infinity { result - 1 } else { result },
                "{ty} of {x:#x}"
            );
        }
    }
}

/// TensorFloat-32 has 11 digits in the upper bits of a word.
#[test]
fn tensor_float() {
    for (name, rounding) in [("rna", Rounding::Away), ("rn", Rounding::Nearest), ("rz", Rounding::Zero)] {
        let op = Op::new(&format!("cvt.{name}.tf32.f32"), "b32 b32");
        op.each(cases(3000, |random| [random.f32()]), |[x], got| {
            let Some(number) = value_of(x, 8, 23) else {
                let want = if x & 0x7fff_ffff == 0x7f80_0000 { x } else { 0x7fff_ffff };
                assert_eq!(got, want, "{x:#x}");
                return;
            };
            assert_eq!(got & 0x1fff, 0);
            let compare =
                |with: &Exact, times: i128| with.clone().negated().plus(times * number.integer, number.exponent).sign();
            check_rounded(
                got >> 13,
                (8, 10),
                rounding,
                x >> 31 == 1,
                compare,
                &format!("cvt.{name}.tf32.f32 of {x:#x}"),
            );
        });
    }
    assert_eq!(Op::new("cvt.rna.satfinite.tf32.f32", "b32 b32").one([0x7f80_0000]), 0x7f7f_e000);
    assert_eq!(Op::new("cvt.rn.relu.tf32.f32", "b32 b32").one([0xbf80_0000]), 0);
}

/// Returns the value of bits in an 8-bit format; `None` for NaNs, infinity for infinity.
fn eight(bits: u64, e4m3: bool) -> Option<f64> {
    let (fraction, bias) = if e4m3 { (3, 7) } else { (2, 15) };
    let size = bits & 0x7f;
    if e4m3 && size == 0x7f || !e4m3 && size > 0x7c {
        return None;
    }
    let (field, digits) = ((size >> fraction) as i32, (size & ((1 << fraction) - 1)) as f64);
    let unit = 2f64.powi(field.max(1) - bias - fraction);
    let value = if field == 0 { digits * unit } else { (digits + f64::from(1 << fraction)) * unit };
    let value = if !e4m3 && size == 0x7c { f64::INFINITY } else { value };
    Some(if bits & 0x80 != 0 { -value } else { value })
}

/// Every pair of two bytes, converted to binary16, which represents all their values.
#[test]
fn from_eight_bits() {
    for (ty, e4m3) in [("e4m3x2", true), ("e5m2x2", false)] {
        let bits = |byte: u64| eight(byte, e4m3).map_or(0x7fff, |value| half::f16::from_f64(value).to_bits().into());
        Op::new(&format!("cvt.rn.f16x2.{ty}"), "b32 b16")
            .is((0..=0xffff).map(|x| [x]), |[x]| bits(x & 0xff) | bits(x >> 8) << 16);
        Op::new(&format!("cvt.rn.relu.f16x2.{ty}"), "b32 b16").is((0..=0xffff).map(|x| [x]), |[x]| {
            let half = |byte| if bits(byte) & 0x8000 != 0 { 0 } else { bits(byte) };
            half(x & 0xff) | half(x >> 8) << 16
        });
    }
}

/// Returns the nearest finite value by distance, ties to even.
fn nearest(x: f64, e4m3: bool) -> u64 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let greatest = if e4m3 { 0x7e } else { 0x7b };
    let distance = |bits: u64| (eight(bits, e4m3).unwrap() - x.abs().min(1e6)).abs();
    let best = (0..=greatest).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))));
    best.unwrap() | sign
}

#[test]
fn to_eight_bits() {
    for (ty, e4m3) in [("e4m3x2", true), ("e5m2x2", false)] {
        // Every binary16, and binary32 numbers near the values of the formats.
        let halves = Op::new(&format!("cvt.rn.satfinite.{ty}.f16x2"), "b16 b32");
        let wide = |bits: u64| half::f16::from_bits(bits as u16).to_f64();
        halves.is((0..=0xffffu64).step_by(3).map(|x| [x | (x ^ 0x8421) << 16]), |[x]| {
            nearest(wide(x & 0xffff), e4m3) | nearest(wide(x >> 16), e4m3) << 8
        });
        let singles = Op::new(&format!("cvt.rn.satfinite.{ty}.f32"), "b16 b32 b32");
        let near = |random: &mut Random| {
            let any = random.next();
            let digits = any & 0x7f_ffff & (u64::MAX << (any >> 40 & 31));
            (any >> 63) << 31 | (100 + (any >> 50) % 50) << 23 | digits
        };
        let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
        let operands =
            cases(4000, |random| [if random.next() & 7 == 0 { random.f32() } else { near(random) }, near(random)]);
        singles.is(operands, |[a, b]| nearest(value(a), e4m3) << 8 | nearest(value(b), e4m3));
        let relu = Op::new(&format!("cvt.rn.satfinite.relu.{ty}.f32"), "b16 b32 b32");
        assert_eq!(relu.one([0xbf80_0000, 0x7fc0_0000]), 0x7f);
    }
}

#[test]
fn packs() {
    for (ty, bits, signed) in [("s16", 16, true), ("u16", 16, false)] {
        let op = Op::new(&format!("cvt.pack.sat.{ty}.s32"), "b32 b32 b32");
        op.is(cases(500, |random| [random.integer(32), random.integer(32)]), |[a, b]| packed(a, b, bits, signed));
    }
    for bits in [2u32, 4, 8] {
        for signed in [false, true] {
            let text = format!("cvt.pack.sat.{}{bits}.s32.b32", if signed { 's' } else { 'u' });
            let op = Op::new(&text, "b32 b32 b32 b32");
            op.is(cases(500, |random| std::array::from_fn(|_| random.integer(32))), |[a, b, c]| {
                (packed(a, b, bits, signed) | c << (2 * bits)) & 0xffff_ffff
            });
        }
    }
}

/// Clamps both values to the range and packs them, the first above the second.
fn packed(a: u64, b: u64, bits: u32, signed: bool) -> u64 {
    let (least, greatest) = range(bits, signed);
    let [a, b] = [a, b].map(|x| value(x, 32, true).clamp(least, greatest) as u64 & ((1 << bits) - 1));
    a << bits | b
}
