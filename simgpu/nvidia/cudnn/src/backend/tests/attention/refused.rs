//! Descriptors that are not whole or do not fit, graphs in a wrong order, graphs that are not
//! attention, and packs without a tensor.

use super::graph::*;
use super::problem::*;
use crate::backend::plan;
use crate::status::*;
use crate::testing::{Descriptor, configurations, engine, graph_of, heuristic, pack, plan as plan_of};
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnBackendHeurMode_t as Mode, cudnnDataType_t::*, cudnnPointwiseMode_t::*, cudnnReduceTensorOp_t::*,
};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::c_void;
use std::ptr::null_mut;

#[test]
fn descriptions_are_checked() {
    for kind in [
        CUDNN_BACKEND_MATMUL_DESCRIPTOR,
        CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
        CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
    ] {
        assert_eq!(Descriptor::new(kind).finalize(), BAD_PARAM, "{kind:?}");
        assert_eq!(Descriptor::new(kind).ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, &[1]), BAD_PARAM, "{kind:?}");
    }
    let with = |kind, name, ty, value: i32| {
        let description = Descriptor::new(kind);
        assert_eq!(description.set(name, ty, &[value]), SUCCESS);
        description.finalize()
    };
    let (of_elements, of_rows) = (CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    let (modes, operators) = (CUDNN_TYPE_POINTWISE_MODE, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
    let gelu = CUDNN_POINTWISE_GELU_FWD as i32;
    assert_eq!(with(of_elements, CUDNN_ATTR_POINTWISE_MODE, modes, 0), BAD_PARAM, "no type");
    assert_eq!(with(of_elements, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 0), BAD_PARAM, "no mode");
    assert_eq!(with(of_elements, CUDNN_ATTR_POINTWISE_MODE, modes, gelu), NOT_SUPPORTED);
    assert_eq!(with(of_rows, CUDNN_ATTR_REDUCTION_OPERATOR, operators, 0), BAD_PARAM, "no type");
    assert_eq!(with(of_rows, CUDNN_ATTR_REDUCTION_OPERATOR, operators, 5), NOT_SUPPORTED);
    assert_eq!(pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32).finalize(), BAD_PARAM, "no axis");
    let sum = pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT);
    assert_eq!(sum.set(CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_DOUBLE, &[1f64]), NOT_SUPPORTED);
    assert_eq!(sum.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_INT64, &[0i64]), ATTRIBUTE_TYPE);
}

#[test]
fn attributes_are_read_after() {
    let mut b = Builder::default();
    let [x, y] = [0; 2].map(|_| b.between(CUDNN_DATA_FLOAT, &[1, 1, 2, 3]));
    let operation = apply(pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT), &[&x], &y);
    b.push(operation);
    let read = |name, kind| operation.descriptors(name, kind, 1);
    let description = read(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR)[0];
    let mut mode = [-1];
    assert_eq!(description.get(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mut mode), (SUCCESS, 1));
    assert_eq!(mode, [CUDNN_POINTWISE_EXP as i32]);
    let tensor = read(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_BACKEND_TENSOR_DESCRIPTOR)[0];
    assert_eq!(tensor.int(CUDNN_ATTR_TENSOR_UNIQUE_ID), y.id);
    assert_eq!(read(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_BACKEND_TENSOR_DESCRIPTOR), []);
    let described = plain(2, 3).describe();
    let graph = graph_of(&described.builder.operations);
    assert_eq!(graph.finalize(), SUCCESS);
    let first = CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
    let operation = graph.descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, first, 1)[0];
    let read = |name| operation.descriptors(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 1)[0];
    let id = |name| read(name).int(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    assert_eq!([CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC].map(id), [1, 2]);
}

