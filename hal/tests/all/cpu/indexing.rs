//! Compares indexing with the definitions of `docs/numerics/indexing.md`, element by element.

use super::*;
use half::f16;
use isobit_hal::{Dims, ErrorKind, GatherNd, Indexing, Op, ScatterNd, ScatterOp, ScatterReduce, Src};

/// Returns every index of a shape, in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |all, &d| {
        all.into_iter().flat_map(|index| (0..d).map(move |i| [&index[..], &[i]].concat())).collect()
    })
}

fn offset(layout: &Layout, index: &[usize]) -> usize {
    layout.start_offset() + index.iter().zip(layout.stride()).map(|(i, s)| i * s).sum::<usize>()
}

fn with(index: &[usize], dim: usize, at: usize) -> Vec<usize> {
    let mut index = index.to_vec();
    index[dim] = at;
    index
}

/// Returns layouts of a shape with the buffer size that each needs: plain, transposed, stepped with
/// an offset and, if elements may repeat, broadcast.
fn layouts(dims: &[usize], may_repeat: bool) -> Vec<(Layout, usize)> {
    let plain = Layout::contiguous(dims);
    let reversed: Vec<usize> = dims.iter().rev().copied().collect();
    let order: Vec<usize> = (0..dims.len()).rev().collect();
    let transposed = Layout::contiguous(&reversed[..]).permute(&order).unwrap();
    let wide: Vec<usize> = dims.iter().map(|d| 2 * d + 1).collect();
    let stepped = (0..dims.len())
        .fold(Layout::contiguous(&wide[..]), |l, d| l.narrow(d, 1, 2 * dims[d]).and_then(|l| l.step(d, 2)).unwrap());
    let mut all = vec![plain, transposed, stepped];
    if may_repeat {
        let mut stride = Dims::from_elem(0, dims.len());
        stride[dims.len() - 1] = 1;
        all.push(Layout::new(Dims::from_slice(dims), stride, 2).unwrap());
    }
    all.into_iter().map(|l| (l.required_len().unwrap() + 1, l)).map(|(n, l)| (l, n)).collect()
}

const CASES: [(&[usize], usize, usize); 8] = [
    (&[7], 0, 5),
    (&[1], 0, 1),
    (&[3, 5], 0, 4),
    (&[3, 5], 1, 9),
    (&[4, 3, 6], 1, 2),
    (&[2, 40, 3], 1, 300),
    (&[20, 17], 0, 1),
    (&[2, 2100], 1, 70),
];

/// Computes the expected destination by the definitions, which say for each moved element where it
/// goes.
#[test]
fn every_operation_does_what_it_says_in_every_layout() {
    let mut rng = Rng(60);
    for (moved, dim, size) in CASES {
        let mut tensor = moved.to_vec();
        tensor[dim] = size;
        for (ids_layout, ids_len) in layouts(moved, true) {
            let ids: Vec<u32> = (0..ids_len).map(|_| rng.below(size) as u32).collect();
            let id = |index: &[usize]| ids[offset(&ids_layout, index)] as usize;
            for ((from, from_len), (to, to_len)) in layouts(moved, true).into_iter().zip(layouts(&tensor, false)) {
                let source: Vec<f32> = rng.floats(from_len);
                let target: Vec<f32> = rng.floats(to_len);
                let (ids, src) = (storage(&ids), storage(&source));
                let inputs = [Src::InPlace, Src::Storage(&ids, &ids_layout), Src::Storage(&src, &from)];

                let (mut set, mut added) = (target.clone(), target.clone());
                for index in indices(moved) {
                    let at = offset(&to, &with(&index, dim, id(&index)));
                    set[at] = source[offset(&from, &index)];
                    added[at] += source[offset(&from, &index)];
                }
                for (op, want) in
                    [(Op::ScatterSet(Indexing::new(dim)), set), (Op::ScatterAdd(Indexing::new(dim)), added)]
                {
                    let mut dst = storage(&target);
                    CpuStorage::apply_into(&op, &inputs, &mut dst, &to).unwrap();
                    assert_same(&vec::<f32>(&dst), &want);
                }

                let tensor = storage(&target);
                let got = tensor.gather(&to, &ids, &ids_layout, dim).unwrap();
                let want: Vec<f32> = indices(moved).iter().map(|i| target[offset(&to, &with(i, dim, id(i)))]).collect();
                assert_same(&vec::<f32>(&got), &want);
            }
        }
    }
}

