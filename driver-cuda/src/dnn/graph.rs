//! Builds cuDNN's graphs: operations and the tensors between them.

use super::descriptor::Descriptor;
use cudarc::cudnn::sys::{
    self, cudnnBackendAttributeName_t::*, cudnnBackendAttributeType_t::*, cudnnBackendDescriptorType_t::*,
    cudnnDataType_t as DataType, cudnnPointwiseMode_t as Pointwise, cudnnReduceTensorOp_t as Reduction,
};
use isobit_hal::DType;
use isobit_kernels::DnnOperand;

/// A graph, and what its execution needs.
#[derive(Debug, Default)]
pub(super) struct Graph {
    operations: Vec<Descriptor>,
    tensors: i64,
    /// The ids of the operands, in the order in which they were added.
    pub operands: Vec<i64>,
    /// The ids of the numbers and their bits.
    pub numbers: Vec<(i64, u32)>,
}

/// A tensor of a graph.
#[derive(Debug)]
pub(super) struct Tensor {
    pub descriptor: Descriptor,
    dims: [i64; 4],
}

/// Returns the data type of elements.
pub(super) fn data_type(dtype: DType) -> Result<DataType, String> {
    Ok(match dtype {
        DType::F16 => DataType::CUDNN_DATA_HALF,
        DType::BF16 => DataType::CUDNN_DATA_BFLOAT16,
        DType::F32 => DataType::CUDNN_DATA_FLOAT,
        DType::F64 => DataType::CUDNN_DATA_DOUBLE,
        other => return Err(format!("is not used for {other}")),
    })
}

