//! Compares products with quantized matrices with sections 4 to 6 of `docs/numerics/quantized.md`,
//! one result at a time.

use super::*;
use isobit_hal::cpu::internals::force_baseline;
use isobit_hal::{ErrorKind, Matmul, Numerics, QActivations, QMatmul};

/// The products of a format.
fn products(format: GgmlDType) -> [QMatmul; 3] {
    let float = QMatmul::new(format);
    [float, float.with_activations(QActivations::Q8_1), float.with_numerics(Numerics::Block)]
}

/// Computes one result as section 4 defines it.
fn float(format: GgmlDType, weights: &[u8], x: &[f32]) -> f32 {
    let w = elements(format, weights);
    let segments =
        w.chunks(256).zip(x.chunks(256)).map(|(w, x)| w.iter().zip(x).fold(0.0f32, |p, (&w, &x)| x.mul_add(w, p)));
    segments.reduce(|y, p| y + p).unwrap_or(0.0)
}

/// Computes one result as section 5 defines it.
fn q8_1(format: GgmlDType, weights: &[u8], x: &[f32]) -> f32 {
    let activations: Vec<u8> = vec(&storage(x).quantize(&Layout::contiguous(x.len()), Q8_1).unwrap());
    let (size, sub) = (format.block_size(), sub_block(format));
    let mut y = None;
    for start in (0..x.len()).step_by(256) {
        let mut p = 0.0f32;
        for at in (start..x.len().min(start + 256)).step_by(sub) {
            let block = &weights[at / size * format.block_bytes()..][..format.block_bytes()];
            let a = &activations[at / 32 * 36..][..36];
            let (dx, s) = (Block(a).half(0) as f32, Block(a).half(2) as f32);
            let (dl, ml) = scale(format, block, at % size);
            let (dl, ml) = (dl as f32, ml as f32);
            let q_x = |i: usize| integer(Q8_1, a, at % 32 + i);
            let products: i32 = (0..sub).map(|i| integer(format, block, at % size + i) * q_x(i)).sum();
            p = (dl * dx).mul_add(products as f32, p);
            if format == Q2K {
                let sum: i32 = (0..16).map(q_x).sum();
                p = ml.mul_add(dx * sum as f32, p);
            } else if has_summand(format) {
                p = ml.mul_add(s, p);
            }
        }
        y = Some(y.map_or(p, |y: f32| y + p));
    }
    y.unwrap_or(0.0)
}

/// Computes one block product, which is that of the dequantized row.
fn block(format: GgmlDType, weights: &[u8], x: &[f32]) -> f32 {
    let w = storage(&elements(format, weights));
    let (row, column) = (Layout::contiguous([1, x.len()]), Layout::contiguous([x.len(), 1]));
    let y = storage(x).matmul(&row, &w, &column, Matmul::with_numerics(Numerics::Block)).unwrap();
    vec::<f32>(&y)[0]
}

fn rule(op: QMatmul, weights: &[u8], x: &[f32]) -> f32 {
    match op.activations {
        QActivations::Float if op.numerics == Some(Numerics::Block) => block(op.format, weights, x),
        QActivations::Float => float(op.format, weights, x),
        QActivations::Q8_1 => q8_1(op.format, weights, x),
    }
}

fn expected(op: QMatmul, weights: &[u8], n: usize, x: &[f32], k: usize) -> Vec<f32> {
    let row = weights.len() / n.max(1);
    x.chunks(k).flat_map(|x| (0..n).map(move |j| rule(op, &weights[j * row..][..row], x))).collect()
}

#[test]
fn results_keep_the_order_for_all_sizes() {
    let mut rng = Rng(73);
    for &format in GgmlDType::ALL {
        for (m, n, blocks_of_k) in [(1, 1, 1), (3, 17, 3), (5, 16, 9), (2, 33, 1), (4, 5, 8), (67, 3, 2)] {
            let k = blocks_of_k * format.block_size();
            let (weights, x) = (blocks(&mut rng, format, n * blocks_of_k), rng.floats(m * k));
            let (wl, xl) = (Layout::contiguous([n, weights.len() / n]), Layout::contiguous([m, k]));
            for op in products(format) {
                let got = storage(&x).qmatmul(&xl, &storage(&weights), &wl, op).unwrap();
                assert_same(&vec::<f32>(&got), &expected(op, &weights, n, &x, k));
            }
        }
    }
}