#[test]
fn ids_of_one_dimension_serve_every_slice() {
    let mut rng = Rng(61);
    for (moved, dim, size) in CASES {
        let mut tensor = moved.to_vec();
        tensor[dim] = size;
        let ids: Vec<i64> = (0..2 * moved[dim]).map(|_| rng.below(size) as i64).collect();
        let every_second = Layout::contiguous(2 * moved[dim]).step(0, 2).unwrap();
        let stored = storage(&ids);
        for ((from, from_len), (to, to_len)) in layouts(moved, true).into_iter().zip(layouts(&tensor, false)) {
            let (source, target) = (rng.floats(from_len), rng.floats(to_len));
            let at = |index: &[usize]| offset(&to, &with(index, dim, ids[2 * index[dim]] as usize));
            let got = storage(&target).index_select(&to, &stored, &every_second, dim).unwrap();
            let want: Vec<f32> = indices(moved).iter().map(|i| target[at(i)]).collect();
            assert_same(&vec::<f32>(&got), &want);

            let mut added = target.clone();
            indices(moved).iter().for_each(|i| added[at(i)] += source[offset(&from, i)]);
            let got = storage(&target).index_add(&to, &stored, &every_second, &storage(&source), &from, dim).unwrap();
            let want: Vec<f32> = to.strided_index().map(|i| added[i]).collect();
            assert_same(&vec::<f32>(&got), &want);
        }
    }
}

#[test]
fn sums_of_narrow_floats_are_rounded_once_and_integers_wrap() {
    let l = |n: usize| Layout::contiguous(n);
    // 2048 + 1 is 2048 in f16: if each step were rounded to f16, nothing would change.
    let mut dst = storage(&[f16::from_f32(2048.0), f16::from_f32(-0.0)]);
    let ones = storage(&[f16::ONE; 4]);
    dst.scatter_add_set(&l(2), &storage(&[0u8; 4]), &l(4), &ones, &l(4), 0).unwrap();
    assert_eq!(vec::<f16>(&dst), [f16::from_f32(2052.0), f16::from_f32(-0.0)]);
    assert!(vec::<f16>(&dst)[1].is_sign_negative(), "nothing was added there");
    // In f32 the order is visible: 2^24 + 1 stays 2^24.
    for (order, want) in [([16_777_216f32, 1.0, 1.0], 16_777_216.0), ([1.0, 1.0, 16_777_216.0], 16_777_218.0)] {
        let mut dst = storage(&[0f32]);
        dst.scatter_add_set(&l(1), &storage(&[0u32; 3]), &l(3), &storage(&order), &l(3), 0).unwrap();
        assert_eq!(vec::<f32>(&dst), [want]);
    }
    let mut dst = storage(&[250u8, 1]);
    dst.scatter_add_set(&l(2), &storage(&[0i64, 0, 1]), &l(3), &storage(&[5u8, 7, 255]), &l(3), 0).unwrap();
    assert_eq!(vec::<u8>(&dst), [6, 0]);
    let nan = f16::from_bits(0x7d2a);
    let mut dst = storage(&[nan, f16::ONE]);
    dst.scatter_add_set(&l(2), &storage(&[1u8]), &l(1), &storage(&[f16::ONE]), &l(1), 0).unwrap();
    assert_eq!(vec::<f16>(&dst)[0].to_bits(), nan.to_bits(), "an element that nothing is added to keeps its bits");
}

