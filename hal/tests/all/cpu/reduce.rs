//! Compares reductions with a literal implementation of `docs/numerics.md` section 8.

use super::*;
use half::{bf16, f16};
use isobit_hal::{Reduce, ReduceOp};

/// Implements section 8 step by step.
pub(super) fn by_the_rule<A: Copy>(sequence: &[A], f: &dyn Fn(A, A) -> A) -> A {
    let mut values = Vec::new();
    for segment in sequence.chunks(65_536) {
        let mut lanes: [Option<A>; 256] = [None; 256];
        for (i, &x) in segment.iter().enumerate() {
            lanes[i % 256] = Some(match lanes[i % 256] {
                None => x,
                Some(acc) => f(acc, x),
            });
        }
        for d in [128, 64, 32, 16, 8, 4, 2, 1] {
            for l in 0..d {
                if let (Some(a), Some(b)) = (lanes[l], lanes[l + d]) {
                    lanes[l] = Some(f(a, b));
                }
            }
        }
        values.push(lanes[0].unwrap());
    }
    if values.len() == 1 { values[0] } else { by_the_rule(&values, f) }
}

pub(super) fn reduce<T: WithDType, O: WithDType>(op: ReduceOp, x: &[T], layout: &Layout, dims: &[usize]) -> Vec<O> {
    vec(&storage(x).reduce(layout, &Reduce::new(op, dims)).unwrap())
}

pub(super) const SIZES: [usize; 17] =
    [1, 2, 3, 31, 33, 127, 129, 255, 256, 257, 511, 513, 1025, 65_535, 65_536, 65_537, 200_003];

#[test]
fn sums_products_and_means_keep_the_order() {
    let mut rng = Rng(40);
    for n in SIZES {
        let l = Layout::contiguous(n);
        let x = rng.floats(n);
        let sum = by_the_rule(&x, &|a, b| a + b);
        assert_same(&reduce::<f32, f32>(ReduceOp::Sum, &x, &l, &[0]), &[sum]);
        assert_same(&reduce::<f32, f32>(ReduceOp::Mean, &x, &l, &[0]), &[sum / n as f32]);
        let factors: Vec<f32> = x.iter().map(|v| 1.0 + v / 64.0).collect();
        assert_same(&reduce::<f32, f32>(ReduceOp::Prod, &factors, &l, &[0]), &[by_the_rule(&factors, &|a, b| a * b)]);
        let wide: Vec<f64> = x.iter().map(|&v| f64::from(v) / 3.0).collect();
        assert_same(&reduce::<f64, f64>(ReduceOp::Sum, &wide, &l, &[0]), &[by_the_rule(&wide, &|a, b| a + b)]);
        // Narrow floats are computed in f32 and rounded at the end.
        let half: Vec<f16> = x.iter().map(|&v| f16::from_f32(v * 100.0)).collect();
        let sum = by_the_rule(&half.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), &|a, b| a + b);
        assert_same(&reduce::<f16, f16>(ReduceOp::Sum, &half, &l, &[0]), &[f16::from_f32(sum)]);
        assert_same(&reduce::<f16, f16>(ReduceOp::Mean, &half, &l, &[0]), &[f16::from_f32(sum / n as f32)]);
        let ints: Vec<i32> = rng.bits(n);
        let wrapped = ints.iter().map(|&v| i128::from(v)).sum::<i128>() as i32;
        assert_same(&reduce::<i32, i32>(ReduceOp::Sum, &ints, &l, &[0]), &[wrapped]);
        let bytes: Vec<u8> = ints.iter().map(|&v| v as u8 | 1).collect();
        let product = bytes.iter().fold(1u64, |p, &v| p * u64::from(v) % 256) as u8;
        assert_same(&reduce::<u8, u8>(ReduceOp::Prod, &bytes, &l, &[0]), &[product]);
    }
}

