//! Draws steps for the buffers of a case: operations of many kinds, on whole buffers or parts,
//! transposed, in place, and into new storages.

use super::case::Case;
use super::mirror::{Form, Mirror};
use super::step::Step;
use isobit_hal::{
    Affine, BackendDevice, BinaryOp, Cast, CmpOp, DType, Indexing, Layout, Matmul, Numerics, Op, RandUniform, Reduce,
    ReduceOp, Scalar, Scan, Sort, UnaryOp, WithDType, bf16, f16,
};

/// The steps that a program may contain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    /// Whether results may be new storages that replace a buffer.
    pub fresh: bool,
    /// Whether operations may need temporary memory.
    pub workspace: bool,
}

impl Steps {
    pub(crate) const ANY: Self = Self { fresh: true, workspace: true };
    /// Only steps that allocate nothing.
    pub(crate) const BARE: Self = Self { fresh: false, workspace: false };
    /// Only steps that keep every buffer in place.
    pub(crate) const KEPT: Self = Self { fresh: false, workspace: true };
}

/// The kinds of operation from which a step is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Draft {
    Fill,
    Random,
    Copy,
    Cast,
    Affine,
    Unary,
    Binary,
    Cmp,
    Where,
    Reduce,
    Matmul,
    Softmax,
    Scan,
    Sort,
    IndexSelect,
    ScatterAdd,
}
use Draft as D;

const ALL: [Draft; 16] = [
    D::Fill,
    D::Random,
    D::Copy,
    D::Cast,
    D::Affine,
    D::Unary,
    D::Binary,
    D::Cmp,
    D::Where,
    D::Reduce,
    D::Matmul,
    D::Softmax,
    D::Scan,
    D::Sort,
    D::IndexSelect,
    D::ScatterAdd,
];

impl Draft {
    /// Whether the result can have the dtype.
    fn gives(self, dtype: DType) -> bool {
        match self {
            D::Random => matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64),
            D::Matmul | D::Softmax => dtype.is_float(),
            D::Cmp => dtype == DType::U8,
            _ => true,
        }
    }

    /// Whether each element of the result depends only on the input elements at the same position,
    /// so that parts of buffers can be used.
    fn is_elementwise(self) -> bool {
        matches!(self, D::Fill | D::Copy | D::Cast | D::Affine | D::Unary | D::Binary | D::Cmp | D::Where | D::Random)
    }

    fn needs_workspace(self) -> bool {
        matches!(self, D::Reduce | D::Matmul | D::Softmax | D::Scan | D::Sort | D::ScatterAdd)
    }
}

/// Draws a number that every dtype can represent.
fn scalar<B: BackendDevice>(case: &mut Case<'_, B>, dtype: DType) -> Scalar {
    let n = case.between(0, 100) as u8;
    let quarter = f32::from(n) * 0.25;
    match dtype {
        DType::U8 => Scalar::U8(n),
        DType::I32 => Scalar::I32(i32::from(n) - 50),
        DType::I64 => Scalar::I64(i64::from(n) - 50),
        DType::F16 => Scalar::F16(f16::from_f32(quarter)),
        DType::BF16 => Scalar::BF16(bf16::from_f32(quarter)),
        DType::F32 => quarter.to_scalar(),
        other => Scalar::zero(other),
    }
}

/// Draws a buffer of a dtype other than `dst`: there are two of each dtype.
fn beside<B: BackendDevice>(case: &mut Case<'_, B>, form: &Form, dtype: DType, dst: usize) -> Option<usize> {
    let others: Vec<usize> = (0..form.dtypes.len()).filter(|&i| i != dst && form.dtypes[i] == dtype).collect();
    (!others.is_empty()).then(|| case.draw.one_of(&others))
}

/// Draws a buffer of a dtype, and the view that an elementwise operation of `rows` rows has of it:
/// plain, transposed, or one row for all.
fn operand<B: BackendDevice>(case: &mut Case<'_, B>, form: &Form, i: usize, rows: usize) -> Option<(usize, Layout)> {
    let start = case.between(0, form.side - rows);
    let view = match case.between(0, 3) {
        0 => form.whole().transpose(0, 1).and_then(|l| l.narrow(0, start, rows)),
        1 => form.whole().narrow(0, start, 1).and_then(|l| l.broadcast_as([rows, form.side])),
        _ => form.whole().narrow(0, start, rows),
    };
    Some((i, view.ok()?))
}

/// Draws a step for the buffers of a program.
pub(crate) fn draw<B: BackendDevice>(case: &mut Case<'_, B>, mirror: &Mirror<B>, steps: Steps) -> Step {
    loop {
        let kind = case.draw.one_of(&ALL);
        let dst = case.between(0, mirror.shape.dtypes.len() - 1);
        let dtype = mirror.shape.dtypes[dst];
        if !kind.gives(dtype) || kind.needs_workspace() && !steps.workspace {
            continue;
        }
        let fresh = steps.fresh && kind != D::Reduce && kind != D::ScatterAdd && case.draw.chance(30);
        let Some(step) = attempt(case, &mirror.shape, kind, dst, fresh) else { continue };
        let dtypes: Vec<DType> = step
            .inputs
            .iter()
            .map(|(i, _)| if *i == mirror.shape.ids { DType::U32 } else { mirror.shape.dtypes[*i] })
            .chain([dtype])
            .collect();
        // An external driver may lack some operations; draw until it supports one.
        if case.device.supports(&step.op, &dtypes).is_supported() {
            return step;
        }
    }
}

