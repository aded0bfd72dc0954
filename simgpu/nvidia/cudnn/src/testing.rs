//! Builds graphs for tests as a program does: through the C functions, with the constants of
//! NVIDIA's headers.

use crate::backend::*;
use crate::status::{SUCCESS, Status};
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t as Type,
    cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t as Kind, cudnnBackendDescriptorType_t::*,
    cudnnBackendHeurMode_t as Mode, cudnnDataType_t as Data,
};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// A descriptor that lives until the end of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Descriptor(pub(crate) *mut c_void);

impl Descriptor {
    pub(crate) fn new(kind: Kind) -> Self {
        let mut raw = null_mut();
        // SAFETY: an out-parameter.
        assert_eq!(unsafe { cudnnBackendCreateDescriptor(kind as c_int, &mut raw) }, SUCCESS);
        Self(raw)
    }

    /// Sets an attribute. The elements must have the C type of `ty`.
    pub(crate) fn set<T>(self, name: Name, ty: Type, values: &[T]) -> Status {
        // SAFETY: the elements are live; callers pass their type.
        unsafe {
            cudnnBackendSetAttribute(self.0, name as c_int, ty as c_int, values.len() as i64, values.as_ptr().cast())
        }
    }

    pub(crate) fn ints(self, name: Name, values: &[i64]) -> Status {
        self.set(name, CUDNN_TYPE_INT64, values)
    }

    pub(crate) fn descriptor(self, name: Name, value: Descriptor) -> Status {
        self.set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &[value.0])
    }

    pub(crate) fn finalize(self) -> Status {
        cudnnBackendFinalize(self.0)
    }

    /// Reads an attribute; the requirement of [`set`](Self::set) applies.
    pub(crate) fn get<T>(self, name: Name, ty: Type, room: &mut [T]) -> (Status, i64) {
        let mut count = -1;
        let at = if room.is_empty() { null_mut() } else { room.as_mut_ptr().cast() };
        // SAFETY: the buffer has the given size; callers pass its type.
        let status =
            unsafe { cudnnBackendGetAttribute(self.0, name as c_int, ty as c_int, room.len() as i64, &mut count, at) };
        (status, count)
    }

    pub(crate) fn int(self, name: Name) -> i64 {
        let mut value = [0];
        assert_eq!(self.get(name, CUDNN_TYPE_INT64, &mut value), (SUCCESS, 1));
        value[0]
    }

    pub(crate) fn descriptors(self, name: Name, kind: Kind, most: usize) -> Vec<Descriptor> {
        let made: Vec<_> = (0..most).map(|_| Descriptor::new(kind)).collect();
        let mut raw: Vec<_> = made.iter().map(|d| d.0).collect();
        let (status, count) = self.get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &mut raw);
        assert_eq!(status, SUCCESS);
        made.into_iter().take(count as usize).collect()
    }
}

/// The parameters of a tensor descriptor, all valid until a test changes one.
#[derive(Debug, Clone)]
pub(crate) struct TensorSpec {
    pub(crate) data: Data,
    pub(crate) dims: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) id: i64,
    pub(crate) alignment: i64,
}

pub(crate) fn packed(id: i64, data: Data, dims: &[i64]) -> TensorSpec {
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d];
    }
    TensorSpec { data, dims: dims.to_vec(), strides, id, alignment: 8 }
}

impl TensorSpec {
    /// Creates the descriptor without finalizing it.
    pub(crate) fn open(&self) -> Descriptor {
        let tensor = Descriptor::new(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        assert_eq!(tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &[self.data]), SUCCESS);
        for (name, values) in [
            (CUDNN_ATTR_TENSOR_DIMENSIONS, &self.dims[..]),
            (CUDNN_ATTR_TENSOR_STRIDES, &self.strides),
            (CUDNN_ATTR_TENSOR_UNIQUE_ID, &[self.id]),
            (CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[self.alignment]),
        ] {
            assert_eq!(tensor.ints(name, values), SUCCESS, "{name:?}");
        }
        tensor
    }

    pub(crate) fn made(&self) -> Descriptor {
        let tensor = self.open();
        assert_eq!(tensor.finalize(), SUCCESS, "{self:?}");
        tensor
    }
}

/// The parameters of a convolution descriptor.
#[derive(Debug, Clone)]
pub(crate) struct WindowSpec {
    pub(crate) compute: Data,
    pub(crate) is_flipped: bool,
    pub(crate) before: Vec<i64>,
    pub(crate) after: Vec<i64>,
    pub(crate) stride: Vec<i64>,
    pub(crate) dilation: Vec<i64>,
}

pub(crate) fn plain(spatial: usize, compute: Data) -> WindowSpec {
    let (zero, one) = (vec![0; spatial], vec![1; spatial]);
    WindowSpec { compute, is_flipped: false, before: zero.clone(), after: zero, stride: one.clone(), dilation: one }
}

impl WindowSpec {
    pub(crate) fn open(&self) -> Descriptor {
        let conv = Descriptor::new(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        assert_eq!(conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &[self.compute]), SUCCESS);
        let mode = [c_int::from(!self.is_flipped)];
        assert_eq!(conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode), SUCCESS);
        for (name, values) in [
            (CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[self.stride.len() as i64][..]),
            (CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &self.before),
            (CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &self.after),
            (CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &self.stride),
            (CUDNN_ATTR_CONVOLUTION_DILATIONS, &self.dilation),
        ] {
            assert_eq!(conv.ints(name, values), SUCCESS, "{name:?}");
        }
        conv
    }

    pub(crate) fn made(&self) -> Descriptor {
        let conv = self.open();
        assert_eq!(conv.finalize(), SUCCESS, "{self:?}");
        conv
    }
}

