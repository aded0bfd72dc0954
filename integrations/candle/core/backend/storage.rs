//! candle's `CudaStorage` on an Isobit storage: each method names the operation of the HAL and
//! converts the layouts.

use super::isobit::{
    self, AnyStorage, BackendStorage as _, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Copy2d, Op, Pool2d,
    Reduce, RopeForm, UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d,
};
use super::{convert, glue, CudaDevice};
use crate::op::{BinaryOpT, CmpOp, ReduceOp, UnaryOpT};
use crate::{conv, CpuStorage, DType, Layout, Result, Shape};

/// Data on a device of Isobit.
#[derive(Debug)]
pub struct CudaStorage {
    storage: AnyStorage,
    dtype: DType,
    device: CudaDevice,
}

impl CudaStorage {
    pub(crate) fn new(storage: AnyStorage, device: &CudaDevice) -> Result<Self> {
        let dtype = convert::to_candle(storage.dtype())?;
        Ok(Self { storage, dtype, device: device.clone() })
    }

    /// Wraps a storage that the program made itself. `device` is where candle shall count it;
    /// operations on the storage run there.
    ///
    /// # Errors
    /// If candle has no such dtype, or if the storage is on another device.
    pub fn from_isobit(storage: AnyStorage, device: &CudaDevice) -> Result<Self> {
        use isobit::BackendDevice as _;
        if !storage.device().same_device(device.isobit()) {
            let (from, to) = (storage.device().location(), device.isobit().location());
            let message = format!("the storage is on {from}, not on {to}: copy it with `to_device` first");
            return Err(isobit::Error::new(isobit::ErrorKind::DeviceMismatch, message).into());
        }
        Self::new(storage, device)
    }

    /// Returns the Isobit storage: for kernels of your own and operations that candle lacks.
    pub fn isobit(&self) -> &AnyStorage {
        &self.storage
    }

    /// Returns the Isobit storage for writing.
    pub fn isobit_mut(&mut self) -> &mut AnyStorage {
        &mut self.storage
    }

    /// Runs any operation of Isobit and returns its result, which is contiguous, with its shape.
    /// The inputs are in the order that the operation documents.
    ///
    /// # Errors
    /// As Isobit's `BackendStorage::apply`.
    pub fn apply(op: &Op, inputs: &[(&Self, &Layout)]) -> Result<(Self, Shape)> {
        let layouts = inputs.iter().map(|(_, l)| convert::layout(l)).collect::<Result<Vec<_>>>()?;
        let Some((first, _)) = inputs.first() else {
            let message = format!("{op} has no input, so it has no device: use Isobit's `apply_into`");
            return Err(isobit::Error::new(isobit::ErrorKind::InvalidArgument, message).into());
        };
        let shapes: Vec<&isobit::Shape> = layouts.iter().map(|l| l.shape()).collect();
        let operands: Vec<_> = inputs.iter().zip(&layouts).map(|((s, _), l)| (&s.storage, l)).collect();
        let storage = first.device.run(|| AnyStorage::apply(op, &operands))?;
        // `apply` has succeeded, so the shapes determine the result.
        let shape = op.result_shape(&shapes)?.unwrap_or_default();
        Ok((Self::new(storage, &first.device)?, shape.dims().into()))
    }

    /// Rotates `x` by the first rows of tables that may be longer than its sequence.
    ///
    /// # Errors
    /// As Isobit's `BackendStorage::rope`.
    pub fn rope(
        form: RopeForm,
        (x, layout): (&Self, &Layout),
        (cos, cos_layout): (&Self, &Layout),
        (sin, sin_layout): (&Self, &Layout),
    ) -> Result<(Self, Shape)> {
        let shape = layout.shape().clone();
        let [layout, cos_layout, sin_layout] =
            [convert::layout(layout)?, convert::layout(cos_layout)?, convert::layout(sin_layout)?];
        let (cos, sin) = ((&cos.storage, &cos_layout), (&sin.storage, &sin_layout));
        Ok((x.make(|s| glue::rope(form, (s, &layout), cos, sin))?, shape))
    }

    /// Copies the storage to a device, which may be this one.
    ///
    /// # Errors
    /// `OutOfMemory`, and the errors of the drivers.
    pub fn transfer_to_device(&self, device: &CudaDevice) -> Result<Self> {
        Self::new(device.run(|| self.storage.to_device(device.isobit()))?, device)
    }

    /// Runs what makes a storage on the stream of this storage's device.
    fn make(&self, f: impl FnOnce(&AnyStorage) -> isobit::Result<AnyStorage>) -> Result<Self> {
        Self::new(self.device.run(|| f(&self.storage))?, &self.device)
    }

    /// Runs an operation with one input.
    fn one(&self, op: Op, layout: &Layout) -> Result<Self> {
        let layout = convert::layout(layout)?;
        self.make(|s| AnyStorage::apply(&op, &[(s, &layout)]))
    }