fn attempt<B: BackendDevice>(
    case: &mut Case<'_, B>,
    form: &Form,
    kind: Draft,
    dst: usize,
    fresh: bool,
) -> Option<Step> {
    let (dtype, whole) = (form.dtypes[dst], form.whole());
    let in_part = kind.is_elementwise() && !fresh && case.draw.chance(40);
    let rows = if in_part { case.between(1, form.side) } else { form.side };
    let start = case.between(0, form.side - rows);
    let layout = match kind {
        D::Reduce => whole.narrow(1, case.between(0, form.side - 1), 1).ok()?,
        _ => whole.narrow(0, start, rows).ok()?,
    };
    // The destination itself (its old contents if the result is a new storage), or another buffer.
    let source = |case: &mut Case<'_, B>| {
        if case.draw.chance(30) {
            return Some((dst, layout.clone()));
        }
        let other = beside(case, form, dtype, dst)?;
        operand(case, form, other, rows)
    };
    let of_ids = |layout: Layout| Some((form.ids, layout));
    let other = |case: &mut Case<'_, B>| Some((beside(case, form, dtype, dst)?, whole.clone()));
    let small = |case: &mut Case<'_, B>| (case.between(0, 8) as f64 - 4.0) * 0.25;
    let (op, inputs) = match kind {
        D::Fill => (Op::Fill(scalar(case, dtype)), vec![]),
        D::Random => {
            let place = (case.between(0, 9) as u64, 4 * case.between(0, 99) as u64);
            let op = RandUniform::new(-1.0, 1.0).at(place.0, place.1).with_numerics(Numerics::Portable);
            (Op::RandUniform(op), vec![])
        }
        D::Copy => (Op::Copy, vec![operand_of(case, form, dst, dtype, rows)?]),
        D::Cast => {
            let from = case.draw.one_of(&form.dtypes);
            (Op::Cast(Cast::default()), vec![operand_of(case, form, dst, from, rows)?])
        }
        D::Affine => (Op::Affine(Affine::new(small(case), small(case))), vec![source(case)?]),
        D::Unary => {
            let all = [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Relu, UnaryOp::Sign];
            let floats = [UnaryOp::Tanh, UnaryOp::Sigmoid, UnaryOp::Sin, UnaryOp::Gelu];
            let op = if dtype.is_float() && case.draw.chance(60) {
                case.draw.one_of(&floats)
            } else {
                case.draw.one_of(&all)
            };
            (Op::Unary(op), vec![source(case)?])
        }
        D::Binary => {
            let op = case.draw.one_of(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Maximum]);
            (Op::Binary(op), vec![source(case)?, source(case)?])
        }
        D::Cmp => {
            let of = case.draw.one_of(&form.dtypes);
            let op = Op::Cmp(case.draw.one_of(CmpOp::ALL));
            let operands = [(); 2].map(|()| operand_of(case, form, dst, of, rows));
            (op, operands.into_iter().collect::<Option<_>>()?)
        }
        D::Where => {
            let cond = form.dtypes.iter().copied().find(|d| matches!(d, DType::U8 | DType::I64))?;
            (Op::WhereCond, vec![operand_of(case, form, dst, cond, rows)?, source(case)?, source(case)?])
        }
        D::Reduce => {
            let op = case.draw.one_of(&[ReduceOp::Sum, ReduceOp::Max]);
            (Op::Reduce(Reduce::new(op, &[1])), vec![other(case)?])
        }
        D::Matmul => {
            let op = Op::Matmul(Matmul::with_numerics(Numerics::Portable));
            (op, vec![other(case)?, operand_of(case, form, dst, dtype, form.side)?])
        }
        D::Softmax => (Op::Softmax, vec![other(case)?]),
        D::Scan => (Op::Scan(Scan::cumsum(case.between(0, 1))), vec![other(case)?]),
        D::Sort => (Op::Sort(Sort::ascending()), vec![other(case)?]),
        D::IndexSelect => {
            let ids = Layout::contiguous([form.side]);
            (Op::IndexSelect(Indexing::new(0)), vec![other(case)?, of_ids(ids)?])
        }
        D::ScatterAdd => {
            // Row i goes to the row with the index that id i gives, element by element.
            let ids = Layout::contiguous([form.side, 1]).broadcast_as([form.side, form.side]).ok()?;
            let inputs = vec![(dst, whole.clone()), of_ids(ids)?, other(case)?];
            (Op::ScatterAdd(Indexing::new(0)), inputs)
        }
    };
    Some(Step { op, inputs, dst, layout, fresh: fresh.then_some(dtype) })
}

/// Draws a buffer of a dtype other than `dst`, through some view.
fn operand_of<B: BackendDevice>(
    case: &mut Case<'_, B>,
    form: &Form,
    dst: usize,
    dtype: DType,
    rows: usize,
) -> Option<(usize, Layout)> {
    let i = beside(case, form, dtype, dst)?;
    operand(case, form, i, rows)
}