#[test]
fn sizes_fit_each_other() {
    let mut b = Builder::default();
    let mut of = |dims: [i64; 4]| b.between(CUDNN_DATA_FLOAT, &dims);
    let (whole, row, column) = (of([2, 4, 3, 5]), of([1, 1, 1, 5]), of([2, 4, 3, 1]));
    let (odd, three) = (of([2, 4, 3, 2]), of([2, 3, 3, 5]));
    let added = |inputs: &[&Tensor], to| apply(pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT), inputs, to).finalize();
    assert_eq!([added(&[&whole, &row], &whole), added(&[&row, &column], &odd)], [SUCCESS, BAD_PARAM]);
    assert_eq!(added(&[&whole, &odd], &whole), BAD_PARAM);
    assert_eq!(added(&[&row, &row], &whole), BAD_PARAM, "larger than its inputs");
    assert_eq!(added(&[&whole], &whole), BAD_PARAM, "one input");
    assert_eq!(added(&[&whole, &row, &row], &whole), BAD_PARAM, "three inputs");
    let sum = |from, to| reduction(CUDNN_REDUCE_TENSOR_ADD, from, to).finalize();
    assert_eq!([sum(&whole, &column), sum(&whole, &row), sum(&whole, &odd)], [SUCCESS, SUCCESS, BAD_PARAM]);
    let index = |axis| {
        let description = pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32);
        assert_eq!(description.ints(CUDNN_ATTR_POINTWISE_AXIS, &[axis]), SUCCESS);
        apply(description, &[&whole], &whole).finalize()
    };
    assert_eq!([3, 4, -1].map(index), [SUCCESS, BAD_PARAM, BAD_PARAM]);
    let (a, shared) = (of([2, 4, 3, 8]), of([2, 2, 8, 5]));
    let times = |a: &Tensor, b: &Tensor, to: &Tensor| product([a, b], [None; 3], to).finalize();
    assert_eq!([times(&a, &shared, &whole), times(&a, &shared, &odd)], [SUCCESS, BAD_PARAM]);
    assert_eq!(times(&a, &of([2, 4, 7, 5]), &whole), BAD_PARAM);
    assert_eq!(times(&a, &of([2, 3, 8, 5]), &whole), BAD_PARAM, "three heads for four");
    assert_eq!(times(&a, &of([2, 3, 8, 5]), &three), BAD_PARAM, "four heads for three");
    let [floats, ints] = [CUDNN_DATA_FLOAT, CUDNN_DATA_INT32].map(|data| b.memory(data, [2, 1, 1, 1], [1; 4]));
    let many = b.memory(CUDNN_DATA_INT32, [2, 4, 1, 1], [4, 1, 1, 1]);
    let sized = |size| product([&a, &shared], [None, None, Some(size)], &whole).finalize();
    assert_eq!([sized(&ints), sized(&floats), sized(&many)], [SUCCESS, BAD_PARAM, BAD_PARAM]);
}

