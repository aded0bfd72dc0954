//! Compares every layout, in place and out of place, with the buffer index of each logical element.

use super::*;
use isobit_hal::{Affine, BinaryOp, CmpOp, Copy2d, Shape, Src, UnaryOp};

/// Draws a layout of a shape in its own buffer: permuted, with gaps, an offset and steps.
pub fn scattered(rng: &mut Rng, shape: &[usize]) -> (Layout, usize) {
    let rank = shape.len();
    let mut order: Vec<usize> = (0..rank).collect();
    (1..rank).for_each(|i| order.swap(i, rng.below(i + 1)));
    let mut stride = vec![0; rank];
    let mut step = 1 + rng.below(3);
    for &d in &order {
        stride[d] = step;
        step *= shape[d].max(1);
        step += rng.below(2) * (1 + rng.below(5));
    }
    let layout = Layout::new(shape, isobit_hal::Dims::from_vec(stride), rng.below(7)).unwrap();
    let len = layout.required_len().unwrap() + rng.below(4);
    (layout, len)
}

fn shapes(rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut shapes = vec![
        vec![],
        vec![1],
        vec![0],
        vec![3, 0, 2],
        vec![1023],
        vec![1025],
        vec![33, 65],
        vec![5, 1, 7],
        vec![70, 30, 20],
    ];
    shapes.extend((0..30).map(|_| (0..rng.below(6)).map(|_| 1 + rng.below(9)).collect()));
    shapes
}

#[test]
fn copies_reach_every_element_and_no_other() {
    let mut rng = Rng(10);
    for shape in shapes(&mut rng) {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::I64] {
            let (from, from_len) = scattered(&mut rng, &shape);
            let (to, to_len) = scattered(&mut rng, &shape);
            dispatch_dtype!(dtype, T => {
                let src: Vec<T> = rng.bits(from_len);
                let before: Vec<T> = rng.bits(to_len);
                let mut dst = storage(&before);
                CpuStorage::copy_into(Src::Storage(&storage(&src), &from), &mut dst, &to).unwrap();
                let mut want = before;
                for (f, t) in from.strided_index().zip(to.strided_index()) {
                    want[t] = src[f];
                }
                let bytes = bytemuck::cast_slice::<T, u8>(&want).to_vec();
                assert_eq!(dst.as_bytes(), bytes, "{from} to {to}");
            });
        }
    }
}

#[test]
fn fills_reach_every_element_and_no_other() {
    let mut rng = Rng(11);
    for shape in shapes(&mut rng) {
        for &dtype in DType::ALL {
            let (layout, len) = scattered(&mut rng, &shape);
            dispatch_dtype!(dtype, T => {
                let (before, value): (Vec<T>, T) = (rng.bits(len), rng.bits(1)[0]);
                let mut dst = storage(&before);
                dst.const_set(value.into(), &layout).unwrap();
                let mut want = before;
                layout.strided_index().for_each(|i| want[i] = value);
                let bytes = bytemuck::cast_slice::<T, u8>(&want).to_vec();
                assert_eq!(dst.as_bytes(), bytes, "{layout}");
            });
        }
    }
}

