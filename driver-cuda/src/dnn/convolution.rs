//! Builds a convolution as a graph with one operation.

use super::descriptor::Descriptor;
use super::graph::{Graph, data_type};
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnConvolutionMode_t as Mode, cudnnDataType_t as DataType,
};
use isobit_hal::DType;
use isobit_kernels::ConvProblem;

/// The operands are the source, the kernel and the destination; the groups follow from their
/// channels.
pub(super) fn graph(problem: &ConvProblem) -> Result<Graph, String> {
    let data = data_type(problem.dtype)?;
    let sums = if problem.dtype == DType::F64 { data } else { DataType::CUDNN_DATA_FLOAT };
    let conv = Descriptor::new(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?;
    let spatial = |values| problem.spatial(values).iter().copied().map(i64::from).collect::<Vec<_>>();
    // SAFETY: these are the types of the attributes.
    unsafe {
        conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &[sums])?;
        let mode = [Mode::CUDNN_CROSS_CORRELATION];
        conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode)?;
    }
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[spatial(&problem.stride).len() as i64])?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &spatial(&problem.padding_before))?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &spatial(&problem.padding_after))?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &spatial(&problem.stride))?;
    conv.set_ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, &spatial(&problem.dilation))?;
    conv.finalize()?;

    let mut graph = Graph::default();
    let [src, kernel, dst] = [problem.src, problem.kernel, problem.dst].map(|operand| {
        let [dims, strides] = match problem.is_planar() {
            true => operand.without(2),
            false => [operand.dims.to_vec(), operand.strides.to_vec()],
        };
        graph.in_memory(data, &dims, &strides, operand.alignment)
    });
    let [src, kernel, dst] = [src?, kernel?, dst?];
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
    graph.push(operation)?;
    Ok(graph)
}
