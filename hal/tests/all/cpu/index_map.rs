//! Tests flips, rolls, padding, repetition and concatenation: values of NumPy 2.4, every layout,
//! and each index by the formula that defines it.

use super::*;
use isobit_hal::*;

/// Returns the elements of a call with a source and a destination whose elements lie apart and in
/// another order than the logical one.
fn spread<T: WithDType>(op: &Op, inputs: &[(&CpuStorage, &Layout)], filler: T) -> Vec<T> {
    let shapes: Vec<&Shape> = inputs.iter().map(|(_, l)| l.shape()).collect();
    let shape = op.result_shape(&shapes).unwrap().unwrap();
    let order: Vec<usize> = (0..shape.rank()).rev().collect();
    let wide: Vec<usize> = order.iter().map(|&d| 3 * shape.dims()[d]).collect();
    let mut layout = Layout::contiguous(&wide[..]);
    for d in 0..shape.rank() {
        layout = layout.step(d, 3).unwrap();
    }
    let layout = layout.permute(&order).unwrap();
    let mut dst = storage(&vec![filler; wide.iter().product()]);
    let srcs: Vec<_> = inputs.iter().map(|&(s, l)| Src::Storage(s, l)).collect();
    CpuStorage::apply_into(op, &srcs, &mut dst, &layout).unwrap();
    vec(&dst.try_clone(&layout).unwrap())
}

fn apply<T: WithDType>(op: Op, x: &[T], dims: &[usize]) -> Vec<T> {
    let (x, l) = (storage(x), Layout::contiguous(dims));
    vec(&CpuStorage::apply(&op, &[(&x, &l)]).unwrap())
}

fn counted(n: usize) -> Vec<i32> {
    (1..=n as i32).collect()
}

#[test]
fn results_are_those_of_numpy() {
    let flipped = apply(Op::Flip(Flip::new(&[2, 0])), &counted(24), &[2, 3, 4]);
    let want = [16, 15, 14, 13, 20, 19, 18, 17, 24, 23, 22, 21, 4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9];
    assert_eq!(flipped, want);
    let rolled = apply(Op::Roll(Roll::new(&[1, -5], &[0, 2])), &counted(24), &[2, 3, 4]);
    let want = [14, 15, 16, 13, 18, 19, 20, 17, 22, 23, 24, 21, 2, 3, 4, 1, 6, 7, 8, 5, 10, 11, 12, 9];
    assert_eq!(rolled, want);
    assert_eq!(apply(Op::Roll(Roll::new(&[2, 2], &[0, 0])), &[0i8, 1, 2, 3, 4], &[5]), [1, 2, 3, 4, 0]);
    let edge = apply(Op::Pad(Pad::new(&[1, 2], &[2, 1], PadMode::Replicate)), &counted(6), &[2, 3]);
    let want = [[1, 1, 1, 2, 3, 3], [1, 1, 1, 2, 3, 3], [4, 4, 4, 5, 6, 6], [4, 4, 4, 5, 6, 6], [4, 4, 4, 5, 6, 6]];
    assert_eq!(edge, want.concat());
    let reflected = apply(Op::Pad(Pad::new(&[2, 3], &[1, 2], PadMode::Reflect)), &counted(12), &[3, 4]);
    let want = [
        [12, 11, 10, 9, 10, 11, 12, 11, 10],
        [8, 7, 6, 5, 6, 7, 8, 7, 6],
        [4, 3, 2, 1, 2, 3, 4, 3, 2],
        [8, 7, 6, 5, 6, 7, 8, 7, 6],
        [12, 11, 10, 9, 10, 11, 12, 11, 10],
        [8, 7, 6, 5, 6, 7, 8, 7, 6],
    ];
    assert_eq!(reflected, want.concat());
    let wrapped = apply(Op::Pad(Pad::new(&[3, 1], &[2, 4], PadMode::Circular)), &counted(12), &[3, 4]);
    let (a, b, c) = ([4, 1, 2, 3, 4, 1, 2, 3, 4], [8, 5, 6, 7, 8, 5, 6, 7, 8], [12, 9, 10, 11, 12, 9, 10, 11, 12]);
    assert_eq!(wrapped, [a, b, c, a, b, c, a, b].concat());
    let tiled = apply(Op::Repeat(Repeat::new(&[2, 1, 2])), &counted(12), &[3, 4]);
    let rows = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
    assert_eq!(tiled, [rows[0], rows[0], rows[1], rows[1], rows[2], rows[2]].concat().repeat(2));
}

