//! Tests which dtypes operations take.

use isobit_hal::*;

/// Tests which combinations of dtypes each operation takes.
#[test]
fn dtypes_are_judged_as_the_documentation_says() {
    use DType::*;
    let matmul = Op::Matmul(Matmul::default());
    let reduce = |op| Op::Reduce(Reduce::new(op, &[0]));
    for &a in DType::ALL {
        for &b in DType::ALL {
            let two = |op: Op| op.check_dtypes(&[a, b]).is_ok();
            assert!(two(Op::Cast(Cast::saturating())));
            assert_eq!(two(Op::Copy), a == b);
            assert_eq!(two(Op::Affine(Affine::new(1.0, 0.0))), a == b);
            assert_eq!(two(Op::Powf(Powf::new(1.0))), a == b && a.is_float());
            assert_eq!(two(Op::Elu(Elu::new(1.0))), a == b && a.is_float());
            assert_eq!(two(Op::LeakyRelu(LeakyRelu::new(0.1))), a == b && a.is_float());
            assert_eq!(two(Op::Celu(Celu::new(1.0))), a == b && a.is_float());
            assert_eq!(two(Op::Unary(UnaryOp::Sqr)), a == b);
            assert_eq!(two(Op::Unary(UnaryOp::Sqrt)), a == b && a.is_float());
            assert_eq!(two(Op::Unary(UnaryOp::BitwiseNot)), a == b && a.is_int());
            assert_eq!(two(Op::Predicate(Predicate::IsNan)), a.is_float() && b == U8);
            assert_eq!(two(Op::Predicate(Predicate::LogicalNot)), b == U8);
            let combines = !matches!(a, U16 | U64 | F8E5M2);
            assert_eq!(two(reduce(ReduceOp::Sum)), a == b && combines);
            assert_eq!(two(reduce(ReduceOp::Mean)), a == b && a.is_float() && combines);
            assert_eq!(two(reduce(ReduceOp::ArgMin)), (b == U32 || b == I64) && combines);
            assert_eq!(two(reduce(ReduceOp::L1Norm)), a == b && combines);
            assert_eq!(two(reduce(ReduceOp::MaxNorm)), a == b && combines);
            assert_eq!(two(reduce(ReduceOp::Any)), b == U8 && combines);
            assert_eq!(two(reduce(ReduceOp::All)), b == U8 && combines);
            for op in [ReduceOp::LogSumExp, ReduceOp::L2Norm, ReduceOp::Var, ReduceOp::Std] {
                assert_eq!(two(reduce(op)), a == b && a.is_float() && combines);
            }
            for &c in DType::ALL {
                let three = |op: &Op| op.check_dtypes(&[a, b, c]).is_ok();
                assert_eq!(three(&Op::Binary(BinaryOp::Rem)), a == b && b == c);
                assert_eq!(three(&Op::Binary(BinaryOp::BitwiseOr)), a == b && b == c && a.is_int());
                assert_eq!(three(&Op::Binary(BinaryOp::NextAfter)), a == b && b == c && a.is_float());
                assert_eq!(three(&Op::Binary(BinaryOp::Atan2)), a == b && b == c && a.is_float());
                assert_eq!(three(&Op::Binary(BinaryOp::Hypot)), a == b && b == c && a.is_float());
                assert_eq!(three(&Op::Cmp(CmpOp::Lt)), a == b && c == U8);
                assert_eq!(three(&Op::Cmp(CmpOp::LogicalXor)), a == b && c == U8);
                let is_summed = (a.is_float() && combines) || matches!(a, U32 | I32 | I64);
                assert_eq!(three(&matmul), a == b && b == c && is_summed);
                let chosen = Op::WhereCond.check_dtypes(&[a, b, c, c]).is_ok();
                assert_eq!(chosen, matches!(a, U8 | U32 | I64) && b == c);
            }
        }
        for &b in DType::ALL {
            assert_eq!(Op::Fill(Scalar::zero(a)).check_dtypes(&[b]).is_ok(), a == b);
        }
    }
}

