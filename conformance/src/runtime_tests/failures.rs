//! The ways in which a device can be made to fail, each with the kind and the context that its
//! error must have.

use super::capture_errors;
use super::case::{Case, Checked, ensure, fails};
use isobit_hal::{
    BackendDevice, BackendStorage, BinaryOp, DType, Dims, Error, ErrorKind, KernelSource, Layout, Matmul, Op, Reduce,
    ReduceOp, Result, Scalar, Shape, Src,
};

/// A way to fail: its name and its test.
type Failure<D> = (&'static str, fn(&mut Case<'_, D>) -> Checked);

/// Returns all of them.
pub(super) fn all<D: BackendDevice>() -> [Failure<D>; 17] {
    [
        ("more memory than can be", memory),
        ("bytes that are no whole elements", odd_bytes),
        ("shapes that do not agree", shapes),
        ("a layout that exceeds its buffer", beyond),
        ("a destination that overlaps itself", overlap),
        ("dtypes that do not agree", dtypes),
        ("the destination as an input that may not be it", in_place),
        ("a fill of another dtype", fill),
        ("a dimension that is not there", dimension),
        ("the largest of nothing", empty_reduction),
        ("an id out of range", index),
        ("two ids out of range", indices),
        ("an interval that is none", interval),
        ("what is another device's", another),
        ("a kernel that is not there", kernel),
        ("a source that does not compile", source),
        ("what cannot be captured", capture_errors::run),
    ]
}

fn vector<D: BackendDevice>(case: &Case<'_, D>, n: usize, dtype: DType) -> Result<D::Storage> {
    case.device.zeros(&n.into(), dtype)
}

/// Checks that an error names its operation and shows at least `layouts` layouts.
fn context(e: &Error, op: &str, layouts: usize) -> Checked {
    ensure!(e.op() == Some(op), "the error of {op} names {:?} as the operation: {e}", e.op());
    ensure!(e.layouts().len() >= layouts, "the error of {op} shows {} layouts: {e}", e.layouts().len());
    Ok(())
}

fn memory<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let shape = Shape::from([1 << 40, 1 << 22]);
    fails(case.device.zeros(&shape, DType::F64), ErrorKind::OutOfMemory, &[])?;
    Ok(())
}

fn odd_bytes<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let bytes = vec![0; 4 * case.between(0, 9) + case.between(1, 3)];
    let made = case.device.storage_from_bytes(DType::F32, &bytes);
    fails(made, ErrorKind::InvalidArgument, &[&bytes.len().to_string(), "f32"])?;
    Ok(())
}

fn shapes<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let (a, b) = (vector(case, 6, DType::F32)?, vector(case, 8, DType::F32)?);
    let [six, eight] = [6, 8].map(|n: usize| Layout::contiguous([n]));
    context(&fails(a.binary(&six, &b, &eight, BinaryOp::Mul), ErrorKind::ShapeMismatch, &["6", "8"])?, "mul", 2)
}

fn beyond<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let n = case.between(1, 100);
    let (a, layout) = (vector(case, n, DType::I32)?, Layout::contiguous_with_offset([n], 1));
    let words = [&*(n + 1).to_string(), &n.to_string(), "exceeds its buffer"];
    context(&fails(a.affine(&layout, 1.0, 1.0), ErrorKind::InvalidArgument, &words)?, "affine", 1)
}

fn overlap<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    // Rows that share some of their elements, or all of them; two rows are the fewest that can.
    let (rows, n) = ([2, 2, 2, 3, 5][case.between(0, 4)], case.between(1, 9));
    let step = case.between(0, n - 1);
    let (src, mut dst) = (vector(case, rows * n, DType::F32)?, vector(case, (rows - 1) * step + n, DType::F32)?);
    let (mut layout, mut one) =
        (Layout::contiguous([rows, n]), Layout::new([rows, n], Dims::from_slice(&[step, 1]), 0)?);
    if case.between(0, 1) == 1 {
        (layout, one) = (layout.transpose(0, 1)?, one.transpose(0, 1)?);
    }
    let copied = D::Storage::copy_into(Src::Storage(&src, &layout), &mut dst, &one);
    context(&fails(copied, ErrorKind::InvalidArgument, &["overlaps itself"])?, "copy_strided_src", 1)
}

fn dtypes<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let (a, b) = (vector(case, 4, DType::F32)?, vector(case, 4, DType::F16)?);
    let layout = Layout::contiguous([4]);
    let e = fails(a.binary(&layout, &b, &layout, BinaryOp::Add), ErrorKind::UnsupportedDtype, &["f32", "f16"])?;
    context(&e, "add", 0)
}

fn in_place<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let (a, mut dst) = (vector(case, 4, DType::F32)?, vector(case, 4, DType::F32)?);
    let layout = Layout::contiguous([2, 2]);
    let inputs = [Src::Storage(&a, &layout), Src::InPlace];
    let done = D::Storage::apply_into(&Op::Matmul(Matmul::default()), &inputs, &mut dst, &layout);
    context(&fails(done, ErrorKind::InvalidArgument, &["destination"])?, "matmul", 0)
}