/// What PyTorch 2.x gives for `scatter_reduce` with `include_self=True`, worked out by hand where a
/// NaN or a zero's sign decides.
#[test]
fn products_and_extremes_start_from_what_is_there() {
    let (two, six) = (Layout::contiguous(2), Layout::contiguous(6));
    let ids = storage(&[0u32, 1, 0, 1, u32::MAX, 0]);
    let src = storage(&[3f32, -2.0, 0.5, 7.0, f32::NAN, -4.0]);
    for (op, want) in
        [(ScatterOp::Prod, [-12.0, -14.0]), (ScatterOp::Amin, [-4.0, -2.0]), (ScatterOp::Amax, [3.0, 7.0])]
    {
        let mut dst = storage(&[2f32, 1.0]);
        dst.scatter_reduce(&two, &ids, &six, &src, &six, ScatterReduce::new(op, 0)).unwrap();
        assert_eq!(vec::<f32>(&dst), want, "{op}");
    }
    let one = Layout::contiguous(1);
    let reduce = |op, to: f32, x: f32| {
        let mut dst = storage(&[to]);
        dst.scatter_reduce(&one, &storage(&[0u8]), &one, &storage(&[x]), &one, ScatterReduce::new(op, 0)).unwrap();
        vec::<f32>(&dst)[0]
    };
    assert!(reduce(ScatterOp::Amax, f32::NAN, 1.0).is_nan() && reduce(ScatterOp::Amin, 1.0, f32::NAN).is_nan());
    assert_eq!(reduce(ScatterOp::Amin, 0.0, -0.0).to_bits(), (-0f32).to_bits());
    assert_eq!(reduce(ScatterOp::Amax, -0.0, 0.0).to_bits(), 0f32.to_bits());
    // Signed and unsigned integers differ in their order, and wrap to the same bits.
    let bytes = |op, to: u8, x: u8| {
        let mut dst = storage(&[to]);
        dst.scatter_reduce(&one, &storage(&[0u8]), &one, &storage(&[x]), &one, ScatterReduce::new(op, 0)).unwrap();
        vec::<u8>(&dst)[0]
    };
    assert_eq!([bytes(ScatterOp::Amax, 1, 200), bytes(ScatterOp::Prod, 100, 3)], [200, 44]);
    let mut dst = storage(&[1i8]);
    dst.scatter_reduce(&one, &storage(&[0u8]), &one, &storage(&[-56i8]), &one, ScatterReduce::new(ScatterOp::Amax, 0))
        .unwrap();
    assert_eq!(vec::<i8>(&dst), [1]);
    // A product is rounded once: 3 * 683 is no f16, and rounds to 2048.
    let mut dst = storage(&[f16::from_f32(3.0)]);
    let src = storage(&[f16::from_f32(683.0), f16::from_f32(1.5)]);
    dst.scatter_reduce(&one, &storage(&[0u8, 0]), &two, &src, &two, ScatterReduce::new(ScatterOp::Prod, 0)).unwrap();
    assert_eq!(vec::<f16>(&dst), [f16::from_f32(3074.0)]);
}

#[test]
fn negative_ids_count_from_the_end_if_the_call_allows_them() {
    let (three, four) = (Layout::contiguous(3), Layout::contiguous(4));
    let x = storage(&[10i32, 11, 12]);
    let taken = |ids: &CpuStorage, negative: bool| {
        let along = if negative { Indexing::new(0).with_negative_ids() } else { Indexing::new(0) };
        CpuStorage::apply(&Op::Gather(along), &[(&x, &three), (ids, &four)]).map(|y| vec::<i32>(&y))
    };
    assert_eq!(taken(&storage(&[-1i32, -3, 0, i32::MAX]), true).unwrap(), [12, 10, 10, 0]);
    assert_eq!(taken(&storage(&[-1i64, -3, 2, i64::MAX]), true).unwrap(), [12, 10, 12, 0]);
    assert_eq!(taken(&storage(&[2u8, 0, 1, 1]), true).unwrap(), [12, 10, 11, 11]);
    out_of_range(taken(&storage(&[0i64, -4, i64::MIN, 0]), true).map(drop), "-4 at [1] of the ids");
    out_of_range(taken(&storage(&[0i64, 0, i64::MIN, 0]), true).map(drop), "-9223372036854775808 at [2] of the ids");
    let error = taken(&storage(&[0i32, 1, 2, -1]), false).unwrap_err();
    assert!(error.message().contains("negative ids count from the end if the call allows them"), "{error}");

    let mut dst = storage(&[0i32; 3]);
    let inputs = [storage(&[-1i32, 0, -3, -1]), storage(&[1i32, 2, 3, 4])];
    let inputs = [Src::InPlace, Src::Storage(&inputs[0], &four), Src::Storage(&inputs[1], &four)];
    for (op, want) in [
        (Op::ScatterSet(Indexing::new(0).with_negative_ids()), [3, 0, 4]),
        (Op::ScatterAdd(Indexing::new(0).with_negative_ids()), [8, 0, 9]),
        (Op::IndexAdd(Indexing::new(0).with_negative_ids()), [13, 0, 14]),
        (Op::ScatterReduce(ScatterReduce::new(ScatterOp::Prod, 0).with_negative_ids()), [78, 0, 56]),
    ] {
        CpuStorage::apply_into(&op, &inputs, &mut dst, &three).unwrap();
        assert_eq!(vec::<i32>(&dst), want, "{op}");
    }
}

