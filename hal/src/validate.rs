//! The checks that every driver makes before it touches memory, written once so that the same bad call gives the same error everywhere.

use crate::{BackendDevice, BackendStorage, DType, Error, ErrorKind, Layout, Op, Reduce, Result, Shape, Src};

/// A layout stays inside a buffer of `len` elements.
///
/// # Errors
/// `InvalidArgument`, with the elements that would be needed.
pub fn in_bounds(layout: &Layout, len: usize) -> Result<()> {
    match layout.required_len() {
        Some(needed) if needed <= len => Ok(()),
        needed => {
            let needed = needed.map_or("more than a usize can count".to_string(), |n| n.to_string());
            Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("the layout {layout} leaves its buffer: it needs {needed} elements, the buffer has {len}"),
            )
            .with_layouts(&[layout]))
        }
    }
}

/// A destination: inside its buffer, and no element named twice.
///
/// # Errors
/// `InvalidArgument`.
pub fn destination(layout: &Layout, len: usize) -> Result<()> {
    in_bounds(layout, len)?;
    if layout.is_injective() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        format!(
            "the destination layout {layout} overlaps itself: write to a layout in which each element has its own place"
        ),
    )
    .with_layouts(&[layout]))
}

fn same_device<S: BackendStorage>(a: &S, b: &S) -> Result<()> {
    if a.device().same_device(b.device()) {
        return Ok(());
    }
    let (a, b) = (a.device(), b.device());
    Err(Error::new(
        ErrorKind::DeviceMismatch,
        format!(
            "operands live on different devices, {} ({:?}) and {} ({:?}): copy one over first",
            a.location(),
            a.id(),
            b.location(),
            b.id()
        ),
    ))
}

fn same_shape(a: &Layout, b: &Layout) -> Result<()> {
    if a.shape() == b.shape() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::ShapeMismatch,
        format!(
            "an operand has shape {}, the destination {}: broadcast layouts to one shape first",
            a.shape(),
            b.shape()
        ),
    )
    .with_layouts(&[a, b]))
}