/// Returns the names of a pass's attributes: alpha, beta, convolution, x, w, y.
pub(crate) fn names(pass: Pass) -> (Kind, [Name; 6]) {
    match pass {
        Pass::Forward => (
            CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            [
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            ],
        ),
        Pass::Data => (
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            [
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            ],
        ),
        Pass::Filter => (
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            [
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            ],
        ),
    }
}

/// Creates an operation that is not finalized, with factors in f32 or f64.
pub(crate) fn operation(pass: Pass, window: &WindowSpec, tensors: &[TensorSpec; 3], factors: [f64; 2]) -> Descriptor {
    let (kind, [alpha, beta, conv, names @ ..]) = names(pass);
    let operation = Descriptor::new(kind);
    for (name, factor) in [alpha, beta].into_iter().zip(factors) {
        let status = match window.compute {
            Data::CUDNN_DATA_DOUBLE => operation.set(name, CUDNN_TYPE_DOUBLE, &[factor]),
            _ => operation.set(name, CUDNN_TYPE_FLOAT, &[factor as f32]),
        };
        assert_eq!(status, SUCCESS);
    }
    assert_eq!(operation.descriptor(conv, window.made()), SUCCESS);
    for (name, tensor) in names.into_iter().zip(tensors) {
        assert_eq!(operation.descriptor(name, tensor.made()), SUCCESS);
    }
    operation
}

/// Creates a graph of one operation. Finalizes the operation, but not the graph.
pub(crate) fn graph(operation: Descriptor) -> Descriptor {
    assert_eq!(operation.finalize(), SUCCESS);
    graph_of(&[operation])
}

/// Creates a graph of finalized operations, which is not finalized.
pub(crate) fn graph_of(operations: &[Descriptor]) -> Descriptor {
    let graph = Descriptor::new(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    let raw: Vec<_> = operations.iter().map(|d| d.0).collect();
    assert_eq!(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw), SUCCESS);
    let handle = crate::handle::test_handle();
    assert_eq!(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &[handle]), SUCCESS);
    graph
}

/// Creates a heuristic for a finalized graph, which is not finalized.
pub(crate) fn heuristic(graph: Descriptor, mode: Mode) -> Descriptor {
    let heuristic = Descriptor::new(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    assert_eq!(heuristic.descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph), SUCCESS);
    assert_eq!(heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &[mode]), SUCCESS);
    heuristic
}

/// Returns the configurations of a heuristic for a finalized graph.
pub(crate) fn configurations(graph: Descriptor, mode: Mode) -> Vec<Descriptor> {
    let heuristic = heuristic(graph, mode);
    assert_eq!(heuristic.finalize(), SUCCESS);
    heuristic.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 16)
}

/// Returns the engine of a configuration.
pub(crate) fn engine(config: Descriptor) -> Descriptor {
    config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1)[0]
}

pub(crate) fn notes(engine: Descriptor) -> Vec<c_int> {
    let mut notes = [-1; 16];
    let (status, count) = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, &mut notes);
    assert_eq!(status, SUCCESS);
    notes[..count as usize].to_vec()
}

/// Creates a plan for a configuration.
pub(crate) fn plan(config: Descriptor) -> Descriptor {
    let plan = Descriptor::new(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    let handle = crate::handle::test_handle();
    assert_eq!(plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &[handle]), SUCCESS);
    assert_eq!(plan.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config), SUCCESS);
    assert_eq!(plan.finalize(), SUCCESS);
    plan
}

/// Creates a pack that is not finalized.
pub(crate) fn pack(ids: &[i64], pointers: &[*mut c_void], workspace: *mut c_void) -> Descriptor {
    let pack = Descriptor::new(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    assert_eq!(pack.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids), SUCCESS);
    assert_eq!(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers), SUCCESS);
    assert_eq!(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &[workspace]), SUCCESS);
    pack
}

/// Returns the index of the result among the operands.
pub(crate) fn result_of(pass: Pass) -> usize {
    match pass {
        Pass::Forward => 2,
        Pass::Data => 0,
        Pass::Filter => 1,
    }
}

/// Computes the definition in two dimensions with the textbook loop nest: each of the three
/// operands from the other two.
pub(crate) fn seven_loops(pass: Pass, window: &WindowSpec, t: &[TensorSpec; 3], operands: [&[f64]; 3]) -> Vec<f64> {
    let at = |i: usize, index: [i64; 4]| (0..4).fold(0, |at, d| at * t[i].dims[d] + index[d]) as usize;
    let [x, w, y] = t.each_ref().map(|t| &t.dims);
    let groups = x[1] / w[1];
    let to = result_of(pass);
    let mut result = vec![0.0; operands[to].len()];
    for n in 0..y[0] {
        for k in 0..y[1] {
            for p in 0..y[2] {
                for q in 0..y[3] {
                    for c in 0..w[1] {
                        for r in 0..w[2] {
                            for s in 0..w[3] {
                                let (tr, ts) = if window.is_flipped { (w[2] - 1 - r, w[3] - 1 - s) } else { (r, s) };
                                let h = p * window.stride[0] + r * window.dilation[0] - window.before[0];
                                let v = q * window.stride[1] + s * window.dilation[1] - window.before[1];
                                if (0..x[2]).contains(&h) && (0..x[3]).contains(&v) {
                                    let channel = k / (w[0] / groups) * w[1] + c;
                                    let places =
                                        [at(0, [n, channel, h, v]), at(1, [k, c, tr, ts]), at(2, [n, k, p, q])];
                                    let factor = |i: usize| if i == to { 1.0 } else { operands[i][places[i]] };
                                    result[places[to]] += factor(0) * factor(1) * factor(2);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    result
}