/// The first wrong id in row-major order is not the first one in memory.
#[test]
fn a_wrong_id_is_reported_with_its_place() {
    let ids = storage(&[0i64, 9, 7, 8, 0, 0]);
    let turned = Layout::contiguous((3, 2)).transpose(0, 1).unwrap(); // [[0, 7, 0], [9, 8, 0]]
    let x = storage(&[1f32; 6]);
    let l = Layout::contiguous((2, 3));
    out_of_range(x.gather(&l, &ids, &turned, 1).map(drop), "7 at [0, 1] of the ids");
    let ids = storage(&[0i64, 0, 7, 0, 8, 0]);
    let turned = Layout::contiguous((3, 2)).transpose(0, 1).unwrap(); // [[0, 7, 8], [0, 0, 0]]
    let mut dst = storage(&[0f32; 6]);
    out_of_range(dst.scatter_set(&l, &ids, &turned, &x, &l, 1), "7 at [0, 1] of the ids");
    out_of_range(dst.scatter_add_set(&l, &ids, &turned, &x, &l, 0), "7 at [0, 1] of the ids lies outside dimension 0,");
    // Ids of one dimension have places in it, and the same id for all elements has the first place.
    let four = storage(&[0u32, 1, 5, 6]);
    out_of_range(x.index_select(&l, &four, &Layout::contiguous(4), 1).map(drop), "5 at [2] of the ids");
    let row = Layout::contiguous((2, 1)).broadcast_as((2, 3)).unwrap();
    out_of_range(x.gather(&l, &storage(&[0u32, 4]), &row, 0).map(drop), "4 at [1, 0] of the ids");
    // Tuples name the dimension of their component.
    let ids = storage(&[1i32, 2, 1, 3, 2, 0]);
    let error = x.gather_nd(&l, &ids, &Layout::contiguous((3, 2)), GatherNd::new(0)).unwrap_err();
    assert!(
        error.message().contains("the id 3 at [1, 1] of the ids lies outside dimension 1, which has size 3"),
        "{error}"
    );
}

/// Elements one by one, by the definition, in layouts that can be flattened and in others.
#[test]
fn tuples_of_ids_index_the_first_dimensions() {
    let mut rng = Rng(63);
    // Shared, indexed and other dimensions, and those of the tuples.
    let cases: [[&[usize]; 4]; 6] = [
        [&[], &[4], &[3], &[5]],
        [&[], &[4, 3], &[], &[2, 5]],
        [&[], &[2, 3, 4], &[5], &[7]],
        [&[2], &[4, 3], &[2, 2], &[3]],
        [&[2, 3], &[5], &[], &[]],
        [&[], &[], &[3, 2], &[4]],
    ];
    for [shared, sizes, slice, tuples] in cases {
        let tensor = [shared, sizes, slice].concat();
        let (first, moved) = ([shared, tuples].concat(), [shared, tuples, slice].concat());
        let ids: Vec<i64> = indices(&first)
            .iter()
            .flat_map(|_| sizes.iter().map(|&n| rng.below(2 * n) as i64 - n as i64).collect::<Vec<_>>())
            .collect();
        let ids_layout = Layout::contiguous([&first[..], &[sizes.len()]].concat());
        let stored = storage(&ids);
        // Where an element of the moved ones is in the tensor.
        let place = |index: &[usize]| -> Vec<usize> {
            let row = offset(&Layout::contiguous(&first[..]), &index[..first.len()]) * sizes.len();
            let named = sizes.iter().enumerate().map(|(k, &n)| ids[row + k].rem_euclid(n as i64) as usize);
            index[..shared.len()].iter().copied().chain(named).chain(index[first.len()..].iter().copied()).collect()
        };
        for ((to, to_len), (from, from_len)) in layouts(&tensor, false).into_iter().zip(layouts(&moved, true)) {
            let (target, source) = (rng.floats(to_len), rng.floats(from_len));
            let op = GatherNd::new(shared.len()).with_negative_ids();
            let got = storage(&target).gather_nd(&to, &stored, &ids_layout, op).unwrap();
            let want: Vec<f32> = indices(&moved).iter().map(|i| target[offset(&to, &place(i))]).collect();
            assert_same(&vec::<f32>(&got), &want);
            if !shared.is_empty() {
                continue;
            }
            for (op, combine) in [
                (ScatterOp::Set, (|_, x| x) as fn(f32, f32) -> f32),
                (ScatterOp::Add, |to, x| to + x),
                (ScatterOp::Prod, |to, x| to * x),
                (ScatterOp::Amin, f32::min),
                (ScatterOp::Amax, f32::max),
            ] {
                let mut want = target.clone();
                for index in indices(&moved) {
                    let at = offset(&to, &place(&index));
                    want[at] = combine(want[at], source[offset(&from, &index)]);
                }
                let mut got = storage(&target);
                let op = ScatterNd::new(op).with_negative_ids();
                got.scatter_nd(&to, &stored, &ids_layout, &storage(&source), &from, op).unwrap();
                assert_same(&vec::<f32>(&got), &want);
            }
        }
    }
}