/// What combines elements takes neither u16 nor u64 nor f8e5m2, and says so; what moves them, works
/// on each by itself or sorts them does.
#[test]
fn some_dtypes_are_not_combined() {
    let combines = |op: &Op| match op.family() {
        Family::Fill | Family::Copy | Family::Cast | Family::Affine | Family::Unary | Family::Binary => false,
        Family::Compare | Family::Select | Family::Triangle | Family::Sort | Family::IndexMap => false,
        Family::Compact => false,
        Family::Indexing => op.scatter_op().is_some_and(|op| op != ScatterOp::Set),
        Family::Resize => op.name() != "resize_nearest",
        Family::Upsample => matches!(op, Op::UpsampleBilinear2d(_)),
        _ => true,
    };
    for op in Op::examples() {
        for dtype in [DType::U16, DType::U64, DType::F8E5M2] {
            let mut dtypes = vec![dtype; op.inputs() + 1];
            match &op {
                Op::Fill(_) => dtypes[0] = DType::U8,
                Op::WhereCond => dtypes[0] = DType::U8,
                Op::Cmp(_) | Op::Predicate(_) => *dtypes.last_mut().unwrap() = DType::U8,
                Op::ArgSort(_) | Op::ArgTopK(_) => dtypes[1] = DType::U32,
                Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) => dtypes[1] = DType::U32,
                Op::AdaptiveArgMaxPool(_) => dtypes[1] = DType::U32,
                Op::MaxPoolBackward(_) | Op::AdaptiveMaxPoolBackward(_) => dtypes[1] = DType::U32,
                Op::MaskedSelect { .. } | Op::Compress { .. } => dtypes[1] = DType::U8,
                _ if op.family() == Family::Compact => dtypes[1] = op.result_dtype(&[dtype]).unwrap(),
                Op::GridSample(_) => dtypes[1] = DType::F32,
                Op::Reduce(r) => dtypes[1] = r.op.result_dtype(dtype),
                _ if op.family() == Family::Indexing => dtypes[1] = DType::U32,
                _ => {}
            }
            let checked = op.check_dtypes(&dtypes);
            let takes = match &op {
                Op::Unary(op) => op.takes(dtype),
                Op::Binary(op) => op.takes(dtype),
                Op::Predicate(op) => op.takes(dtype),
                Op::Powf(_) | Op::Elu(_) | Op::LeakyRelu(_) | Op::Celu(_) => dtype.is_float(),
                _ => !combines(&op),
            };
            assert_eq!(checked.is_ok(), takes, "{op} of {dtype}: {checked:?}");
            if combines(&op) {
                let error = checked.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnsupportedDtype, "{op}");
                assert!(error.message().contains("; cast the operands first"), "{error}");
            }
        }
    }
    let error = Op::Softmax.check_dtypes(&[DType::F8E5M2; 2]).unwrap_err();
    assert!(error.message().contains("takes floats of one dtype other than f8e5m2, not (f8e5m2, f8e5m2)"), "{error}");
}

#[test]
fn scaled_products_are_of_f8_into_wider_floats() {
    use DType::*;
    let op = Op::ScaledMatmul(ScaledMatmul::default());
    let is_f8 = |dtype| matches!(dtype, F8E4M3 | F8E5M2);
    for a in DType::ALL.iter().copied() {
        for b in DType::ALL.iter().copied() {
            assert_eq!(op.check_dtypes(&[a, b, F32, F32, BF16]).is_ok(), is_f8(a) && is_f8(b));
            assert_eq!(
                op.check_dtypes(&[F8E5M2, F8E4M3, a, F32, b]).is_ok(),
                a == F32 && matches!(b, F16 | BF16 | F32)
            );
        }
    }
    let error = op.check_dtypes(&[F8E4M3, F8E4M3, F16, F32, F32]).unwrap_err();
    assert!(error.message().contains("takes operands of f8e4m3 or f8e5m2, scales of f32"), "{error}");
    assert_eq!(op.result_dtype(&[F8E4M3, F8E4M3, F32, F32]), None);
}

