//! Describes a convolution by MIOpen's descriptors, and selects the first of the library's
//! solutions that satisfies the numerics contract. Solutions are queried and not timed, which
//! MIOpen calls its immediate mode.

use super::text_of;
use isobit_hal::DType;
use isobit_kernels::{ConvProblem, DevicePtr, DnnOperand, LibraryPlan};
use miopen_sys::*;
use std::ffi::c_void;

/// The maximum workspace size: a solution that needs more is not worth the memory.
const MOST_WORKSPACE: usize = 4 << 30;
/// The maximum number of solutions to request.
const SOLUTIONS: usize = 64;

/// A compiled solution, with its descriptors.
#[derive(Debug)]
pub(super) struct Plan {
    library: &'static Miopen,
    transposed: bool,
    src: Tensor,
    kernel: Tensor,
    dst: Tensor,
    conv: Convolution,
    solution: miopenConvSolution_t,
}

/// Returns a human-readable error of a call, to follow MIOpen's name.
fn check(library: &Miopen, status: miopenStatus_t, doing: &str) -> Result<(), String> {
    if status == miopenStatusSuccess { Ok(()) } else { Err(format!("fails {doing}: {}", text_of(library, status))) }
}

fn data_type(dtype: DType) -> Result<miopenDataType_t, String> {
    match dtype {
        DType::F16 => Ok(miopenHalf),
        DType::BF16 => Ok(miopenBFloat16),
        DType::F32 => Ok(miopenFloat),
        other => Err(format!("is not used for {other}")),
    }
}

impl LibraryPlan for Plan {
    fn workspace_bytes(&self) -> usize {
        self.solution.workspace_size
    }
}

impl Plan {
    pub(super) fn new(library: &'static Miopen, handle: miopenHandle_t, problem: &ConvProblem) -> Result<Self, String> {
        let data = data_type(problem.dtype)?;
        if ![problem.src, problem.kernel, problem.dst].iter().all(DnnOperand::is_packed) {
            return Err("only supports contiguous operands".into());
        }
        if problem.padding_before != problem.padding_after {
            return Err("only supports the same padding on both sides".into());
        }
        if !problem.is_planar() {
            return Err("is not asked for convolutions over three dimensions".into());
        }
        let mut plan = Self {
            library,
            transposed: problem.transposed,
            src: Tensor::new(library, data, &problem.src)?,
            kernel: Tensor::new(library, data, &problem.kernel)?,
            dst: Tensor::new(library, data, &problem.dst)?,
            conv: Convolution::new(library, problem)?,
            solution: miopenConvSolution_t::default(),
        };
        plan.check_dims(problem)?;
        let mut why = "has no solution for it".to_string();
        for solution in plan.solutions(handle)? {
            // Winograd and Fourier transforms mix neighbouring elements, whose errors are not
            // included in the contract's bound of a result.
            if matches!(solution.algorithm, miopenConvolutionAlgoWinograd | miopenConvolutionAlgoFFT) {
                why = "has only solutions that round more than the contract allows".into();
            } else if solution.workspace_size > MOST_WORKSPACE {
                why = format!("has only solutions that need a workspace of {} bytes", solution.workspace_size);
            } else if let Err(e) = plan.compile(handle, solution.solution_id) {
                why = e;
            } else {
                plan.solution = solution;
                return Ok(plan);
            }
        }
        Err(why)
    }

    /// Checks that the library expects the same result dimensions: a release that exchanged two
    /// axes would leave elements unwritten.
    fn check_dims(&self, problem: &ConvProblem) -> Result<(), String> {
        let (input, result) = if self.transposed { (&self.dst, problem.src) } else { (&self.src, problem.dst) };
        let mut dims = [0; 4];
        let [n, c, h, w] = &mut dims;
        let ask = self.library.miopenGetConvolutionForwardOutputDim;
        // SAFETY: the descriptors are alive, and the out-parameters are valid pointers.
        let status = unsafe { ask(self.conv.raw, input.raw, self.kernel.raw, n, c, h, w) };
        check(self.library, status, "querying the sizes of the result")?;
        let [wanted, _] = result.without(2);
        if dims == wanted[..] { Ok(()) } else { Err(format!("expects a result of {dims:?}, not {wanted:?}")) }
    }

    /// Returns the library's solutions, in its order of expected speed.
    fn solutions(&self, handle: miopenHandle_t) -> Result<Vec<miopenConvSolution_t>, String> {
        let (library, conv) = (self.library, self.conv.raw);
        let (src, kernel, dst) = (self.src.raw, self.kernel.raw, self.dst.raw);
        let mut solutions = vec![miopenConvSolution_t::default(); SOLUTIONS];
        let (mut count, first) = (0, solutions.as_mut_ptr());
        // SAFETY: the handle and the descriptors are alive; the array has room for the requested
        // number of solutions.
        let status = unsafe {
            if self.transposed {
                let ask = library.miopenConvolutionBackwardDataGetSolution;
                ask(handle, src, kernel, conv, dst, SOLUTIONS, &mut count, first)
            } else {
                let ask = library.miopenConvolutionForwardGetSolution;
                ask(handle, kernel, src, conv, dst, SOLUTIONS, &mut count, first)
            }
        };
        check(library, status, "looking for solutions")?;
        solutions.truncate(count);
        Ok(solutions)
    }