#[test]
fn tuples_with_padding_or_a_wrong_id_name_nothing() {
    let (l, three) = (Layout::contiguous((2, 2)), Layout::contiguous(3));
    let x = storage(&[1i32, 2, 3, 4]);
    let ids = storage(&[1u32, u32::MAX, 0, 1, 2, 0]);
    let tuples = Layout::contiguous((3, 2));
    let mut got = storage(&[-1i32; 3]);
    let inputs = [Src::Storage(&x, &l), Src::Storage(&ids, &tuples)];
    out_of_range(
        CpuStorage::apply_into(&Op::GatherNd(GatherNd::new(0)), &inputs, &mut got, &three),
        "2 at [2, 0] of the ids",
    );
    assert_eq!(vec::<i32>(&got), [0, 2, 0]);
    let mut dst = storage(&[1i32, 2, 3, 4]);
    let src = storage(&[10i32, 20, 30]);
    let op = ScatterNd::new(ScatterOp::Amax);
    out_of_range(dst.scatter_nd(&l, &ids, &tuples, &src, &three, op), "2 at [2, 0] of the ids");
    assert_eq!(vec::<i32>(&dst), [1, 20, 3, 4]);
    // Nothing to take, and nowhere to put it.
    let none = storage::<i32>(&[]);
    let empty = Layout::contiguous((0, 2));
    assert!(x.gather_nd(&l, &storage::<i64>(&[]), &empty, GatherNd::new(0)).unwrap().is_empty());
    let one = storage(&[0i64, 0]);
    let (pair, single) = (Layout::contiguous((1, 2)), Layout::contiguous(1));
    let inputs = [Src::Storage(&none, &empty), Src::Storage(&one, &pair)];
    let mut got = storage(&[-1i32]);
    out_of_range(
        CpuStorage::apply_into(&Op::GatherNd(GatherNd::new(0)), &inputs, &mut got, &single),
        "0 at [0, 0] of the ids",
    );
    assert_eq!(vec::<i32>(&got), [0]);
}

/// If some ids are wrong, the other elements are still processed; the error names the first wrong
/// id.
#[track_caller]
fn out_of_range(result: Result<()>, id: &str) {
    let error = result.expect_err("an id is out of range");
    assert_eq!(error.kind(), ErrorKind::IndexOutOfRange, "{error}");
    assert!(error.message().contains(&format!("the id {id} ")), "{error}");
}

