//! The checks that every driver makes before it touches memory. All drivers share them, so the same
//! bad call gives the same error everywhere.
//!
//! ```rust
//! use isobit_hal::{ErrorKind, Layout, validate};
//!
//! let layout = Layout::contiguous((2, 3));
//! assert!(validate::in_bounds(&layout, 6).is_ok());
//! assert_eq!(validate::in_bounds(&layout, 5).unwrap_err().kind(), ErrorKind::InvalidArgument);
//! let repeated = Layout::contiguous(1).broadcast_as(4)?;
//! assert!(validate::in_bounds(&repeated, 1).is_ok());
//! assert!(validate::destination(&repeated, 1).is_err(), "it overlaps itself");
//! # Ok::<(), isobit_hal::Error>(())
//! ```

use crate::{
    BackendDevice, BackendStorage, DType, Error, ErrorKind, Func, KernelArg, LaunchConfig, Layout, Limits, Op,
    PinnedBuffer, Result, Shape, Src, WithDType, kernel,
};
use smallvec::SmallVec;
use std::ops::Range;

/// Checks that a layout stays inside a buffer of `len` elements.
///
/// # Errors
/// `InvalidArgument`, with the number of elements that the layout needs.
pub fn in_bounds(layout: &Layout, len: usize) -> Result<()> {
    match layout.required_len() {
        Some(needed) if needed <= len => Ok(()),
        needed => {
            let needed = needed.map_or("more than usize::MAX".to_string(), |n| n.to_string());
            Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("the layout {layout} exceeds its buffer: it needs {needed} elements, the buffer has {len}"),
            )
            .with_layouts(&[layout]))
        }
    }
}

/// Checks that a destination stays inside its buffer and does not select an element twice.
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
            "the destination layout {layout} overlaps itself: use a layout that gives each element its own position"
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
            "operands live on different devices, {} ({:?}) and {} ({:?}): copy one to the other device first",
            a.location(),
            a.id(),
            b.location(),
            b.id()
        ),
    ))
}

/// Checks the dtypes, devices, shapes and layouts of a call to [`BackendStorage::apply_into`].
///
/// # Errors
/// The [common errors](BackendStorage#common-errors), naming the operation.
pub fn call<S: BackendStorage>(op: &Op, srcs: &[Src<'_, S>], dst: &S, dst_layout: &Layout) -> Result<()> {
    let check = || {
        let mut dtypes: SmallVec<[DType; 5]> = SmallVec::new();
        let mut layouts: SmallVec<[&Layout; 4]> = SmallVec::new();
        for (i, src) in srcs.iter().enumerate() {
            let (dtype, layout) = match *src {
                Src::Storage(s, l) => (s.dtype(), l),
                Src::Packed(packed) => {
                    packed.check(op, i)?;
                    let (s, l) = packed.matrix();
                    (s.dtype(), l)
                }
                Src::InPlace if op.takes_dst(i) => (dst.dtype(), dst_layout),
                Src::Scalar(value) if op.takes_scalar(i) => (value.dtype(), dst_layout),
                Src::Scalar(value) => {
                    return Err(Error::new(
                        ErrorKind::InvalidArgument,
                        format!("{op} cannot take a scalar ({value:?}) as input {i}: pass a storage of its own"),
                    ));
                }
                Src::InPlace => {
                    return Err(Error::new(
                        ErrorKind::InvalidArgument,
                        format!("{op} cannot use its destination as input {i}: pass a storage of its own"),
                    ));
                }
            };
            dtypes.push(dtype);
            layouts.push(layout);
        }
        if !srcs.is_empty() && srcs.iter().all(|src| matches!(src, Src::Scalar(_))) {
            let message = format!("{op} has only scalars as inputs: fill the destination with the result instead");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        dtypes.push(dst.dtype());
        op.check_dtypes(&dtypes)?;
        let shapes: SmallVec<[&Shape; 4]> = layouts.iter().map(|l| l.shape()).collect();
        op.check_counts(&shapes, dst.dtype()).map_err(|e| e.with_layouts(&layouts))?;
        if let Some(expected) = op.result_shape(&shapes).map_err(|e| e.with_layouts(&layouts))?
            && expected != *dst_layout.shape()
        {
            return Err(Error::new(
                ErrorKind::ShapeMismatch,
                format!(
                    "the result of {op} has shape {expected}, but the destination has shape {}",
                    dst_layout.shape()
                ),
            )
            .with_layouts(&[&layouts[..], &[dst_layout]].concat()));
        }
        for src in srcs {
            if let Src::Packed(packed) = src
                && let Some(form) = packed.form()
            {
                same_device(form, dst)?;
            }
            if let Some((s, l)) = src.storage() {
                same_device(s, dst)?;
                in_bounds(l, s.len())?;
            }
        }
        destination(dst_layout, dst.len())
    };
    check().map_err(|e| e.with_op(op))
}

/// Converts a range of a storage's bytes to a range of elements.
///
/// # Errors
/// `InvalidArgument` if the range exceeds the buffer or does not consist of whole elements.
pub fn byte_range<S: BackendStorage>(storage: &S, offset: usize, bytes: usize) -> Result<Range<usize>> {
    let size = storage.dtype().size_in_bytes();
    let end = offset.checked_add(bytes).filter(|&end| end <= storage.len() * size);
    match end {
        Some(end) if offset.is_multiple_of(size) && end.is_multiple_of(size) => Ok(offset / size..end / size),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "{bytes} bytes from byte {offset} are not a range of whole elements in a storage of {} elements of {} ({size} bytes each)",
                storage.len(),
                storage.dtype()
            ),
        )),
    }
}

