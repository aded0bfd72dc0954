//! Attributes of the wrong type, number or kind, invalid values, and descriptors that are not
//! finalized.

use crate::backend::*;
use crate::status::*;
use crate::testing::*;
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnBackendHeurMode_t as Mode, cudnnDataType_t as Data,
};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

const F32: Data = Data::CUDNN_DATA_FLOAT;

/// 2 x 4 x 6 x 7 input and 8 x 4 x 3 x 3 filter.
fn tensors() -> [TensorSpec; 3] {
    [packed(1, F32, &[2, 4, 6, 7]), packed(2, F32, &[8, 4, 3, 3]), packed(3, F32, &[2, 8, 4, 5])]
}

fn forward() -> Descriptor {
    operation(Pass::Forward, &plain(2, F32), &tensors(), [1.0, 0.0])
}

fn final_graph() -> Descriptor {
    let graph = graph(forward());
    assert_eq!(graph.finalize(), SUCCESS);
    graph
}

#[test]
fn what_is_no_descriptor() {
    let mut raw = null_mut();
    // SAFETY: an out-parameter, and null, which is rejected.
    unsafe {
        assert_eq!(cudnnBackendCreateDescriptor(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR as c_int, &mut raw), NOT_SUPPORTED);
        assert_eq!(cudnnBackendCreateDescriptor(-1, &mut raw), NOT_SUPPORTED);
        assert_eq!(cudnnBackendCreateDescriptor(17, null_mut()), NULL_POINTER);
    }
    let stale = tensors()[0].made();
    assert_eq!(cudnnBackendDestroyDescriptor(stale.0), SUCCESS);
    assert_eq!(
        (cudnnBackendDestroyDescriptor(null_mut()), cudnnBackendDestroyDescriptor(stale.0)),
        (SUCCESS, BAD_PARAM)
    );
    for (none, status) in [(stale, BAD_PARAM), (Descriptor(null_mut()), NULL_POINTER)] {
        assert_eq!(none.finalize(), status);
        assert_eq!(none.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, &[1]), status);
        assert_eq!(none.get(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &mut [0i64]), (status, -1));
    }
    // SAFETY: there is no pack.
    assert_eq!(unsafe { cudnnBackendExecute(null_mut(), null_mut(), null_mut()) }, BAD_PARAM);
}

#[test]
fn elements_have_the_attributes_type_and_number() {
    let tensor = Descriptor::new(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    assert_eq!(tensor.ints(CUDNN_ATTR_TENSOR_DATA_TYPE, &[0]), ATTRIBUTE_TYPE);
    assert_eq!(tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &[F32, F32]), BAD_PARAM);
    assert_eq!(tensor.set::<Data>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &[]), BAD_PARAM);
    assert_eq!(tensor.ints(CUDNN_ATTR_TENSOR_DIMENSIONS, &[1; 8]), SUCCESS);
    assert_eq!(tensor.ints(CUDNN_ATTR_TENSOR_DIMENSIONS, &[1; 9]), BAD_PARAM);
    assert_eq!(tensor.ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[2]), BAD_PARAM, "another kind's");
    assert_eq!(tensor.ints(CUDNN_ATTR_TENSOR_VECTOR_COUNT, &[4]), NOT_SUPPORTED);
    // SAFETY: null is rejected, and so is a negative number of elements.
    unsafe {
        let name = CUDNN_ATTR_TENSOR_UNIQUE_ID as c_int;
        let null = std::ptr::null();
        assert_eq!(cudnnBackendSetAttribute(tensor.0, name, CUDNN_TYPE_INT64 as c_int, 1, null), NULL_POINTER);
        let id = [1i64];
        let count = -1;
        let at = id.as_ptr().cast();
        assert_eq!(cudnnBackendSetAttribute(tensor.0, name, CUDNN_TYPE_INT64 as c_int, count, at), BAD_PARAM);
    }
    let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    let alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA;
    assert_eq!(operation.set(alpha, CUDNN_TYPE_FLOAT, &[1f32, 2.0]), BAD_PARAM);
    assert_eq!(operation.ints(alpha, &[1]), ATTRIBUTE_TYPE);
    assert_eq!(operation.set(alpha, CUDNN_TYPE_DOUBLE, &[1f64]), SUCCESS);
    let x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X;
    assert_eq!(operation.descriptor(x, plain(2, F32).made()), DESCRIPTOR_TYPE);
    assert_eq!(operation.descriptor(x, tensors()[0].open()), NOT_FINALIZED);
    assert_eq!(operation.descriptor(x, operation), NOT_FINALIZED, "itself");
    assert_eq!(operation.descriptor(x, Descriptor(null_mut())), NULL_POINTER);
    assert_eq!(operation.descriptor(x, Descriptor(std::ptr::dangling_mut())), BAD_PARAM);
}

