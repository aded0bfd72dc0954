//! Block products with few rows or few columns, of rows that call for other paths than their
//! neighbours: wide ones, whose integers have a second level, and ones with extreme steps. The CPU
//! computes them in another way.

use super::{Device, assert_same_bits, bits, device};
use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Matmul, Numerics};

const BLOCK: Matmul = Matmul::with_numerics(Numerics::Block);
const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];
/// Ragged numbers of lines and elements along k; of rows, for each kernel and path.
const LINES: usize = 77;
const K: usize = 3 * 128 + 5;
const ROWS: [usize; 6] = [1, 2, 4, 7, 8, 13];

/// A number from -1 to 1 that depends on `i` alone, like a random one.
pub(super) fn number(i: usize) -> f32 {
    let bits = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ bits >> 29) as u32 as f32 / (1u64 << 31) as f32 - 1.0
}

/// Elements of like size.
fn even(line: usize, k: usize) -> f32 {
    number(line * K + k)
}

/// In each segment two elements of size 1, and others of which the first level keeps few bits.
fn wide_at(large: usize, line: usize, k: usize) -> f32 {
    let small = if k % 64 == large { 1.0 } else { 2f32.powi(-9 - (k % 5) as i32) };
    number(line * K + k) * small
}

fn wide(line: usize, k: usize) -> f32 {
    wide_at(9, line, k)
}

/// The same with large elements where those of `wide` are small, so that both second levels count.
fn wide_apart(line: usize, k: usize) -> f32 {
    wide_at(40, line, k)
}

/// Lines along k, as the CPU's storage.
fn lines(count: usize, dtype: DType, of: impl Fn(usize, usize) -> f32) -> CpuStorage {
    let all: Vec<f32> = (0..count * K).map(|i| of(i / K, i % K)).collect();
    CpuDevice.storage_from_slice(&all).unwrap().to_dtype(&Layout::contiguous(count * K), dtype).unwrap()
}

/// Compares `rows` times `lines` as a product with few rows and as one with few columns.
#[track_caller]
fn check(device: &Device, dtype: DType, count: usize, rows: &CpuStorage, lines: &CpuStorage) {
    let [few, many] = [count, LINES].map(|n| Layout::contiguous([n, K]));
    let [few_t, many_t] = [&few, &many].map(|l| l.transpose(0, 1).unwrap());
    for (a, a_layout, b, b_layout) in [(rows, &few, lines, &many_t), (lines, &many, rows, &few_t)] {
        let want = a.matmul(a_layout, b, b_layout, BLOCK).unwrap();
        let [x, y] = [a, b].map(|s| device.storage_from_cpu_storage(s).unwrap());
        let got = x.matmul(a_layout, &y, b_layout, BLOCK).unwrap();
        assert_same_bits(&bits(&got), &bits(&want), format!("{dtype}, {count} rows, {a_layout} x {b_layout}"));
    }
}

#[test]
fn one_row_may_be_wide_or_another_line() {
    let Some(device) = device() else { return };
    for dtype in DTYPES {
        let even_lines = lines(LINES, dtype, even);
        let wide_lines = lines(LINES, dtype, wide);
        let one_wide_line = lines(LINES, dtype, |line, k| if line == 66 { wide(line, k) } else { even(line, k) });
        for count in ROWS {
            let last_wide = lines(count, dtype, |row, k| if row + 1 == count { wide(row, k) } else { even(row, k) });
            check(&device, dtype, count, &last_wide, &even_lines);
            check(&device, dtype, count, &last_wide, &one_wide_line);
            check(&device, dtype, count, &lines(count, dtype, even), &one_wide_line);
            check(&device, dtype, count, &lines(count, dtype, wide), &wide_lines);
            check(&device, dtype, count, &lines(count, dtype, wide_apart), &wide_lines);
        }
    }
}

#[test]
fn steps_may_be_far_from_those_of_other_rows() {
    let Some(device) = device() else { return };
    for dtype in [DType::BF16, DType::F32] {
        for exponent in [60, -90, -130] {
            let scale = 2f32.powi(exponent / 2) * 2f32.powi(exponent - exponent / 2);
            let scaled =
                |count: usize| lines(count, dtype, |row, k| even(row, k) * if row + 1 == count { scale } else { 1.0 });
            for count in ROWS {
                check(&device, dtype, count, &scaled(count), &lines(LINES, dtype, even));
                check(&device, dtype, count, &lines(count, dtype, even), &scaled(LINES));
                check(&device, dtype, count, &scaled(count), &scaled(LINES));
            }
        }
    }
}

/// Four integers of 2^22, four of 2^18 and 120 of 2^17 in a segment add up to 2^18 for each of 128
/// elements, which is not yet wide, so that the quarters are lost.
#[test]
fn a_segment_at_the_threshold_is_not_wide() {
    let Some(device) = device() else { return };
    let at = |_: usize, k: usize| match k % 128 {
        0..4 => 4_194_304.0,
        4..8 => 262_144.0,
        _ => 131_072.25,
    };
    for count in ROWS {
        let [rows, others] = [count, LINES].map(|n| lines(n, DType::F32, even));
        check(&device, DType::F32, count, &lines(count, DType::F32, at), &others);
        check(&device, DType::F32, count, &rows, &lines(LINES, DType::F32, at));
    }
}

/// Where rows have elements lines have none, so that every product is 0, and 2^step of both is
/// infinite.
#[test]
fn a_sum_of_zero_stays_zero_with_any_step() {
    let Some(device) = device() else { return };
    for (dtype, top) in [(DType::BF16, 14), (DType::F32, 22)] {
        let large = 2f32.powi(64 + top);
        let rows = |row: usize, k: usize| if (row + k).is_multiple_of(2) { large } else { 0.0 };
        let others = |_: usize, k: usize| if k % 2 == 1 { large } else { 0.0 };
        for count in ROWS {
            // Odd rows meet the others' elements, and overflow.
            check(&device, dtype, count, &lines(count, dtype, rows), &lines(LINES, dtype, others));
        }
    }
}

#[test]
fn infinities_and_nans_are_of_their_rows_and_lines_alone() {
    let Some(device) = device() else { return };
    for dtype in DTYPES {
        for count in ROWS {
            let rows =
                lines(count, dtype, |row, k| if (row, k) == (count / 2, 130) { f32::INFINITY } else { even(row, k) });
            let others =
                lines(LINES, dtype, |line, k| if (line, k) == (40, 388) { f32::INFINITY } else { wide(line, k) });
            check(&device, dtype, count, &rows, &others);
        }
    }
}
