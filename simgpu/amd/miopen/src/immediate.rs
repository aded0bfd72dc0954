//! Convolutions in MIOpen's immediate mode: a program queries the solutions, compiles one, and runs
//! it. <https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/find-and-immediate.html>

use crate::descriptors::{BFLOAT16, FLOAT, HALF, convolution, tensor};
use crate::handle::stream_of;
use crate::{BAD_PARAMETER, INTERNAL_ERROR, NOT_IMPLEMENTED, Status, status};
use half::{bf16, f16};
use isobit_simgpu_library_common::{Access, HIP, guarded, injected};
use isobit_simgpu_math::convolution::{Call, Convolution, Pass};
use isobit_simgpu_math::scratch;
use std::ffi::{c_int, c_void};

/// `miopenConvSolution_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solution {
    /// The estimated time in milliseconds.
    pub time: f32,
    /// The size of the workspace in device memory, in bytes.
    pub workspace_size: usize,
    /// The solution's id.
    pub solution_id: u64,
    /// `miopenConvAlgorithm_t`.
    pub algorithm: c_int,
}

/// As on a card, Winograd's transform comes first if it applies; the other solution needs a
/// workspace. Both compute the same here.
const SOLUTIONS: [Solution; 2] = [
    Solution { time: 0.1, workspace_size: 0, solution_id: 11, algorithm: 3 },
    Solution { time: 0.2, workspace_size: 1024, solution_id: 12, algorithm: 5 },
];

/// A convolution or one of its gradients, and the type of its operands.
#[derive(Debug, Clone, Copy)]
struct Problem {
    convolution: Convolution,
    data_type: c_int,
}

/// Returns the problem for a call's operands: the convolution's input, filter and result, which
/// must match each other.
fn operands(tensors: [*mut c_void; 3], conv: *mut c_void, pass: Pass) -> Result<Problem, Status> {
    let tensors = [tensor(tensors[0])?, tensor(tensors[1])?, tensor(tensors[2])?];
    let conv = convolution(conv)?;
    let [x, w, y] = &tensors;
    let one_type = x.data_type == w.data_type && w.data_type == y.data_type;
    if !one_type || !tensors.iter().all(|t| t.is_packed()) || conv.result(x, w)? != y.dims {
        return Err(BAD_PARAMETER);
    }
    if ![HALF, BFLOAT16, FLOAT].contains(&x.data_type) {
        return Err(NOT_IMPLEMENTED);
    }
    let convolution = Convolution { pass, window: conv.window(), tensors: tensors.map(|t| t.packed()) };
    Ok(Problem { convolution, data_type: x.data_type })
}

impl Problem {
    /// Computes the problem, summed in f32, if the simulator allows every access.
    ///
    /// # Safety
    /// If `access` allows it, the operands' memory may be read and the result's memory may be
    /// written.
    unsafe fn run(&self, addresses: [usize; 3], access: &Access<'_>) {
        let what = match self.convolution.pass {
            Pass::Data => "miopenConvolutionBackwardDataImmediate",
            _ => "miopenConvolutionForwardImmediate",
        };
        let call = Call { what, addresses, alpha: 1f32, beta: 0.0, prepare: |value| value };
        // SAFETY: as the caller promises; the types match the operands.
        unsafe {
            match self.data_type {
                HALF => self.convolution.run::<f16, f32>(&call, access),
                BFLOAT16 => self.convolution.run::<bf16, f32>(&call, access),
                _ => self.convolution.run::<f32, f32>(&call, access),
            }
        }
    }
}

/// # Safety
/// `count` is null or valid for writes, and `solutions` is null or has room for `most` entries.
unsafe fn solutions(
    handle: *mut c_void,
    call: Result<Problem, Status>,
    most: usize,
    count: *mut usize,
    solutions: *mut Solution,
) -> Status {
    guarded(INTERNAL_ERROR, || {
        let checked = stream_of(handle).and(call);
        if count.is_null() || solutions.is_null() {
            return BAD_PARAMETER;
        }
        status(checked.map(|_| {
            let n = SOLUTIONS.len().min(most);
            // SAFETY: the pointers are not null; the caller promises that `count` is null or valid
            // for writes, and that `solutions` is null or has room for `most` entries.
            unsafe {
                solutions.copy_from_nonoverlapping(SOLUTIONS.as_ptr(), n);
                count.write(n);
            }
        }))
    })
}

fn compile(handle: *mut c_void, call: Result<Problem, Status>, solution_id: u64) -> Status {
    guarded(INTERNAL_ERROR, || status(stream_of(handle).and(call).and_then(|_| find(solution_id).map(|_| ()))))
}

fn find(solution_id: u64) -> Result<Solution, Status> {
    SOLUTIONS.into_iter().find(|s| s.solution_id == solution_id).ok_or(BAD_PARAMETER)
}