#[test]
fn elementwise_operations_take_any_layout() {
    let mut rng = Rng(12);
    for shape in shapes(&mut rng) {
        let ((a, a_len), (b, b_len), (d, d_len)) =
            (scattered(&mut rng, &shape), scattered(&mut rng, &shape), scattered(&mut rng, &shape));
        let (x, y, before): (Vec<i32>, Vec<i32>, Vec<i32>) = (rng.bits(a_len), rng.bits(b_len), rng.bits(d_len));
        let (sx, sy) = (storage(&x), storage(&y));
        let check = |got: &CpuStorage, f: &dyn Fn(i32, i32, i32) -> i32| {
            let mut want = before.clone();
            for ((i, j), k) in a.strided_index().zip(b.strided_index()).zip(d.strided_index()) {
                want[k] = f(x[i], y[j], before[k]);
            }
            assert_eq!(vec::<i32>(got), want, "{a}, {b} to {d}");
        };
        let run = |f: &dyn Fn(&mut CpuStorage) -> Result<()>| {
            let mut dst = storage(&before);
            f(&mut dst).unwrap();
            dst
        };
        let (x, y) = (Src::Storage(&sx, &a), Src::Storage(&sy, &b));
        let sub = BinaryOp::Sub;
        check(&run(&|dst| CpuStorage::binary_into(sub, x, y, dst, &d)), &|x, y, _| x.wrapping_sub(y));
        check(&run(&|dst| CpuStorage::binary_into(sub, Src::InPlace, y, dst, &d)), &|_, y, z| z.wrapping_sub(y));
        check(&run(&|dst| CpuStorage::binary_into(sub, x, Src::InPlace, dst, &d)), &|x, _, z| x.wrapping_sub(z));
        check(&run(&|dst| CpuStorage::binary_into(BinaryOp::Mul, Src::InPlace, Src::InPlace, dst, &d)), &|_, _, z| {
            z.wrapping_mul(z)
        });
        check(&run(&|dst| CpuStorage::unary_into(UnaryOp::Neg, Src::InPlace, dst, &d)), &|_, _, z| z.wrapping_neg());
        check(&run(&|dst| CpuStorage::affine_into(Affine::new(3.0, -1.0), Src::InPlace, dst, &d)), &|_, _, z| {
            z.wrapping_mul(3).wrapping_sub(1)
        });
        check(&run(&|dst| CpuStorage::copy_into(Src::InPlace, dst, &d)), &|_, _, z| z);
    }
}

#[test]
fn broadcasts_repeat_what_they_read() {
    let row = Layout::contiguous([3]).broadcast_as([2, 3]).unwrap();
    let column = Layout::contiguous([2, 1]).broadcast_as([2, 3]).unwrap();
    let sum = storage(&[1f32, 2.0, 3.0]).binary(&row, &storage(&[10f32, 20.0]), &column, BinaryOp::Add).unwrap();
    assert_eq!(vec::<f32>(&sum), [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]);
    let one = Layout::contiguous(()).broadcast_as([5000]).unwrap();
    assert_eq!(vec::<f32>(&storage(&[7f32]).try_clone(&one).unwrap()), [7.0; 5000]);
}

#[test]
fn where_cond_takes_every_condition_and_layout() {
    let mut rng = Rng(13);
    for shape in shapes(&mut rng) {
        for cond_dtype in [DType::U8, DType::U32, DType::I64] {
            let ((c, c_len), (t, t_len), (f, f_len), (d, d_len)) = (
                scattered(&mut rng, &shape),
                scattered(&mut rng, &shape),
                scattered(&mut rng, &shape),
                scattered(&mut rng, &shape),
            );
            let flags: Vec<i64> = (0..c_len).map(|i| [0, 1, -1, 1 << 7][rng.below(4)] * (i as i64 + 1)).collect();
            let cond = storage(&flags).to_dtype(&Layout::contiguous(c_len), cond_dtype).unwrap();
            let flags: Vec<i64> = vec(&cond.to_dtype(&Layout::contiguous(c_len), DType::I64).unwrap());
            let (yes, no, before): (Vec<u16>, Vec<u16>, Vec<u16>) = (rng.bits(t_len), rng.bits(f_len), rng.bits(d_len));
            let half = |v: &[u16]| storage(bytemuck::cast_slice::<u16, half::bf16>(v));
            for in_place in [false, true] {
                let mut dst = half(&before);
                let (yes_s, no_s) = (half(&yes), half(&no));
                let on_false = if in_place { Src::InPlace } else { Src::Storage(&no_s, &f) };
                CpuStorage::where_cond_into(Src::Storage(&cond, &c), Src::Storage(&yes_s, &t), on_false, &mut dst, &d)
                    .unwrap();
                let mut want = before.clone();
                let indices = c.strided_index().zip(t.strided_index()).zip(f.strided_index()).zip(d.strided_index());
                for (((c, t), f), d) in indices {
                    let otherwise = if in_place { before[d] } else { no[f] };
                    want[d] = if flags[c] != 0 { yes[t] } else { otherwise };
                }
                assert_eq!(dst.as_bytes(), bytemuck::cast_slice::<u16, u8>(&want));
            }
        }
    }
    // The destination is also the condition.
    let mut dst = storage(&[0u8, 1, 2]);
    let (l, yes, no) = (Layout::contiguous(3), storage(&[10u8, 11, 12]), storage(&[20u8, 21, 22]));
    CpuStorage::where_cond_into(Src::InPlace, Src::Storage(&yes, &l), Src::Storage(&no, &l), &mut dst, &l).unwrap();
    assert_eq!(vec::<u8>(&dst), [20, 11, 12]);
}