/// A second level of segments needs 2^32 elements, so the values of segments are passed in
/// directly.
#[test]
fn segments_reduce_again() {
    let mut rng = Rng(41);
    for n in [1, 255, 257, 65_536, 65_537, 70_000] {
        let values = rng.floats(n);
        let got = isobit_hal::cpu::internals::sum_of_segments(values.clone());
        assert_eq!(got.map(f32::to_bits), Some(by_the_rule(&values, &|a, b| a + b).to_bits()));
    }
}

/// For any dimensions of any layout, the sequence is the row-major order of the reduced dimensions.
#[test]
fn any_dimensions_of_any_layout() {
    let mut rng = Rng(42);
    let dims = [3, 5, 70, 4];
    let base = Layout::contiguous(dims);
    let layouts = [
        base.clone(),
        base.permute(&[2, 0, 3, 1]).unwrap(),
        base.transpose(1, 2).unwrap().narrow(1, 3, 60).unwrap().step(2, 2).unwrap(),
        base.narrow(1, 2, 1).unwrap().broadcast_as([3, 9, 70, 4]).unwrap(),
    ];
    let x = rng.floats(3 * 5 * 70 * 4);
    for layout in &layouts {
        for set in 0..16usize {
            let mut reduced: Vec<usize> = (0..4).filter(|d| set >> d & 1 == 1).collect();
            let kept: Vec<usize> = (0..4).filter(|d| set >> d & 1 == 0).collect();
            // Compares with the same elements in an order whose reduced dimensions come last.
            let order: Vec<usize> = kept.iter().chain(&reduced).copied().collect();
            let elements: Vec<f32> = layout.permute(&order).unwrap().strided_index().map(|i| x[i]).collect();
            let count: usize = reduced.iter().map(|&d| layout.dims()[d]).product();
            let sequences = || elements.chunks(count);
            reduced.reverse();
            let sums: Vec<f32> = sequences().map(|s| by_the_rule(s, &|a, b| a + b)).collect();
            assert_same(&reduce::<f32, f32>(ReduceOp::Sum, &x, layout, &reduced), &sums);
            let first = |s: &[f32], better: fn(&f32, &f32) -> bool| {
                (0..s.len()).fold(0, |best, i| if better(&s[i], &s[best]) { i } else { best }) as u32
            };
            let most: Vec<u32> = sequences().map(|s| first(s, f32::gt)).collect();
            let least: Vec<u32> = sequences().map(|s| first(s, f32::lt)).collect();
            assert_same(&reduce::<f32, u32>(ReduceOp::ArgMax, &x, layout, &reduced), &most);
            assert_same(&reduce::<f32, u32>(ReduceOp::ArgMin, &x, layout, &reduced), &least);
            let max: Vec<f32> = sequences().zip(&most).map(|(s, &i)| s[i as usize]).collect();
            assert_same(&reduce::<f32, f32>(ReduceOp::Max, &x, layout, &reduced), &max);
            let min: Vec<f32> = sequences().zip(&least).map(|(s, &i)| s[i as usize]).collect();
            assert_same(&reduce::<f32, f32>(ReduceOp::Min, &x, layout, &reduced), &min);
        }
    }
}

#[test]
fn results_go_where_the_destination_says() {
    let x = storage(&[1i64, 2, 3, 4, 5, 6]);
    let mut dst = storage(&[-1i64; 6]);
    let to = Layout::new([3, 1], isobit_hal::Dims::from_slice(&[2, 7]), 1).unwrap();
    let from = Layout::contiguous([2, 3]).transpose(0, 1).unwrap();
    CpuStorage::reduce_into(&Reduce::new(ReduceOp::Sum, &[1]), &x, &from, &mut dst, &to).unwrap();
    assert_eq!(vec::<i64>(&dst), [-1, 5, -1, 7, -1, 9]);
}

