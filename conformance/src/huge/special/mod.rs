//! Cases whose result does not repeat with the operands: sequences as long as the tensor, ids that
//! reach across it, random numbers, one huge matrix, and copies between host and device.

mod far_ids;
mod far_marks;
mod long;
mod planes;
mod transfer;

use super::bench::Bench;
use super::{Done, Sizes, Stop};
use crate::schema::Class;
use isobit_hal::{
    BackendDevice, DType, Matmul, Numerics, Op, RandNormal, RandUniform, Reduce, ReduceOp, Sort, Triangle,
};

/// What a case does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Special {
    /// One reduction of all elements.
    ReduceAll(ReduceOp, DType),
    /// The position of a single largest or smallest element.
    Position(ReduceOp, DType),
    /// The softmax of one row.
    Softmax(DType),
    /// One result of a product over a huge k.
    Product(DType, Numerics),
    /// One row, sorted.
    Sort,
    /// Ids that reach across a tensor of rows with so many elements.
    FarIds(far_ids::Kind, DType, DType, usize),
    /// Few elements of a huge tensor that are not 0.
    FarMarks(far_marks::Kind),
    /// Random numbers.
    Uniform(DType),
    Normal(DType),
    /// One matrix.
    Triangle,
    /// Copies between host and device.
    Transfer,
}

impl Special {
    /// Returns every case with its description.
    pub fn all() -> Vec<(&'static str, Special)> {
        use DType::{BF16, F16, F32, F64, I8, I32, I64, U8, U32};
        use ReduceOp::{ArgMax, ArgMin, Max, Min, Prod, Sum};
        use far_ids::Kind;
        vec![
            ("all elements", Special::ReduceAll(Sum, F32)),
            ("all elements", Special::ReduceAll(Sum, F16)),
            ("all elements", Special::ReduceAll(Sum, I32)),
            ("all elements", Special::ReduceAll(Prod, U32)),
            ("all elements", Special::ReduceAll(Max, BF16)),
            ("all elements", Special::ReduceAll(Min, I8)),
            ("all elements", Special::Position(ArgMax, F16)),
            ("all elements", Special::Position(ArgMin, I8)),
            ("one row", Special::Softmax(F32)),
            ("one row", Special::Softmax(BF16)),
            ("a huge k", Special::Product(F32, Numerics::Portable)),
            ("a huge k", Special::Product(F64, Numerics::Portable)),
            ("a huge k", Special::Product(F32, Numerics::Vendor)),
            ("one row", Special::Sort),
            ("far rows", Special::FarIds(Kind::IndexSelect, F16, U32, 5)),
            ("far elements", Special::FarIds(Kind::IndexSelect, U8, I64, 1)),
            ("far rows", Special::FarIds(Kind::Gather, F32, U32, 5)),
            ("far elements", Special::FarIds(Kind::Gather, U8, I64, 1)),
            ("far rows", Special::FarIds(Kind::ScatterSet, F16, U32, 5)),
            ("far elements", Special::FarIds(Kind::ScatterSet, U8, I64, 1)),
            ("far rows", Special::FarIds(Kind::ScatterAdd, F32, U32, 5)),
            ("far rows", Special::FarIds(Kind::IndexAdd, I32, U32, 5)),
            ("far elements", Special::FarIds(Kind::IndexAdd, U8, I64, 1)),
            ("far elements", Special::FarMarks(far_marks::Kind::Count)),
            ("far elements", Special::FarMarks(far_marks::Kind::Coordinates)),
            ("far elements", Special::FarMarks(far_marks::Kind::Select)),
            ("contiguous", Special::Uniform(F32)),
            ("contiguous", Special::Uniform(F16)),
            ("contiguous", Special::Normal(F32)),
            ("contiguous", Special::Normal(F16)),
            ("one matrix", Special::Triangle),
            ("copies of more than 4 GiB", Special::Transfer),
        ]
    }

