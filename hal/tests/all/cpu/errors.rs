//! Bad input gives an error of the right kind, nothing is written, and the device keeps working.

use super::*;
use isobit_hal::{
    BinaryOp, Cast, CmpOp, Copy2d, Error, ErrorKind, Matmul, Op, Reduce, ReduceOp, Shape, Src, Support, UnaryOp,
};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind, says: &str) {
    let error: Error = result.expect_err("the call must fail");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "`{error}` does not say `{says}`");
}

#[test]
fn dtypes_that_do_not_fit() {
    let (x, h, i) = (storage(&[1f32; 4]), storage(&[half::f16::ONE; 4]), storage(&[1i32; 4]));
    let l = Layout::contiguous(4);
    let kind = ErrorKind::UnsupportedDtype;
    refused(x.binary(&l, &h, &l, BinaryOp::Add), kind, "(f32, f16, f32)");
    refused(i.unary(&l, UnaryOp::Exp), kind, "exp takes floats");
    refused(i.powf(&l, 2.0), kind, "powf takes floats");
    refused(i.elu(&l, 1.0), kind, "elu takes floats");
    refused(i.leaky_relu(&l, 1.0), kind, "leaky_relu takes floats");
    refused(i.celu(&l, 1.0), kind, "celu takes floats");
    refused(i.binary(&l, &i, &l, BinaryOp::Atan2), kind, "atan2 takes floats");
    refused(x.binary(&l, &h, &l, BinaryOp::Hypot), kind, "hypot takes floats of one dtype");
    refused(x.cmp(&l, &i, &l, CmpOp::Eq), kind, "eq takes");
    refused(x.where_cond(&l, &x, &l, &x, &l), kind, "u8, u32 or i64");
    refused(i.reduce(&l, &Reduce::new(ReduceOp::Mean, &[0])), kind, "mean takes floats");
    let m = Layout::contiguous([2, 2]);
    let bytes = storage(&[1u8; 4]);
    refused(
        bytes.matmul(&m, &bytes, &m, Matmul::default()),
        kind,
        "matmul takes floats other than f8e5m2, u32, i32 or i64",
    );
    refused(i.matmul_integer(&m, &i, &m, [None, None]), kind, "operands of u8 or i8");
    let mut dst = storage(&[7f32; 4]);
    refused(dst.const_set(Scalar::F64(1.0), &l), kind, "convert the value");
    refused(CpuStorage::copy_into(Src::Storage(&i, &l), &mut dst, &l), kind, "copy");
    refused(x.to_vec::<f64>(), kind, "cast it first");
    let mut arg = storage(&[7i32; 1]);
    let one = Layout::contiguous(1);
    refused(CpuStorage::reduce_into(&Reduce::new(ReduceOp::ArgMax, &[0]), &x, &l, &mut arg, &one), kind, "u32 or i64");
    assert_eq!(vec::<f32>(&dst), [7.0; 4]);
}

#[test]
fn shapes_that_do_not_agree() {
    let x = storage(&[1f32; 12]);
    let (a, b) = (Layout::contiguous([3, 4]), Layout::contiguous([4, 3]));
    let kind = ErrorKind::ShapeMismatch;
    refused(x.binary(&a, &x, &b, BinaryOp::Add), kind, "[4, 3]");
    refused(x.matmul(&a, &x, &a, Matmul::default()), kind, "the inner dimensions 4 and 3 differ");
    refused(x.matmul(&Layout::contiguous(12), &x, &a, Matmul::default()), kind, "two dimensions");
    let (p, q) = (Layout::contiguous([2, 2, 3]), Layout::contiguous([3, 3, 1]));
    refused(x.matmul(&p, &x, &q, Matmul::default()), kind, "batch dimensions [2] and [3]");
    let mut dst = storage(&[7f32; 12]);
    refused(
        CpuStorage::matmul_into(Matmul::default(), &x, &a, &x, &b, &mut dst, &a),
        kind,
        "the result of matmul has shape [3, 3]",
    );
    refused(CpuStorage::reduce_into(&Reduce::new(ReduceOp::Sum, &[1]), &x, &a, &mut dst, &b), kind, "has shape [3, 1]");
    assert_eq!(vec::<f32>(&dst), [7.0; 12]);
}