#[test]
fn every_dtype_keeps_its_bits_in_every_layout() {
    for &dtype in DType::ALL {
        dispatch_dtype!(dtype, T => {
            let mut rng = Rng(71);
            let x: Vec<T> = rng.bits(5 * 7 * 4);
            let value: T = rng.bits(1)[0];
            let constant = PadMode::Constant(value.to_scalar());
            // A transposed input, and one row that is broadcast.
            let turned = Layout::contiguous([4, 7, 5]).transpose(0, 2).unwrap();
            let same = Layout::contiguous_with_offset([1, 7, 4], 9).broadcast_as([5, 7, 4]).unwrap();
            for l in [Layout::contiguous([5, 7, 4]), turned, same] {
                let source: Vec<T> = l.strided_index().map(|i| x[i]).collect();
                let at = |i: [usize; 3]| source[(i[0] * 7 + i[1]) * 4 + i[2]];
                let check = |op: Op, dims: [usize; 3], from: &dyn Fn([usize; 3]) -> T| {
                    let mut want = Vec::new();
                    for i in 0..dims[0] {
                        for j in 0..dims[1] {
                            want.extend((0..dims[2]).map(|k| from([i, j, k])));
                        }
                    }
                    let bits = |v: &[T]| bytemuck::cast_slice::<T, u8>(v).to_vec();
                    let x = storage(&x);
                    let packed = CpuStorage::apply(&op, &[(&x, &l)]).unwrap();
                    assert_eq!(packed.as_bytes(), bits(&want), "{op:?} {dtype} {l}");
                    assert_eq!(bits(&spread(&op, &[(&x, &l)], value)), bits(&want), "{op:?} {dtype} {l}");
                };
                let flip = Op::Flip(Flip::new(&[0, 2]));
                check(flip, [5, 7, 4], &|[i, j, k]| at([4 - i, j, 3 - k]));
                let roll = Op::Roll(Roll::new(&[3, isize::MIN], &[1, 2]));
                check(roll, [5, 7, 4], &|[i, j, k]| at([i, (j + 4) % 7, k]));
                let pad = Op::Pad(Pad::new(&[2, -1, 0], &[-3, 2, 1], constant));
                check(pad, [4, 8, 5], &|[i, j, k]| {
                    if i < 2 || j > 5 || k > 3 { value } else { at([i - 2, j + 1, k]) }
                });
                let pad = Op::Pad(Pad::new(&[4, 0, -1], &[0, -2, 2], PadMode::Reflect));
                check(pad, [9, 5, 5], &|[i, j, k]| at([i.abs_diff(4), j, 1 + k.min(4 - k)]));
                let pad = Op::Pad(Pad::new(&[9, -1, 0], &[1, 0, 6], PadMode::Replicate));
                check(pad, [15, 6, 10], &|[i, j, k]| at([i.clamp(9, 13) - 9, j + 1, k.min(3)]));
                let pad = Op::Pad(Pad::new(&[5, -2, 0], &[5, 3, -1], PadMode::Circular));
                check(pad, [15, 8, 3], &|[i, j, k]| at([i % 5, 2 + j % 5, k]));
                check(Op::Repeat(Repeat::new(&[2, 1, 3])), [10, 7, 12], &|[i, j, k]| at([i % 5, j, k % 4]));
            }
        });
    }
}

