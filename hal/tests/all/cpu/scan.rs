//! Compares scans with the rule of `docs/numerics/shape.md` section 6, computed from the base-16
//! digits of each element's index.

use super::*;
use half::{bf16, f16};
use isobit_hal::{F8E4M3, Scan, ScanOp};

/// Returns the total of a run of a level: 16 to the power of `level + 1` elements from `first` on.
fn total<A: Copy>(x: &[A], first: usize, level: u32, add: &dyn Fn(A, A) -> A) -> A {
    let part = |i: usize| match level {
        0 => x[first + i],
        _ => total(x, first + i * 16usize.pow(level), level - 1, add),
    };
    (1..16).fold(part(0), |sum, i| add(sum, part(i)))
}

/// Returns element `i` of the inclusive result, by steps 2 and 3.
fn by_the_rule<A: Copy>(x: &[A], i: usize, add: &dyn Fn(A, A) -> A) -> A {
    parts(x, i, i + 1, add).expect("has the element itself")
}

/// Combines the parts before the run of element `i` and the elements of its run up to `end`; `None`
/// if there are none.
fn parts<A: Copy>(x: &[A], i: usize, end: usize, add: &dyn Fn(A, A) -> A) -> Option<A> {
    let mut before: Option<A> = None;
    for level in (0..8).rev() {
        // `size` is the number of elements in a complete run of the level. Count those before `i`
        // within the run of the next level.
        let size = 16usize.pow(level + 1);
        let above = i / (16 * size) * (16 * size);
        let runs = (i - above) / size;
        let part = (0..runs).map(|r| total(x, above + r * size, level, add)).reduce(add);
        before = match (before, part) {
            (Some(b), Some(p)) => Some(add(b, p)),
            (b, p) => b.or(p),
        };
    }
    let own = x[i / 16 * 16..end].iter().copied().reduce(add);
    match (before, own) {
        (Some(b), Some(p)) => Some(add(b, p)),
        (b, p) => b.or(p),
    }
}

#[test]
fn sums_keep_the_order() {
    let mut rng = Rng(96);
    for n in [1, 2, 15, 16, 17, 31, 33, 255, 256, 257, 300, 4095, 4096, 4097, 65_537, 70_001] {
        let l = Layout::contiguous(n);
        let x = rng.floats(n);
        let some: Vec<usize> = (0..n.min(600)).chain((0..n).rev().take(300)).chain((0..n).step_by(997)).collect();
        let got = vec::<f32>(&storage(&x).cumsum(&l, 0).unwrap());
        let half: Vec<f16> = x.iter().map(|&v| f16::from_f32(v)).collect();
        let wide: Vec<f32> = half.iter().map(|v| v.to_f32()).collect();
        let narrow = vec::<f16>(&storage(&half).cumsum(&l, 0).unwrap());
        for i in some {
            assert_same(&got[i..=i], &[by_the_rule(&x, i, &|a, b| a + b)]);
            assert_same(&narrow[i..=i], &[f16::from_f32(by_the_rule(&wide, i, &|a, b| a + b))]);
        }
        let ints: Vec<i16> = rng.bits(n);
        let sums = ints.iter().scan(0i64, |sum, &v| {
            *sum += i64::from(v);
            Some(*sum as i16)
        });
        assert_same(&vec::<i16>(&storage(&ints).cumsum(&l, 0).unwrap()), &sums.collect::<Vec<_>>());
    }
}

#[test]
fn zeros_keep_their_sign_and_nothing_gives_nothing() {
    let zeros = storage(&[-0.0f32; 40]).cumsum(&Layout::contiguous(40), 0).unwrap();
    assert_same(&vec::<f32>(&zeros), &[-0.0; 40]);
    assert_eq!(storage::<f64>(&[]).cumsum(&Layout::contiguous([3, 0]), 1).unwrap().len(), 0);
    assert_eq!(storage::<f64>(&[]).cumsum(&Layout::contiguous([0, 3]), 1).unwrap().len(), 0);
}