fn immediate(
    handle: *mut c_void,
    call: Result<Problem, Status>,
    addresses: [*const c_void; 3],
    workspace: (*mut c_void, usize),
    solution_id: u64,
) -> Status {
    guarded(INTERNAL_ERROR, || {
        let enqueue = || {
            let (stream, solution) = (stream_of(handle)?, find(solution_id)?);
            if workspace.1 < solution.workspace_size || addresses.iter().any(|a| a.is_null()) {
                return Err(BAD_PARAMETER);
            }
            // The queued work stores the memory's addresses.
            let (problem, addresses) = (call?, addresses.map(|a| a.expose_provenance()));
            let scratch = workspace.0.expose_provenance();
            let hip = HIP.runtime().map_err(|_| INTERNAL_ERROR)?;
            let work = move || {
                let access = |at: *const u8, bytes, write, what: &str| hip.access(at, bytes, write, what);
                // SAFETY: a device address is a host address, and the simulator first checks each
                // access.
                unsafe {
                    if scratch::spoil(scratch, solution.workspace_size, "MIOpen: the workspace", &access) {
                        problem.run(addresses, &access);
                    }
                }
            };
            hip.enqueue(stream, work).map_err(|_| INTERNAL_ERROR)
        };
        status(enqueue())
    })
}

/// Lists the solutions of a convolution, fastest first.
///
/// # Safety
/// `solution_count` is null or valid for writes, and `solutions` is null or has room for the
/// requested number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenConvolutionForwardGetSolution(
    handle: *mut c_void,
    w_desc: *mut c_void,
    x_desc: *mut c_void,
    conv_desc: *mut c_void,
    y_desc: *mut c_void,
    max_solution_count: usize,
    solution_count: *mut usize,
    solutions: *mut Solution,
) -> Status {
    injected!(HIP, "miopenConvolutionForwardGetSolution");
    let call = operands([x_desc, w_desc, y_desc], conv_desc, Pass::Forward);
    // SAFETY: the caller promises that `solution_count` is null or valid for writes, and that
    // `solutions` is null or has room for the requested number.
    unsafe { self::solutions(handle, call, max_solution_count, solution_count, solutions) }
}

/// Lists the solutions of a convolution's gradient with respect to its input, fastest first.
///
/// # Safety
/// As [`miopenConvolutionForwardGetSolution`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenConvolutionBackwardDataGetSolution(
    handle: *mut c_void,
    dy_desc: *mut c_void,
    w_desc: *mut c_void,
    conv_desc: *mut c_void,
    dx_desc: *mut c_void,
    max_solution_count: usize,
    solution_count: *mut usize,
    solutions: *mut Solution,
) -> Status {
    injected!(HIP, "miopenConvolutionBackwardDataGetSolution");
    let call = operands([dx_desc, w_desc, dy_desc], conv_desc, Pass::Data);
    // SAFETY: the caller promises what `miopenConvolutionForwardGetSolution` requires.
    unsafe { self::solutions(handle, call, max_solution_count, solution_count, solutions) }
}

/// Compiles a solution of a convolution.
#[unsafe(no_mangle)]
pub extern "C" fn miopenConvolutionForwardCompileSolution(
    handle: *mut c_void,
    w_desc: *mut c_void,
    x_desc: *mut c_void,
    conv_desc: *mut c_void,
    y_desc: *mut c_void,
    solution_id: u64,
) -> Status {
    injected!(HIP, "miopenConvolutionForwardCompileSolution");
    compile(handle, operands([x_desc, w_desc, y_desc], conv_desc, Pass::Forward), solution_id)
}

/// Compiles a solution of a convolution's gradient.
#[unsafe(no_mangle)]
pub extern "C" fn miopenConvolutionBackwardDataCompileSolution(
    handle: *mut c_void,
    dy_desc: *mut c_void,
    w_desc: *mut c_void,
    conv_desc: *mut c_void,
    dx_desc: *mut c_void,
    solution_id: u64,
) -> Status {
    injected!(HIP, "miopenConvolutionBackwardDataCompileSolution");
    compile(handle, operands([dx_desc, w_desc, dy_desc], conv_desc, Pass::Data), solution_id)
}

/// Enqueues a convolution.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub extern "C" fn miopenConvolutionForwardImmediate(
    handle: *mut c_void,
    w_desc: *mut c_void,
    w: *const c_void,
    x_desc: *mut c_void,
    x: *const c_void,
    conv_desc: *mut c_void,
    y_desc: *mut c_void,
    y: *mut c_void,
    work_space: *mut c_void,
    work_space_size: usize,
    solution_id: u64,
) -> Status {
    injected!(HIP, "miopenConvolutionForwardImmediate");
    let call = operands([x_desc, w_desc, y_desc], conv_desc, Pass::Forward);
    immediate(handle, call, [x, w, y.cast_const()], (work_space, work_space_size), solution_id)
}

/// Enqueues a convolution's gradient with respect to its input.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub extern "C" fn miopenConvolutionBackwardDataImmediate(
    handle: *mut c_void,
    dy_desc: *mut c_void,
    dy: *const c_void,
    w_desc: *mut c_void,
    w: *const c_void,
    conv_desc: *mut c_void,
    dx_desc: *mut c_void,
    dx: *mut c_void,
    work_space: *mut c_void,
    work_space_size: usize,
    solution_id: u64,
) -> Status {
    injected!(HIP, "miopenConvolutionBackwardDataImmediate");
    let call = operands([dx_desc, w_desc, dy_desc], conv_desc, Pass::Data);
    immediate(handle, call, [dx.cast_const(), w, dy], (work_space, work_space_size), solution_id)
}