#[test]
fn tensors_are_written_once_and_before_they_are_read() {
    let mut b = Builder::default();
    let [x, y, z] = [0; 3].map(|_| b.between(CUDNN_DATA_FLOAT, &[1, 1, 2, 3]));
    let memory = b.memory(CUDNN_DATA_FLOAT, [1, 1, 2, 3], [6, 6, 3, 1]);
    let value = b.float(1.0);
    let exponential = |from: &Tensor, to: &Tensor| {
        let operation = apply(pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT), &[from], to);
        assert_eq!(operation.finalize(), SUCCESS);
        operation
    };
    let status = |pairs: &[(&Tensor, &Tensor)]| {
        graph_of(&pairs.iter().map(|(from, to)| exponential(from, to)).collect::<Vec<_>>()).finalize()
    };
    assert_eq!(status(&[(&memory, &x), (&x, &y), (&x, &z)]), SUCCESS);
    assert_eq!(status(&[(&x, &y), (&memory, &x)]), BAD_PARAM, "read before it is written");
    assert_eq!(status(&[(&x, &x)]), BAD_PARAM);
    assert_eq!(status(&[(&memory, &x), (&memory, &x)]), BAD_PARAM, "written twice");
    assert_eq!(status(&[(&memory, &x), (&x, &memory)]), BAD_PARAM, "written after it is read");
    let one = [1; 4];
    let [single, other] = [0; 2].map(|_| b.between(CUDNN_DATA_FLOAT, &one));
    assert_eq!(status(&[(&value, &single), (&single, &other)]), SUCCESS);
    assert_eq!(status(&[(&value, &single), (&single, &b.float(2.0))]), BAD_PARAM, "a value as a result");
    let again = Builder::default().between(CUDNN_DATA_FLOAT, &[1, 1, 2, 4]);
    assert_eq!(again.id, x.id);
    let wider =
        exponential(&again, &Builder { last_id: 90, ..Builder::default() }.between(CUDNN_DATA_FLOAT, &again.dims));
    assert_eq!(graph_of(&[exponential(&memory, &x), wider]).finalize(), DUPLICATED_ENTRIES);
    let both = crate::testing::packed(9, CUDNN_DATA_FLOAT, &one).open();
    for name in [CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_ATTR_TENSOR_IS_BY_VALUE] {
        assert_eq!(both.set(name, CUDNN_TYPE_BOOLEAN, &[true]), SUCCESS);
    }
    assert_eq!(both.finalize(), BAD_PARAM);
}

/// Returns the statuses of heuristics and of the engine for attention.
fn offered(operations: &[Descriptor]) -> [Status; 2] {
    let graph = graph_of(operations);
    assert_eq!(graph.finalize(), SUCCESS);
    let engine = Descriptor::new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    assert_eq!(engine.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph), SUCCESS);
    assert_eq!(engine.ints(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &[4]), SUCCESS);
    [heuristic(graph, Mode::CUDNN_HEUR_MODE_A).finalize(), engine.finalize()]
}

#[test]
fn what_is_not_attention_has_no_engine() {
    let operations = |problem: &Problem| problem.describe().builder.operations;
    let all = operations(&plain(3, 5));
    assert_eq!(offered(&all), [SUCCESS; 2]);
    assert_eq!(offered(&all[..1]), [GRAPH_PATTERN; 2], "one product");
    assert_eq!(offered(&all[..all.len() - 1]), [GRAPH_PATTERN; 2], "no values");
    // The logarithm and its sum with the maximum are before the quotient and the last product.
    let without: Vec<_> = all.iter().enumerate().filter(|(i, _)| *i != all.len() - 4 && *i != all.len() - 3).collect();
    assert_eq!(offered(&without.into_iter().map(|(_, o)| *o).collect::<Vec<_>>()), [GRAPH_PATTERN; 2]);
    let tensors = [1, 2, 3].map(|id| crate::testing::packed(id, CUDNN_DATA_FLOAT, &[1; 4]));
    let window = crate::testing::plain(2, CUDNN_DATA_FLOAT);
    let convolution = crate::testing::operation(Pass::Forward, &window, &tensors, [1.0, 0.0]);
    assert_eq!(convolution.finalize(), SUCCESS);
    assert_eq!(graph_of(&[all[0], convolution]).finalize(), GRAPH_PATTERN);
    let mut twice = plain(3, 5).describe();
    let copy = twice.builder.between(CUDNN_DATA_HALF, &twice.operands[0].dims);
    let copied = apply(pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT), &[&twice.operands[0]], &copy);
    assert_eq!(copied.finalize(), SUCCESS);
    twice.builder.operations.insert(1, copied);
    assert_eq!(offered(&twice.builder.operations), [GRAPH_PATTERN; 2], "queries are used twice");
    let float = Problem { data: CUDNN_DATA_FLOAT, ..plain(3, 5) };
    assert_eq!(offered(&operations(&float)), [DATA_TYPE; 2]);
    let mask = Some([1, 1, 3, 5]);
    let shifted = Problem { is_causal: true, mask, ..plain(3, 5) };
    assert_eq!(offered(&operations(&shifted)), [GRAPH_PATTERN; 2]);
    let ragged = Problem { lengths: Some([[3, 3], [5, 5]]), is_causal: true, mask, ..plain(3, 5) };
    assert_eq!(offered(&operations(&ragged)), [GRAPH_PATTERN; 2]);
    for head in [HEAD + 4, 264] {
        assert_eq!(offered(&operations(&Problem { head, ..plain(3, 5) })), [SHAPE; 2], "{head}");
    }
    assert_eq!(offered(&operations(&Problem { head: 256, ..plain(3, 5) })), [SUCCESS; 2]);
    let beside = |mode, precision, axis| {
        let mut b = plain(3, 5).describe().builder;
        let (value, to) = (b.float(1.0), b.between(CUDNN_DATA_INT32, &[1; 4]));
        let description = pointwise(mode, precision);
        assert_eq!(description.ints(CUDNN_ATTR_POINTWISE_AXIS, &[axis]), SUCCESS);
        let operation = apply(description, &[&value], &to);
        assert_eq!(operation.finalize(), SUCCESS);
        b.operations.insert(1, operation);
        offered(&b.operations)
    };
    assert_eq!(beside(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT, 0), [SUCCESS; 2]);
    assert_eq!(beside(CUDNN_POINTWISE_EXP, CUDNN_DATA_INT32, 0), [DATA_TYPE; 2]);
    assert_eq!(beside(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, 2), [SUCCESS; 2]);
    assert_eq!(beside(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, 1), [GRAPH_PATTERN; 2]);
    let graph = graph_of(&all);
    assert_eq!(graph.finalize(), SUCCESS);
    let other = Descriptor::new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    assert_eq!(other.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph), SUCCESS);
    assert_eq!(other.ints(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &[0]), SUCCESS);
    assert_eq!(other.finalize(), NOT_SUPPORTED, "an engine for convolutions");
}

