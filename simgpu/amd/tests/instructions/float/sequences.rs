//! Tests of divisions and square roots as clang 19 compiles them. They must be correctly rounded
//! for every approximation that a card may give.

use super::compiled::{gfx9, gfx11};
use super::*;
use isobit_simgpu_amd::isa::{Arch, decode};

/// Returns the code of a sequence as instructions.
fn code(arch: Arch, gfx9: &[u32], gfx11: &[u32]) -> Vec<Inst> {
    let words = if arch.is_gfx9() { gfx9 } else { gfx11 };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (mut insts, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let inst = decode(arch, &bytes[at..]).expect("an instruction");
        at += usize::from(inst.size);
        insts.push(inst);
    }
    insts
}

/// Runs a sequence over operands, with every shift of the approximations, and checks each lane.
fn sequence(gfx9: &[u32], gfx11: &[u32], dwords: u16, operands: &[[u64; 2]], check: impl Fn(i8, [u64; 2], u64)) {
    for mut bench in Bench::all() {
        let code = code(bench.arch, gfx9, gfx11);
        for approximation in [0, 1, -1] {
            bench.approximation = approximation;
            for lanes in operands.chunks(bench.wave.width) {
                for (lane, operand) in lanes.iter().enumerate() {
                    for (at, value) in operand.iter().enumerate() {
                        for dword in 0..dwords {
                            bench.wave.v[usize::from(at as u16 * dwords + dword)].0[lane] =
                                (value >> (32 * dword)) as u32;
                        }
                    }
                }
                code.iter().for_each(|inst| bench.run(inst));
                for (lane, operand) in lanes.iter().enumerate() {
                    check(approximation, *operand, bench.pair(0, lane));
                }
            }
        }
    }
}

/// Returns difficult quotients: random bits, near the ends of the range, near ties, subnormal.
fn quotients_f32(random: &mut Random) -> Vec<[u64; 2]> {
    let mut all = Vec::new();
    for round in 0..24_000 {
        let (any, divisor) = (word_f32(random), word_f32(random));
        let any = match round & 3 {
            0 => any,
            // Next to a quotient of few bits, a tie or an exact one.
            1 => f32::from_bits(
                ((f64::from(any) * f64::from(divisor)) as f32).to_bits().wrapping_add(random.next() as u32 % 3),
            ),
            2 => f32::from_bits(((f64::from(any) * f64::from(divisor) * (1.0 + 2f64.powi(-24))) as f32).to_bits()),
            // A quotient in the subnormal range, including ties.
            _ => (f64::from(divisor) * f64::from(random.next() as u32 % 0x200_0000) * 2f64.powi(-150)) as f32,
        };
        all.push([any.to_bits().into(), divisor.to_bits().into()]);
    }
    all
}

#[test]
fn quotients_of_binary32() {
    let operands = quotients_f32(&mut Random(20));
    sequence(gfx9::DIV_F32, gfx11::DIV_F32, 1, &operands, |_, x, got| {
        let [a, b] = x.map(|x| f32::from_bits(x as u32));
        same_f32(got & 0xffff_ffff, a / b, &x);
    });
}

#[test]
fn quotients_of_binary64() {
    let mut random = Random(21);
    let mut operands = Vec::new();
    for round in 0..24_000 {
        let (any, divisor) = (word_f64(&mut random), word_f64(&mut random));
        let any = match round & 3 {
            0 => any,
            1 => f64::from_bits((any * divisor).to_bits().wrapping_add(random.next() % 3)),
            2 => divisor * (1.0 + (random.next() >> 12) as f64 * f64::EPSILON),
            _ => divisor * (random.next() >> 8 >> (random.next() % 50)) as f64 * 2f64.powi(-1000) * 2f64.powi(-75),
        };
        operands.push([any.to_bits(), divisor.to_bits()]);
    }
    sequence(gfx9::DIV_F64, gfx11::DIV_F64, 2, &operands, |_, x, got| {
        let [a, b] = x.map(f64::from_bits);
        same_f64(got, a / b, &x);
    });
}