impl Graph {
    fn tensor(
        &mut self,
        data: DataType,
        dims: &[i64],
        strides: &[i64],
        set: impl FnOnce(&Descriptor) -> Result<(), String>,
    ) -> Result<Descriptor, String> {
        self.tensors += 1;
        let descriptor = Descriptor::new(CUDNN_BACKEND_TENSOR_DESCRIPTOR)?;
        // SAFETY: this is the type of the attribute.
        unsafe { descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &[data])? };
        descriptor.set_ints(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)?;
        descriptor.set_ints(CUDNN_ATTR_TENSOR_STRIDES, strides)?;
        descriptor.set_ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, &[self.tensors])?;
        set(&descriptor)?;
        descriptor.finalize()?;
        Ok(descriptor)
    }

    /// Adds a tensor in memory.
    pub fn in_memory(
        &mut self,
        data: DataType,
        dims: &[i32],
        strides: &[i32],
        alignment: u32,
    ) -> Result<Descriptor, String> {
        let [dims, strides] = [dims, strides].map(|all| all.iter().copied().map(i64::from).collect::<Vec<_>>());
        let aligned = [i64::from(alignment)];
        let tensor = self.tensor(data, &dims, &strides, |d| d.set_ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &aligned))?;
        self.operands.push(self.tensors);
        Ok(tensor)
    }

    /// Adds an operand of attention, a tensor in memory.
    pub fn operand(&mut self, data: DataType, operand: &DnnOperand) -> Result<Tensor, String> {
        let descriptor = self.in_memory(data, &operand.dims, &operand.strides, operand.alignment)?;
        Ok(Tensor { descriptor, dims: operand.dims.map(i64::from) })
    }

    /// Adds a number of 32 bits, whose value comes from the host.
    fn number(&mut self, data: DataType, bits: u32) -> Result<Tensor, String> {
        let descriptor = self.tensor(data, &[1; 4], &[1; 4], |descriptor| {
            // SAFETY: this is the type of the attribute.
            unsafe { descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &[true])? };
            descriptor.set_ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[4])
        })?;
        self.numbers.push((self.tensors, bits));
        Ok(Tensor { descriptor, dims: [1; 4] })
    }

    pub fn float(&mut self, value: f32) -> Result<Tensor, String> {
        self.number(DataType::CUDNN_DATA_FLOAT, value.to_bits())
    }

    pub fn int(&mut self, value: i32) -> Result<Tensor, String> {
        self.number(DataType::CUDNN_DATA_INT32, value.cast_unsigned())
    }

    /// Adds a contiguous tensor between two operations, which need not exist in memory.
    fn between(&mut self, data: DataType, dims: [i64; 4]) -> Result<Tensor, String> {
        let strides = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1];
        let descriptor = self.tensor(data, &dims, &strides, |descriptor| {
            // SAFETY: this is the type of the attribute.
            unsafe { descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &[true])? };
            descriptor.set_ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[16])
        })?;
        Ok(Tensor { descriptor, dims })
    }

    /// Adds an operation that is described whole.
    pub fn push(&mut self, operation: Descriptor) -> Result<(), String> {
        operation.finalize()?;
        self.operations.push(operation);
        Ok(())
    }

    /// Adds an operation on each element of one or two tensors, or on two and the one that selects
    /// from them. Floats are computed in f32, whatever they are kept in.
    pub fn pointwise(&mut self, mode: Pointwise, inputs: &[&Tensor], data: DataType) -> Result<Tensor, String> {
        let description = pointwise(mode, data)?;
        description.finalize()?;
        self.apply(description, inputs, data)
    }

    /// Adds the index of each element along an axis of a tensor, as i32.
    pub fn index(&mut self, of: &Tensor, axis: i64) -> Result<Tensor, String> {
        let description = pointwise(Pointwise::CUDNN_POINTWISE_GEN_INDEX, DataType::CUDNN_DATA_INT32)?;
        description.set_ints(CUDNN_ATTR_POINTWISE_AXIS, &[axis])?;
        description.finalize()?;
        self.apply(description, &[of], DataType::CUDNN_DATA_INT32)
    }

    fn apply(&mut self, description: Descriptor, inputs: &[&Tensor], data: DataType) -> Result<Tensor, String> {
        let result = self.between(data, inputs[0].dims)?;
        let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, &description)?;
        let names = [
            CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
            CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
            CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
        ];
        for (name, input) in names.into_iter().zip(inputs) {
            operation.set_descriptor(name, &input.descriptor)?;
        }
        operation.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &result.descriptor)?;
        self.push(operation)?;
        Ok(result)
    }

    /// Adds a reduction along the last dimension, in f32.
    pub fn reduce(&mut self, by: Reduction, from: &Tensor) -> Result<Tensor, String> {
        let description = Descriptor::new(CUDNN_BACKEND_REDUCTION_DESCRIPTOR)?;
        // SAFETY: these are the types of the attributes.
        unsafe {
            description.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &[by])?;
            let data = [DataType::CUDNN_DATA_FLOAT];
            description.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &data)?;
        }
        description.finalize()?;
        let [a, b, c, _] = from.dims;
        let result = self.between(DataType::CUDNN_DATA_FLOAT, [a, b, c, 1])?;
        let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, &description)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, &from.descriptor)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, &result.descriptor)?;
        self.push(operation)?;
        Ok(result)
    }

    /// Adds a product of matrices with sums in f32, into `to`, else into a tensor between
    /// operations. `sizes` are tensors of the sizes of m, n and k in each batch entry, where these
    /// are not those of the operands.
    pub fn matmul(
        &mut self,
        [a, b]: [&Tensor; 2],
        sizes: [Option<&Tensor>; 3],
        to: Option<Tensor>,
    ) -> Result<Tensor, String> {
        let description = Descriptor::new(CUDNN_BACKEND_MATMUL_DESCRIPTOR)?;
        let data = [DataType::CUDNN_DATA_FLOAT];
        // SAFETY: this is the type of the attribute.
        unsafe { description.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &data)? };
        description.finalize()?;
        let [batch, heads, m, _] = a.dims;
        let result = match to {
            Some(tensor) => tensor,
            None => self.between(DataType::CUDNN_DATA_FLOAT, [batch, heads, m, b.dims[3]])?,
        };
        let operation = Descriptor::new(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, &description)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, &a.descriptor)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, &b.descriptor)?;
        operation.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, &result.descriptor)?;
        let names = [
            CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
            CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
            CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC,
        ];
        for (name, size) in names.into_iter().zip(sizes) {
            size.map_or(Ok(()), |size| operation.set_descriptor(name, &size.descriptor))?;
        }
        self.push(operation)?;
        Ok(result)
    }

    /// Returns the graph as cuDNN sees it.
    pub fn finish(&self, handle: sys::cudnnHandle_t) -> Result<Descriptor, String> {
        let graph = Descriptor::new(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)?;
        graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, &self.operations)?;
        // SAFETY: this is the type of the attribute.
        unsafe { graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &[handle])? };
        graph.finalize()?;
        Ok(graph)
    }
}

/// Returns the description of an operation on elements, which is not finalised.
fn pointwise(mode: Pointwise, data: DataType) -> Result<Descriptor, String> {
    let computed = match data {
        DataType::CUDNN_DATA_INT32 | DataType::CUDNN_DATA_BOOLEAN => data,
        _ => DataType::CUDNN_DATA_FLOAT,
    };
    let description = Descriptor::new(CUDNN_BACKEND_POINTWISE_DESCRIPTOR)?;
    // SAFETY: these are the types of the attributes.
    unsafe {
        description.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &[mode])?;
        description.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &[computed])?;
    }
    Ok(description)
}
