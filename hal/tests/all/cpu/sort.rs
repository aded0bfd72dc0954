//! Compares sorting with its definition: the positions are a permutation in which each element may
//! come before the next, and of equal elements the earlier one comes first. There is only one such
//! permutation.

use super::oracle::value;
use super::*;
use half::{bf16, f16};
use isobit_hal::{Dims, Op, Sort, Src, TopK};
use std::cmp::Ordering;

/// Returns the order of two values as `docs/numerics/sort.md` defines it.
fn order(a: Scalar, b: Scalar) -> Ordering {
    let integer = |s: Scalar| match s {
        Scalar::U8(v) => Some(i128::from(v)),
        Scalar::I8(v) => Some(i128::from(v)),
        Scalar::U32(v) => Some(i128::from(v)),
        Scalar::I16(v) => Some(i128::from(v)),
        Scalar::I32(v) => Some(i128::from(v)),
        Scalar::I64(v) => Some(i128::from(v)),
        Scalar::U16(v) => Some(i128::from(v)),
        Scalar::U64(v) => Some(i128::from(v)),
        _ => None,
    };
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (value(a), value(b));
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[track_caller]
fn assert_sorted<T: WithDType>(row: &[T], positions: &[u32], sort: Sort) {
    let mut seen = vec![false; row.len()];
    for &p in positions {
        assert!(!std::mem::replace(&mut seen[p as usize], true), "position {p} twice");
    }
    for pair in positions.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|p| row[p as usize].to_scalar());
        let found = if sort.descending { order(b, a) } else { order(a, b) };
        let stands = found == Ordering::Less || (found == Ordering::Equal && pair[0] < pair[1]);
        assert!(stands, "{a:?} at {} before {b:?} at {}", pair[0], pair[1]);
    }
}

fn bits<T: WithDType>(v: &[T]) -> Vec<u64> {
    v.iter().map(|x| x.to_scalar().to_bits()).collect()
}

/// Checks positions, values and the top elements of a contiguous row.
#[track_caller]
fn check_row<T: WithDType>(row: &[T], sort: Sort) {
    let (n, layout, src) = (row.len(), Layout::contiguous(row.len()), storage(row));
    let (values, positions) = src.sort_last_dim(&layout, sort).unwrap();
    let (values, positions) = (vec::<T>(&values), vec::<u32>(&positions));
    assert_eq!(positions.len(), n);
    assert_sorted(row, &positions, sort);
    let mut wide = CpuStorage::zeros(n, DType::I64).unwrap();
    CpuStorage::apply_into(&Op::ArgSort(sort), &[Src::Storage(&src, &layout)], &mut wide, &layout).unwrap();
    assert!(vec::<i64>(&wide).iter().zip(&positions).all(|(&wide, &p)| wide == i64::from(p)));
    let moved: Vec<T> = positions.iter().map(|&p| row[p as usize]).collect();
    assert_eq!(bits(&values), bits(&moved));
    for k in [0, 1, 2, n / 3, n.saturating_sub(1), n] {
        let k = k.min(n);
        let top = if sort.descending { TopK::largest(k) } else { TopK::smallest(k) };
        let (first, at) = src.topk(&layout, top).unwrap();
        assert_eq!(vec::<u32>(&at), positions[..k], "{k} of {n}");
        assert_eq!(bits(&vec::<T>(&first)), bits(&moved[..k]));
    }
}

fn both<T: WithDType>(row: &[T]) {
    check_row(row, Sort::ascending());
    check_row(row, Sort::descending());
}

/// Random bits of every dtype, including NaNs with payloads and both zeros; and a few distinct
/// values, so that most are equal.
#[test]
fn every_dtype_sorts_stably() {
    let mut rng = Rng(90);
    for &dtype in DType::ALL {
        dispatch_dtype!(dtype, T => {
            for n in [0, 1, 2, 3, 63, 64, 65, 257, 1000] {
                let row: Vec<T> = rng.bits(n);
                both(&row);
                let few: Vec<T> = (0..n).map(|_| row[rng.below(n.min(4))]).collect();
                both(&few);
            }
        });
    }
}