#[test]
fn attributes_are_set_before_and_read_after() {
    let tensor = tensors()[0].open();
    assert_eq!(tensor.get(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &mut [0i64]), (NOT_INITIALIZED, -1));
    assert_eq!(tensor.finalize(), SUCCESS);
    assert_eq!(tensor.finalize(), BAD_PARAM);
    assert_eq!(tensor.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, &[1]), BAD_PARAM);
    let mut dims = [0i64; 8];
    assert_eq!(tensor.get(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, &mut dims), (SUCCESS, 4));
    assert_eq!(dims, [2, 4, 6, 7, 0, 0, 0, 0]);
    let mut short = [0i64; 2];
    assert_eq!(tensor.get(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, &mut short), (SUCCESS, 4));
    assert_eq!(short, [168, 42]);
    assert_eq!(tensor.get::<i64>(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, &mut []), (SUCCESS, 4));
    assert_eq!(tensor.get(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_FLOAT, &mut [0f32; 4]), (ATTRIBUTE_TYPE, -1));
    assert_eq!(tensor.get(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_INT64, &mut short), (BAD_PARAM, -1));
    let operation = forward();
    assert_eq!(operation.finalize(), SUCCESS);
    let x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X;
    let copy = operation.descriptors(x, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 1)[0];
    assert_eq!(copy.int(CUDNN_ATTR_TENSOR_UNIQUE_ID), 1);
    for (target, status) in [
        (copy, BAD_PARAM),
        (Descriptor::new(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR), DESCRIPTOR_TYPE),
        (operation, DESCRIPTOR_TYPE),
    ] {
        assert_eq!(operation.get(x, CUDNN_TYPE_BACKEND_DESCRIPTOR, &mut [target.0]).0, status);
    }
    let alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA;
    assert_eq!(operation.get(alpha, CUDNN_TYPE_DOUBLE, &mut [0f64]).0, ATTRIBUTE_TYPE);
}

#[test]
fn tensors_are_checked() {
    let [good, ..] = tensors();
    let status = |change: fn(&mut TensorSpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        spec.open().finalize()
    };
    assert_eq!(status(|_| ()), SUCCESS);
    assert_eq!(status(|t| t.strides = vec![1000, 200, 20, 2]), SUCCESS, "gaps");
    assert_eq!(status(|t| t.dims[1] = 0), BAD_PARAM);
    assert_eq!(status(|t| t.dims[1] = -4), BAD_PARAM);
    assert_eq!(status(|t| t.strides[0] = 0), BAD_PARAM);
    assert_eq!(status(|t| t.strides = vec![42, 7, 1]), BAD_PARAM);
    assert_eq!(status(|t| t.alignment = 2), BAD_PARAM);
    assert_eq!(status(|t| t.alignment = 0), BAD_PARAM);
    assert_eq!(status(|t| t.data = Data::CUDNN_DATA_INT8x4), NOT_SUPPORTED);
    assert_eq!(status(|t| t.data = Data::CUDNN_DATA_DOUBLE), SUCCESS);
    assert_eq!(Descriptor::new(CUDNN_BACKEND_TENSOR_DESCRIPTOR).finalize(), BAD_PARAM);
    let unnamed = Descriptor::new(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    for name in [CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT] {
        assert_eq!(unnamed.ints(name, &[4]), SUCCESS);
    }
    assert_eq!(unnamed.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &[F32]), SUCCESS);
    assert_eq!(unnamed.finalize(), BAD_PARAM);
    assert_eq!(unnamed.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, &[0]), SUCCESS, "a failure leaves it open");
    assert_eq!(unnamed.finalize(), SUCCESS);
}