    /// Returns the operation and the dtypes of its operands; `None` for copies between host and
    /// device.
    pub fn op(self) -> Option<(Op, Vec<DType>)> {
        Some(match self {
            Special::ReduceAll(op, dtype) => (Op::Reduce(Reduce::new(op, &[0])), vec![dtype; 2]),
            Special::Position(op, dtype) => (Op::Reduce(Reduce::new(op, &[0])), vec![dtype, DType::U32]),
            Special::Softmax(dtype) => (Op::Softmax, vec![dtype; 2]),
            Special::Product(dtype, numerics) => (Op::Matmul(Matmul::with_numerics(numerics)), vec![dtype; 3]),
            Special::Sort => (Op::Sort(Sort::ascending()), vec![DType::U8; 2]),
            Special::FarIds(kind, dtype, ids, _) => (kind.op(), kind.dtypes(dtype, ids)),
            Special::FarMarks(kind) => (kind.op(1), kind.dtypes()),
            Special::Uniform(dtype) => {
                (Op::RandUniform(RandUniform::new(-1.0, 1.0).with_numerics(Numerics::Portable)), vec![dtype])
            }
            Special::Normal(dtype) => {
                (Op::RandNormal(RandNormal::new(0.0, 1.0).with_numerics(Numerics::Portable)), vec![dtype])
            }
            Special::Triangle => (Op::Triangle(Triangle::lower(0)), vec![DType::U8; 2]),
            Special::Transfer => return None,
        })
    }

    /// Returns the bytes that the case needs on the device.
    pub fn bytes(self, sizes: Sizes) -> u64 {
        let (n, half) = (sizes.beyond_32(), sizes.beyond_31());
        let chunk = sizes.chunk();
        let bytes = match self {
            Special::ReduceAll(_, dtype) | Special::Position(_, dtype) => n * dtype.size_in_bytes(),
            Special::Softmax(dtype) => 2 * n * dtype.size_in_bytes(),
            Special::Product(dtype, _) => 2 * half * dtype.size_in_bytes(),
            // Two runs of records of 8 bytes.
            Special::Sort => n * (2 + 16),
            Special::FarIds(kind, dtype, _, _) => kind.copies() * n * dtype.size_in_bytes(),
            // The bits of a mask take an eighth of it.
            Special::FarMarks(kind) => kind.copies() * n + n / 4,
            Special::Uniform(dtype) | Special::Normal(dtype) => (n + chunk) * dtype.size_in_bytes(),
            Special::Triangle => 2 * n + 2 * chunk,
            Special::Transfer => 2 * n,
        };
        bytes as u64
    }

    pub fn run<D: BackendDevice>(self, class: Class, bench: &Bench<'_, D>) -> Done {
        if let Some((op, dtypes)) = self.op()
            && !bench.device.supports(&op, &dtypes).is_supported()
        {
            return Err(Stop::Lacks(format!("{op} on this device")));
        }
        match self {
            Special::ReduceAll(op, dtype) => long::reduce_all(bench, class, op, dtype),
            Special::Position(op, dtype) => long::position(bench, op, dtype),
            Special::Softmax(dtype) => long::softmax(bench, dtype),
            Special::Product(dtype, numerics) => long::product(bench, dtype, numerics),
            Special::Sort => long::sort(bench),
            Special::FarIds(kind, dtype, ids, columns) => far_ids::run(bench, kind, dtype, ids, columns),
            Special::FarMarks(kind) => far_marks::run(bench, kind),
            Special::Uniform(dtype) => planes::random(bench, dtype, |at| {
                Op::RandUniform(RandUniform::new(-1.0, 1.0).at(7, at).with_numerics(Numerics::Portable))
            }),
            Special::Normal(dtype) => planes::random(bench, dtype, |at| {
                Op::RandNormal(RandNormal::new(0.0, 1.0).at(7, at).with_numerics(Numerics::Portable))
            }),
            Special::Triangle => planes::triangle(bench),
            Special::Transfer => transfer::run(bench),
        }
    }
}