#[test]
fn roots_of_binary32() {
    let mut random = Random(22);
    let mut operands = Vec::new();
    for round in 0..24_000 {
        let any = word_f32(&mut random);
        // Also next to squares of 12, 24 and 25 bits.
        let root = f64::from(any.abs().sqrt());
        let tie = f64::from_bits(root.to_bits() | 1 << 28);
        let x = match round & 3 {
            0 => any,
            1 => {
                f32::from_bits(((root * root) as f32).to_bits().wrapping_add(random.next() as u32 % 3).wrapping_sub(1))
            }
            2 => (tie * tie) as f32,
            _ => f32::from_bits(any.to_bits() & 0x00ff_ffff),
        };
        operands.push([x.to_bits().into(), 0]);
    }
    sequence(gfx9::SQRT_F32, gfx11::SQRT_F32, 1, &operands, |_, x, got| {
        let root = f64::from(f32::from_bits(x[0] as u32)).sqrt();
        same_f32(got & 0xffff_ffff, root as f32, &x);
    });
}

#[test]
fn roots_of_binary64() {
    let mut random = Random(23);
    let operands: Vec<[u64; 2]> = (0..24_000)
        .map(|round| {
            let any = word_f64(&mut random);
            let root = (random.next() >> 11) as f64;
            let near = (root * root).to_bits().wrapping_add(random.next() % 3).wrapping_sub(1);
            [if round & 1 == 0 { any.to_bits() } else { near }, 0]
        })
        .collect();
    sequence(gfx9::SQRT_F64, gfx11::SQRT_F64, 2, &operands, |_, x, got| same_f64(got, f64::from_bits(x[0]).sqrt(), &x));
}

#[test]
fn quotients_and_roots_of_binary16() {
    let mut random = Random(24);
    let operands: Vec<[u64; 2]> = (0..60_000).map(|_| [random.next() & 0xffff, random.next() & 0xffff]).collect();
    sequence(gfx9::DIV_F16, gfx11::DIV_F16, 1, &operands, |approximation, x, got| {
        let [a, b] = x.map(|x| ::half::f16::from_bits(x as u16).to_f64_const());
        let (got, quotient) = (got as u16, a / b);
        if quotient.is_nan() {
            assert!(got & 0x7fff > 0x7c00);
        } else if quotient.is_infinite() {
            assert_eq!(got, if quotient > 0.0 { 0x7c00 } else { 0xfc00 });
        } else {
            // Rounded at 53 bits first, which is equivalent to the exact value here.
            let want = isobit_simgpu_amd::exec::float::half::narrow_f64(quotient).0;
            let off = i32::from(got) - i32::from(want);
            // The quotient is a product with the reciprocal, so the error of a card's reciprocal
            // can decide a tie in the subnormal range.
            let tie = if finite_f16(want) { integer_f16(want) as f64 / 16_777_216.0 - quotient } else { 0.0 };
            let tipped = approximation != 0 && off.abs() == 1 && tie.abs() == 2f64.powi(-25);
            assert!(off == 0 || tipped, "{x:x?}: {got:#x}, not {want:#x}");
        }
    });
    let every: Vec<[u64; 2]> = (0..0x7c00).map(|x| [x, 0]).collect();
    sequence(gfx9::SQRT_F16, gfx11::SQRT_F16, 1, &every, |_, x, got| {
        let size = integer_f16(x[0] as u16) << 24;
        let root = integer_f16(got as u16);
        // Twice the midpoints to the root's neighbours, squared.
        let (low, high) = (integer_f16((got as u16).max(1) - 1) + root, root + integer_f16(got as u16 + 1));
        assert!(low * low <= 4 * size && 4 * size <= high * high, "{x:x?}");
    });
}