#[test]
fn windows_are_checked() {
    let status = |change: fn(&mut WindowSpec)| {
        let mut spec = plain(2, F32);
        change(&mut spec);
        spec.open().finalize()
    };
    assert_eq!(status(|w| (w.before, w.after) = (vec![1, 0], vec![0, 2])), SUCCESS);
    assert_eq!(status(|w| w.dilation = vec![1]), BAD_PARAM);
    assert_eq!(status(|w| w.after = vec![0; 3]), BAD_PARAM);
    assert_eq!(status(|w| w.dilation[0] = 0), BAD_PARAM);
    assert_eq!(status(|w| w.stride[1] = -1), BAD_PARAM);
    assert_eq!(status(|w| w.before[0] = -1), BAD_PARAM);
    let conv = plain(2, F32).open();
    assert_eq!(conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &[7]), SUCCESS);
    assert_eq!(conv.finalize(), BAD_PARAM);
    assert_eq!(Descriptor::new(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR).finalize(), BAD_PARAM);
}

#[test]
fn operations_are_checked() {
    for pass in [Pass::Forward, Pass::Data, Pass::Filter] {
        assert_eq!(operation(pass, &plain(2, F32), &tensors(), [1.0, 0.0]).finalize(), SUCCESS);
        let mut wrong = tensors();
        wrong[2].dims[3] = 4;
        assert_eq!(operation(pass, &plain(2, F32), &wrong, [1.0, 0.0]).finalize(), BAD_PARAM);
        let mut gaps = tensors();
        gaps[1].strides = vec![72, 18, 6, 2];
        assert_eq!(operation(pass, &plain(2, F32), &gaps, [1.0, 0.0]).finalize(), BAD_PARAM);
        assert_eq!(operation(pass, &plain(3, F32), &tensors(), [1.0, 0.0]).finalize(), BAD_PARAM);
        assert_eq!(Descriptor::new(names(pass).0).finalize(), BAD_PARAM);
    }
    let four = [packed(1, F32, &[1; 6]), packed(2, F32, &[1; 6]), packed(3, F32, &[1; 6])];
    assert_eq!(operation(Pass::Forward, &plain(4, F32), &four, [1.0, 0.0]).finalize(), SHAPE);
}

#[test]
fn graphs_are_one_convolution_between_tensors_of_their_own() {
    let graph_of = |operations: &[Descriptor]| {
        let graph = Descriptor::new(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        let raw: Vec<_> = operations.iter().map(|d| d.0).collect();
        let status = graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw);
        let handle = crate::handle::test_handle();
        assert_eq!(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &[handle]), SUCCESS);
        (status, graph.finalize())
    };
    let (one, two) = (forward(), forward());
    assert_eq!(graph_of(&[one]), (NOT_FINALIZED, BAD_PARAM));
    assert_eq!([one.finalize(), two.finalize()], [SUCCESS; 2]);
    assert_eq!(graph_of(&[one]), (SUCCESS, SUCCESS));
    assert_eq!(graph_of(&[one, two]), (SUCCESS, GRAPH_PATTERN));
    assert_eq!(graph_of(&[tensors()[0].made()]), (DESCRIPTOR_TYPE, BAD_PARAM));
    let without = Descriptor::new(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    assert_eq!(without.descriptor(CUDNN_ATTR_OPERATIONGRAPH_OPS, one), SUCCESS);
    assert_eq!(without.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &[null_mut::<c_void>()]), BAD_PARAM);
    assert_eq!(without.finalize(), BAD_PARAM, "no handle");
    let mut one_name = tensors();
    one_name[2].id = 1;
    let twice = operation(Pass::Forward, &plain(2, F32), &one_name, [1.0, 0.0]);
    assert_eq!(graph(twice).finalize(), DUPLICATED_ENTRIES);
    let x = tensors()[0].open();
    assert_eq!(x.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &[true]), SUCCESS);
    assert_eq!(x.finalize(), SUCCESS);
    let nowhere = forward();
    assert_eq!(nowhere.descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x), SUCCESS);
    assert_eq!(graph(nowhere).finalize(), GRAPH_PATTERN);
}

