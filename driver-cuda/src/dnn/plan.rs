//! Selects the first of cuDNN's engines for a graph that satisfies the numerics contract.

use super::descriptor::Descriptor;
use super::graph::Graph;
use cudarc::cudnn::sys::{
    self, cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnBackendHeurMode_t as Heuristic, cudnnBackendNumericalNote_t as Note, cudnnStatus_t as Status,
};
use isobit_hal::DType;
use isobit_kernels::{DevicePtr, LibraryPlan};
use std::ffi::c_void;

/// The maximum workspace size: a plan that needs more is not worth the memory.
const MOST_WORKSPACE: i64 = 4 << 30;
/// The maximum number of engines to request from one heuristic.
const ENGINES: usize = 64;

/// An execution plan.
#[derive(Debug)]
pub(super) struct Plan {
    plan: Descriptor,
    workspace_bytes: usize,
    /// The ids of the operands and then of the numbers, whose bits are beside.
    ids: Vec<i64>,
    numbers: Vec<u32>,
}

impl LibraryPlan for Plan {
    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }
}

impl Plan {
    /// Asks each heuristic once; nothing is timed.
    pub(super) fn new(handle: sys::cudnnHandle_t, graph: &Graph, dtype: DType) -> Result<Self, String> {
        let described = graph.finish(handle)?;
        let mut why = "has no engine for it".to_string();
        for heuristic in [Heuristic::CUDNN_HEUR_MODE_A, Heuristic::CUDNN_HEUR_MODE_FALLBACK] {
            let configs = match configurations(&described, heuristic) {
                Ok(configs) => configs,
                Err(e) => {
                    why = e;
                    continue;
                }
            };
            for config in configs {
                match is_precise(&config, dtype).and_then(|precise| Self::of(handle, graph, &config, precise)) {
                    Ok(plan) => return Ok(plan),
                    Err(e) => why = e,
                }
            }
        }
        Err(why)
    }

    fn of(handle: sys::cudnnHandle_t, graph: &Graph, config: &Descriptor, precise: bool) -> Result<Self, String> {
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
        let ids = graph.operands.iter().copied().chain(graph.numbers.iter().map(|&(id, _)| id)).collect();
        let numbers = graph.numbers.iter().map(|&(_, bits)| bits).collect();
        Ok(Self { plan, workspace_bytes: usize::try_from(bytes[0]).unwrap_or_default(), ids, numbers })
    }

    /// Enqueues the graph on the handle's stream, with the operands in the order in which they were
    /// added.
    ///
    /// # Safety
    /// There are as many operands as in the graph, with addresses of as many elements, and the
    /// workspace has the size that the plan requires.
    pub(super) unsafe fn execute(
        &self,
        handle: sys::cudnnHandle_t,
        operands: &[DevicePtr],
        workspace: DevicePtr,
    ) -> Result<(), String> {
        let pack = Descriptor::new(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)?;
        let numbers = self.numbers.iter().map(|bits| std::ptr::from_ref(bits).cast_mut().cast::<c_void>());
        let pointers: Vec<_> = operands.iter().map(|p| p.0 as *mut c_void).chain(numbers).collect();
        pack.set_ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &self.ids)?;
        // SAFETY: these are the types of the attributes.
        unsafe {
            pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, &pointers)?;
            pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &[workspace.0 as *mut c_void])?;
        }
        pack.finalize()?;
        // SAFETY: the caller promises valid addresses; the plan was made with this handle.
        match unsafe { sys::cudnnBackendExecute(handle, self.plan.raw(), pack.raw()) } {
            Status::CUDNN_STATUS_SUCCESS => Ok(()),
            status => Err(format!("fails to run its plan: {}", super::text_of(status))),
        }
    }
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
