//! Operations of the HAL on tensors of one device: what lowering is written in.

mod arrange;
mod combine;

use crate::element::Element;
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, broadcast_shape};
use isobit::{
    AnyDevice, AnyStorage, BackendDevice, BackendStorage, BinaryOp, Cast, CmpOp, DType, Op, Reduce, ReduceOp, Scalar,
    Shape, Src, UnaryOp,
};

/// The operations of a device.
#[derive(Debug)]
pub struct Ops {
    device: AnyDevice,
}

impl Ops {
    /// Creates the operations of a device.
    pub fn new(device: AnyDevice) -> Self {
        Self { device }
    }

    /// Uploads elements.
    ///
    /// # Errors
    /// The driver's; fails if the bytes are not those of the shape.
    pub fn upload(&self, element: Element, shape: &[usize], bytes: &[u8]) -> Lowered<Tensor> {
        let bytes = &element.held(bytes)?;
        let wanted = Shape::from(shape).elem_count() * element.dtype.size_in_bytes();
        if bytes.len() != wanted {
            return Err(Stop::Failed(format!("a {} of {shape:?} has {} bytes", element.name(), bytes.len())));
        }
        let storage = self.device.storage_from_bytes(element.dtype, bytes)?;
        Ok(Tensor::new(storage, shape).of(element.kind))
    }