    fn compile(&self, handle: miopenHandle_t, solution: u64) -> Result<(), String> {
        let (library, conv) = (self.library, self.conv.raw);
        let (src, kernel, dst) = (self.src.raw, self.kernel.raw, self.dst.raw);
        // SAFETY: the handle and the descriptors are alive; the solution belongs to them.
        let status = unsafe {
            if self.transposed {
                (library.miopenConvolutionBackwardDataCompileSolution)(handle, src, kernel, conv, dst, solution)
            } else {
                (library.miopenConvolutionForwardCompileSolution)(handle, kernel, src, conv, dst, solution)
            }
        };
        check(library, status, "compiling a solution")
    }

    /// Enqueues the convolution on the handle's stream.
    ///
    /// # Safety
    /// The operands' addresses satisfy `VendorRuntime::conv`, and the workspace has the size that
    /// the plan requires.
    pub(super) unsafe fn execute(
        &self,
        handle: miopenHandle_t,
        operands: [DevicePtr; 3],
        workspace: DevicePtr,
    ) -> Result<(), String> {
        let (library, conv, solution) = (self.library, self.conv.raw, self.solution);
        let [src, kernel, dst] = operands.map(|p| p.0 as *mut c_void);
        let (workspace, bytes, id) = (workspace.0 as *mut c_void, solution.workspace_size, solution.solution_id);
        // SAFETY: the caller promises valid addresses; the solution was compiled for these
        // descriptors with this handle.
        let status = unsafe {
            if self.transposed {
                let call = library.miopenConvolutionBackwardDataImmediate;
                let (dy, w, dx) = (self.src.raw, self.kernel.raw, self.dst.raw);
                call(handle, dy, src, w, kernel, conv, dx, dst, workspace, bytes, id)
            } else {
                let call = library.miopenConvolutionForwardImmediate;
                let (x, w, y) = (self.src.raw, self.kernel.raw, self.dst.raw);
                call(handle, w, kernel, x, src, conv, y, dst, workspace, bytes, id)
            }
        };
        check(library, status, "to convolve")
    }
}

/// A tensor's descriptor, destroyed when dropped.
#[derive(Debug)]
struct Tensor {
    library: &'static Miopen,
    raw: miopenTensorDescriptor_t,
}

impl Tensor {
    fn new(library: &'static Miopen, data: miopenDataType_t, operand: &DnnOperand<5>) -> Result<Self, String> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        let made = unsafe { (library.miopenCreateTensorDescriptor)(&mut raw) };
        check(library, made, "creating a tensor descriptor")?;
        let tensor = Self { library, raw };
        let [dims, strides] = operand.without(2);
        // SAFETY: the descriptor is alive; the arrays have four elements.
        let set = unsafe { (library.miopenSetTensorDescriptor)(raw, data, 4, dims.as_ptr(), strides.as_ptr()) };
        check(library, set, "setting a tensor descriptor")?;
        Ok(tensor)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: the descriptor was created in `new` and is destroyed once. A failure only leaks
        // it.
        unsafe { (self.library.miopenDestroyTensorDescriptor)(self.raw) };
    }
}

/// A convolution's descriptor, destroyed when dropped.
#[derive(Debug)]
struct Convolution {
    library: &'static Miopen,
    raw: miopenConvolutionDescriptor_t,
}

impl Convolution {
    fn new(library: &'static Miopen, problem: &ConvProblem) -> Result<Self, String> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        let made = unsafe { (library.miopenCreateConvolutionDescriptor)(&mut raw) };
        check(library, made, "creating a convolution descriptor")?;
        let conv = Self { library, raw };
        let [padding, stride, dilation] =
            [&problem.padding_before, &problem.stride, &problem.dilation].map(|p| problem.spatial(p).as_ptr());
        // SAFETY: the descriptor is alive; the arrays have two elements.
        unsafe {
            let initialize = library.miopenInitConvolutionNdDescriptor;
            check(library, initialize(raw, 2, padding, stride, dilation, miopenConvolution), "setting its parameters")?;
            check(library, (library.miopenSetConvolutionGroupCount)(raw, problem.groups), "setting its groups")?;
            // By default MIOpen computes f16 gradients in bf16 on gfx90a, which rounds them to
            // eight bits.
            let exact = (library.miopenSetConvolutionAttribute)(raw, MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL, 0);
            check(library, exact, "disabling bf16 for f16")?;
            // Releases before ROCm 5.5 do not have this attribute, so its error is ignored.
            (library.miopenSetConvolutionAttribute)(raw, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1);
        }
        Ok(conv)
    }
}

impl Drop for Convolution {
    fn drop(&mut self) {
        // SAFETY: the descriptor was created in `new` and is destroyed once. A failure only leaks
        // it.
        unsafe { (self.library.miopenDestroyConvolutionDescriptor)(self.raw) };
    }
}