#[test]
fn tensors_follow_each_other_along_a_dimension() {
    for dim in 0..3 {
        let sizes = [2, 0, 1, 5, 3, 1, 0, 2, 2, 1, 1, 1, 4, 1, 1, 2, 1, 3, 0];
        let dims = |size: usize| {
            let mut dims = [3, 4, 2];
            dims[dim] = size;
            dims
        };
        let mut rng = Rng(72);
        // Every second input is transposed.
        let layouts: Vec<Layout> = sizes
            .iter()
            .enumerate()
            .map(|(i, &size)| {
                let [a, b, c] = dims(size);
                let turned = Layout::contiguous([c, b, a]).transpose(0, 2).unwrap();
                if i % 2 == 0 { Layout::contiguous([a, b, c]) } else { turned }
            })
            .collect();
        let data: Vec<Vec<i64>> = layouts.iter().map(|l| rng.bits(l.elem_count())).collect();
        let total: usize = sizes.iter().sum();
        let [a, b, c] = dims(total);
        let mut want = Vec::new();
        for place in 0..a * b * c {
            let mut index = [place / (b * c), place / c % b, place % c];
            let mut input = 0;
            while index[dim] >= sizes[input] {
                index[dim] -= sizes[input];
                input += 1;
            }
            let at: usize = index.iter().zip(layouts[input].stride()).map(|(i, s)| i * s).sum();
            want.push(data[input][at]);
        }
        let storages: Vec<_> = data.iter().map(|d| storage(d)).collect();
        let inputs: Vec<_> = storages.iter().zip(&layouts).collect();
        assert_eq!(vec::<i64>(&CpuStorage::concat(&inputs, dim).unwrap()), want);
        let op = Op::Concat(Concat::new(dim, inputs.len()));
        assert_eq!(spread::<i64>(&op, &inputs, 7), want);
    }
}

#[test]
fn stacks_are_concatenations_along_a_new_dimension() {
    let (a, b) = (storage(&[1u8, 2, 3, 4, 5, 6]), storage(&[7u8, 8, 9, 10, 11, 12]));
    let l = Layout::contiguous((2, 3));
    // By numpy.stack.
    let stack = |dim| vec::<u8>(&CpuStorage::stack(&[(&a, &l), (&b, &l)], dim).unwrap());
    assert_eq!(stack(0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(stack(1), [1, 2, 3, 7, 8, 9, 4, 5, 6, 10, 11, 12]);
    assert_eq!(stack(2), [1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12]);
    let error = CpuStorage::stack(&[(&a, &l), (&b, &Layout::contiguous((3, 2)))], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShapeMismatch);
    assert!(CpuStorage::stack(&[(&a, &l)], 3).is_err());
    assert!(CpuStorage::stack(&[], 0).is_err());
}

#[test]
fn nothing_and_scalars_are_moved_too() {
    let none: [f32; 0] = [];
    assert_eq!(apply(Op::Flip(Flip::new(&[0])), &none, &[0, 3]), none);
    assert_eq!(apply(Op::Roll(Roll::new(&[5], &[0])), &none, &[0]), none);
    assert_eq!(apply(Op::Repeat(Repeat::new(&[0, 2])), &[1.0f32], &[1]), none);
    let constant = PadMode::Constant(Scalar::F32(2.5));
    assert_eq!(apply(Op::Pad(Pad::new(&[0, 1], &[1, 0], constant)), &none, &[1, 0]), [2.5, 2.5]);
    assert_eq!(apply(Op::Pad(Pad::new(&[-2, 1], &[0, 0], constant)), &[1.0f32; 4], &[2, 2]), none);
    assert_eq!(apply(Op::Pad(Pad::new(&[-2], &[3], constant)), &[1.0f32; 2], &[2]), [2.5; 3]);
    assert_eq!(apply(Op::Pad(Pad::new(&[], &[], PadMode::Reflect)), &[7.0f32], &[]), [7.0]);
    assert_eq!(apply(Op::Flip(Flip::new(&[])), &[7.0f32], &[]), [7.0]);
    assert_eq!(apply(Op::Repeat(Repeat::new(&[2, 1])), &[7.0f32], &[]), [7.0, 7.0]);
}

#[test]
fn a_destination_is_no_input() {
    let l = Layout::contiguous(4);
    let mut x = storage(&[1i32, 2, 3, 4]);
    for op in Family::IndexMap.examples() {
        let srcs = vec![Src::InPlace; op.inputs()];
        let error = CpuStorage::apply_into(&op, &srcs, &mut x, &l).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{op}");
    }
    assert_eq!(vec::<i32>(&x), [1, 2, 3, 4]);
}

#[test]
fn a_constant_has_the_dtype_of_the_elements() {
    let error = storage(&[1i32]).pad(&Layout::contiguous(1), &[1], &[0], PadMode::Constant(Scalar::F32(0.0)));
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedDtype);
    assert!(error.message().contains("the value is f32, but the storage is i32"), "{error}");
}
