//! The checks that every driver makes before it touches memory, written once so that the same bad
//! call gives the same error everywhere.

use crate::{
    BackendDevice, BackendStorage, DType, Error, ErrorKind, Func, KernelArg, LaunchConfig, Layout, Limits, Op,
    PinnedBuffer, Result, Shape, Src, WithDType, kernel,
};
use smallvec::SmallVec;
use std::ops::Range;

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

/// Any operation: dtypes, devices, shapes and layouts of a call of [`BackendStorage::apply_into`].
///
/// # Errors
/// The common ones of [`BackendStorage`], naming the operation.
pub fn call<S: BackendStorage>(op: &Op, srcs: &[Src<'_, S>], dst: &S, dst_layout: &Layout) -> Result<()> {
    let check = || {
        let mut dtypes: SmallVec<[DType; 5]> = SmallVec::new();
        let mut layouts: SmallVec<[&Layout; 4]> = SmallVec::new();
        for (i, src) in srcs.iter().enumerate() {
            let (dtype, layout) = match *src {
                Src::Storage(s, l) => (s.dtype(), l),
                Src::InPlace if op.takes_dst(i) => (dst.dtype(), dst_layout),
                Src::InPlace => {
                    return Err(Error::new(
                        ErrorKind::InvalidArgument,
                        format!("{op} cannot take its destination as input {i}: give it a storage of its own"),
                    ));
                }
            };
            dtypes.push(dtype);
            layouts.push(layout);
        }
        dtypes.push(dst.dtype());
        op.check_dtypes(&dtypes)?;
        let shapes: SmallVec<[&Shape; 4]> = layouts.iter().map(|l| l.shape()).collect();
        if let Some(expected) = op.result_shape(&shapes).map_err(|e| e.with_layouts(&layouts))?
            && expected != *dst_layout.shape()
        {
            return Err(Error::new(
                ErrorKind::ShapeMismatch,
                format!("{op} gives {expected} here, the destination has {}", dst_layout.shape()),
            )
            .with_layouts(&[&layouts[..], &[dst_layout]].concat()));
        }
        for src in srcs {
            if let Src::Storage(s, l) = src {
                same_device(*s, dst)?;
                in_bounds(l, s.len())?;
            }
        }
        destination(dst_layout, dst.len())
    };
    check().map_err(|e| e.with_op(op))
}

/// A range of a storage's bytes, as elements.
///
/// # Errors
/// `InvalidArgument` where it leaves the buffer or is no whole elements.
pub fn byte_range<S: BackendStorage>(storage: &S, offset: usize, bytes: usize) -> Result<Range<usize>> {
    let size = storage.dtype().size_in_bytes();
    let end = offset.checked_add(bytes).filter(|&end| end <= storage.len() * size);
    match end {
        Some(end) if offset.is_multiple_of(size) && end.is_multiple_of(size) => Ok(offset / size..end / size),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "{bytes} bytes from byte {offset} are no range of whole elements of a storage of {} elements of {} ({size} bytes each)",
                storage.len(),
                storage.dtype()
            ),
        )),
    }
}

/// A range of a pinned buffer's bytes.
///
/// # Errors
/// `InvalidArgument` where it leaves the buffer.
pub fn pinned_range(buffer: &PinnedBuffer, range: &Range<usize>) -> Result<()> {
    if range.start <= range.end && range.end <= buffer.len() {
        return Ok(());
    }
    let message = format!("bytes {range:?} are no range of a pinned buffer of {} bytes", buffer.len());
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// A launch: the configuration against what device and kernel take, the arguments against the
/// kernel's parameters where its code tells them.
///
/// # Errors
/// `InvalidArgument`, `DeviceMismatch`, naming the argument or the limit.
pub fn launch<S: BackendStorage>(
    func: &Func,
    config: &LaunchConfig,
    limits: &Limits,
    args: &[KernelArg<'_, S>],
) -> Result<()> {
    kernel::configuration(func, config, limits)?;
    kernel::arguments(func, args)
}

/// That a storage's elements are of a type.
///
/// # Errors
/// `UnsupportedDtype`.
pub fn is_of<T: WithDType>(storage: &impl BackendStorage, doing: &str) -> Result<()> {
    if storage.dtype() == T::DTYPE {
        return Ok(());
    }
    let message = format!("{doing}: the storage holds {}, {} was asked for; cast it first", storage.dtype(), T::DTYPE);
    Err(Error::new(ErrorKind::UnsupportedDtype, message))
}

/// That one storage can be copied into another whole.
///
/// # Errors
/// `UnsupportedDtype` or `ShapeMismatch`.
pub fn transfer(src: &impl BackendStorage, dst: &impl BackendStorage) -> Result<()> {
    if src.dtype() != dst.dtype() {
        let message =
            format!("a storage of {} cannot be copied into one of {}; cast it first", src.dtype(), dst.dtype());
        return Err(Error::new(ErrorKind::UnsupportedDtype, message).with_dtypes(&[src.dtype(), dst.dtype()]));
    }
    if src.len() != dst.len() {
        let message = format!("a storage of {} elements cannot be copied into one of {}", src.len(), dst.len());
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    }
    Ok(())
}
