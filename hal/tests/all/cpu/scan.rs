//! Compares cumulative sums with the rule of `docs/numerics/shape.md` section 6, computed from the
//! base-16 digits of each element's index.

use super::*;
use half::f16;

/// Returns the total of a run of a level: 16 to the power of `level + 1` elements from `first` on.
fn total<A: Copy>(x: &[A], first: usize, level: u32, add: &dyn Fn(A, A) -> A) -> A {
    let part = |i: usize| match level {
        0 => x[first + i],
        _ => total(x, first + i * 16usize.pow(level), level - 1, add),
    };
    (1..16).fold(part(0), |sum, i| add(sum, part(i)))
}

/// Returns element `i` of the result, by steps 2 and 3.
fn by_the_rule<A: Copy>(x: &[A], i: usize, add: &dyn Fn(A, A) -> A) -> A {
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
    let own = x[i / 16 * 16..=i].iter().copied().reduce(add).unwrap();
    before.map_or(own, |b| add(b, own))
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
