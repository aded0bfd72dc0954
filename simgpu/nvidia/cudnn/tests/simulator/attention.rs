//! Attention of one query and three keys, with lengths, as a graph of its operations. The tensors
//! in memory and the scale have the identifiers from 1: q, k, v, o, the numbers of queries and
//! keys, and the scale.

use crate::graph::{Attribute, at, descriptor};
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnDataType_t::*, cudnnPointwiseMode_t::*, cudnnReduceTensorOp_t::*, *,
};

const DESCRIPTORS: cudnnBackendAttributeType_t = CUDNN_TYPE_BACKEND_DESCRIPTOR;
const SCORES: [i64; 4] = [1, 1, 1, 3];
const ROWS: [i64; 4] = [1; 4];

fn tensor(id: i64, data: cudnnDataType_t, dims: [i64; 4], flag: Option<cudnnBackendAttributeName_t>) -> Tensor {
    // The keys are stored as rows, whose columns are the first of the last two sizes.
    let strides = if dims == [1, 1, 8, 3] { [24, 24, 1, 8] } else { [24, 24, dims[3], 1] };
    let (data, id, alignment, is_so, ints) = ([data], [id], [4i64], [true], CUDNN_TYPE_INT64);
    let mut attributes = vec![
        (CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, at(&data)),
        (CUDNN_ATTR_TENSOR_DIMENSIONS, ints, 4, at(&dims)),
        (CUDNN_ATTR_TENSOR_STRIDES, ints, 4, at(&strides)),
        (CUDNN_ATTR_TENSOR_UNIQUE_ID, ints, 1, at(&id)),
        (CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ints, 1, at(&alignment)),
    ];
    attributes.extend(flag.map(|flag| (flag, CUDNN_TYPE_BOOLEAN, 1, at(&is_so))));
    [descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &attributes)]
}

type Tensor = [cudnnBackendDescriptor_t; 1];

fn between(id: i64, data: cudnnDataType_t, dims: [i64; 4]) -> Tensor {
    tensor(id, data, dims, Some(CUDNN_ATTR_TENSOR_IS_VIRTUAL))
}

fn pointwise(mode: cudnnPointwiseMode_t, inputs: &[&Tensor], to: &Tensor) -> cudnnBackendDescriptor_t {
    let (mode, precision) = ([mode], [CUDNN_DATA_FLOAT]);
    let description = [
        (CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, at(&mode)),
        (CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, at(&precision)),
    ];
    let description = [descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &description)];
    let names = [CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC];
    let mut attributes: Vec<Attribute> = vec![
        (CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCRIPTORS, 1, at(&description)),
        (CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTORS, 1, at(to)),
    ];
    attributes.extend(names.into_iter().zip(inputs).map(|(name, input)| (name, DESCRIPTORS, 1, at(*input))));
    descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &attributes)
}

fn reduction(by: cudnnReduceTensorOp_t, from: &Tensor, to: &Tensor) -> cudnnBackendDescriptor_t {
    let (by, precision) = ([by], [CUDNN_DATA_FLOAT]);
    let description = [
        (CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, at(&by)),
        (CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, at(&precision)),
    ];
    let description = [descriptor(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, &description)];
    let attributes = [
        (CUDNN_ATTR_OPERATION_REDUCTION_DESC, DESCRIPTORS, 1, at(&description)),
        (CUDNN_ATTR_OPERATION_REDUCTION_XDESC, DESCRIPTORS, 1, at(from)),
        (CUDNN_ATTR_OPERATION_REDUCTION_YDESC, DESCRIPTORS, 1, at(to)),
    ];
    descriptor(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, &attributes)
}

/// Creates a product whose m and another size are those of the batch entry.
fn product(
    [a, b, to]: [&Tensor; 3],
    m: &Tensor,
    (name, size): (cudnnBackendAttributeName_t, &Tensor),
) -> cudnnBackendDescriptor_t {
    let precision = [CUDNN_DATA_FLOAT];
    let description = [(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, at(&precision))];
    let description = [descriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR, &description)];
    let attributes = [
        (CUDNN_ATTR_OPERATION_MATMUL_DESC, DESCRIPTORS, 1, at(&description)),
        (CUDNN_ATTR_OPERATION_MATMUL_ADESC, DESCRIPTORS, 1, at(a)),
        (CUDNN_ATTR_OPERATION_MATMUL_BDESC, DESCRIPTORS, 1, at(b)),
        (CUDNN_ATTR_OPERATION_MATMUL_CDESC, DESCRIPTORS, 1, at(to)),
        (CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, DESCRIPTORS, 1, at(m)),
        (name, DESCRIPTORS, 1, at(size)),
    ];
    descriptor(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &attributes)
}

/// Creates the operations, in their order.
pub fn operations() -> Vec<cudnnBackendDescriptor_t> {
    let (half, float, int) = (CUDNN_DATA_HALF, CUDNN_DATA_FLOAT, CUDNN_DATA_INT32);
    let [q, k, v, o] = [[1, 1, 1, 8], [1, 1, 8, 3], [1, 1, 3, 8], [1, 1, 1, 8]];
    let [q, k, v, o] = [(1, q), (2, k), (3, v), (4, o)].map(|(id, dims)| tensor(id, half, dims, None));
    let [queries, keys] = [5, 6].map(|id| tensor(id, int, ROWS, None));
    let scale = tensor(7, float, ROWS, Some(CUDNN_ATTR_TENSOR_IS_BY_VALUE));
    let [products, scores, below, exponentials] = [11, 12, 13, 14].map(|id| between(id, float, SCORES));
    let [largest, sum, logarithm, statistics] = [15, 16, 17, 18].map(|id| between(id, float, ROWS));
    let weights = between(19, half, SCORES);
    vec![
        product([&q, &k, &products], &queries, (CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, &keys)),
        pointwise(CUDNN_POINTWISE_MUL, &[&products, &scale], &scores),
        reduction(CUDNN_REDUCE_TENSOR_MAX, &scores, &largest),
        pointwise(CUDNN_POINTWISE_SUB, &[&scores, &largest], &below),
        pointwise(CUDNN_POINTWISE_EXP, &[&below], &exponentials),
        reduction(CUDNN_REDUCE_TENSOR_ADD, &exponentials, &sum),
        pointwise(CUDNN_POINTWISE_LOG, &[&sum], &logarithm),
        pointwise(CUDNN_POINTWISE_ADD, &[&largest, &logarithm], &statistics),
        pointwise(CUDNN_POINTWISE_DIV, &[&exponentials, &sum], &weights),
        product([&weights, &v, &o], &queries, (CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, &keys)),
    ]
}