#[test]
fn padding_is_left_out_and_what_is_out_of_range_is_reported_too() {
    let l = |n: usize| Layout::contiguous(n);
    let src = storage(&[10i32, 11, 12]);
    let mut dst = storage(&[-1i32; 4]);
    let mut take = |ids: &CpuStorage| {
        let result = CpuStorage::apply_into(
            &Op::Gather(Indexing::new(0)),
            &[Src::Storage(&src, &l(3)), Src::Storage(ids, &l(4))],
            &mut dst,
            &l(4),
        );
        (result, vec::<i32>(&dst))
    };
    let (padded, values) = take(&storage(&[2u32, u32::MAX, 0, 1]));
    padded.unwrap();
    assert_eq!(values, [12, 0, 10, 11]);
    let (padded, values) = take(&storage(&[i64::MAX, 1, 0, 1]));
    padded.unwrap();
    assert_eq!(values, [0, 11, 10, 11]);
    let (wrong, values) = take(&storage(&[2i64, -1, 1, 3]));
    out_of_range(wrong, "-1");
    assert_eq!(values, [12, 0, 11, 0]);
    let (wrong, values) = take(&storage(&[i64::from(u32::MAX), i64::MIN, 1, 2]));
    out_of_range(wrong, "4294967295");
    assert_eq!(values, [0, 0, 11, 12]);
    let (padded, values) = take(&storage(&[i32::MAX, 1, 0, 2]));
    padded.unwrap();
    assert_eq!(values, [0, 11, 10, 12]);
    let (wrong, values) = take(&storage(&[2i32, -1, 1, i32::MIN]));
    out_of_range(wrong, "-1");
    assert_eq!(values, [12, 0, 11, 0]);
    let (wrong, values) = take(&storage(&[3u8, 255, 1, 2]));
    out_of_range(wrong, "3");
    assert_eq!(values, [0, 0, 11, 12], "a u8 has no padding mark: 255 is out of range of three");

    let many = storage(&(0..300).collect::<Vec<i32>>());
    let got = many.index_select(&l(300), &storage(&[255u8, 0]), &l(2), 0).unwrap();
    assert_eq!(vec::<i32>(&got), [255, 0]);

    for add in [false, true] {
        let mut dst = storage(&[5i32, 6]);
        let (ids, src) = (storage(&[1i64, 2, i64::MAX, 0]), storage(&[1i32, 2, 3, 4]));
        let call = if add { CpuStorage::scatter_add_set } else { CpuStorage::scatter_set };
        out_of_range(call(&mut dst, &l(2), &ids, &l(4), &src, &l(4), 0), "2");
        assert_eq!(vec::<i32>(&dst), if add { [9, 7] } else { [4, 1] });
    }
}

#[test]
fn there_may_be_nothing_to_take_or_nowhere_to_put_it() {
    let none = storage::<f32>(&[]);
    let ids = storage(&[u32::MAX, 0]);
    let (empty, two) = (Layout::contiguous(0), Layout::contiguous(2));
    let mut dst = storage(&[1f32, 1.0]);
    let inputs = [Src::Storage(&none, &empty), Src::Storage(&ids, &two)];
    out_of_range(CpuStorage::apply_into(&Op::Gather(Indexing::new(0)), &inputs, &mut dst, &two), "0");
    assert_eq!(vec::<f32>(&dst), [0.0, 0.0]);
    let mut nowhere = storage::<f32>(&[]);
    out_of_range(nowhere.scatter_set(&empty, &ids, &two, &dst, &two, 0), "0");
    let no_ids = storage::<u8>(&[]);
    dst.scatter_add_set(&two, &no_ids, &empty, &none, &empty, 0).unwrap();
    assert_eq!(vec::<f32>(&dst), [0.0, 0.0]);
    assert!(dst.index_select(&two, &no_ids, &empty, 0).unwrap().is_empty());
}

#[test]
fn many_lines_on_many_threads_give_what_one_does() {
    let mut rng = Rng(62);
    let dims = [300, 7, 33];
    let (l, n) = (Layout::contiguous(dims), dims.iter().product());
    let ids: Vec<u8> = (0..n).map(|_| rng.below(7) as u8).collect();
    let (src, dst) = (rng.floats(n), rng.floats(n));
    let mut want = dst.clone();
    for index in indices(&dims) {
        let at = with(&index, 1, ids[offset(&l, &index)] as usize);
        want[offset(&l, &at)] += src[offset(&l, &index)];
    }
    let mut got = storage(&dst);
    got.scatter_add_set(&l, &storage(&ids), &l, &storage(&src), &l, 1).unwrap();
    assert_same(&vec::<f32>(&got), &want);
}