#[test]
fn engines_and_heuristics_are_checked() {
    let graph = final_graph();
    let count = graph.int(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
    let chosen = |index: i64| {
        let engine = Descriptor::new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        assert_eq!(engine.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph), SUCCESS);
        assert_eq!(engine.ints(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &[index]), SUCCESS);
        engine
    };
    assert_eq!([count, -1].map(|i| chosen(i).finalize()), [NOT_SUPPORTED; 2]);
    assert!((0..count).any(|i| chosen(i).finalize() == SUCCESS));
    assert_eq!(Descriptor::new(CUDNN_BACKEND_ENGINE_DESCRIPTOR).finalize(), BAD_PARAM);
    assert_eq!(chosen(0).ints(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, &[0]), BAD_PARAM, "read only");
    let config = Descriptor::new(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    assert_eq!(config.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, chosen(0)), NOT_FINALIZED);
    assert_eq!(config.finalize(), BAD_PARAM);
    let heuristic = Descriptor::new(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    assert_eq!(heuristic.finalize(), BAD_PARAM);
    assert_eq!(heuristic.descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph), SUCCESS);
    assert_eq!(heuristic.finalize(), BAD_PARAM, "no mode");
    let set = |mode: c_int| heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &[mode]);
    assert_eq!((set(Mode::CUDNN_HEUR_MODES_COUNT as c_int), heuristic.finalize()), (SUCCESS, BAD_PARAM));
    assert_eq!(heuristic.descriptor(CUDNN_ATTR_ENGINEHEUR_RESULTS, graph), BAD_PARAM, "read only");
    let plan = Descriptor::new(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    assert_eq!(plan.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config), NOT_FINALIZED);
    assert_eq!(plan.finalize(), BAD_PARAM);
    assert_eq!(plan.ints(CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS, &[1]), NOT_SUPPORTED);
}

#[test]
fn packs_name_every_tensor_once() {
    let [x, w, y, scratch] = [0x1000, 0x2000, 0x3000, 0x4000].map(std::ptr::without_provenance_mut::<c_void>);
    let status = |ids: &[i64], pointers: &[*mut c_void]| pack(ids, pointers, scratch).finalize();
    assert_eq!(status(&[1, 2, 3], &[x, w, y]), SUCCESS);
    assert_eq!(status(&[1, 2, 3], &[x, w]), BAD_PARAM);
    assert_eq!(status(&[1, 2, 2], &[x, w, y]), DUPLICATED_ENTRIES);
    assert_eq!(Descriptor::new(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR).finalize(), BAD_PARAM);
    let config = configurations(final_graph(), Mode::CUDNN_HEUR_MODE_A)[0];
    let plan = plan(config);
    assert!(plan.int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > 0);
    let launched = |ids: &[i64], pointers: &[*mut c_void], workspace| {
        let pack = pack(ids, pointers, workspace);
        assert_eq!(pack.finalize(), SUCCESS);
        // SAFETY: no tensor is given by value.
        match unsafe { plan::execution(plan.0, pack.0) } {
            Ok(plan::Execution::Convolution(launch)) => Ok(launch),
            other => Err(other.map_err(|f| f.status).unwrap_err()),
        }
    };
    let launch = launched(&[9, 3, 2, 1], &[scratch, y, w, x], scratch).unwrap();
    assert_eq!((launch.addresses, launch.workspace), ([0x1000, 0x2000, 0x3000], 0x4000));
    assert_eq!(launched(&[1, 2], &[x, w], scratch).unwrap_err(), BAD_PARAM);
    assert_eq!(launched(&[1, 2, 3], &[x, w, null_mut()], scratch).unwrap_err(), NULL_POINTER);
    assert_eq!(launched(&[1, 2, 3], &[x, w, y], null_mut()).unwrap_err(), NULL_POINTER);
    let odd = std::ptr::without_provenance_mut(0x3004);
    assert_eq!(launched(&[1, 2, 3], &[x, w, odd], scratch).unwrap_err(), MISALIGNED_POINTER);
    let open = pack(&[1, 2, 3], &[x, w, y], scratch);
    for (no_pack, status) in [(open, NOT_FINALIZED), (plan, DESCRIPTOR_TYPE)] {
        // SAFETY: no tensor is given by value.
        assert_eq!(unsafe { plan::execution(plan.0, no_pack.0) }.unwrap_err().status, status);
    }
}