#[test]
fn layouts_that_leave_their_buffer_or_overlap() {
    let x = storage(&[1f32; 12]);
    let kind = ErrorKind::InvalidArgument;
    let inside = Layout::contiguous([3, 4]);
    for outside in [
        Layout::contiguous_with_offset([3, 4], 1),
        Layout::contiguous([13]),
        Layout::new([3, 4], isobit_hal::Dims::from_slice(&[5, 1]), 0).unwrap(),
        Layout::new([2, 2], isobit_hal::Dims::from_slice(&[usize::MAX, 1]), 0).unwrap(),
        Layout::new([usize::MAX, usize::MAX], isobit_hal::Dims::from_slice(&[1, 1]), 0).unwrap(),
    ] {
        let mut dst = storage(&[7f32; 12]);
        refused(CpuStorage::copy_into(Src::Storage(&x, &outside), &mut dst, &outside), kind, "exceeds its buffer");
        refused(dst.const_set(Scalar::F32(0.0), &outside), kind, "exceeds its buffer");
        assert_eq!(vec::<f32>(&dst), [7.0; 12]);
    }
    refused(x.reduce(&Layout::contiguous([13]), &Reduce::new(ReduceOp::Sum, &[0])), kind, "exceeds its buffer");
    for overlapping in [
        Layout::contiguous([4]).broadcast_as([3, 4]).unwrap(),
        Layout::new([3, 4], isobit_hal::Dims::from_slice(&[2, 1]), 0).unwrap(),
    ] {
        let mut dst = storage(&[7f32; 12]);
        refused(CpuStorage::copy_into(Src::Storage(&x, &inside), &mut dst, &overlapping), kind, "overlaps itself");
        refused(CpuStorage::copy_into(Src::InPlace, &mut dst, &overlapping), kind, "overlaps itself");
        assert_eq!(vec::<f32>(&dst), [7.0; 12]);
    }
    let mut dst = storage(&[7f32; 12]);
    refused(x.copy2d(&mut dst, Copy2d::new(2, 4).with_strides(4, 3)), kind, "overlaps itself");
    refused(x.copy2d(&mut dst, Copy2d::new(4, 4)), kind, "exceeds its buffer");
}

#[test]
fn reductions_without_a_meaning() {
    let x = storage(&[1f32; 12]);
    let kind = ErrorKind::InvalidArgument;
    let l = Layout::contiguous([3, 4]);
    refused(x.reduce(&l, &Reduce::new(ReduceOp::Sum, &[2])), kind, "dimension 2 is out of range");
    refused(x.reduce(&l, &Reduce::new(ReduceOp::Sum, &[1, 1])), kind, "named twice");
    let empty = Layout::contiguous([3, 0]);
    for op in [ReduceOp::Min, ReduceOp::Max, ReduceOp::ArgMin, ReduceOp::ArgMax] {
        refused(x.reduce(&empty, &Reduce::new(op, &[1])), kind, "over zero elements");
        let result = x.reduce(&empty, &Reduce::new(op, &[1]).with_empty_extremes());
        assert_eq!(result.is_err(), op.is_arg(), "{op}");
        assert!(x.reduce(&empty, &Reduce::new(op, &[0])).unwrap().is_empty());
    }
}

#[test]
fn devices_and_memory() {
    refused(CpuDevice::new(1), ErrorKind::InvalidArgument, "cpu:1");
    assert!(CpuDevice::new(0).unwrap().same_device(&CpuDevice));
    refused(CpuDevice.zeros(&Shape::from([usize::MAX, 2]), DType::U8), ErrorKind::OutOfMemory, "elements of u8");
    refused(CpuDevice.zeros(&Shape::from(1usize << 60), DType::F64), ErrorKind::OutOfMemory, "elements of f64");
    refused(CpuDevice.storage_from_bytes(DType::F32, &[0; 6]), ErrorKind::InvalidArgument, "6 bytes");
    CpuDevice.synchronize().unwrap();
    let info = CpuDevice.info().unwrap();
    assert!(info.arch.starts_with(std::env::consts::ARCH) && !info.name.is_empty() && info.multiprocessors > 0);
    assert!(info.memory_total >= info.memory_free && info.memory_free > 0);
}

#[test]
fn support_is_what_the_call_answers() {
    let ask = |op: Op, dtypes: &[DType]| CpuDevice.supports(&op, dtypes);
    for &d in DType::ALL {
        for &u in UnaryOp::ALL {
            let x = CpuDevice.zeros(&Shape::from(2), d).unwrap();
            let supported = ask(Op::Unary(u), &[d, d]).is_supported();
            assert_eq!(supported, u.takes(d), "{u} {d}");
            assert_eq!(supported, x.unary(&Layout::contiguous(2), u).is_ok(), "{u} {d}");
        }
        for &r in ReduceOp::ALL {
            let x = CpuDevice.zeros(&Shape::from(2), d).unwrap();
            let out = r.result_dtype(d);
            let op = Reduce::new(r, &[0]);
            assert_eq!(
                ask(Op::Reduce(op.clone()), &[d, out]).is_supported(),
                x.reduce(&Layout::contiguous(2), &op).is_ok()
            );
        }
        for &e in DType::ALL {
            assert!(ask(Op::Cast(Cast::default()), &[d, e]).is_supported());
            for &b in BinaryOp::ALL {
                assert_eq!(ask(Op::Binary(b), &[d, e, d]).is_supported(), d == e && b.takes(d), "{b} {d} {e}");
            }
        }
    }
    let Support::Unsupported { kind, .. } = ask(Op::Cast(Cast::default()), &[DType::F32]) else {
        panic!("one operand is too few")
    };
    assert_eq!(kind, ErrorKind::InvalidArgument);
}