#[test]
fn packs_have_every_tensor_that_is_not_virtual() {
    let described = plain(3, 5).describe();
    let graph = graph_of(&described.builder.operations);
    assert_eq!(graph.finalize(), SUCCESS);
    let config = configurations(graph, Mode::CUDNN_HEUR_MODE_FALLBACK)[0];
    assert_eq!(engine(config).int(CUDNN_ATTR_ENGINE_GLOBAL_INDEX), 4);
    let plan = plan_of(config);
    let scale = [described.builder.numbers[0].1];
    let memory = [0x1000, 0x2000, 0x3000, 0x4000].map(std::ptr::without_provenance_mut::<c_void>);
    let all: Vec<(i64, *mut c_void)> = described
        .operands
        .iter()
        .map(|t| t.id)
        .zip(memory)
        .chain([(described.builder.numbers[0].0, scale.as_ptr().cast_mut().cast())])
        .collect();
    let status = |given: &[(i64, *mut c_void)]| {
        let (ids, pointers): (Vec<_>, Vec<_>) = given.iter().copied().unzip();
        let pack = pack(&ids, &pointers, null_mut());
        assert_eq!(pack.finalize(), SUCCESS);
        // SAFETY: the number is live.
        unsafe { plan::execution(plan.0, pack.0) }.map_or_else(|f| f.status, |_| SUCCESS)
    };
    assert_eq!(status(&all), SUCCESS);
    for i in 0..all.len() {
        let mut without = all.clone();
        let (id, _) = without.remove(i);
        assert_eq!(status(&without), BAD_PARAM, "tensor {id}");
        without.push((id, null_mut()));
        assert_eq!(status(&without), NULL_POINTER, "tensor {id}");
    }
    let mut odd = all.clone();
    odd[1].1 = std::ptr::without_provenance_mut(0x2002);
    assert_eq!(status(&odd), MISALIGNED_POINTER);
}
