//! The baseline versions of the inner loops give the bits of the vectorised ones.

use super::*;
use isobit_hal::cpu::internals::force_baseline;
use isobit_hal::{Affine, Attention, BinaryOp, CmpOp, Matmul, Reduce, ReduceOp, UnaryOp};

#[track_caller]
fn same_bits(what: impl std::fmt::Debug, run: impl Fn() -> CpuStorage) {
    let (fast, slow) = (run(), force_baseline(&run));
    assert_eq!(canonical(&fast), canonical(&slow), "{what:?}");
}

/// Random bits, and values of moderate size, which random bits rarely give.
fn values(rng: &mut Rng, dtype: DType, n: usize) -> CpuStorage {
    let mut x = CpuStorage::from_bytes(dtype, &rng.bits::<u8>(n * dtype.size_in_bytes())).unwrap();
    if dtype.is_float() {
        let moderate = rng.floats(n / 2).iter().map(|v| v * 8.0).collect::<Vec<f32>>();
        let half = Layout::contiguous(n / 2);
        CpuStorage::cast_into(&storage(&moderate), &half, &mut x, &half).unwrap();
    }
    x
}

#[test]
fn elementwise() {
    let mut rng = Rng(20);
    let n = 1500;
    let l = Layout::contiguous(n);
    for &d in DType::ALL {
        let (x, y) = (values(&mut rng, d, n), values(&mut rng, d, n));
        for &op in UnaryOp::ALL {
            if op.takes(d) {
                same_bits((op, d), || x.unary(&l, op).unwrap());
            }
        }
        for &op in BinaryOp::ALL.iter().filter(|op| op.takes(d)) {
            same_bits((op, d), || x.binary(&l, &y, &l, op).unwrap());
        }
        same_bits((CmpOp::Lt, d), || x.cmp(&l, &y, &l, CmpOp::Lt).unwrap());
        same_bits(("affine", d), || x.affine(&l, Affine::new(1.1, -0.3).mul, 0.7).unwrap());
        for &e in DType::ALL {
            same_bits((d, e), || x.to_dtype(&l, e).unwrap());
        }
        if d.is_float() {
            for exponent in [1.7, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5] {
                same_bits(("powf", d, exponent), || x.powf(&l, exponent).unwrap());
            }
            same_bits(("elu", d), || x.elu(&l, 1.7).unwrap());
            same_bits(("leaky_relu", d), || x.leaky_relu(&l, 1.7).unwrap());
            same_bits(("celu", d), || x.celu(&l, 1.7).unwrap());
        }
    }
}

#[test]
fn reductions_and_products() {
    let mut rng = Rng(21);
    let l = Layout::contiguous([3, 700]);
    let (a, b) = (Layout::contiguous([13, 300]), Layout::contiguous([300, 19]));
    for &d in DType::ALL.iter().filter(|d| !d.is_elementwise()) {
        let x = values(&mut rng, d, 2100);
        for &op in ReduceOp::ALL.iter().filter(|op| op.takes(d)) {
            same_bits((op, d), || x.reduce(&l, &Reduce::new(op, &[1])).unwrap());
        }
        if d.is_float() {
            let (x, y) = (values(&mut rng, d, 13 * 300), values(&mut rng, d, 300 * 19));
            same_bits(("matmul", d), || x.matmul(&a, &y, &b, Matmul::default()).unwrap());
        }
    }
}

#[test]
fn attention() {
    let mut rng = Rng(22);
    let [q, kv, mask] = [[1, 4, 20, 130], [1, 2, 140, 130], [1, 4, 20, 140]].map(Layout::contiguous);
    for d in [DType::F16, DType::BF16, DType::F32] {
        // Random bits are seldom finite in a whole row; the others are.
        for random in [false, true] {
            let [x, k, v, m] = [&q, &kv, &kv, &mask].map(|l| {
                let (n, all) = (l.elem_count(), Layout::contiguous(l.elem_count()));
                if random { values(&mut rng, d, n) } else { storage(&rng.floats(n)).to_dtype(&all, d).unwrap() }
            });
            for op in [Attention::new().causal(), Attention::new().with_softcap(2.0)] {
                same_bits(("attention", d, random), || {
                    x.scaled_dot_product_attention(&q, [(&k, &kv), (&v, &kv)], Some((&m, &mask)), None, op).unwrap()
                });
            }
        }
    }
}