/// Long enough that several threads sort and select.
#[test]
fn long_rows_sort_alike() {
    let mut rng = Rng(91);
    for n in [32_767, 32_768, 140_001] {
        both::<f32>(&rng.bits(n));
        both::<u8>(&rng.bits(n));
        both(&rng.floats(n).into_iter().map(|x| f16::from_f32(x * 20.0)).collect::<Vec<_>>());
    }
}

#[test]
fn nans_are_the_largest_and_keep_their_bits() {
    let nans = [0x7fc0_0001u32, 0xffc0_0002, 0x7f80_0003].map(f32::from_bits);
    let row = [nans[0], f32::INFINITY, -0.0, nans[1], 0.0, f32::NEG_INFINITY, nans[2], 1.0];
    let sorted = |sort| {
        let (values, positions) = storage(&row).sort_last_dim(&Layout::contiguous(8), sort).unwrap();
        (bits(&vec::<f32>(&values)), vec::<u32>(&positions))
    };
    let expected = |order: [usize; 8]| (bits(&order.map(|i| row[i])), order.map(|i| i as u32).to_vec());
    assert_eq!(sorted(Sort::ascending()), expected([5, 2, 4, 7, 1, 0, 3, 6]));
    assert_eq!(sorted(Sort::descending()), expected([0, 3, 6, 1, 7, 2, 4, 5]));
}

#[test]
fn any_layout_and_only_the_last_dimension() {
    let mut rng = Rng(92);
    let dims = [4, 3, 50];
    let x: Vec<bf16> = rng.bits(4 * 3 * 50);
    let base = Layout::contiguous(dims);
    let layouts = [
        base.clone(),
        base.transpose(0, 2).unwrap(),
        base.permute(&[1, 2, 0]).unwrap(),
        base.narrow(2, 7, 30).unwrap().step(1, 2).unwrap(),
        base.narrow(2, 3, 1).unwrap().broadcast_as([4, 3, 9]).unwrap(),
        base.narrow(0, 1, 1).unwrap().broadcast_as([5, 3, 50]).unwrap(),
    ];
    for layout in layouts {
        let rank = layout.dims().len();
        let n = layout.dims()[rank - 1];
        let rows = layout.elem_count() / n;
        // Results go to every second element of a buffer, the last dimension outermost.
        let mut strides = Dims::from_elem(0, rank);
        let mut step = 2;
        for d in std::iter::once(rank - 1).chain(0..rank - 1).rev() {
            strides[d] = step;
            step *= layout.dims()[d];
        }
        let to = Layout::new(layout.shape().clone(), strides, 1).unwrap();
        let mut dst = storage(&vec![u32::MAX; 2 * n * rows + 1]);
        for sort in [Sort::ascending(), Sort::descending()] {
            CpuStorage::apply_into(&Op::ArgSort(sort), &[Src::Storage(&storage(&x), &layout)], &mut dst, &to).unwrap();
            let got = vec::<u32>(&dst);
            let elements: Vec<bf16> = layout.strided_index().map(|i| x[i]).collect();
            let positions: Vec<u32> = to.strided_index().map(|i| got[i]).collect();
            for (row, positions) in elements.chunks(n).zip(positions.chunks(n)) {
                assert_sorted(row, positions, sort);
            }
            assert!(got.iter().step_by(2).all(|&v| v == u32::MAX), "wrote outside the destination");
        }
    }
}

#[test]
fn what_cannot_be_sorted_is_refused() {
    let x = storage(&[1.0f32, 2.0]);
    assert!(x.arg_sort_last_dim(&Layout::contiguous(()), Sort::ascending()).is_err());
    assert!(x.topk(&Layout::contiguous(2), TopK::largest(3)).is_err());
    let empty = x.topk(&Layout::contiguous([2, 0]), TopK::smallest(0)).unwrap();
    assert_eq!((empty.0.len(), empty.1.len()), (0, 0));
}