#[test]
fn every_dimension_of_every_layout() {
    let x: Vec<i64> = (0..2 * 19 * 5).map(|i| i * i % 101).collect();
    let dims = [2, 19, 5];
    let l = Layout::contiguous(dims);
    let strides = [95, 5, 1];
    for dim in 0..3 {
        let mut want = x.clone();
        for i in 0..x.len() {
            let index = i / strides[dim] % dims[dim];
            if index > 0 {
                want[i] += want[i - strides[dim]];
            }
        }
        assert_same(&vec::<i64>(&storage(&x).cumsum(&l, dim).unwrap()), &want);
        let turned = Layout::contiguous([5, 19, 2]).transpose(0, 2).unwrap();
        let moved = {
            let mut moved = storage(&vec![0i64; 190]);
            CpuStorage::copy_into((&storage(&x), &l).into(), &mut moved, &turned).unwrap();
            moved
        };
        assert_same(&vec::<i64>(&moved.cumsum(&turned, dim).unwrap()), &want);
    }
}

/// Returns the result of a scan by the rule: of the reversed sequence, and for exclusive scans of
/// what comes before each element.
fn scanned<A: Copy>(x: &[A], op: Scan, nothing: A, f: &dyn Fn(A, A) -> A) -> Vec<A> {
    let mut sequence = x.to_vec();
    if op.reverse {
        sequence.reverse();
    }
    let end = |i| if op.exclusive { i } else { i + 1 };
    let mut results: Vec<A> = (0..x.len()).map(|i| parts(&sequence, i, end(i), f).unwrap_or(nothing)).collect();
    if op.reverse {
        results.reverse();
    }
    results
}

fn directions(op: ScanOp) -> [Scan; 4] {
    let scan = Scan::new(op, 0);
    [scan, scan.exclusive(), scan.reverse(), scan.exclusive().reverse()]
}

#[test]
fn every_scan_in_both_directions_with_and_without_the_element() {
    let mut rng = Rng(97);
    for n in [1, 2, 15, 16, 17, 33, 255, 256, 257, 300, 4097, 5000] {
        let l = Layout::contiguous(n);
        let x = rng.floats(n);
        let factors: Vec<f32> = x.iter().map(|v| 1.0 + v / 8.0).collect();
        let ints: Vec<i8> = rng.bits(n);
        for i in 0..4 {
            let of = |op| directions(op)[i];
            let sums = scanned(&x, of(ScanOp::Sum), 0.0, &|a, b| a + b);
            assert_same(&vec::<f32>(&storage(&x).scan(&l, of(ScanOp::Sum)).unwrap()), &sums);
            let products = scanned(&factors, of(ScanOp::Prod), 1.0, &|a, b| a * b);
            assert_same(&vec::<f32>(&storage(&factors).scan(&l, of(ScanOp::Prod)).unwrap()), &products);
            let least = scanned(&x, of(ScanOp::Min), f32::INFINITY, &f32::min);
            assert_same(&vec::<f32>(&storage(&x).scan(&l, of(ScanOp::Min)).unwrap()), &least);
            let greatest = scanned(&x, of(ScanOp::Max), f32::NEG_INFINITY, &f32::max);
            assert_same(&vec::<f32>(&storage(&x).scan(&l, of(ScanOp::Max)).unwrap()), &greatest);
            let got = |op| vec::<i8>(&storage(&ints).scan(&l, of(op)).unwrap());
            assert_same(&got(ScanOp::Sum), &scanned(&ints, of(ScanOp::Sum), 0, &i8::wrapping_add));
            assert_same(&got(ScanOp::Prod), &scanned(&ints, of(ScanOp::Prod), 1, &i8::wrapping_mul));
            assert_same(&got(ScanOp::Min), &scanned(&ints, of(ScanOp::Min), i8::MAX, &Ord::min));
            assert_same(&got(ScanOp::Max), &scanned(&ints, of(ScanOp::Max), i8::MIN, &Ord::max));
        }
    }
}

