//! Tests of binary32 and binary64 against exact integers and wider types.

use super::*;
use isobit_simgpu_amd::exec::float::exact::fma_scaled;

/// Returns a binary32 of moderate size as a multiple of `2^-40`.
fn integer(x: f32) -> i128 {
    (f64::from(x) * 1_099_511_627_776.0) as i128
}

#[test]
fn binary32_is_rounded_once() {
    for mut bench in Bench::all() {
        let mut random = Random(32);
        for (name, wide) in [
            ("v_add_f32", (|a, b| a + b) as fn(f64, f64) -> f64),
            ("v_sub_f32", |a, b| a - b),
            ("v_subrev_f32", |a, b| b - a),
            ("v_mul_f32", |a, b| a * b),
            ("v_mul_dx9_zero_f32", |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
        ] {
            let operands =
                std::iter::repeat_with(|| [0; 2].map(|_: u64| word_f32(&mut random).to_bits().into())).take(20_000);
            each(&mut bench, &vector(name, 2), operands, |x, got| {
                let [a, b] = x.map(|x| f64::from(f32::from_bits(x as u32)));
                // The expected value is exact, or rounded at 53 bits, which is more than twice 24.
                same_f32(got, wide(a, b) as f32, &(name, x));
            });
        }
        let near = |random: &mut Random| {
            let bits = random.next();
            f32::from_bits((bits as u32 & 0x807f_ffff) + (127 - 8 + (bits >> 40 & 15) as u32) * 0x80_0000)
        };
        for name in ["v_fma_f32", "v_fmac_f32", "v_fmaak_f32", "v_fmamk_f32"] {
            let operands = std::iter::repeat_with(|| {
                let [a, b, c] = [0; 3].map(|_| near(&mut random));
                let c = if random.next() & 3 == 0 { -(a * b) } else { c };
                [a, b, c].map(|x| x.to_bits().into())
            });
            each(&mut bench, &vector(name, 3), operands.take(20_000), |x, got| {
                let [a, b, c] = x.map(|x| integer(f32::from_bits(x as u32)));
                let want = (a * b + (c << 40)) as f32 / 1_208_925_819_614_629_174_706_176.0;
                same_f32(got, want, &(name, x));
            });
        }
    }
}

#[test]
fn special_binary32_operands() {
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    let least = f32::from_bits(1);
    for mut bench in Bench::all() {
        for (a, b, c, want) in [
            (infinity, 0.0, 1.0, nan),
            (infinity, 1.0, -infinity, nan),
            (nan, 1.0, 1.0, nan),
            (-0.0, 1.0, -0.0, -0.0),
            (-0.0, 1.0, 0.0, 0.0),
            (least, 0.5, 0.0, 0.0),
            (least, 1.5, 0.0, 2.0 * least),
            (f32::MIN_POSITIVE, 0.5, 0.0, f32::MIN_POSITIVE / 2.0),
            (f32::MAX, 1.0, f32::MAX / 16_777_216.0 * 0.5, f32::MAX),
            (f32::MAX, 2.0, 0.0, infinity),
        ] {
            let x = [a, b, c].map(|x| u64::from(x.to_bits()));
            each(&mut bench, &vector("v_fma_f32", 3), std::iter::once(x), |x, got| same_f32(got, want, &x));
        }
        // An invalid operation gives the NaN from the documents, and a signalling NaN becomes
        // quiet.
        for (a, b, want) in [(0x7f80_0000, 0xff80_0000, 0xffc0_0000), (0x7f80_0001, 0x3f80_0000, 0x7fc0_0001)] {
            each(&mut bench, &vector("v_add_f32", 2), std::iter::once([a, b]), |_, got| assert_eq!(got as u32, want));
        }
    }
}

#[test]
fn binary64_is_rounded_once() {
    for mut bench in Bench::all() {
        let mut random = Random(64);
        let operands = std::iter::repeat_with(|| [0; 3].map(|_: u64| word_f64(&mut random).to_bits())).take(20_000);
        each(&mut bench, &vector("v_fma_f64", 3), operands, |x, got| {
            let [a, b, c] = x.map(f64::from_bits);
            same_f64(got, fma_scaled(a, b, c, 0), &x);
        });
        let mut random = Random(65);
        let operands = std::iter::repeat_with(|| [0; 2].map(|_: u64| word_f64(&mut random).to_bits())).take(20_000);
        each(&mut bench, &vector("v_add_f64", 2), operands, |x, got| {
            let [a, b] = x.map(f64::from_bits);
            same_f64(got, fma_scaled(a, 1.0, b, 0), &x);
        });
    }
}

#[test]
fn scaled_products_are_rounded_once() {
    // Compare with 128-bit integers: operands are integers of 53 bits, and the bits to drop are
    // counted explicitly.
    let mut random = Random(66);
    for _ in 0..200_000 {
        let [a, b] = [0; 2].map(|_| (random.next() >> 11) as i64 - (1 << 52));
        let c = (random.next() as i64 as i128) << (random.next() % 58);
        let c = c >> 10 << 10;
        let exact = i128::from(a) * i128::from(b) + c;
        if (c as f64) as i128 != c || exact == 0 {
            continue;
        }
        let down = (random.next() % 880 + 20) as i32;
        // The part above the position of the smallest subnormal is an integer; the host rounds its
        // conversion.
        let got = fma_scaled(a as f64, b as f64, c as f64, -down - 100);
        assert_eq!(got, exact as f64 * 2f64.powi(-down) * 2f64.powi(-100), "{a} {b} {c} {down}");
        // Down to subnormals: compute the integer quotient, with ties to even.
        let drop = 30 + (random.next() % 90) as u32;
        let (size, half) = (exact.unsigned_abs(), 1u128 << (drop - 1));
        let (kept, rest) = (size >> drop, size & ((1 << drop) - 1));
        if kept < 1 << 52 {
            let units = kept + u128::from(rest > half || rest == half && kept & 1 == 1);
            let want = f64::from_bits(units as u64).copysign(exact.signum() as f64);
            assert_eq!(fma_scaled(a as f64, b as f64, c as f64, -1074 - drop as i32), want, "{a} {b} {c} {drop}");
        }
    }
}

#[test]
fn unfused_products_round_twice_and_know_no_subnormals() {
    let mut bench = Bench::all().next().unwrap();
    let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    let mut random = Random(67);
    for name in ["v_mad_f32", "v_mac_f32", "v_madak_f32", "v_madmk_f32"] {
        let operands =
            std::iter::repeat_with(|| [0; 3].map(|_: u64| word_f32(&mut random).to_bits().into())).take(20_000);
        each(&mut bench, &vector(name, 3), operands, |x, got| {
            let [a, b, c] = x.map(|x| flush(f32::from_bits(x as u32)));
            let product = flush((f64::from(a) * f64::from(b)) as f32);
            same_f32(got, flush((f64::from(product) + f64::from(c)) as f32), &(name, x));
        });
    }
}

#[test]
fn packed_binary32_reads_what_op_sel_says() {
    for mut bench in Bench::all().filter(|bench| bench.arch.is_gfx9()) {
        let mut random = Random(68);
        for _ in 0..64 {
            let fields = random.next();
            let packed = |name, count: usize| Inst {
                op_sel: fields as u8 & 7,
                op_sel_hi: (fields >> 8) as u8 & 7,
                neg: (fields >> 16) as u8 & 7,
                neg_hi: (fields >> 24) as u8 & 7,
                ..inst(name, Encoding::Vop3p, Operand::Vgpr(RESULT), &SOURCES.map(Operand::Vgpr)[..count])
            };
            let fma = packed("v_pk_fma_f32", 3);
            let operands = std::iter::repeat_with(|| [0; 3].map(|_: u64| random.next())).take(64);
            each(&mut bench, &fma, operands, |x, got| {
                for (half, select, sign) in [(0, fma.op_sel, fma.neg), (32, fma.op_sel_hi, fma.neg_hi)] {
                    let [a, b, c] = std::array::from_fn(|at| {
                        let word = (x[at] >> if select >> at & 1 == 1 { 32 } else { 0 }) as u32;
                        f32::from_bits(word ^ u32::from(sign >> at & 1) << 31)
                    });
                    same_f32(got >> half & 0xffff_ffff, a.mul_add(b, c), &x);
                }
            });
            let mov = Inst { neg: 0, neg_hi: 0, ..packed("v_pk_mov_b32", 2) };
            let operands = std::iter::repeat_with(|| [0; 2].map(|_: u64| random.next())).take(64);
            each(&mut bench, &mov, operands, |[a, b], got| {
                let low = a >> if mov.op_sel & 1 == 1 { 32 } else { 0 };
                let high = b >> if mov.op_sel & 2 == 2 { 32 } else { 0 };
                assert_eq!(got, low & 0xffff_ffff | high << 32);
            });
        }
    }
}