    /// Runs an operation with two inputs.
    fn two(&self, op: Op, layout: &Layout, rhs: &Self, rhs_layout: &Layout) -> Result<Self> {
        let (layout, rhs_layout) = (convert::layout(layout)?, convert::layout(rhs_layout)?);
        self.make(|s| AnyStorage::apply(&op, &[(s, &layout), (&rhs.storage, &rhs_layout)]))
    }

    /// Runs an operation that picks elements by ids.
    fn by_ids(&self, op: Op, layout: &Layout, ids: &Self, ids_layout: &Layout) -> Result<Self> {
        let (layout, ids) = (convert::layout(layout)?, Ids::of(ids, ids_layout)?);
        self.make(|s| AnyStorage::apply(&op, &[(s, &layout), ids.operand()]))
    }

    /// Runs an operation that changes this storage by ids.
    fn change_by_ids(
        &mut self,
        op: Op,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
    ) -> Result<()> {
        use isobit::Src;
        let (layout, src_layout) = (convert::layout(layout)?, convert::layout(src_layout)?);
        let ids = Ids::of(ids, ids_layout)?;
        let (id, id_layout) = ids.operand();
        let inputs = [Src::InPlace, Src::Storage(id, id_layout), Src::Storage(&src.storage, &src_layout)];
        let (device, storage) = (self.device.clone(), &mut self.storage);
        device.run(|| AnyStorage::apply_into(&op, &inputs, storage, &layout))
    }
}

/// Ids with the padding that Isobit knows.
struct Ids<'a> {
    given: &'a AnyStorage,
    converted: Option<AnyStorage>,
    layout: isobit::Layout,
}

impl<'a> Ids<'a> {
    fn of(ids: &'a CudaStorage, layout: &Layout) -> Result<Self> {
        let layout = convert::layout(layout)?;
        let converted = ids.device.run(|| glue::padded_ids(&ids.storage, &layout))?;
        let layout = if converted.is_some() { isobit::Layout::contiguous(layout.shape()) } else { layout };
        Ok(Self { given: &ids.storage, converted, layout })
    }

    fn operand(&self) -> (&AnyStorage, &isobit::Layout) {
        (self.converted.as_ref().unwrap_or(self.given), &self.layout)
    }
}

impl crate::backend::BackendStorage for CudaStorage {
    type Device = CudaDevice;

