//! Matrix products by definition, with the fragments element by element as the PTX ISA lists them.

use crate::lanes::{Op, Random};

/// Returns row and column of element `i` of a lane's fragment of the first matrix.
fn a_at(shape: &str, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    match shape {
        "m8n8k16" => (group, thread * 4 + i),
        "m16n8k16" => (if i < 4 { group } else { group + 8 }, thread * 4 + (i & 3)),
        _ => (
            if i < 4 || (8..12).contains(&i) { group } else { group + 8 },
            if i < 8 { thread * 4 + (i & 3) } else { thread * 4 + (i & 3) + 16 },
        ),
    }
}

/// Returns row and column of element `i` of the second matrix.
fn b_at(lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    (if i < 4 { thread * 4 + i } else { thread * 4 + (i & 3) + 16 }, group)
}

/// Returns row and column of element `i` of the sum.
fn c_at(lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
}

fn element(words: &[u64], i: usize, signed: bool) -> i64 {
    let byte = (words[i / 4] >> (8 * (i % 4))) as u8;
    if signed { (byte as i8).into() } else { byte.into() }
}

#[test]
fn integers() {
    let mut random = Random(5);
    for (shape, m, k) in [("m8n8k16", 8, 16), ("m16n8k16", 16, 16), ("m16n8k32", 16, 32)] {
        let (a_count, b_count, c_count) = (m * k / 128, k / 16, m / 4);
        let fragment = |count: usize| format!("{{{}}}", vec!["b32"; count].join(","));
        let operands = [c_count, a_count, b_count, c_count].map(fragment).join(" ");
        for (a_type, b_type) in [("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")] {
            for satfinite in [false, true] {
                let saturated = if satfinite { "satfinite." } else { "" };
                let op = Op::new(
                    &format!("mma.sync.aligned.{shape}.row.col.{saturated}s32.{a_type}.{b_type}.s32"),
                    &operands,
                );
                let lanes: Vec<Vec<u64>> = (0..32)
                    .map(|_| {
                        let factors = (0..a_count + b_count).map(|_| random.next() & 0xffff_ffff).collect::<Vec<_>>();
                        factors
                            .into_iter()
                            .chain((0..c_count).map(|_| random.integer(32)).collect::<Vec<_>>())
                            .collect()
                    })
                    .collect();
                let (mut a, mut b, mut c) = (vec![vec![0; k]; m], vec![vec![0; 8]; k], vec![vec![0; 8]; m]);
                for (lane, words) in lanes.iter().enumerate() {
                    for i in 0..4 * a_count {
                        let (row, column) = a_at(shape, lane, i);
                        a[row][column] = element(words, i, a_type == "s8");
                    }
                    for i in 0..4 * b_count {
                        let (row, column) = b_at(lane, i);
                        b[row][column] = element(&words[a_count..], i, b_type == "s8");
                    }
                    for i in 0..c_count {
                        let (row, column) = c_at(lane, i);
                        c[row][column] = i64::from(words[a_count + b_count + i] as u32 as i32);
                    }
                }
                let (results, _) = op.warp(&lanes);
                for (lane, results) in results.iter().enumerate() {
                    for (i, result) in results.iter().enumerate() {
                        let (row, column) = c_at(lane, i);
                        let sum = (0..k).fold(c[row][column], |sum, at| sum + a[row][at] * b[at][column]);
                        let want = if satfinite { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                        assert_eq!(*result, u64::from(want as u32), "{shape} {a_type} {b_type}: {row}, {column}");
                    }
                }
            }
        }
    }
}

/// Returns row and column of element `i` of a lane's f64 fragment of the first matrix.
fn double_a_at(shape: &str, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    match (shape, i) {
        ("m8n8k4", _) => (group, thread),
        ("m16n8k4", _) => (group + 8 * i, thread),
        (_, 0) => (group, thread),
        (_, 1) => (group + 8, thread),
        (_, 2) => (group, thread + 4),
        (_, 3) => (group + 8, thread + 4),
        (_, 4) => (group, thread + 8),
        (_, 5) => (group + 8, thread + 8),
        (_, 6) => (group, thread + 12),
        _ => (group + 8, thread + 12),
    }
}

/// The products of f64 against chains of fma, whose single rounding the standard library promises.
#[test]
fn doubles() {
    let mut random = Random(6);
    for (shape, m, k) in [("m8n8k4", 8, 4), ("m16n8k4", 16, 4), ("m16n8k8", 16, 8), ("m16n8k16", 16, 16)] {
        let (a_count, b_count, c_count) = (m * k / 32, k / 4, m / 4);
        let fragment = |count: usize| format!("{{{}}}", vec!["b64"; count].join(","));
        let operands = [c_count, a_count, b_count, c_count].map(fragment).join(" ");
        let op = Op::new(&format!("mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64"), &operands);
        for round in 0..64 {
            // Any numbers in half of the rounds, and numbers near 1, which cancel, in the others.
            let mut number =
                || if round % 2 == 0 { random.f64() } else { random.next() >> 12 | 0x3ff << 52 | random.next() << 63 };
            let lanes: Vec<Vec<u64>> =
                (0..32).map(|_| (0..a_count + b_count + c_count).map(|_| number()).collect()).collect();
            let (mut a, mut b, mut c) = (vec![vec![0.0; k]; m], vec![vec![0.0; 8]; k], vec![vec![0.0; 8]; m]);
            for (lane, words) in lanes.iter().enumerate() {
                for (i, word) in words[..a_count].iter().enumerate() {
                    let (row, column) = double_a_at(shape, lane, i);
                    a[row][column] = f64::from_bits(*word);
                }
                for i in 0..b_count {
                    b[lane % 4 + 4 * i][lane >> 2] = f64::from_bits(words[a_count + i]);
                }
                for i in 0..c_count {
                    let (row, column) = c_at(lane, i);
                    c[row][column] = f64::from_bits(words[a_count + b_count + i]);
                }
            }
            let (results, _) = op.warp(&lanes);
            for (lane, results) in results.iter().enumerate() {
                for (i, result) in results.iter().enumerate() {
                    let (row, column) = c_at(lane, i);
                    let want = (0..k).fold(c[row][column], |sum, at| a[row][at].mul_add(b[at][column], sum));
                    let got = f64::from_bits(*result);
                    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                    assert!(same, "{shape}: {row}, {column}: {got:e}, not {want:e}");
                }
            }
        }
    }
}