#[test]
fn the_first_result_of_an_exclusive_scan_is_that_of_no_elements() {
    fn first<T: WithDType>(x: T) -> [T; 4] {
        let l = Layout::contiguous(1);
        let of = |op| vec::<T>(&storage(&[x]).scan(&l, Scan::new(op, 0).exclusive()).unwrap())[0];
        [ScanOp::Sum, ScanOp::Prod, ScanOp::Min, ScanOp::Max].map(of)
    }
    let inf = f32::INFINITY;
    assert_same(&first(-0.0f32), &[0.0, 1.0, inf, -inf]);
    assert_same(&first(5.0f64), &[0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY]);
    assert_same(&first(f16::NAN), &[0.0, 1.0, inf, -inf].map(f16::from_f32));
    assert_same(&first(bf16::ONE), &[0.0, 1.0, inf, -inf].map(bf16::from_f32));
    assert_same(&first(F8E4M3::from_f32(3.0)), &[0.0, 1.0, 448.0, -448.0].map(F8E4M3::from_f32));
    assert_eq!(first(7u8), [0, 1, u8::MAX, 0]);
    assert_eq!(first(7i8), [0, 1, i8::MAX, i8::MIN]);
    assert_eq!(first(7i16), [0, 1, i16::MAX, i16::MIN]);
    assert_eq!(first(7u32), [0, 1, u32::MAX, 0]);
    assert_eq!(first(7i32), [0, 1, i32::MAX, i32::MIN]);
    assert_eq!(first(7i64), [0, 1, i64::MAX, i64::MIN]);
    // Only the first result is that of no elements: the sum of -0 alone is -0.
    let l = Layout::contiguous(3);
    let sums = storage(&[-0.0f32; 3]).scan(&l, Scan::cumsum(0).exclusive()).unwrap();
    assert_same(&vec::<f32>(&sums), &[0.0, -0.0, -0.0]);
}

#[test]
fn extremes_keep_nan_and_order_zeros() {
    let nan = f32::NAN;
    let x = storage(&[0.0f32, -0.0, 1.0, nan, 2.0, -3.0]);
    let l = Layout::contiguous(6);
    let scan = |op| vec::<f32>(&x.scan(&l, op).unwrap());
    assert_same(&scan(Scan::cummin(0)), &[0.0, -0.0, -0.0, nan, nan, nan]);
    assert_same(&scan(Scan::cummax(0)), &[0.0, 0.0, 1.0, nan, nan, nan]);
    assert_same(&scan(Scan::cummin(0).reverse()), &[nan, nan, nan, nan, -3.0, -3.0]);
    assert_same(&scan(Scan::cummax(0).reverse().exclusive()), &[nan, nan, nan, 2.0, -3.0, -f32::INFINITY]);
}

#[test]
fn reversed_scans_of_every_layout() {
    let x: Vec<i32> = (0..3 * 37 * 5).map(|i| i * i % 211 - 100).collect();
    let dims = [3, 37, 5];
    let l = Layout::contiguous(dims);
    let strides = [185, 5, 1];
    let turned = Layout::contiguous([5, 37, 3]).transpose(0, 2).unwrap();
    let mut moved = storage(&vec![0i32; x.len()]);
    CpuStorage::copy_into((&storage(&x), &l).into(), &mut moved, &turned).unwrap();
    for dim in 0..3 {
        let mut want = x.clone();
        for i in (0..x.len()).rev() {
            if i / strides[dim] % dims[dim] + 1 < dims[dim] {
                want[i] = want[i].max(want[i + strides[dim]]);
            }
        }
        let op = Scan::cummax(dim).reverse();
        assert_same(&vec::<i32>(&storage(&x).scan(&l, op).unwrap()), &want);
        assert_same(&vec::<i32>(&moved.scan(&turned, op).unwrap()), &want);
    }
}
