//! Block products with quantized matrices, of every format: rows and lines that are wide, whose
//! integers have a second level, and experts that few, many or no rows select. The CPU computes
//! them in another way.

use super::block_rows::number;
use super::{check, device};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, GgmlDType, Layout, Numerics, Op, QMatmul,
};

/// Ragged numbers of lines; of rows, for each kernel and path.
const LINES: usize = 45;
const ROWS: [usize; 5] = [1, 2, 8, 11, 17];
const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
/// A row: its length of four segments and, where blocks are so short, a part of one.
const WHOLE: usize = 512;

fn length(format: GgmlDType) -> usize {
    if format.block_size() < 256 { WHOLE + format.block_size() } else { WHOLE }
}

/// In each segment one element of size 1, and others that are smaller by 2^-`apart`.
fn unlike(apart: i32, large: usize, line: usize, k: usize) -> f32 {
    number(line * WHOLE + k).mul_add(0.5, 1.0) * if k % 128 == large { 1.0 } else { 2f32.powi(-apart) }
}

fn storage(count: usize, k: usize, of: impl Fn(usize, usize) -> f32) -> CpuStorage {
    CpuDevice.storage_from_slice(&(0..count * k).map(|i| of(i / k, i % k)).collect::<Vec<_>>()).unwrap()
}

/// The formats whose blocks these tests make; their products differ in the reading alone.
fn formats() -> impl Iterator<Item = GgmlDType> {
    GgmlDType::ALL.iter().copied().filter(|format| format.has_quantizer())
}

/// Rows of blocks.
fn blocks(format: GgmlDType, lines: usize, of: impl Fn(usize, usize) -> f32) -> CpuStorage {
    let k = length(format);
    storage(lines, k, of).quantize(&Layout::contiguous([lines, k]), format).unwrap()
}

fn op(format: GgmlDType) -> QMatmul {
    QMatmul::new(format).with_numerics(Numerics::Block)
}

#[test]
fn rows_and_lines_may_be_wide() {
    let Some(device) = device() else { return };
    for format in formats() {
        let (k, row) = (length(format), format.row_bytes(length(format)).unwrap());
        // One large element leaves the others of a block few levels; those of other blocks keep
        // theirs. Formats with scales of few bits take blocks that are closer.
        let [far, near, even] = [7, 5, 0].map(|apart| move |line, k| unlike(apart, 9, line, k));
        let lines = [
            blocks(format, LINES, even),
            blocks(format, LINES, far),
            blocks(format, LINES, near),
            blocks(format, LINES, move |line, k| if line == 40 { far(line, k) } else { even(line, k) }),
        ];
        for (count, dtype) in ROWS.into_iter().zip(DTYPES.into_iter().cycle()) {
            let rows = [
                storage(count, k, even),
                storage(count, k, move |row, k| unlike(9, 40, row + 1000, k)),
                storage(count, k, move |row, k| unlike(if row + 1 == count { 9 } else { 0 }, 9, row + 1000, k)),
            ];
            let (xl, wl) = (Layout::contiguous([count, k]), Layout::contiguous([LINES, row]));
            for x in rows.map(|x| x.to_dtype(&xl, dtype).unwrap()) {
                for w in &lines {
                    check(&device, &Op::QMatmul(op(format)), &[(w, &wl), (&x, &xl)]);
                }
            }
        }
    }
}

#[test]
fn experts_are_selected_by_rows() {
    let Some(device) = device() else { return };
    let (experts, tokens, top) = (3, 5, 2);
    let chosen: Vec<u32> = vec![2, 0, u32::MAX, 2, 0, 0, 2, u32::MAX, u32::MAX, u32::MAX];
    let ids = CpuDevice.storage_from_slice(&chosen).unwrap();
    let il = Layout::contiguous([tokens, top]);
    for format in formats() {
        let (k, row) = (length(format), format.row_bytes(length(format)).unwrap());
        let w = blocks(format, experts * LINES, |line, k| unlike(if line % 2 == 0 { 7 } else { 0 }, 9, line, k));
        let wl = Layout::contiguous([experts, LINES, row]);
        for (each, dtype) in [(1, DType::F32), (top, DType::BF16)] {
            let xl = Layout::contiguous([tokens, each, k]);
            let x = storage(tokens * each, k, |row, k| unlike(if row % 2 == 0 { 0 } else { 9 }, 40, row, k));
            let x = x.to_dtype(&xl, dtype).unwrap();
            let y = check(&device, &Op::QMatmulId(op(format)), &[(&w, &wl), (&x, &xl), (&ids, &il)]);
            for (row, id) in y.chunks(LINES).zip(&chosen) {
                assert_eq!(row.iter().all(|&v| v == 0.0), *id == u32::MAX, "{format}: a row of {id}");
            }
        }
    }
}

/// The infinity is in one row, and one scale of a line is infinite or a NaN.
#[test]
fn infinities_and_nans_are_of_their_rows_and_lines_alone() {
    let Some(device) = device() else { return };
    for format in formats() {
        let (k, row) = (length(format), format.row_bytes(length(format)).unwrap());
        for (count, strange) in [(3, f32::INFINITY), (8, 1.0), (17, f32::INFINITY), (18, 1.0)] {
            // A block with an infinity quantizes to the scale NaN.
            let w = blocks(
                format,
                LINES,
                |line, k| {
                    if (line, k) == (33, 300) { f32::INFINITY } else { unlike(0, 9, line, k) }
                },
            );
            let x = storage(count, k, |row, k| if (row, k) == (1, 400) { strange } else { unlike(9, 9, row, k) });
            let (xl, wl) = (Layout::contiguous([count, k]), Layout::contiguous([LINES, row]));
            let y = check(&device, &Op::QMatmul(op(format)), &[(&w, &wl), (&x, &xl)]);
            for (at, value) in y.iter().enumerate() {
                let of_strange = at / LINES == 1 && strange.is_infinite();
                assert_eq!(value.is_finite(), at % LINES != 33 && !of_strange, "{format}: result {at} is {value}");
            }
        }
    }
}
