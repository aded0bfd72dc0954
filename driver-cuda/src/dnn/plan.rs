//! Builds a convolution as a graph with one operation, and selects the first of cuDNN's engines
//! that satisfies the numerics contract.

use super::descriptor::Descriptor;
use cudarc::cudnn::sys::{
    self, cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnBackendHeurMode_t as Heuristic, cudnnBackendNumericalNote_t as Note, cudnnConvolutionMode_t as Mode,
    cudnnDataType_t as DataType, cudnnStatus_t as Status,
};
use isobit_hal::DType;
use isobit_kernels::{ConvOperand, ConvPlan, ConvProblem, DevicePtr};
use std::ffi::c_void;

/// The maximum workspace size: a plan that needs more is not worth the memory.
const MOST_WORKSPACE: i64 = 4 << 30;
/// The maximum number of engines to request from one heuristic.
const ENGINES: usize = 64;

/// The ids of the operands in a graph: source, kernel, destination.
const IDS: [i64; 3] = [1, 2, 3];

/// An execution plan.
#[derive(Debug)]
pub(super) struct Plan {
    plan: Descriptor,
    workspace_bytes: usize,
}

impl ConvPlan for Plan {
    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }
}

impl Plan {
    /// Asks each heuristic once; nothing is timed.
    pub(super) fn new(handle: sys::cudnnHandle_t, problem: &ConvProblem) -> Result<Self, String> {
        let graph = graph(handle, problem)?;
        let mut why = "has no engine for it".to_string();
        for heuristic in [Heuristic::CUDNN_HEUR_MODE_A, Heuristic::CUDNN_HEUR_MODE_FALLBACK] {
            let configs = match configurations(&graph, heuristic) {
                Ok(configs) => configs,
                Err(e) => {
                    why = e;
                    continue;
                }
            };
            for config in configs {
                match is_precise(&config, problem.dtype).and_then(|precise| Self::of(handle, &config, precise)) {
                    Ok(plan) => return Ok(plan),
                    Err(e) => why = e,
                }
            }
        }
        Err(why)
    }

    fn of(handle: sys::cudnnHandle_t, config: &Descriptor, precise: bool) -> Result<Self, String> {
        if !precise {
            return Err("has only engines that round more than the contract allows".into());
        }
        let plan = Descriptor::new(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)?;
        // SAFETY: this is the type of the attribute.
        unsafe { plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &[handle])? };
        plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)?;
        plan.finalize()?;
        let mut bytes = [0i64];
        // SAFETY: this is the type of the attribute.
        unsafe { plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &mut bytes)? };
        if bytes[0] > MOST_WORKSPACE {
            return Err(format!("has only engines that need a workspace of {} bytes", bytes[0]));
        }
        Ok(Self { plan, workspace_bytes: usize::try_from(bytes[0]).unwrap_or_default() })
    }

    /// Enqueues the convolution on the handle's stream.
    ///
    /// # Safety
    /// The operands' addresses satisfy `VendorRuntime::conv`, and the workspace has the size that
    /// the plan requires.
    pub(super) unsafe fn execute(
        &self,
        handle: sys::cudnnHandle_t,
        operands: [DevicePtr; 3],
        workspace: DevicePtr,
    ) -> Result<(), String> {
        let pack = Descriptor::new(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)?;
        let pointers = operands.map(|p| p.0 as *mut c_void);
        pack.set_ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &IDS)?;
        // SAFETY: these are the types of the attributes.
        unsafe {
            pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, &pointers)?;
            pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &[workspace.0 as *mut c_void])?;
        }
        pack.finalize()?;
        // SAFETY: the caller promises valid addresses; the plan was made with this handle.
        match unsafe { sys::cudnnBackendExecute(handle, self.plan.raw(), pack.raw()) } {
            Status::CUDNN_STATUS_SUCCESS => Ok(()),
            status => Err(format!("fails to convolve: {}", super::text_of(status))),
        }
    }
}

/// Returns the dtype of elements and that of sums.
fn data_types(dtype: DType) -> Result<[DataType; 2], String> {
    Ok(match dtype {
        DType::F16 => [DataType::CUDNN_DATA_HALF, DataType::CUDNN_DATA_FLOAT],
        DType::BF16 => [DataType::CUDNN_DATA_BFLOAT16, DataType::CUDNN_DATA_FLOAT],
        DType::F32 => [DataType::CUDNN_DATA_FLOAT; 2],
        DType::F64 => [DataType::CUDNN_DATA_DOUBLE; 2],
        other => return Err(format!("is not used for {other}")),
    })
}

