//! Compares results of which values decide the size with their definitions in PyTorch and NumPy:
//! `nonzero`, `masked_select`, `compress` and `unique` with its indices, followed by what fills the
//! rest of the destination.

use super::oracle::value;
use super::*;
use half::f16;
use isobit_hal::{ErrorKind, F8E4M3, Op, Shape, Src};

fn bits<T: WithDType>(v: &[T]) -> Vec<u64> {
    v.iter().map(|x| x.to_scalar().to_bits()).collect()
}

fn to_i64(op: &Op, src: &CpuStorage, layout: &Layout) -> Vec<i64> {
    let shape = op.result_shape(&[layout.shape()]).unwrap().unwrap();
    let mut dst = CpuStorage::zeros(shape.elem_count(), DType::I64).unwrap();
    CpuStorage::apply_into(op, &[Src::Storage(src, layout)], &mut dst, &Layout::contiguous(shape)).unwrap();
    vec(&dst)
}

/// `torch.tensor([[0, nan, -0.], [inf, 0, 5]]).nonzero()`, and `count_nonzero`.
#[test]
fn nan_is_nonzero_and_zeros_of_both_signs_are_not() {
    let (x, l) = (storage(&[0.0f32, f32::NAN, -0.0, f32::INFINITY, 0.0, 5.0]), Layout::contiguous((2, 3)));
    assert_eq!(vec::<u32>(&x.count_nonzero(&l).unwrap()), [3]);
    assert_eq!(to_i64(&Op::CountNonzero, &x, &l), [3]);
    const NONE: u32 = u32::MAX;
    assert_eq!(vec::<u32>(&x.nonzero(&l, 4).unwrap()), [0, 1, 1, 0, 1, 2, NONE, NONE]);
    assert_eq!(vec::<u32>(&x.nonzero(&l, 2).unwrap()), [0, 1, 1, 0]);
    assert_eq!(to_i64(&Op::Nonzero { bound: 4 }, &x, &l), [0, 1, 1, 0, 1, 2, i64::MAX, i64::MAX]);
    assert_eq!(vec::<u32>(&x.nonzero(&l, 0).unwrap()), []);
}

/// Every bit pattern of the narrow floats: what its value says.
#[test]
fn every_narrow_float_is_zero_by_its_value() {
    let all: Vec<F8E4M3> = (0..=u8::MAX).map(F8E4M3::from_bits).collect();
    let count = all.iter().filter(|x| value(x.to_scalar()) != 0.0).count() as u32;
    assert_eq!((count, vec::<u32>(&storage(&all).count_nonzero(&Layout::contiguous(256)).unwrap())[0]), (254, 254));
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let l = Layout::contiguous(all.len());
    assert_eq!(vec::<u32>(&storage(&all).count_nonzero(&l).unwrap()), [65_534]);
}

/// A scalar has one row without coordinates, a tensor without elements none.
#[test]
fn tensors_without_dimensions_or_elements_have_results() {
    let (one, scalar) = (storage(&[7i32]), Layout::contiguous(()));
    assert_eq!(vec::<u32>(&one.count_nonzero(&scalar).unwrap()), [1]);
    assert_eq!(vec::<u32>(&one.nonzero(&scalar, 3).unwrap()), []);
    assert_eq!(vec::<i32>(&one.unique(&scalar, 2).unwrap()), [7, 0]);
    assert_eq!(vec::<u32>(&one.unique_inverse(&scalar).unwrap()), [0]);
    let (none, empty) = (storage::<f32>(&[]), Layout::contiguous((2, 0)));
    assert_eq!(vec::<u32>(&none.count_nonzero(&empty).unwrap()), [0]);
    assert_eq!(vec::<u32>(&none.nonzero(&empty, 1).unwrap()), [u32::MAX; 2]);
    assert_eq!(vec::<u32>(&none.count_unique(&empty).unwrap()), [0]);
    assert_eq!(vec::<f32>(&none.unique(&empty, 2).unwrap()), [0.0; 2]);
    assert_eq!(vec::<u32>(&none.unique_counts(&empty, 1).unwrap()), [0]);
    assert_eq!(vec::<u32>(&none.unique_first(&empty, 1).unwrap()), [u32::MAX]);
    assert_eq!(vec::<u32>(&none.unique_inverse(&empty).unwrap()), []);
    let mask = storage::<u8>(&[]);
    let zeros = none.compress(&Layout::contiguous((0, 2)), &mask, &Layout::contiguous(0), 0, 1).unwrap();
    assert_eq!(vec::<f32>(&zeros), [0.0; 2]);
}

