//! Adds operations one by one, each with a new result.

use crate::status::SUCCESS;
use crate::testing::*;
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnDataType_t as Data, cudnnDataType_t::*, cudnnPointwiseMode_t as Mode, cudnnReduceTensorOp_t as Reduce,
};

/// A graph in the making.
#[derive(Debug, Default)]
pub(super) struct Builder {
    /// Finalized operations.
    pub(super) operations: Vec<Descriptor>,
    /// The identifier of the last tensor.
    pub(super) last_id: i64,
    /// Identifiers and bits of numbers by value.
    pub(super) numbers: Vec<(i64, u32)>,
}

/// A tensor of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensor {
    pub(super) id: i64,
    pub(super) made: Descriptor,
    pub(super) dims: Vec<i64>,
}

/// Creates the description of an operation on elements, which is not finalized.
pub(super) fn pointwise(mode: Mode, precision: Data) -> Descriptor {
    let description = Descriptor::new(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    assert_eq!(description.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &[mode]), SUCCESS);
    assert_eq!(description.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &[precision]), SUCCESS);
    description
}

/// Creates an operation on elements, which is not finalized.
pub(super) fn apply(description: Descriptor, inputs: &[&Tensor], result: &Tensor) -> Descriptor {
    assert_eq!(description.finalize(), SUCCESS);
    let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    let names = [
        CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
    ];
    assert_eq!(operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, description), SUCCESS);
    for (name, input) in names.into_iter().zip(inputs) {
        assert_eq!(operation.descriptor(name, input.made), SUCCESS);
    }
    assert_eq!(operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result.made), SUCCESS);
    operation
}

/// Creates a reduction, which is not finalized.
pub(super) fn reduction(by: Reduce, from: &Tensor, to: &Tensor) -> Descriptor {
    let description = Descriptor::new(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    let operators = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
    assert_eq!(description.set(CUDNN_ATTR_REDUCTION_OPERATOR, operators, &[by]), SUCCESS);
    assert_eq!(description.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &[CUDNN_DATA_FLOAT]), SUCCESS);
    assert_eq!(description.finalize(), SUCCESS);
    let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    assert_eq!(operation.descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, description), SUCCESS);
    assert_eq!(operation.descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, from.made), SUCCESS);
    assert_eq!(operation.descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to.made), SUCCESS);
    operation
}

/// Creates a product, which is not finalized, with tensors of the sizes m, n and k.
pub(super) fn product([a, b]: [&Tensor; 2], sizes: [Option<&Tensor>; 3], to: &Tensor) -> Descriptor {
    let description = Descriptor::new(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    assert_eq!(description.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &[CUDNN_DATA_FLOAT]), SUCCESS);
    assert_eq!(description.finalize(), SUCCESS);
    let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    assert_eq!(operation.descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, description), SUCCESS);
    for (name, tensor) in [
        (CUDNN_ATTR_OPERATION_MATMUL_ADESC, Some(a)),
        (CUDNN_ATTR_OPERATION_MATMUL_BDESC, Some(b)),
        (CUDNN_ATTR_OPERATION_MATMUL_CDESC, Some(to)),
        (CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, sizes[0]),
        (CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, sizes[1]),
        (CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, sizes[2]),
    ] {
        assert_eq!(tensor.map_or(SUCCESS, |tensor| operation.descriptor(name, tensor.made)), SUCCESS);
    }
    operation
}

impl Builder {
    pub(super) fn id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Adds a tensor in memory.
    pub(super) fn memory(&mut self, data: Data, dims: [i64; 4], strides: [i64; 4]) -> Tensor {
        let id = self.id();
        let spec = TensorSpec { data, dims: dims.to_vec(), strides: strides.to_vec(), id, alignment: 4 };
        Tensor { id, made: spec.made(), dims: spec.dims }
    }

    /// Adds a number of 32 bits by value.
    pub(super) fn number(&mut self, data: Data, bits: u32) -> Tensor {
        let id = self.id();
        self.numbers.push((id, bits));
        let spec = TensorSpec { alignment: 4, ..packed(id, data, &[1; 4]) };
        let made = spec.open();
        assert_eq!(made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &[true]), SUCCESS);
        assert_eq!(made.finalize(), SUCCESS);
        Tensor { id, made, dims: spec.dims }
    }

    pub(super) fn float(&mut self, value: f32) -> Tensor {
        self.number(CUDNN_DATA_FLOAT, value.to_bits())
    }

    pub(super) fn int(&mut self, value: i64) -> Tensor {
        self.number(CUDNN_DATA_INT32, (value as i32).cast_unsigned())
    }

    /// Adds a virtual tensor.
    pub(super) fn between(&mut self, data: Data, dims: &[i64]) -> Tensor {
        let id = self.id();
        let made = packed(id, data, dims).open();
        assert_eq!(made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &[true]), SUCCESS);
        assert_eq!(made.finalize(), SUCCESS);
        Tensor { id, made, dims: dims.to_vec() }
    }

    pub(super) fn push(&mut self, operation: Descriptor) {
        assert_eq!(operation.finalize(), SUCCESS);
        self.operations.push(operation);
    }

    pub(super) fn pointwise(&mut self, mode: Mode, inputs: &[&Tensor], data: Data) -> Tensor {
        let precision = if [CUDNN_DATA_INT32, CUDNN_DATA_BOOLEAN].contains(&data) { data } else { CUDNN_DATA_FLOAT };
        let to = self.between(data, &inputs[0].dims);
        self.push(apply(pointwise(mode, precision), inputs, &to));
        to
    }

    pub(super) fn index(&mut self, of: &Tensor, axis: i64) -> Tensor {
        let to = self.between(CUDNN_DATA_INT32, &of.dims);
        let description = pointwise(Mode::CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32);
        assert_eq!(description.ints(CUDNN_ATTR_POINTWISE_AXIS, &[axis]), SUCCESS);
        self.push(apply(description, &[of], &to));
        to
    }

    pub(super) fn reduce(&mut self, by: Reduce, from: &Tensor) -> Tensor {
        let to = self.between(CUDNN_DATA_FLOAT, &[from.dims[0], from.dims[1], from.dims[2], 1]);
        self.push(reduction(by, from, &to));
        to
    }

    /// Keeps the numbers where `kept` is true; others become minus infinity.
    pub(super) fn select(&mut self, from: &Tensor, kept: &Tensor) -> Tensor {
        let hidden = self.float(f32::NEG_INFINITY);
        self.pointwise(Mode::CUDNN_POINTWISE_BINARY_SELECT, &[from, &hidden, kept], CUDNN_DATA_FLOAT)
    }
}