    /// Copies the whole buffer: candle keeps the layout.
    fn try_clone(&self, _: &Layout) -> Result<Self> {
        self.make(|s| s.try_clone(&isobit::Layout::contiguous(s.len())))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> &CudaDevice {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        convert::download(&self.storage)
    }

    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        self.one(Op::Affine(isobit::Affine::new(mul, add)), layout)
    }

    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        self.one(Op::Powf(isobit::Powf::new(exponent)), layout)
    }

    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        self.one(Op::Elu(isobit::Elu::new(alpha)), layout)
    }

    fn reduce_op(&self, op: ReduceOp, layout: &Layout, dims: &[usize]) -> Result<Self> {
        self.one(Op::Reduce(Reduce::new(glue::reduce_op(op.name())?, dims)), layout)
    }

    fn cmp(&self, op: CmpOp, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        let op = match op {
            CmpOp::Eq => isobit::CmpOp::Eq,
            CmpOp::Ne => isobit::CmpOp::Ne,
            CmpOp::Le => isobit::CmpOp::Le,
            CmpOp::Ge => isobit::CmpOp::Ge,
            CmpOp::Lt => isobit::CmpOp::Lt,
            CmpOp::Gt => isobit::CmpOp::Gt,
        };
        self.two(Op::Cmp(op), layout, rhs, rhs_layout)
    }

    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
        let (layout, dtype) = (convert::layout(layout)?, convert::to_isobit(dtype)?);
        self.make(|s| s.to_dtype(&layout, dtype))
    }

    fn unary_impl<B: UnaryOpT>(&self, layout: &Layout) -> Result<Self> {
        self.one(Op::Unary(glue::unary_op(B::NAME)?), layout)
    }

    fn binary_impl<B: BinaryOpT>(&self, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        self.two(Op::Binary(glue::binary_op(B::NAME)?), layout, rhs, rhs_layout)
    }

    fn where_cond(
        &self,
        layout: &Layout,
        on_true: &Self,
        true_layout: &Layout,
        on_false: &Self,
        false_layout: &Layout,
    ) -> Result<Self> {
        let inputs = [(self, layout), (on_true, true_layout), (on_false, false_layout)];
        Ok(Self::apply(&Op::WhereCond, &inputs)?.0)
    }

    fn conv1d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, p: &conv::ParamsConv1D) -> Result<Self> {
        let op = Conv1d::default().with_stride([p.stride]).with_padding([p.padding]).with_dilation([p.dilation]);
        self.two(Op::Conv1d(op), layout, kernel, kernel_layout)
    }

    fn conv_transpose1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &conv::ParamsConvTranspose1D,
    ) -> Result<Self> {
        let op = ConvTranspose1d::default().with_stride([p.stride]).with_padding([p.padding]);
        let op = op.with_output_padding([p.output_padding]).with_dilation([p.dilation]);
        self.two(Op::ConvTranspose1d(op), layout, kernel, kernel_layout)
    }

    fn conv2d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, p: &conv::ParamsConv2D) -> Result<Self> {
        let op = Conv2d::default().with_stride([p.stride; 2]).with_padding([p.padding; 2]);
        self.two(Op::Conv2d(op.with_dilation([p.dilation; 2])), layout, kernel, kernel_layout)
    }

    fn conv_transpose2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &conv::ParamsConvTranspose2D,
    ) -> Result<Self> {
        let op = ConvTranspose2d::default().with_stride([p.stride; 2]).with_padding([p.padding; 2]);
        let op = op.with_output_padding([p.output_padding; 2]).with_dilation([p.dilation; 2]);
        self.two(Op::ConvTranspose2d(op), layout, kernel, kernel_layout)
    }

    fn avg_pool2d(&self, layout: &Layout, kernel: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        let (layout, op) = (convert::layout(layout)?, windows(kernel, stride));
        self.make(|s| glue::avg_pool2d(s, &layout, op))
    }

    fn max_pool2d(&self, layout: &Layout, kernel: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        self.one(Op::MaxPool2d(windows(kernel, stride)), layout)
    }

    fn upsample_nearest1d(&self, layout: &Layout, size: usize) -> Result<Self> {
        self.one(Op::UpsampleNearest1d(UpsampleNearest1d::new([size])), layout)
    }

    fn upsample_nearest2d(&self, layout: &Layout, height: usize, width: usize) -> Result<Self> {
        self.one(Op::UpsampleNearest2d(UpsampleNearest2d::new([height, width])), layout)
    }

    fn upsample_bilinear2d(
        &self,
        layout: &Layout,
        height: usize,
        width: usize,
        align_corners: bool,
        scale_h: Option<f64>,
        scale_w: Option<f64>,
    ) -> Result<Self> {
        let mut op = UpsampleBilinear2d::new([height, width]).with_align_corners(align_corners);
        op.scale = [scale_h, scale_w];
        self.one(Op::UpsampleBilinear2d(op), layout)
    }

    fn gather(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, dim: usize) -> Result<Self> {
        self.by_ids(Op::Gather(isobit::Indexing::new(dim)), layout, ids, ids_layout)
    }

    fn index_select(&self, ids: &Self, layout: &Layout, ids_layout: &Layout, dim: usize) -> Result<Self> {
        self.by_ids(Op::IndexSelect(isobit::Indexing::new(dim)), layout, ids, ids_layout)
    }

    fn scatter_set(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<()> {
        self.change_by_ids(Op::ScatterSet(isobit::Indexing::new(dim)), layout, ids, ids_layout, src, src_layout)
    }

    fn scatter_add_set(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<()> {
        self.change_by_ids(Op::ScatterAdd(isobit::Indexing::new(dim)), layout, ids, ids_layout, src, src_layout)
    }

    fn index_add(
        &self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<Self> {
        let (layout, src_layout) = (convert::layout(layout)?, convert::layout(src_layout)?);
        let ids = Ids::of(ids, ids_layout)?;
        let inputs = [ids.operand(), (&src.storage, &src_layout)];
        self.make(|s| AnyStorage::apply(&Op::IndexAdd(isobit::Indexing::new(dim)), &[(s, &layout), inputs[0], inputs[1]]))
    }

    fn matmul(
        &self,
        rhs: &Self,
        _: (usize, usize, usize, usize),
        layout: &Layout,
        rhs_layout: &Layout,
    ) -> Result<Self> {
        let (layout, rhs_layout) = (convert::layout(layout)?, convert::layout(rhs_layout)?);
        self.make(|s| glue::matmul(s, &layout, &rhs.storage, &rhs_layout))
    }

    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, layout: &Layout) -> Result<()> {
        let layout = convert::layout(layout)?;
        self.device.run(|| self.storage.copy_strided_src(&mut dst.storage, dst_offset, &layout))
    }

    fn copy2d(
        &self,
        dst: &mut Self,
        rows: usize,
        cols: usize,
        src_stride: usize,
        dst_stride: usize,
        src_offset: usize,
        dst_offset: usize,
    ) -> Result<()> {
        let copy = Copy2d::new(rows, cols).with_strides(src_stride, dst_stride).with_offsets(src_offset, dst_offset);
        self.device.run(|| self.storage.copy2d(&mut dst.storage, copy))
    }

    fn const_set(&mut self, value: crate::scalar::Scalar, layout: &Layout) -> Result<()> {
        let layout = convert::layout(layout)?;
        let (device, storage) = (self.device.clone(), &mut self.storage);
        device.run(|| storage.const_set(convert::scalar(value), &layout))
    }
}

fn windows((kernel_h, kernel_w): (usize, usize), (stride_h, stride_w): (usize, usize)) -> Pool2d {
    Pool2d::new([kernel_h, kernel_w]).with_stride([stride_h, stride_w])
}
