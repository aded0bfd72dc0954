//! Tests of floating point against a different kind of arithmetic: exact integers, the host's
//! operations of another width, and values that the ISA documents list.

mod approximations;
mod arithmetic;
mod compare;
mod compiled;
mod conversions;
mod exponents;
mod halves;
mod pairs;
mod sequences;

use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand, sreg};

/// The registers of test operands, two each; `RESULT` is the register of the result.
const SOURCES: [u16; 4] = [2, 4, 6, 8];
const RESULT: u16 = 10;

/// Returns an instruction with vector operands `v[2:3]`, `v[4:5]` and so on that writes `v[10:11]`.
fn vector(name: &'static str, count: usize) -> Inst {
    inst(name, Encoding::Vop3, Operand::Vgpr(RESULT), &SOURCES.map(Operand::Vgpr)[..count])
}

/// Returns a comparison of vector operands that writes VCC.
fn comparison(name: &'static str) -> Inst {
    inst(name, Encoding::Vopc, Operand::Sgpr(sreg::VCC_LO), &SOURCES.map(Operand::Vgpr)[..2])
}

/// Runs an instruction on operands that differ from lane to lane, and passes each lane's operands
/// and result to a check.
#[track_caller]
fn each<const N: usize>(
    bench: &mut Bench,
    inst: &Inst,
    operands: impl Iterator<Item = [u64; N]>,
    mut check: impl FnMut([u64; N], u64),
) {
    let mut operands = operands.peekable();
    while operands.peek().is_some() {
        let mut lanes = [[0; N]; 64];
        let mut used = 0;
        for (lane, values) in operands.by_ref().take(bench.wave.width).enumerate() {
            lanes[lane] = values;
            used = lane + 1;
            for (register, value) in SOURCES.into_iter().zip(values) {
                bench.set_pair(register, lane, value);
            }
        }
        bench.run(inst);
        for (lane, values) in lanes.into_iter().enumerate().take(used) {
            check(values, bench.pair(RESULT, lane));
        }
    }
}

/// Returns words that are interesting as binary32: zeros, subnormals, limits, infinities, NaNs,
/// halves, and random bits.
fn word_f32(random: &mut Random) -> f32 {
    const EDGES: [u32; 24] = [
        0,
        1,
        2,
        0x3f_ffff,
        0x40_0000,
        0x7f_ffff,
        0x80_0000,
        0x80_0001,
        0xff_ffff,
        0x3f00_0000,
        0x3f7f_ffff,
        0x3f80_0000,
        0x3f80_0001,
        0x4000_0000,
        0x4b00_0000,
        0x4b80_0001,
        0x4f00_0000,
        0x5f80_0000,
        0x7e80_0000,
        0x7f00_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_1234,
        0x7f80_5678,
    ];
    let bits = random.next();
    f32::from_bits(match bits & 3 {
        0 => EDGES[(bits >> 8) as usize % EDGES.len()] | (bits >> 32) as u32 & 0x8000_0000,
        _ => (bits >> 32) as u32,
    })
}

/// As [`word_f32`], for binary64.
fn word_f64(random: &mut Random) -> f64 {
    const EDGES: [u64; 16] = [
        0,
        1,
        3,
        0xf_ffff_ffff_ffff,
        0x10_0000_0000_0000,
        0x10_0000_0000_0001,
        0x3fe0_0000_0000_0000,
        0x3fef_ffff_ffff_ffff,
        0x3ff0_0000_0000_0000,
        0x3ff0_0000_0000_0001,
        0x4340_0000_0000_0001,
        0x7fd0_0000_0000_0000,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_1234,
        0x7ff0_0000_0000_5678,
    ];
    let bits = random.next();
    f64::from_bits(match bits & 3 {
        0 => EDGES[(bits >> 8) as usize % EDGES.len()] | bits & 1 << 63,
        _ => random.next(),
    })
}

/// Checks that the bits are the same; any NaN equals any other.
#[track_caller]
fn same_f32(got: u64, want: f32, what: &dyn std::fmt::Debug) {
    let got = f32::from_bits(got as u32);
    assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{what:x?}: {got:e}, not {want:e}");
}

/// As [`same_f32`].
#[track_caller]
fn same_f64(got: u64, want: f64, what: &dyn std::fmt::Debug) {
    let got = f64::from_bits(got);
    assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{what:x?}: {got:e}, not {want:e}");
}

/// Returns the binary16 nearest to `n 2^-48`.
fn nearest_f16(n: i128) -> u16 {
    nearest_f16_at(n, 48)
}

/// Returns the binary16 nearest to `n 2^-place`, found by a search of all values; ties go to the
/// one with even bits.
fn nearest_f16_at(n: i128, place: u32) -> u16 {
    let size = n.unsigned_abs();
    let at = |bits: u32| -> u128 {
        let (exponent, fraction) = (bits >> 10, u128::from(bits & 0x3ff));
        if exponent == 0 { fraction << (place - 24) } else { (fraction | 0x400) << (place - 25 + exponent) }
    };
    // Finds the first value that is not below; infinity's bits represent 65536.
    let (mut low, mut high) = (0, 0x7c00);
    while low < high {
        let middle = (low + high) / 2;
        if at(middle) < size { low = middle + 1 } else { high = middle }
    }
    let bits = if low == 0 || at(low) == size {
        low
    } else {
        let (below, above) = (size - at(low - 1), at(low).saturating_sub(size));
        let down = low - 1;
        if size > at(0x7c00) || above < below || above == below && low & 1 == 0 { low } else { down }
    };
    (bits as u16) | if n < 0 { 0x8000 } else { 0 }
}

/// Returns a finite binary16 as a multiple of `2^-24`.
fn integer_f16(bits: u16) -> i128 {
    let (exponent, fraction) = (bits >> 10 & 31, i128::from(bits & 0x3ff));
    assert!(exponent < 31);
    let size = if exponent == 0 { fraction } else { (fraction | 0x400) << (exponent - 1) };
    if bits >> 15 == 1 { -size } else { size }
}

fn finite_f16(bits: u16) -> bool {
    bits & 0x7c00 != 0x7c00
}