/// An elementwise operation: dtypes, devices, shapes and layouts. `srcs` are in the order of the operation's [`Op`] variant.
///
/// # Errors
/// The common ones of [`BackendStorage`], naming the operation.
pub fn elementwise<S: BackendStorage>(op: &Op, srcs: &[Src<'_, S>], dst: &S, dst_layout: &Layout) -> Result<()> {
    let check = || {
        let mut dtypes: smallvec::SmallVec<[DType; 4]> = srcs
            .iter()
            .map(|src| match src {
                Src::Storage(s, _) => s.dtype(),
                Src::Dst => dst.dtype(),
            })
            .collect();
        dtypes.push(dst.dtype());
        op.check_dtypes(&dtypes)?;
        for src in srcs {
            if let Src::Storage(s, l) = src {
                same_device(*s, dst)?;
                same_shape(l, dst_layout)?;
                in_bounds(l, s.len())?;
            }
        }
        destination(dst_layout, dst.len())
    };
    check().map_err(|e| e.with_op(op))
}

/// A fill: the value's dtype and the layout.
///
/// # Errors
/// `UnsupportedDtype`, `InvalidArgument`.
pub fn const_set<S: BackendStorage>(value: crate::Scalar, dst: &S, layout: &Layout) -> Result<()> {
    if value.dtype() != dst.dtype() {
        return Err(Error::new(
            ErrorKind::UnsupportedDtype,
            format!("const_set: the value is {}, the storage {}; convert the value first", value.dtype(), dst.dtype()),
        )
        .with_op(Op::ConstSet));
    }
    destination(layout, dst.len()).map_err(|e| e.with_op(Op::ConstSet))
}

/// A reduction.
///
/// # Errors
/// Those of [`BackendStorage::reduce_into`].
pub fn reduce<S: BackendStorage>(
    op: &Reduce,
    src: &S,
    src_layout: &Layout,
    dst: &S,
    dst_layout: &Layout,
) -> Result<()> {
    let invalid = |m: String| Err(Error::new(ErrorKind::InvalidArgument, m));
    let check = || {
        Op::Reduce(op.clone()).check_dtypes(&[src.dtype(), dst.dtype()])?;
        let rank = src_layout.shape().rank();
        for (i, &d) in op.dims.iter().enumerate() {
            if d >= rank {
                return invalid(format!("{}: dimension {d} of a tensor of rank {rank}", op.op));
            }
            if op.dims[..i].contains(&d) {
                return invalid(format!("{}: dimension {d} is named twice", op.op));
            }
        }
        let expected = src_layout.shape().reduced(&op.dims);
        if *dst_layout.shape() != expected {
            return Err(Error::new(
                ErrorKind::ShapeMismatch,
                format!(
                    "{} of shape {} over {:?} gives {expected}, the destination has {}",
                    op.op,
                    src_layout.shape(),
                    op.dims.as_slice(),
                    dst_layout.shape()
                ),
            ));
        }
        same_device(src, dst)?;
        in_bounds(src_layout, src.len())?;
        destination(dst_layout, dst.len())?;
        let count: usize = op.dims.iter().map(|&d| src_layout.dims()[d]).product();
        if count == 0 && op.op.needs_elements() && dst_layout.elem_count() > 0 {
            return invalid(format!(
                "{} over no elements has no value: the shape is {}, the dimensions {:?}",
                op.op,
                src_layout.shape(),
                op.dims.as_slice()
            ));
        }
        if op.op.is_arg() && count > u32::MAX as usize {
            return invalid(format!("{} over {count} elements: the u32 index ends at {}", op.op, u32::MAX));
        }
        Ok(())
    };
    check().map_err(|e| e.with_op(op.op))
}

/// The shape of a matrix product.
///
/// # Errors
/// `ShapeMismatch`, saying which dimensions differ.
pub fn matmul_shape(lhs: &Layout, rhs: &Layout) -> Result<Shape> {
    let mismatch = |what: String| {
        Error::new(ErrorKind::ShapeMismatch, format!("matmul of {} and {}: {what}", lhs.shape(), rhs.shape()))
            .with_op("matmul")
            .with_layouts(&[lhs, rhs])
    };
    let (a, b) = (lhs.dims(), rhs.dims());
    let ([batch_a @ .., m, k], [batch_b @ .., k2, n]) = (a, b) else {
        return Err(mismatch("both operands need at least two dimensions".into()));
    };
    if batch_a != batch_b {
        return Err(mismatch(format!("the batch dimensions {batch_a:?} and {batch_b:?} differ; broadcast one first")));
    }
    if k != k2 {
        return Err(mismatch(format!("the inner dimensions {k} and {k2} differ")));
    }
    let mut dims: crate::Dims = batch_a.into();
    dims.extend([*m, *n]);
    Ok(dims.into())
}

/// A matrix product.
///
/// # Errors
/// Those of [`BackendStorage::matmul_into`].
pub fn matmul<S: BackendStorage>(lhs: (&S, &Layout), rhs: (&S, &Layout), dst: (&S, &Layout)) -> Result<()> {
    let check = || {
        Op::Matmul(Default::default()).check_dtypes(&[lhs.0.dtype(), rhs.0.dtype(), dst.0.dtype()])?;
        let shape = matmul_shape(lhs.1, rhs.1)?;
        if shape != *dst.1.shape() {
            return Err(Error::new(
                ErrorKind::ShapeMismatch,
                format!("the product has shape {shape}, the destination {}", dst.1.shape()),
            ));
        }
        for (s, l) in [lhs, rhs] {
            same_device(s, dst.0)?;
            in_bounds(l, s.len())?;
        }
        destination(dst.1, dst.0.len())
    };
    check().map_err(|e| e.with_op("matmul"))
}