    /// Uploads values, each cast to the dtype.
    ///
    /// # Errors
    /// The driver's.
    pub fn values(&self, dtype: DType, shape: &[usize], values: &[f64]) -> Lowered<Tensor> {
        let width = dtype.size_in_bytes();
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|&value| Scalar::from_f64(dtype, value).to_bits().to_le_bytes().into_iter().take(width))
            .collect();
        self.upload(dtype.into(), shape, &bytes)
    }

    /// Uploads i64 values.
    ///
    /// # Errors
    /// The driver's.
    pub fn ints(&self, shape: &[usize], values: &[i64]) -> Lowered<Tensor> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.upload(DType::I64.into(), shape, &bytes)
    }

    /// Uploads positions, as the u32 ids of indexing operations.
    ///
    /// # Errors
    /// The driver's; fails if a position does not fit a u32.
    pub fn ids(&self, shape: &[usize], positions: &[usize]) -> Lowered<Tensor> {
        let mut bytes = Vec::with_capacity(positions.len() * 4);
        for &at in positions {
            let at = u32::try_from(at).map_err(|_| Stop::Failed(format!("the position {at} does not fit a u32")))?;
            bytes.extend(at.to_le_bytes());
        }
        self.upload(DType::U32.into(), shape, &bytes)
    }

    /// Returns the values 0, 1, ... of a dtype.
    ///
    /// # Errors
    /// The driver's.
    pub fn iota(&self, dtype: DType, count: usize) -> Lowered<Tensor> {
        let values: Vec<f64> = (0..count).map(|i| i as f64).collect();
        self.values(dtype, &[count], &values)
    }

    /// Returns a tensor of one value, cast to the dtype.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&self, dtype: DType, shape: &[usize], value: f64) -> Lowered<Tensor> {
        let mut storage = self.device.zeros(&Shape::from(shape), dtype)?;
        storage.const_set(Scalar::from_f64(dtype, value), &isobit::Layout::contiguous(shape))?;
        Ok(Tensor::new(storage, shape))
    }

    /// Returns one value as a tensor of rank 0.
    ///
    /// # Errors
    /// The driver's.
    pub fn scalar(&self, dtype: DType, value: f64) -> Lowered<Tensor> {
        self.fill(dtype, &[], value)
    }

    /// Runs an operation whose result follows from the inputs.
    ///
    /// # Errors
    /// The operation's.
    pub fn apply(&self, op: &Op, inputs: &[&Tensor]) -> Lowered<Tensor> {
        let operands: Vec<_> = inputs.iter().map(|x| (x.storage(), x.layout())).collect();
        let shapes: Vec<&Shape> = inputs.iter().map(|x| x.layout().shape()).collect();
        let storage = AnyStorage::apply(op, &operands)?;
        let shape = op.result_shape(&shapes)?.unwrap_or_default();
        Ok(Tensor::new(storage, shape.dims()))
    }

    /// Runs an operation whose result may have several dtypes, such as positions, and gives it this
    /// one.
    ///
    /// # Errors
    /// The operation's.
    pub fn apply_as(&self, op: &Op, dtype: DType, inputs: &[&Tensor]) -> Lowered<Tensor> {
        let operands: Vec<_> = inputs.iter().map(|x| Src::Storage(x.storage(), x.layout())).collect();
        let shapes: Vec<&Shape> = inputs.iter().map(|x| x.layout().shape()).collect();
        let shape = op.result_shape(&shapes)?.unwrap_or_default();
        let mut storage = self.device.zeros(&shape, dtype)?;
        AnyStorage::apply_into(op, &operands, &mut storage, &isobit::Layout::contiguous(shape.dims()))?;
        Ok(Tensor::new(storage, shape.dims()))
    }

    /// Runs an operation without inputs, such as random numbers.
    ///
    /// # Errors
    /// The operation's.
    pub fn draw(&self, op: &Op, dtype: DType, shape: &[usize]) -> Lowered<Tensor> {
        let mut storage = self.device.zeros(&Shape::from(shape), dtype)?;
        AnyStorage::apply_into(op, &[], &mut storage, &isobit::Layout::contiguous(shape))?;
        Ok(Tensor::new(storage, shape))
    }

    /// Applies a function of one argument.
    ///
    /// # Errors
    /// The operation's.
    pub fn unary(&self, op: UnaryOp, x: &Tensor) -> Lowered<Tensor> {
        self.apply(&Op::Unary(op), &[x])
    }

    /// Applies a function of two arguments, which broadcast.
    ///
    /// # Errors
    /// The operation's; fails if the shapes do not fit together.
    pub fn binary(&self, op: BinaryOp, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        self.broadcasting(&Op::Binary(op), &[a, b])
    }

    /// Compares, with broadcasting; the result is boolean.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn compare(&self, op: CmpOp, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        Ok(self.broadcasting(&Op::Cmp(op), &[a, b])?.as_bool(true))
    }

    /// Selects from two tensors by a boolean one, with broadcasting.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn select(&self, condition: &Tensor, on_true: &Tensor, on_false: &Tensor) -> Lowered<Tensor> {
        let is_bool = on_true.element().is_bool();
        Ok(self.broadcasting(&Op::WhereCond, &[condition, on_true, on_false])?.as_bool(is_bool))
    }

    fn broadcasting(&self, op: &Op, inputs: &[&Tensor]) -> Lowered<Tensor> {
        let shapes: Vec<&[usize]> = inputs.iter().map(|x| x.dims()).collect();
        let shape = broadcast_shape(&shapes)?;
        let views = inputs.iter().map(|x| x.broadcast(&shape)).collect::<Lowered<Vec<_>>>()?;
        self.apply(op, &views.iter().collect::<Vec<_>>())
    }

    /// Computes `x * mul + add`.
    ///
    /// # Errors
    /// The operation's.
    pub fn affine(&self, x: &Tensor, mul: f64, add: f64) -> Lowered<Tensor> {
        self.apply(&Op::Affine(isobit::Affine::new(mul, add)), &[x])
    }

    /// Casts to a dtype, by the rules of the HAL.
    ///
    /// # Errors
    /// The operation's.
    pub fn cast(&self, x: &Tensor, dtype: DType) -> Lowered<Tensor> {
        self.cast_with(x, dtype, Cast::default())
    }

    /// Casts to a dtype with a rule of overflow.
    ///
    /// # Errors
    /// The operation's.
    pub fn cast_with(&self, x: &Tensor, dtype: DType, op: Cast) -> Lowered<Tensor> {
        if x.dtype() == dtype {
            return Ok(x.clone().as_bool(false));
        }
        Ok(Tensor::new(x.storage().to_dtype_with(x.layout(), dtype, op)?, x.dims()))
    }

    /// Reduces over dimensions, which stay with size 1.
    ///
    /// # Errors
    /// The operation's.
    pub fn reduce(&self, op: ReduceOp, x: &Tensor, dims: &[usize]) -> Lowered<Tensor> {
        self.apply(&Op::Reduce(Reduce::new(op, dims)), &[x])
    }

    /// Copies to contiguous elements, if they are not.
    ///
    /// # Errors
    /// The operation's.
    pub fn contiguous(&self, x: &Tensor) -> Lowered<Tensor> {
        if x.layout().is_contiguous() && x.layout().start_offset() == 0 && x.storage().len() == x.len() {
            return Ok(x.view(isobit::Layout::contiguous(x.dims())));
        }
        Ok(self.apply(&Op::Copy, &[x])?.of(x.element().kind))
    }

    /// Returns the bytes of the elements, in logical order.
    ///
    /// # Errors
    /// The driver's, including those of earlier work.
    pub fn bytes(&self, x: &Tensor) -> Lowered<Vec<u8>> {
        Ok(self.contiguous(x)?.storage().to_cpu_storage()?.as_bytes().to_vec())
    }

    /// Returns the elements as integers, for attributes that are values.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_ints(&self, x: &Tensor) -> Lowered<Vec<i64>> {
        let x = self.contiguous(&self.cast(x, DType::I64)?)?;
        Ok(x.storage().to_vec::<i64>()?)
    }

    /// Returns the elements as floats, for attributes that are values.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_floats(&self, x: &Tensor) -> Lowered<Vec<f64>> {
        let x = self.contiguous(&self.cast(x, DType::F64)?)?;
        Ok(x.storage().to_vec::<f64>()?)
    }

    /// Returns the only element as a float.
    ///
    /// # Errors
    /// The driver's; fails if there is not exactly one.
    pub fn to_float(&self, x: &Tensor) -> Lowered<f64> {
        match self.to_floats(x)?[..] {
            [value] => Ok(value),
            _ => Err(Stop::Failed(format!("one value was expected, not a tensor of {:?}", x.dims()))),
        }
    }

    /// Returns the only element as an integer.
    ///
    /// # Errors
    /// As [`to_float`](Self::to_float).
    pub fn to_int(&self, x: &Tensor) -> Lowered<i64> {
        match self.to_ints(x)?[..] {
            [value] => Ok(value),
            _ => Err(Stop::Failed(format!("one value was expected, not a tensor of {:?}", x.dims()))),
        }
    }
}