#[test]
fn no_elements_give_zeros() {
    for &format in GgmlDType::ALL {
        for op in products(format) {
            let (weights, x) = (storage::<u8>(&[]), storage::<f32>(&[]));
            for (n, m) in [(3, 2), (0, 2), (3, 0)] {
                let (wl, xl) = (Layout::contiguous([n, 0]), Layout::contiguous([m, 0]));
                let y = x.qmatmul(&xl, &weights, &wl, op).unwrap();
                assert_same(&vec::<f32>(&y), &vec![0.0; n * m]);
                // None of their elements is accessed, so offsets may be anything.
                let far = [n, m].map(|rows| Layout::contiguous_with_offset([rows, 0], usize::MAX));
                let y = x.qmatmul(&far[1], &weights, &far[0], op).unwrap();
                assert_same(&vec::<f32>(&y), &vec![0.0; n * m]);
            }
            let many = Layout::contiguous([usize::MAX, 0]);
            assert!(x.qmatmul(&many, &weights, &Layout::contiguous([0, 0]), op).unwrap().is_empty());
            assert!(!format.has_quantizer() || x.quantize(&many, format).unwrap().is_empty());
        }
    }
}

#[test]
fn any_layout_and_dtype() {
    let mut rng = Rng(74);
    for &format in GgmlDType::ALL {
        let (n, rows, k) = (7, [2, 3], 2 * format.block_size());
        let row = 2 * format.block_bytes();
        let weights = blocks(&mut rng, format, n * 2);
        // The blocks start three bytes into the buffer, and rows have gaps, so no block is aligned.
        let mut apart: Vec<u8> = rng.bits(3);
        weights.chunks(row).for_each(|w| apart.extend_from_slice(&[w, &[0x5a]].concat()));
        let apart_l = Layout::contiguous_with_offset([n, row + 1], 3).narrow(1, 0, row).unwrap();
        // The bytes of a row lie in a column.
        let across: Vec<u8> = (0..row * n).map(|i| weights[i % n * row + i / n]).collect();
        let across_l = Layout::contiguous([row, n]).transpose(0, 1).unwrap();
        let x: Vec<f16> = rng.floats(rows[0] * rows[1] * k).iter().map(|&v| f16::from_f32(v)).collect();
        let x_l = Layout::contiguous([rows[1], k, rows[0]]).permute(&[2, 0, 1]).unwrap();
        let widened: Vec<f32> = x_l.strided_index().map(|i| x[i].to_f32()).collect();
        for op in products(format) {
            let want: Vec<f16> = expected(op, &weights, n, &widened, k).into_iter().map(f16::from_f32).collect();
            for (w, wl) in [(&apart, &apart_l), (&across, &across_l)] {
                let y = storage(&x).qmatmul(&x_l, &storage(w), wl, op).unwrap();
                assert_same(&vec::<f16>(&y), &want);
            }
            // All results use one row of weights; the destination is written in columns.
            let one = Layout::contiguous([1, row]).broadcast_as([n, row]).unwrap();
            let to = Layout::contiguous([n, rows[0], rows[1]]).permute(&[1, 2, 0]).unwrap();
            let mut dst = storage(&vec![f16::ONE; 6 * n]);
            let (ws, xs) = (storage(&weights), storage(&x));
            let inputs = [isobit_hal::Src::Storage(&ws, &one), isobit_hal::Src::Storage(&xs, &x_l)];
            CpuStorage::apply_into(&isobit_hal::Op::QMatmul(op), &inputs, &mut dst, &to).unwrap();
            let column: Vec<f16> = want.iter().step_by(n).copied().collect();
            assert_same(&vec::<f16>(&dst), &column.repeat(n));
        }
    }
}

#[test]
fn values_that_are_no_numbers_stay_in_their_rows() {
    let mut rng = Rng(75);
    let (n, k) = (3, 512);
    for &format in GgmlDType::ALL {
        let weights = blocks(&mut rng, format, n * k / format.block_size());
        let mut x = rng.floats(3 * k);
        (x[k + 300], x[2 * k]) = (f32::NAN, f32::INFINITY);
        let (wl, xl) = (Layout::contiguous([n, weights.len() / n]), Layout::contiguous([3, k]));
        for op in products(format) {
            let y = vec::<f32>(&storage(&x).qmatmul(&xl, &storage(&weights), &wl, op).unwrap());
            assert_same(&y, &expected(op, &weights, n, &x, k));
            assert!(y[..n].iter().all(|v| v.is_finite()) && y[n..2 * n].iter().all(|v| v.is_nan()));
            assert!(y[2 * n..].iter().all(|v| !v.is_finite()));
        }
    }
}