#[test]
fn comparisons_write_u8_also_in_place() {
    let mut dst = storage(&[0u8, 5, 9]);
    let (l, five) = (Layout::contiguous(3), storage(&[5u8]));
    let fives = Layout::contiguous(1).broadcast_as(3).unwrap();
    CpuStorage::cmp_into(CmpOp::Lt, Src::InPlace, Src::Storage(&five, &fives), &mut dst, &l).unwrap();
    assert_eq!(vec::<u8>(&dst), [1, 0, 0]);
    CpuStorage::cmp_into(CmpOp::Eq, Src::InPlace, Src::InPlace, &mut dst, &l).unwrap();
    assert_eq!(vec::<u8>(&dst), [1, 1, 1]);
}

#[test]
fn copy2d_and_strided_copies_go_where_they_are_told() {
    let src = storage(&[0i16, 1, 2, 3, 4, 5, 6, 7]);
    let mut dst = storage(&[-1i16; 8]);
    src.copy2d(&mut dst, Copy2d::new(2, 2).with_strides(3, 4).with_offsets(1, 2)).unwrap();
    assert_eq!(vec::<i16>(&dst), [-1, -1, 1, 2, -1, -1, 4, 5]);
    let mut dst = storage(&[-1i16; 8]);
    src.copy2d(&mut dst, Copy2d::new(0, 4)).unwrap();
    assert_eq!(vec::<i16>(&dst), [-1; 8]);
    let transposed = Layout::contiguous([2, 4]).transpose(0, 1).unwrap();
    let mut dst = storage(&[-1i16; 9]);
    src.copy_strided_src(&mut dst, 1, &transposed).unwrap();
    assert_eq!(vec::<i16>(&dst), [-1, 0, 4, 1, 5, 2, 6, 3, 7]);
}

#[test]
fn rank_0_and_zero_sizes_work_in_every_form() {
    for &dtype in DType::ALL {
        let (one, none) = (Shape::default(), Shape::from([2, 0, 3]));
        for shape in [&one, &none] {
            let layout = Layout::contiguous(shape);
            let x = CpuDevice.zeros(shape, dtype).unwrap();
            assert_eq!(x.len(), shape.elem_count());
            assert_eq!(x.affine(&layout, 2.0, 1.0).unwrap().len(), x.len());
            assert_eq!(x.binary(&layout, &x, &layout, BinaryOp::Add).unwrap().len(), x.len());
            assert_eq!(vec::<u8>(&x.cmp(&layout, &x, &layout, CmpOp::Eq).unwrap()), vec![1; x.len()]);
            assert_eq!(x.unary(&layout, UnaryOp::Neg).unwrap().len(), x.len());
            assert_eq!(x.to_dtype(&layout, DType::F64).unwrap().len(), x.len());
        }
        // No element is accessed, so the offset may be anything.
        let far = Layout::contiguous_with_offset([0], usize::MAX);
        let x = CpuDevice.zeros(&Shape::from(0), dtype).unwrap();
        assert!(x.try_clone(&far).unwrap().is_empty());
    }
}
