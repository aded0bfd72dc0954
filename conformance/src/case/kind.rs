//! The operations of the suite: hal's, without their parameters.

use crate::family::Member;
use crate::report::Numerics;
use isobit_hal::{
    Activation, Affine, BinaryOp, Clamp, CmpOp, Copy2d, Elu, Matmul, Op, Powf, Reduce, ReduceOp, UnaryOp,
};

/// An operation without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    ConstSet,
    Copy,
    Copy2d,
    Cast,
    Affine,
    Powf,
    Elu,
    Unary(UnaryOp),
    Binary(BinaryOp),
    Cmp(CmpOp),
    WhereCond,
    Reduce(ReduceOp),
    Matmul,
    Clamp,
    AddActivation(Activation),
    Family(Member),
}

impl Kind {
    /// Every operation, in the order of reports.
    pub fn all() -> Vec<Kind> {
        let mut all = vec![Kind::ConstSet, Kind::Copy, Kind::Copy2d, Kind::Cast, Kind::Affine, Kind::Powf, Kind::Elu];
        all.extend(UnaryOp::ALL.iter().map(|&op| Kind::Unary(op)));
        all.extend(BinaryOp::ALL.iter().map(|&op| Kind::Binary(op)));
        all.extend(CmpOp::ALL.iter().map(|&op| Kind::Cmp(op)));
        all.push(Kind::WhereCond);
        all.extend(ReduceOp::ALL.iter().map(|&op| Kind::Reduce(op)));
        all.push(Kind::Matmul);
        all.push(Kind::Clamp);
        all.extend(Activation::ALL.iter().map(|&op| Kind::AddActivation(op)));
        all.extend(Member::all().map(Kind::Family));
        all
    }

    /// The operation with parameters that stand for any, to ask for its name, dtypes and support.
    pub fn op(self, numerics: Option<Numerics>) -> Op {
        match self {
            Kind::ConstSet => Op::ConstSet,
            Kind::Copy => Op::Copy,
            Kind::Copy2d => Op::Copy2d(Copy2d::new(1, 1)),
            Kind::Cast => Op::Cast,
            Kind::Affine => Op::Affine(Affine::new(1.0, 0.0)),
            Kind::Powf => Op::Powf(Powf::new(1.0)),
            Kind::Elu => Op::Elu(Elu::new(1.0)),
            Kind::Unary(op) => Op::Unary(op),
            Kind::Binary(op) => Op::Binary(op),
            Kind::Cmp(op) => Op::Cmp(op),
            Kind::WhereCond => Op::WhereCond,
            Kind::Reduce(op) => Op::Reduce(Reduce::new(op, &[0])),
            Kind::Matmul => Op::Matmul(Matmul::default()),
            Kind::Clamp => Op::Clamp(Clamp::new(0.0, 1.0)),
            Kind::AddActivation(op) => Op::AddActivation(op),
            Kind::Family(member) => member.op().clone(),
        }
        .with_numerics(numerics.map(Into::into))
    }

    /// The name, as the command line and reports spell it.
    pub fn name(self) -> &'static str {
        self.op(None).name()
    }

    /// How many inputs it has.
    pub fn inputs(self) -> usize {
        match self {
            Kind::ConstSet => 0,
            Kind::Binary(_) | Kind::Cmp(_) | Kind::Matmul | Kind::AddActivation(_) => 2,
            Kind::WhereCond => 3,
            Kind::Family(member) => member.inputs(),
            _ => 1,
        }
    }

    /// True where each element of the result comes from the inputs' elements at its own place.
    pub fn is_elementwise(self) -> bool {
        !matches!(self, Kind::Copy2d | Kind::Reduce(_) | Kind::Matmul | Kind::Family(_))
    }

    /// True where an input may be the destination itself (of one dtype with it).
    pub fn takes_dst(self) -> bool {
        self.is_elementwise() && !matches!(self, Kind::ConstSet | Kind::Cast)
    }
}