#[test]
fn nothing_and_one_element() {
    let (none, one) = (Layout::contiguous([2, 0]), Layout::contiguous([1]));
    assert_same(&reduce::<f32, f32>(ReduceOp::Sum, &[], &none, &[1]), &[0.0, 0.0]);
    assert_same(&reduce::<bf16, bf16>(ReduceOp::Prod, &[], &none, &[1]), &[bf16::ONE, bf16::ONE]);
    assert_same(&reduce::<f64, f64>(ReduceOp::Mean, &[], &none, &[1]), &[f64::NAN, f64::NAN]);
    assert_same(&reduce::<i8, i8>(ReduceOp::Prod, &[], &none, &[1]), &[1, 1]);
    for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max] {
        assert_same(&reduce::<f32, f32>(op, &[-0.0], &one, &[0]), &[-0.0]);
        assert_same(&reduce::<f32, f32>(op, &[3.5], &Layout::contiguous(()), &[]), &[3.5]);
    }
    assert_same(&reduce::<f32, f32>(ReduceOp::Sum, &[-0.0; 1000], &Layout::contiguous(1000), &[0]), &[-0.0]);
}

#[test]
fn extremes_with_nan_and_zeros() {
    let nan = f32::NAN;
    let arg = |op, x: &[f32]| reduce::<f32, u32>(op, x, &Layout::contiguous(x.len()), &[0])[0];
    let value = |op, x: &[f32]| reduce::<f32, f32>(op, x, &Layout::contiguous(x.len()), &[0])[0];
    // +0 and -0 tie by value, so the first one is chosen; min and max themselves order them.
    assert_eq!(arg(ReduceOp::ArgMin, &[1.0, 0.0, -0.0]), 1);
    assert_eq!(arg(ReduceOp::ArgMax, &[-1.0, -0.0, 0.0]), 1);
    assert_eq!(value(ReduceOp::Min, &[0.0, -0.0, 0.0]).to_bits(), (-0f32).to_bits());
    assert_eq!(value(ReduceOp::Max, &[-0.0, 0.0, -0.0]).to_bits(), 0f32.to_bits());
    // Positions within and across lanes and segments.
    for (n, at) in
        [(3, vec![1, 2]), (1000, vec![700, 188]), (70_000, vec![69_999, 256]), (200_000, vec![66_000, 131_073])]
    {
        let mut x: Vec<f32> = Rng(43).floats(n);
        at.iter().for_each(|&i| x[i] = nan);
        let first = *at.iter().min().unwrap() as u32;
        for op in [ReduceOp::ArgMin, ReduceOp::ArgMax] {
            assert_eq!(arg(op, &x), first, "{op} of {n}");
        }
        assert!(value(ReduceOp::Min, &x).is_nan() && value(ReduceOp::Max, &x).is_nan());
        at.iter().for_each(|&i| x[i] = 9.0);
        assert_eq!(arg(ReduceOp::ArgMax, &x), first);
        at.iter().for_each(|&i| x[i] = -9.0);
        assert_eq!(arg(ReduceOp::ArgMin, &x), first);
    }
}

#[test]
fn positions_may_be_written_as_i64() {
    let x = storage(&[1i8, 5, -3, 5, 0, 0]);
    let l = Layout::contiguous([2, 3]);
    // Every second element of the destination: the others keep what they hold.
    let every_second = Layout::contiguous([2, 2]).narrow(1, 0, 1).unwrap();
    for (op, want) in [(ReduceOp::ArgMax, [1, 0]), (ReduceOp::ArgMin, [2, 1])] {
        let mut dst = storage(&[-1i64; 4]);
        CpuStorage::reduce_into(&Reduce::new(op, &[1]), &x, &l, &mut dst, &every_second).unwrap();
        assert_eq!(vec::<i64>(&dst), [want[0], -1, want[1], -1], "{op}");
    }
    assert_eq!(x.reduce(&l, &Reduce::new(ReduceOp::ArgMax, &[0, 1])).unwrap().to_vec::<u32>().unwrap(), [1]);
}