fn fill<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let mut a = vector(case, 4, DType::F32)?;
    let filled = a.const_set(Scalar::I32(1), &Layout::contiguous([4]));
    context(&fails(filled, ErrorKind::UnsupportedDtype, &["i32", "f32"])?, "const_set", 0)
}

fn dimension<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let a = vector(case, 4, DType::F32)?;
    let summed = a.reduce(&Layout::contiguous([2, 2]), &Reduce::new(ReduceOp::Sum, &[2]));
    context(&fails(summed, ErrorKind::InvalidArgument, &["2"])?, "sum", 0)
}

fn empty_reduction<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let a = vector(case, 0, DType::F32)?;
    let largest = a.reduce(&Layout::contiguous([3, 0]), &Reduce::new(ReduceOp::Max, &[1]));
    context(&fails(largest, ErrorKind::InvalidArgument, &[])?, "max", 0)
}

/// Returns the error of a call or, if the call succeeded, that of the next synchronising call.
fn found<D: BackendDevice, T>(case: &Case<'_, D>, called: Result<T>) -> Result<()> {
    called.and_then(|_| case.device.synchronize())
}

fn index<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let n = case.between(1, 50);
    let src = vector(case, n, DType::F32)?;
    let ids = case.device.storage_from_slice(&[0u32, n as u32, 0])?;
    let (l, il) = (Layout::contiguous([n]), Layout::contiguous([3]));
    let selected = src.index_select(&l, &ids, &il, 0);
    let e = fails(found(case, selected), ErrorKind::IndexOutOfRange, &[&n.to_string()])?;
    context(&e, "index_select", 0)?;
    case.device.synchronize()?;
    Ok(())
}

/// Neither error may hide the other, and they must arrive in order.
fn indices<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let src = vector(case, 5, DType::I32)?;
    let ids = case.device.storage_from_slice(&[7u32, 0])?;
    let (l, il) = (Layout::contiguous([5]), Layout::contiguous([2]));
    let called = [src.index_select(&l, &ids, &il, 0).map(drop), src.gather(&l, &ids, &il, 0).map(drop)];
    let mut errors: Vec<Error> = called.into_iter().filter_map(Result::err).collect();
    while let Err(e) = case.device.synchronize() {
        errors.push(e);
        ensure!(errors.len() <= 2, "two ids out of range give more than two errors: {errors:?}");
    }
    let ops: Vec<_> = errors.iter().map(|e| (e.kind(), e.op())).collect();
    let expected = [Some("index_select"), Some("gather")].map(|op| (ErrorKind::IndexOutOfRange, op));
    ensure!(ops == expected, "two ids out of range give {ops:?}");
    Ok(())
}

fn interval<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let drawn = case.device.rand_uniform(&Shape::from(4), DType::F32, 1.0, f64::NAN);
    match case.device.random_state() {
        Some(_) => fails(drawn, ErrorKind::InvalidArgument, &["finite"])?,
        None => fails(drawn, ErrorKind::UnsupportedOp, &["random"])?,
    };
    Ok(())
}

fn another<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    if !case.has_another() {
        return Ok(());
    }
    let (device, other) = (case.device, case.another());
    let theirs = other.default_stream()?;
    fails(device.enter_stream(&theirs), ErrorKind::DeviceMismatch, &["another device"])?;
    fails(device.default_stream()?.join(&theirs), ErrorKind::DeviceMismatch, &["another device"])?;
    fails(theirs.record(&device.new_event()?), ErrorKind::DeviceMismatch, &["another device"])?;
    let (a, b) = (vector(case, 4, DType::F32)?, other.zeros(&4.into(), DType::F32)?);
    let layout = Layout::contiguous([4]);
    let e = fails(a.binary(&layout, &b, &layout, BinaryOp::Add), ErrorKind::DeviceMismatch, &["copy"])?;
    context(&e, "add", 0)
}

fn kernel<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let kind = if case.info.limits.is_some() { ErrorKind::KernelMissing } else { ErrorKind::UnsupportedOp };
    let e = fails(case.device.get_or_load_func("no_such_kernel"), kind, &[])?;
    ensure!(e.device() == Some(&case.device.location()), "the missing kernel's error names no device: {e}");
    Ok(())
}

fn source<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let compiled = case.device.compile("k", &KernelSource::new("broken.cu", "extern \"C\" __global__ void k( {}"));
    match (case.info.limits.is_some(), case.info.capabilities.runtime_compile) {
        (false, _) => fails(compiled, ErrorKind::UnsupportedOp, &["kernels"])?,
        (true, false) => fails(compiled, ErrorKind::LibraryUnavailable, &[])?,
        (true, true) => fails(compiled, ErrorKind::CompileFailed, &["broken.cu", "error"])?,
    };
    Ok(())
}