/// Any byte of a condition makes it true, as in `where_cond`; bits are moved, also those of NaNs.
#[test]
fn a_mask_selects_in_row_major_order_of_any_layout() {
    let x: Vec<f32> = (0..6).map(|i| f32::from_bits(0x7fc0_0001 + i)).collect();
    let turned = Layout::contiguous((3, 2)).transpose(0, 1).unwrap();
    let row = Layout::contiguous((1, 3)).broadcast_as((2, 3)).unwrap();
    let masks = [storage(&[0u8, 0x80, 1]), storage(&[0u32, 1 << 31, 1]), storage(&[0i64, i64::MIN, 1 << 40])];
    for mask in masks {
        let got = storage(&x).masked_select(&turned, &mask, &row, 5).unwrap();
        let want = [x[2], x[4], x[3], x[5], 0.0];
        assert_eq!(bits(&vec::<f32>(&got)), bits(&want));
    }
}

/// `numpy.compress([False, True, True], x, axis)`: the mask may be shorter than the dimension.
#[test]
fn compress_takes_slices_and_fills_with_zeros() {
    let x: Vec<i16> = (1..=12).collect();
    let l = Layout::contiguous((3, 4));
    let compress = |mask: &[u8], dim, bound| {
        let (mask, ml) = (storage(mask), Layout::contiguous(mask.len()));
        storage(&x).compress(&l, &mask, &ml, dim, bound).map(|y| vec::<i16>(&y))
    };
    assert_eq!(compress(&[0, 1, 1], 0, 2).unwrap(), [5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(compress(&[0, 1, 1], 1, 2).unwrap(), [2, 3, 6, 7, 10, 11]);
    assert_eq!(compress(&[0, 1, 1], 1, 3).unwrap(), [2, 3, 0, 6, 7, 0, 10, 11, 0]);
    assert_eq!(compress(&[1, 1, 1, 1], 1, 1).unwrap(), [1, 5, 9]);
    assert_eq!(compress(&[], 0, 1).unwrap(), [0; 4]);
    let error = compress(&[1; 4], 0, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShapeMismatch);
    assert!(error.message().contains("longer than dimension 0"), "{error}");
    assert_eq!(compress(&[1], 2, 1).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

/// `numpy.unique(x, return_index=True, return_inverse=True, return_counts=True)`.
#[test]
fn unique_values_are_sorted_with_their_first_bits() {
    let x = [2.0f64, -0.0, f64::NAN, 0.0, -3.5, -f64::NAN, 2.0, f64::INFINITY];
    let (s, l) = (storage(&x), Layout::contiguous((2, 4)));
    assert_eq!(vec::<u32>(&s.count_unique(&l).unwrap()), [5]);
    let values = [-3.5, -0.0, 2.0, f64::INFINITY, f64::NAN, 0.0];
    assert_eq!(bits(&vec::<f64>(&s.unique(&l, 6).unwrap())), bits(&values));
    assert_eq!(bits(&vec::<f64>(&s.unique(&l, 2).unwrap())), bits(&values[..2]));
    assert_eq!(vec::<u32>(&s.unique_first(&l, 6).unwrap()), [4, 1, 0, 7, 2, u32::MAX]);
    assert_eq!(vec::<u32>(&s.unique_counts(&l, 6).unwrap()), [1, 2, 2, 1, 2, 0]);
    assert_eq!(vec::<u32>(&s.unique_counts(&l, 2).unwrap()), [1, 2]);
    assert_eq!(vec::<u32>(&s.unique_inverse(&l).unwrap()), [2, 1, 4, 1, 0, 4, 2, 3]);
    assert_eq!(to_i64(&Op::CountUnique, &s, &l), [5]);
    assert_eq!(to_i64(&Op::UniqueInverse, &s, &l), [2, 1, 4, 1, 0, 4, 2, 3]);
    assert_eq!(to_i64(&Op::UniqueCounts { bound: 6 }, &s, &l), [1, 2, 2, 1, 2, 0]);
    assert_eq!(to_i64(&Op::UniqueFirst { bound: 6 }, &s, &l), [4, 1, 0, 7, 2, i64::MAX]);
}

/// The results of every dtype belong together: `unique[inverse]` gives the elements back up to the
/// signs of zeros and the bits of NaNs, counts are those of the inverse, and values ascend.
#[test]
fn unique_results_of_every_dtype_belong_together() {
    let mut rng = Rng(77);
    for &dtype in DType::ALL {
        dispatch_dtype!(dtype, T => {
            let few: Vec<T> = rng.bits(40);
            let x: Vec<T> = (0..700).map(|_| few[rng.below(few.len())]).collect();
            let (s, l) = (storage(&x), Layout::contiguous((7, 100)));
            let count = vec::<u32>(&s.count_unique(&l).unwrap())[0] as usize;
            let unique = vec::<T>(&s.unique(&l, count).unwrap());
            let inverse = vec::<u32>(&s.unique_inverse(&l).unwrap());
            let same = |a: T, b: T| a == b || (is_nan(a) && is_nan(b));
            assert!(x.iter().zip(&inverse).all(|(&x, &i)| same(x, unique[i as usize])), "{dtype}");
            assert!(unique.windows(2).all(|w| !same(w[0], w[1]) && (w[0] < w[1] || is_nan(w[1]))), "{dtype}");
            let counts = vec::<u32>(&s.unique_counts(&l, count).unwrap());
            let first = vec::<u32>(&s.unique_first(&l, count).unwrap());
            for i in 0..count {
                let members: Vec<usize> = (0..x.len()).filter(|&at| inverse[at] as usize == i).collect();
                assert_eq!((members.len(), members[0]), (counts[i] as usize, first[i] as usize), "{dtype}");
                assert_eq!(bits(&[x[members[0]]]), bits(&unique[i..=i]), "{dtype}");
            }
        });
    }
}

#[allow(clippy::eq_op)]
fn is_nan<T: WithDType>(x: T) -> bool {
    x != x
}

/// A source that is broadcast beyond what an integer of 32 bits counts is refused before anything
/// runs, and so are dtypes that hold no counts.
#[test]
fn counts_and_coordinates_must_fit_their_dtype() {
    let (x, far) = (storage(&[1u8]), Layout::contiguous((1, 1)).broadcast_as((1 << 20, 1 << 12)).unwrap());
    let error = x.count_nonzero(&far).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("use a destination of i64"), "{error}");
    let long = Layout::contiguous(1).broadcast_as(1usize << 32).unwrap();
    assert_eq!(x.nonzero(&long, 1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(vec::<u32>(&x.nonzero(&far, 2).unwrap()), [0, 0, 0, 1]);
    assert_eq!(x.unique(&far, 1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        Op::CountNonzero.check_dtypes(&[DType::F32, DType::U8]).unwrap_err().kind(),
        ErrorKind::UnsupportedDtype
    );
    let mask = Op::MaskedSelect { bound: 1 };
    assert!(mask.check_dtypes(&[DType::F32, DType::F32, DType::F32]).is_err());
    let (a, b) = (Shape::from((2, 3)), Shape::from((3, 2)));
    assert_eq!(mask.result_shape(&[&a, &b]).unwrap_err().kind(), ErrorKind::ShapeMismatch);
}