#[test]
fn products_of_bytes_have_zero_points_of_their_operands() {
    use DType::*;
    let op = |lhs, rhs| Op::MatmulInteger(MatmulInteger::new().with_zero_points(lhs, rhs));
    for a in DType::ALL.iter().copied() {
        for b in DType::ALL.iter().copied() {
            let bytes = matches!(a, U8 | I8) && matches!(b, U8 | I8);
            assert_eq!(op(false, false).check_dtypes(&[a, b, I32]).is_ok(), bytes);
            assert_eq!(op(true, false).check_dtypes(&[U8, I8, a, b]).is_ok(), a == U8 && b == I32);
            assert_eq!(op(false, true).check_dtypes(&[U8, I8, a, b]).is_ok(), a == I8 && b == I32);
            assert_eq!(op(true, true).check_dtypes(&[I8, U8, a, b, I32]).is_ok(), a == I8 && b == U8);
        }
    }
    assert_eq!(op(true, true).result_dtype(&[U8, I8, U8, I8]), Some(I32));
    assert_eq!(op(true, true).inputs(), 4);
    assert_eq!(op(true, true).check_dtypes(&[U8, U8, I32]).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn attention_takes_one_dtype_and_lengths_of_u32() {
    use DType::*;
    let op = |mask, lengths| Op::ScaledDotProductAttention(Attention::new().with_inputs(mask, lengths));
    for &a in DType::ALL {
        let has = matches!(a, F16 | BF16 | F32);
        assert_eq!(op(false, false).check_dtypes(&[a; 4]).is_ok(), has, "{a}");
        assert_eq!(op(true, false).check_dtypes(&[a; 5]).is_ok(), has, "{a}");
        for &b in DType::ALL {
            assert_eq!(op(false, true).check_dtypes(&[a, a, a, b, a]).is_ok(), has && b == U32, "{a}, {b}");
            assert_eq!(op(true, true).check_dtypes(&[a, a, a, a, b, a]).is_ok(), has && b == U32, "{a}, {b}");
            for at in 0..5 {
                let mut dtypes = [a; 5];
                dtypes[at] = b;
                assert_eq!(op(true, false).check_dtypes(&dtypes).is_ok(), has && a == b, "{dtypes:?}");
            }
        }
    }
    let wrong = |mask, lengths, dtypes: &[DType], says: &str| {
        let error = op(mask, lengths).check_dtypes(dtypes).unwrap_err();
        assert!(error.message().contains(says), "{error}");
    };
    wrong(false, false, &[F64; 4], "takes f16, bf16 or f32, all operands the same, not (f64");
    wrong(false, true, &[F16, F16, F16, I64, F16], "but lengths of u32, not (f16, f16, f16, i64, f16)");
    wrong(true, true, &[F16; 5], "has 6 operands, but 5 dtypes");
}

#[test]
fn maps_of_indices_take_one_dtype_and_a_constant_of_it() {
    let join = |inputs| Op::Concat(Concat::new(0, inputs));
    for &a in DType::ALL {
        let zero = Op::Pad(Pad::new(&[1], &[1], PadMode::Constant(Scalar::zero(a))));
        for &b in DType::ALL {
            for op in Family::IndexMap.examples() {
                let mut dtypes = vec![b; op.inputs() + 1];
                assert!(op.check_dtypes(&dtypes).is_ok(), "{op} {b}");
                dtypes[0] = a;
                assert_eq!(op.check_dtypes(&dtypes).is_ok(), a == b, "{op} {dtypes:?}");
            }
            assert_eq!(zero.check_dtypes(&[b, b]).is_ok(), a == b, "{a}, {b}");
        }
        assert!(join(1).check_dtypes(&[a; 2]).is_ok() && join(40).check_dtypes(&[a; 41]).is_ok());
        assert_eq!(join(3).check_dtypes(&[a; 3]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!((join(40).inputs(), join(usize::MAX).check_dtypes(&[DType::U8; 2]).is_err()), (40, true));
}

#[test]
fn a_wrong_number_of_operands_is_its_own_error() {
    for op in [
        Op::Fill(Scalar::U8(1)),
        Op::Copy,
        Op::Cast(Cast::default()),
        Op::WhereCond,
        Op::Binary(BinaryOp::Add),
        Op::Cmp(CmpOp::Eq),
    ] {
        for dtypes in [&[][..], &[DType::F32; 5]] {
            let error = op.check_dtypes(dtypes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
    for &op in ReduceOp::ALL {
        let error = Op::Reduce(Reduce::new(op, &[])).check_dtypes(&[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[test]
fn errors_of_dtypes_carry_them() {
    let given = [DType::F32, DType::I64, DType::F32];
    let error = Op::Binary(BinaryOp::Add).check_dtypes(&given).unwrap_err();
    assert_eq!((error.kind(), error.dtypes()), (ErrorKind::UnsupportedDtype, &given[..]));
    let error = Op::Fill(Scalar::U8(1)).check_dtypes(&[DType::F64]).unwrap_err();
    assert_eq!((error.kind(), error.dtypes()), (ErrorKind::UnsupportedDtype, &[DType::F64][..]));
}
