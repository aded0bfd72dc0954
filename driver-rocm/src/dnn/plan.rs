//! A convolution as MIOpen's descriptors, and the first of the library's solutions that computes it
//! as the contract asks. Solutions are asked for and not timed: MIOpen calls that its immediate
//! mode.

use super::text_of;
use isobit_hal::DType;
use isobit_kernels::{ConvOperand, ConvPlan, ConvProblem, DevicePtr};
use miopen_sys::*;
use std::ffi::c_void;

/// Workspaces are not larger: what asks for more is worth less than the memory.
const MOST_WORKSPACE: usize = 4 << 30;
/// Solutions that are asked for.
const SOLUTIONS: usize = 64;

/// A solution made ready, and the descriptors that it is called with.
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

/// The error of a call, for a person; MIOpen's name goes before it.
fn check(library: &Miopen, status: miopenStatus_t, doing: &str) -> Result<(), String> {
    if status == miopenStatusSuccess { Ok(()) } else { Err(format!("fails {doing}: {}", text_of(library, status))) }
}

fn data_type(dtype: DType) -> Result<miopenDataType_t, String> {
    match dtype {
        DType::F16 => Ok(miopenHalf),
        DType::BF16 => Ok(miopenBFloat16),
        DType::F32 => Ok(miopenFloat),
        other => Err(format!("is not asked for {other}")),
    }
}

impl ConvPlan for Plan {
    fn workspace_bytes(&self) -> usize {
        self.solution.workspace_size
    }
}

impl Plan {
    pub(super) fn new(library: &'static Miopen, handle: miopenHandle_t, problem: &ConvProblem) -> Result<Self, String> {
        let data = data_type(problem.dtype)?;
        if ![problem.src, problem.kernel, problem.dst].iter().all(ConvOperand::is_packed) {
            return Err("takes operands without gaps alone".into());
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
            // Winograd's and Fourier's transforms mix neighbours, whose errors the contract's bound
            // of a result does not know.
            if matches!(solution.algorithm, miopenConvolutionAlgoWinograd | miopenConvolutionAlgoFFT) {
                why = "has only solutions that round more than the contract allows".into();
            } else if solution.workspace_size > MOST_WORKSPACE {
                why = format!("has only solutions that want {} bytes to work in", solution.workspace_size);
            } else if let Err(e) = plan.compile(handle, solution.solution_id) {
                why = e;
            } else {
                plan.solution = solution;
                return Ok(plan);
            }
        }
        Err(why)
    }

    /// What the library thinks that the convolution's result is must be what it is: a release that
    /// took one axis for another would leave elements unwritten.
    fn check_dims(&self, problem: &ConvProblem) -> Result<(), String> {
        let (input, result) = if self.transposed { (&self.dst, problem.src) } else { (&self.src, problem.dst) };
        let mut dims = [0; 4];
        let [n, c, h, w] = &mut dims;
        let ask = self.library.miopenGetConvolutionForwardOutputDim;
        // SAFETY: the descriptors live; out-parameters.
        let status = unsafe { ask(self.conv.raw, input.raw, self.kernel.raw, n, c, h, w) };
        check(self.library, status, "asking for the result's sizes")?;
        if dims == result.dims { Ok(()) } else { Err(format!("expects a result of {dims:?}, not {:?}", result.dims)) }
    }

    /// The library's solutions, the one that it thinks fastest first.
    fn solutions(&self, handle: miopenHandle_t) -> Result<Vec<miopenConvSolution_t>, String> {
        let (library, conv) = (self.library, self.conv.raw);
        let (src, kernel, dst) = (self.src.raw, self.kernel.raw, self.dst.raw);
        let mut solutions = vec![miopenConvSolution_t::default(); SOLUTIONS];
        let (mut count, first) = (0, solutions.as_mut_ptr());
        // SAFETY: handle and descriptors live; the array has room for as many as are asked for.
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
        // SAFETY: handle and descriptors live; the solution is one for them.
        let status = unsafe {
            if self.transposed {
                (library.miopenConvolutionBackwardDataCompileSolution)(handle, src, kernel, conv, dst, solution)
            } else {
                (library.miopenConvolutionForwardCompileSolution)(handle, kernel, src, conv, dst, solution)
            }
        };
        check(library, status, "making a solution ready")
    }

    /// Enqueues it on the handle's stream.
    ///
    /// # Safety
    /// As `VendorRuntime::conv` for the operands' addresses; the workspace has as many bytes as the
    /// plan asks for.
    pub(super) unsafe fn execute(
        &self,
        handle: miopenHandle_t,
        operands: [DevicePtr; 3],
        workspace: DevicePtr,
    ) -> Result<(), String> {
        let (library, conv, solution) = (self.library, self.conv.raw, self.solution);
        let [src, kernel, dst] = operands.map(|p| p.0 as *mut c_void);
        let (workspace, bytes, id) = (workspace.0 as *mut c_void, solution.workspace_size, solution.solution_id);
        // SAFETY: as the caller promises; the solution was made ready for these descriptors with
        // this handle.
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
    fn new(library: &'static Miopen, data: miopenDataType_t, operand: &ConvOperand) -> Result<Self, String> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        let made = unsafe { (library.miopenCreateTensorDescriptor)(&mut raw) };
        check(library, made, "making a tensor's description")?;
        let tensor = Self { library, raw };
        let (dims, strides) = (operand.dims.as_ptr(), operand.strides.as_ptr());
        // SAFETY: the descriptor lives; the arrays have as many elements as is said.
        let set = unsafe { (library.miopenSetTensorDescriptor)(raw, data, 4, dims, strides) };
        check(library, set, "describing a tensor")?;
        Ok(tensor)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once. A failure leaves a descriptor behind, which is all
        // there is to say about it.
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
        // SAFETY: an out-parameter.
        let made = unsafe { (library.miopenCreateConvolutionDescriptor)(&mut raw) };
        check(library, made, "making a convolution's description")?;
        let conv = Self { library, raw };
        let [padding, stride, dilation] = [&problem.padding, &problem.stride, &problem.dilation].map(|p| p.as_ptr());
        // SAFETY: the descriptor lives; the arrays have as many elements as is said.
        unsafe {
            let initialize = library.miopenInitConvolutionNdDescriptor;
            check(library, initialize(raw, 2, padding, stride, dilation, miopenConvolution), "describing it")?;
            check(library, (library.miopenSetConvolutionGroupCount)(raw, problem.groups), "setting its groups")?;
            // By itself MIOpen sends f16 gradients through bf16 on gfx90a, which rounds them to
            // eight bits.
            let exact = (library.miopenSetConvolutionAttribute)(raw, MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL, 0);
            check(library, exact, "keeping f16 as it is")?;
            // Before ROCm 5.5 there is no such attribute, and nothing to do about it.
            (library.miopenSetConvolutionAttribute)(raw, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1);
        }
        Ok(conv)
    }
}

impl Drop for Convolution {
    fn drop(&mut self) {
        // SAFETY: as of a tensor's.
        unsafe { (self.library.miopenDestroyConvolutionDescriptor)(self.raw) };
    }
}