fn tensor(id: i64, data: DataType, operand: &ConvOperand) -> Result<Descriptor, String> {
    let tensor = Descriptor::new(CUDNN_BACKEND_TENSOR_DESCRIPTOR)?;
    // SAFETY: this is the type of the attribute.
    unsafe { tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &[data])? };
    tensor.set_ints(CUDNN_ATTR_TENSOR_DIMENSIONS, &operand.dims.map(i64::from))?;
    tensor.set_ints(CUDNN_ATTR_TENSOR_STRIDES, &operand.strides.map(i64::from))?;
    tensor.set_ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, &[id])?;
    tensor.set_ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[operand.alignment.into()])?;
    tensor.finalize()?;
    Ok(tensor)
}

/// Builds the convolution as a graph with one operation. The groups follow from the channels of the
/// operands.
fn graph(handle: sys::cudnnHandle_t, problem: &ConvProblem) -> Result<Descriptor, String> {
    let [data, sums] = data_types(problem.dtype)?;
    let conv = Descriptor::new(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?;
    let spatial = problem.stride.len() as i64;
    // SAFETY: these are the types of the attributes.
    unsafe {
        conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &[sums])?;
        let mode = [Mode::CUDNN_CROSS_CORRELATION];
        conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode)?;
    }
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[spatial])?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &problem.padding.map(i64::from))?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &problem.padding.map(i64::from))?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &problem.stride.map(i64::from))?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, &problem.dilation.map(i64::from))?;
    conv.finalize()?;

    let [src, kernel, dst] = [problem.src, problem.kernel, problem.dst];
    let [src, kernel, dst] = [tensor(IDS[0], data, &src)?, tensor(IDS[1], data, &kernel)?, tensor(IDS[2], data, &dst)?];
    let (kind, [from, weights, to, description, alpha, beta]) = if problem.transposed {
        let names = [
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
        ];
        (CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, names)
    } else {
        let names = [
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
        ];
        (CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, names)
    };
    let operation = Descriptor::new(kind)?;
    for (name, value) in [(from, &src), (weights, &kernel), (to, &dst), (description, &conv)] {
        operation.set_descriptor(name, value)?;
    }
    // SAFETY: these are the types of the attributes; factors have the type of the sums.
    unsafe {
        if sums == DataType::CUDNN_DATA_DOUBLE {
            operation.set(alpha, CUDNN_TYPE_DOUBLE, &[1f64])?;
            operation.set(beta, CUDNN_TYPE_DOUBLE, &[0f64])?;
        } else {
            operation.set(alpha, CUDNN_TYPE_FLOAT, &[1f32])?;
            operation.set(beta, CUDNN_TYPE_FLOAT, &[0f32])?;
        }
    }
    operation.finalize()?;

    let graph = Descriptor::new(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)?;
    graph.set_descriptor(CUDNN_ATTR_OPERATIONGRAPH_OPS, &operation)?;
    // SAFETY: this is the type of the attribute.
    unsafe { graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &[handle])? };
    graph.finalize()?;
    Ok(graph)
}

/// Returns engines with their settings, in cuDNN's order of expected speed.
fn configurations(graph: &Descriptor, heuristic: Heuristic) -> Result<Vec<Descriptor>, String> {
    let results = Descriptor::new(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)?;
    results.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)?;
    // SAFETY: this is the type of the attribute.
    unsafe { results.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &[heuristic])? };
    results.finalize()?;
    results.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, ENGINES)
}

/// Whether an engine rounds within the contract's bound and gives the same bits every time.
/// Winograd and Fourier transforms mix neighbouring elements, whose errors are not included in the
/// bound of a result.
fn is_precise(config: &Descriptor, dtype: DType) -> Result<bool, String> {
    let engine = config
        .get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1)?
        .pop()
        .ok_or("returns a configuration without an engine")?;
    // Integers instead of the enum: a newer library may return notes that the bindings do not know.
    let mut notes = [0i32; Note::CUDNN_NUMERICAL_NOTE_TYPE_COUNT as usize];
    // SAFETY: the attribute's elements are a C enum, which has the size of `i32`.
    let count = unsafe { engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, &mut notes)? };
    let has = |note: Note| notes[..count.min(notes.len())].contains(&(note as i32));
    let transforms = [
        Note::CUDNN_NUMERICAL_NOTE_FFT,
        Note::CUDNN_NUMERICAL_NOTE_WINOGRAD,
        Note::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
        Note::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
        Note::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13,
    ];
    let rounds_more =
        [Note::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, Note::CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION];
    // The tensor cores compute f32 products in TF32.
    let is_tf32 = dtype == DType::F32 && has(Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    let repeats = !has(Note::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    Ok(repeats && !is_tf32 && !transforms.into_iter().chain(rounds_more).any(has))
}
