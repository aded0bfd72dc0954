//! Convolutions and their gradients, one call each.

use super::algorithm::Chosen;
use crate::handle::stream_of;
use crate::launch::Launch;
use crate::problem::DOUBLE;
use crate::status::{NULL_POINTER, Outcome, SIZE_INSUFFICIENT, Status, answer, ensure};
use isobit_simgpu_library_common::{CUDA, injected};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::{c_int, c_void};

/// The arguments of a call: a descriptor and an address per operand, in the order input, filter and
/// result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    pub(super) pass: Pass,
    pub(super) operands: [(*mut c_void, *const c_void); 3],
    pub(super) convolution: *mut c_void,
    pub(super) algorithm: c_int,
    pub(super) workspace: (*mut c_void, usize),
    /// Alpha and beta: f64 if the operands are f64, otherwise f32.
    pub(super) factors: [*const c_void; 2],
}

impl Arguments {
    /// Returns the launch of the computation.
    ///
    /// # Safety
    /// The factors are null or point to numbers of their type.
    pub(super) unsafe fn launch(&self) -> Outcome<Launch> {
        let chosen = Chosen::new(self.pass, self.operands.map(|o| o.0), self.convolution, self.algorithm)?;
        let pointers = self.operands.iter().map(|o| o.1).chain(self.factors);
        ensure(pointers.into_iter().all(|p| !p.is_null()), NULL_POINTER, || "an operand or a factor is null".into())?;
        let (memory, given) = self.workspace;
        let bytes = chosen.workspace();
        ensure(given >= bytes, SIZE_INSUFFICIENT, || format!("a workspace of {given} bytes, but {bytes} are needed"))?;
        ensure(bytes == 0 || !memory.is_null(), NULL_POINTER, || "the workspace is null".into())?;
        let factor = |p: *const c_void| {
            // SAFETY: not null; the caller promises that the factors are null or point to numbers
            // of their type.
            unsafe {
                match chosen.problem.data_types[0] {
                    DOUBLE => p.cast::<f64>().read_unaligned(),
                    _ => p.cast::<f32>().read_unaligned().into(),
                }
            }
        };
        Ok(Launch {
            what: match self.pass {
                Pass::Forward => "cudnnConvolutionForward",
                Pass::Data => "cudnnConvolutionBackwardData",
                Pass::Filter => "cudnnConvolutionBackwardFilter",
            },
            problem: chosen.problem,
            engine: chosen.engine,
            addresses: self.operands.map(|o| o.1.expose_provenance()),
            workspace: memory.expose_provenance(),
            alpha: factor(self.factors[0]),
            beta: factor(self.factors[1]),
        })
    }

    /// # Safety
    /// The requirements of [`launch`](Self::launch).
    unsafe fn enqueue(&self, handle: *mut c_void) -> Status {
        answer(|| {
            let stream = stream_of(handle)?;
            // SAFETY: the caller meets the requirements of `launch`.
            unsafe { self.launch()?.enqueue(stream) }
        })
    }
}

/// Computes a convolution.
///
/// # Safety
/// `alpha` and `beta` are null or point to f64 if the operands are f64, otherwise to f32.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionForward(
    handle: *mut c_void,
    alpha: *const c_void,
    x_desc: *mut c_void,
    x: *const c_void,
    w_desc: *mut c_void,
    w: *const c_void,
    convolution: *mut c_void,
    algorithm: c_int,
    workspace: *mut c_void,
    workspace_bytes: usize,
    beta: *const c_void,
    y_desc: *mut c_void,
    y: *mut c_void,
) -> Status {
    injected!(CUDA, "cudnnConvolutionForward");
    let operands = [(x_desc, x), (w_desc, w), (y_desc, y.cast_const())];
    let (workspace, factors) = ((workspace, workspace_bytes), [alpha, beta]);
    let arguments = Arguments { pass: Pass::Forward, operands, convolution, algorithm, workspace, factors };
    // SAFETY: the caller promises that `alpha` and `beta` are null or point to f64 if the operands
    // are f64, otherwise to f32.
    unsafe { arguments.enqueue(handle) }
}

/// Computes a convolution's gradient with respect to its input.
///
/// # Safety
/// The requirements of [`cudnnConvolutionForward`].
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionBackwardData(
    handle: *mut c_void,
    alpha: *const c_void,
    w_desc: *mut c_void,
    w: *const c_void,
    dy_desc: *mut c_void,
    dy: *const c_void,
    convolution: *mut c_void,
    algorithm: c_int,
    workspace: *mut c_void,
    workspace_bytes: usize,
    beta: *const c_void,
    dx_desc: *mut c_void,
    dx: *mut c_void,
) -> Status {
    injected!(CUDA, "cudnnConvolutionBackwardData");
    let operands = [(dx_desc, dx.cast_const()), (w_desc, w), (dy_desc, dy)];
    let (workspace, factors) = ((workspace, workspace_bytes), [alpha, beta]);
    let arguments = Arguments { pass: Pass::Data, operands, convolution, algorithm, workspace, factors };
    // SAFETY: the caller meets the requirements of `cudnnConvolutionForward`.
    unsafe { arguments.enqueue(handle) }
}

/// Computes a convolution's gradient with respect to its filter.
///
/// # Safety
/// The requirements of [`cudnnConvolutionForward`].
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionBackwardFilter(
    handle: *mut c_void,
    alpha: *const c_void,
    x_desc: *mut c_void,
    x: *const c_void,
    dy_desc: *mut c_void,
    dy: *const c_void,
    convolution: *mut c_void,
    algorithm: c_int,
    workspace: *mut c_void,
    workspace_bytes: usize,
    beta: *const c_void,
    dw_desc: *mut c_void,
    dw: *mut c_void,
) -> Status {
    injected!(CUDA, "cudnnConvolutionBackwardFilter");
    let operands = [(x_desc, x), (dw_desc, dw.cast_const()), (dy_desc, dy)];
    let (workspace, factors) = ((workspace, workspace_bytes), [alpha, beta]);
    let arguments = Arguments { pass: Pass::Filter, operands, convolution, algorithm, workspace, factors };
    // SAFETY: the caller meets the requirements of `cudnnConvolutionForward`.
    unsafe { arguments.enqueue(handle) }
}
