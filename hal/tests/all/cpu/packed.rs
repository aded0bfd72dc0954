//! Packed matrices: operands of products like any other, and of nothing else.

use super::*;
use isobit_hal::{DynDevice, ErrorKind, Matmul, MatmulSide, Numerics, Op, PackedMatrix, Src, UnaryOp};

const OP: Matmul = Matmul::with_numerics(Numerics::Block);

/// `[2, 3] x [3, 2]`, by hand.
const LEFT: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const RIGHT: [f32; 6] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
const PRODUCT: [f32; 4] = [4.0, 5.0, 10.0, 11.0];

fn multiply<S: BackendStorage>(inputs: [Src<'_, S>; 2], dst: &mut S) -> Result<Vec<f32>> {
    S::apply_into(&Op::Matmul(OP), &inputs, dst, &Layout::contiguous((2, 2)))?;
    dst.to_vec()
}

fn both_sides<D: BackendDevice>(device: &D) {
    let of = |values: &[f32]| device.storage_from_slice(values).unwrap();
    let (left, right, mut dst) = (of(&LEFT), of(&RIGHT), of(&[0.0; 4]));
    let (l, r) = (Layout::contiguous((2, 3)), Layout::contiguous((3, 2)));
    let packed_l = PackedMatrix::new(&left, &l, MatmulSide::Lhs, OP).unwrap();
    let packed_r = PackedMatrix::new(&right, &r, MatmulSide::Rhs, OP).unwrap();
    assert_eq!(multiply([packed_l.as_src(), (&right, &r).into()], &mut dst).unwrap(), PRODUCT);
    assert_eq!(multiply([(&left, &l).into(), packed_r.as_src()], &mut dst).unwrap(), PRODUCT);
    assert_eq!(multiply([packed_l.as_src(), packed_r.as_src()], &mut dst).unwrap(), PRODUCT);
    assert_eq!((packed_r.layout(), packed_r.side(), packed_r.dtype()), (&r, MatmulSide::Rhs, DType::F32));
    assert!(packed_r.device().same_device(device) && packed_r.bytes() == 24 && !packed_r.has_packed_form());
    // A batch of one row each, by a matrix without a batch.
    let (batch, out) = (Layout::contiguous((2, 1, 3)), Layout::contiguous((2, 1, 2)));
    let inputs = [(&left, &batch).into(), packed_r.as_src()];
    D::Storage::apply_into(&Op::Matmul(OP), &inputs, &mut dst, &out).unwrap();
    assert_eq!(dst.to_vec::<f32>().unwrap(), PRODUCT);
}

#[test]
fn a_packed_matrix_is_either_operand_of_a_product() {
    both_sides(&CpuDevice);
    both_sides(&DynDevice::from_backend(CpuDevice));
}

#[test]
fn it_is_a_copy_of_what_the_layout_selects() {
    let mut right = storage(&[7.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0f32]);
    let turned = Layout::contiguous_with_offset((2, 3), 1).transpose(0, 1).unwrap();
    let packed = PackedMatrix::new(&right, &turned, MatmulSide::Rhs, OP).unwrap();
    right.const_set(Scalar::F32(9.0), &Layout::contiguous(7)).unwrap();
    let (left, l) = (storage(&LEFT), Layout::contiguous((2, 3)));
    let product = multiply([(&left, &l).into(), packed.as_src()], &mut storage(&[0f32; 4]));
    assert_eq!(product.unwrap(), PRODUCT);
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind, says: &str) {
    let error = result.expect_err("the call must fail");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "`{error}` does not say `{says}`");
}

#[test]
fn what_takes_no_packed_matrix_says_so() {
    let (x, l, mut dst) = (storage(&PRODUCT), Layout::contiguous((2, 2)), storage(&[7f32; 4]));
    let packed = PackedMatrix::new(&x, &l, MatmulSide::Rhs, OP).unwrap();
    let kind = ErrorKind::InvalidArgument;
    refused(multiply([packed.as_src(), (&x, &l).into()], &mut dst), kind, "packed as the right operand");
    refused(CpuStorage::unary_into(UnaryOp::Exp, packed.as_src(), &mut dst, &l), kind, "PackedMatrix::matrix");
    let outside = Layout::contiguous_with_offset((2, 2), 1);
    refused(multiply([(&x, &l).into(), packed.as_src_with(&outside)], &mut dst), kind, "exceeds its buffer");
    assert_eq!(vec::<f32>(&dst), [7.0; 4]);
    refused(PackedMatrix::new(&x, &outside, MatmulSide::Lhs, OP), kind, "exceeds its buffer");
    let row = Layout::contiguous(4);
    refused(PackedMatrix::new(&x, &row, MatmulSide::Lhs, OP), ErrorKind::ShapeMismatch, "two dimensions");
    let bytes = storage(&[1u8; 4]);
    refused(PackedMatrix::new(&bytes, &l, MatmulSide::Lhs, OP), ErrorKind::UnsupportedDtype, "matmul takes floats");
}