/// Compares with f64: the activations' integers lose at most half a step each.
#[test]
fn activations_through_q8_1_stay_close() {
    let mut rng = Rng(76);
    let (n, k) = (4, 1024);
    for &format in GgmlDType::ALL {
        let (weights, x) = (blocks(&mut rng, format, n * k / format.block_size()), rng.floats(k));
        let (wl, xl) = (Layout::contiguous([n, weights.len() / n]), Layout::contiguous([1, k]));
        let op = QMatmul::new(format).with_activations(QActivations::Q8_1);
        let y = vec::<f32>(&storage(&x).qmatmul(&xl, &storage(&weights), &wl, op).unwrap());
        for (y, w) in y.iter().zip(weights.chunks(weights.len() / n)) {
            let w = elements(format, w);
            let exact: f64 = w.iter().zip(&x).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum();
            let magnitudes: f64 = w.iter().map(|&w| f64::from(w).abs()).sum();
            // The error is half a step of 1/127, 2^-11 for the scale, and 2^-10 of a summand for
            // the sum.
            let summands: f64 =
                w.chunks(32).map(|_| f64::from(w.iter().fold(0.0f32, |m, v| m.max(v.abs()))) * 32.0).sum();
            let bound = magnitudes * (0.5 / 127.0 + 2f64.powi(-10)) + 2f64.powi(-9) * summands;
            assert!((f64::from(*y) - exact).abs() <= bound, "{format}: {y} for {exact}, bound {bound}");
        }
    }
}

#[test]
fn experts_are_chosen_by_id() {
    let mut rng = Rng(77);
    let (experts, n, tokens, top) = (3, 5, 4, 2);
    for &format in GgmlDType::ALL {
        let k = format.block_size();
        let weights = blocks(&mut rng, format, experts * n);
        let expert = weights.len() / experts;
        let wl = Layout::contiguous([experts, n, format.block_bytes()]);
        let ids = [2u32, 0, u32::MAX, 1, 1, 1, 0, 2];
        let ids_l = Layout::contiguous([tokens, top]);
        for (op, rows) in products(format).into_iter().flat_map(|op| [(op, 1), (op, top)]) {
            let x = rng.floats(tokens * rows * k);
            let xl = Layout::contiguous([tokens, rows, k]);
            let rule = |ids: &[u32]| -> Vec<f32> {
                ids.iter()
                    .enumerate()
                    .flat_map(|(i, &id)| {
                        let row = if rows == 1 { i / top } else { i };
                        let x = &x[row * k..][..k];
                        match id {
                            0..3 => expected(op, &weights[id as usize * expert..][..expert], n, x, k),
                            _ => vec![0.0; n],
                        }
                    })
                    .collect()
            };
            let (xs, ws) = (storage(&x), storage(&weights));
            let y = xs.qmatmul_id(&xl, &ws, &wl, &storage(&ids), &ids_l, op).unwrap();
            assert_same(&vec::<f32>(&y), &rule(&ids));
            // An id that is not an expert is reported as an error, and its row is set to 0.
            let wrong = [2u32, 0, 3, 1, 1, 7, 0, 2];
            let (mut dst, dl) = (storage(&vec![9.0f32; tokens * top * n]), Layout::contiguous([tokens, top, n]));
            let wrong_s = storage(&wrong);
            let inputs = [(&ws, &wl), (&xs, &xl), (&wrong_s, &ids_l)].map(|(s, l)| isobit_hal::Src::Storage(s, l));
            let error = CpuStorage::apply_into(&isobit_hal::Op::QMatmulId(op), &inputs, &mut dst, &dl).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::IndexOutOfRange, "{error}");
            assert!(error.to_string().contains("the id 3 at "), "{error}");
            assert_same(&vec::<f32>(&dst), &rule(&wrong));
        }
    }
}

#[test]
fn the_baseline_gives_the_same_bits() {
    let mut rng = Rng(78);
    for &format in GgmlDType::ALL {
        let (n, k) = (9, 768);
        let (weights, x) = (blocks(&mut rng, format, n * k / format.block_size()), rng.floats(5 * k));
        let (weights, x) = (storage(&weights), storage(&x));
        let (wl, xl) = (Layout::contiguous([n, weights.len() / n]), Layout::contiguous([5, k]));
        let same = |run: &dyn Fn() -> CpuStorage| assert_eq!(canonical(&run()), canonical(&force_baseline(run)));
        if format.has_quantizer() {
            same(&|| x.quantize(&xl, format).unwrap());
        }
        same(&|| weights.dequantize(&wl, format, DType::F32).unwrap());
        for op in products(format) {
            same(&|| x.qmatmul(&xl, &weights, &wl, op).unwrap());
        }
    }
}
