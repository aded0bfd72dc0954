//! Runs a golden case as a call of the HAL.

use super::damaged;
use super::file::{Case, Golden, unhex};
use crate::case::{Params, Real};
use crate::compare::bits_at;
use crate::family::{COPY2D, Named, Operation};
use isobit_hal::{BackendDevice, BackendStorage, Copy2d, CpuStorage, DType, Layout, Numerics, Op, Result, Src};

/// A call: the operation, its operands and the buffer that it writes.
pub(super) struct Call<'a> {
    pub(super) op: Op,
    /// Inputs first, the destination last.
    pub(super) dtypes: Vec<DType>,
    case: &'a Case,
    golden: &'a Golden,
    dst_dtype: DType,
}

impl<'a> Call<'a> {
    /// Converts a case to a call.
    ///
    /// # Errors
    /// Returns `Other` if the case names an operation or a buffer that does not exist.
    pub(super) fn of(case: &'a Case, golden: &'a Golden) -> Result<Self> {
        let dst_dtype: DType = case.out.0.parse()?;
        let mut dtypes = Vec::new();
        for input in &case.inputs {
            dtypes.push(golden.buffer(input.0)?.dtype);
        }
        dtypes.push(dst_dtype);
        Ok(Self { op: operation(case, &dtypes)?, dtypes, case, golden, dst_dtype })
    }

    /// Runs the call and returns the result in host memory.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(super) fn run<D: BackendDevice>(&self, device: &D) -> Result<CpuStorage> {
        let case = self.case;
        let mut inputs = Vec::new();
        let mut layouts = Vec::new();
        for (i, input) in case.inputs.iter().enumerate() {
            let buffer = self.golden.buffer(input.0)?;
            inputs.push(device.storage_from_bytes(buffer.dtype, &buffer.bytes)?);
            layouts.push(case.layout(i)?);
        }
        let out = Layout::contiguous(&*case.out.1);
        let mut dst = device.zeros(out.shape(), self.dst_dtype)?;
        match (&self.op, &*case.op) {
            (&Op::Fill(value), _) => dst.const_set(value, &self.target()?)?,
            (_, COPY2D) => inputs[0].copy2d(&mut dst, self.rows())?,
            (Op::Copy, _) => inputs[0].copy_strided_src(&mut dst, 0, &layouts[0])?,
            (op, _) => {
                let srcs: Vec<_> = inputs.iter().zip(&layouts).map(|(s, l)| Src::Storage(s, l)).collect();
                D::Storage::apply_into(op, &srcs, &mut dst, &out)?;
            }
        }
        dst.to_cpu_storage()
    }

    /// Returns the rows that a row copy moves.
    fn rows(&self) -> Copy2d {
        let p = &self.case.params;
        Copy2d::new(p.rows, p.cols).with_strides(p.src_stride, p.dst_stride).with_offsets(p.src_offset, p.dst_offset)
    }

    /// Returns the layout that a fill writes.
    fn target(&self) -> Result<Layout> {
        let p = &self.case.params;
        Layout::new(&*p.shape, &*p.strides, p.offset)
    }
}

/// Returns the operation that a case names, with its parameters. The vectors check every device
/// against the same bound, that of the tree's own kernels.
fn operation(case: &Case, dtypes: &[DType]) -> Result<Op> {
    let p = &case.params;
    let operation = Operation::find(&case.op);
    let operation = operation.ok_or_else(|| damaged(format_args!("`{}` is not an operation", case.op)))?;
    let params = match operation.op() {
        Op::Fill(_) => Params::Fill(value(dtypes[0], &p.value)?),
        Op::Affine(_) => Params::Affine { mul: Real(p.mul), add: Real(p.add) },
        Op::Powf(_) => Params::Number(Real(p.exponent)),
        Op::Elu(_) => Params::Number(Real(p.alpha)),
        Op::Reduce(_) if p.named == Named::default() => Params::Dims(p.dims.clone()),
        Op::Reduce(_) => Params::DimsAnd(p.dims.clone(), p.named.clone()),
        _ => Params::Named(p.named.clone()),
    };
    Ok(operation.with_params(dtypes, &params).with_numerics(Some(Numerics::Portable)))
}

/// Returns the bits of a fill's value.
fn value(dtype: DType, hex: &str) -> Result<u64> {
    let storage = CpuStorage::from_bytes(dtype, &unhex(hex)?)?;
    match storage.len() {
        0 => Err(damaged("a fill has no value")),
        _ => Ok(bits_at(dtype, storage.as_bytes(), 0)),
    }
}