/// Checks a range of a pinned buffer's bytes.
///
/// # Errors
/// `InvalidArgument` if the range exceeds the buffer.
pub fn pinned_range(buffer: &PinnedBuffer, range: &Range<usize>) -> Result<()> {
    if range.start <= range.end && range.end <= buffer.len() {
        return Ok(());
    }
    let message = format!("bytes {range:?} are not a range in a pinned buffer of {} bytes", buffer.len());
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Checks a launch: the configuration against the limits of the device and the kernel, and the
/// arguments against the kernel's parameters if its code specifies them.
///
/// # Errors
/// `InvalidArgument` or `DeviceMismatch`, naming the argument or the limit.
pub fn launch<S: BackendStorage>(
    func: &Func,
    config: &LaunchConfig,
    limits: &Limits,
    args: &[KernelArg<'_, S>],
) -> Result<()> {
    kernel::configuration(func, config, limits)?;
    kernel::arguments(func, args)
}

/// Checks that a storage's elements have type `T`.
///
/// # Errors
/// `UnsupportedDtype`.
pub fn is_of<T: WithDType>(storage: &impl BackendStorage, doing: &str) -> Result<()> {
    if storage.dtype() == T::DTYPE {
        return Ok(());
    }
    let message =
        format!("{doing}: the storage holds {}, but {} was requested; cast it first", storage.dtype(), T::DTYPE);
    Err(Error::new(ErrorKind::UnsupportedDtype, message))
}

/// Checks that one storage can be copied as a whole into another.
///
/// # Errors
/// `UnsupportedDtype` if the dtypes differ, `ShapeMismatch` if the lengths differ.
pub fn transfer(src: &impl BackendStorage, dst: &impl BackendStorage) -> Result<()> {
    same_dtype(src, dst)?;
    if src.len() != dst.len() {
        let message = format!("a storage of {} elements cannot be copied into one of {}", src.len(), dst.len());
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    }
    Ok(())
}

/// Checks that a range of one storage can be copied to an offset of another.
///
/// # Errors
/// `UnsupportedDtype` if the dtypes differ, `InvalidArgument` if the elements exceed a storage.
pub fn transfer_range(
    src: &impl BackendStorage,
    range: &Range<usize>,
    dst: &impl BackendStorage,
    offset: usize,
) -> Result<()> {
    same_dtype(src, dst)?;
    let of_src = range.start <= range.end && range.end <= src.len();
    if of_src && offset.checked_add(range.len()).is_some_and(|end| end <= dst.len()) {
        return Ok(());
    }
    let message = format!(
        "elements {range:?} of a storage of {} cannot be copied to element {offset} of one of {}: they exceed it",
        src.len(),
        dst.len()
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

fn same_dtype(src: &impl BackendStorage, dst: &impl BackendStorage) -> Result<()> {
    if src.dtype() == dst.dtype() {
        return Ok(());
    }
    let message = format!("a storage of {} cannot be copied into one of {}; cast it first", src.dtype(), dst.dtype());
    Err(Error::new(ErrorKind::UnsupportedDtype, message).with_dtypes(&[src.dtype(), dst.dtype()]))
}
