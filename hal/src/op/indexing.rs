//! Parameters of operations that read positions from a tensor of ids, and the report of an id that
//! is out of range, which all drivers word alike.

use super::{Op, ScatterOp};
use crate::{Error, ErrorKind};

/// The dimension that ids index, and whether they may count from its end.
///
/// An id in `0..size` is a position in the dimension of that size. The maximum of u32, i32 or i64
/// is padding. With [`with_negative_ids`](Self::with_negative_ids), an id in `-size..0` is a
/// position counted from the end, as in NumPy and ONNX. All others are out of range.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Indexing, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0])?;
/// let ids = CpuDevice.storage_from_slice(&[-1i64, 0])?;
/// let op = Op::IndexSelect(Indexing::new(0).with_negative_ids());
/// let (three, two) = (Layout::contiguous(3), Layout::contiguous(2));
/// let y = CpuStorage::apply(&op, &[(&x, &three), (&ids, &two)])?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 1.0]);
/// assert!(x.index_select(&three, &ids, &two, 0).is_err()); // -1 is out of range otherwise
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indexing {
    /// The dimension that ids index.
    pub dim: usize,
    /// Whether negative ids count from the end of the dimension; otherwise they are out of range.
    pub negative_ids: bool,
}

impl Indexing {
    /// Indexes a dimension; negative ids are out of range.
    pub const fn new(dim: usize) -> Self {
        Self { dim, negative_ids: false }
    }

    /// Lets negative ids count from the end.
    pub const fn with_negative_ids(mut self) -> Self {
        self.negative_ids = true;
        self
    }
}

/// Combines elements of a source with those at positions along a dimension: PyTorch's
/// `scatter_reduce` with `include_self=True`. [`ScatterOp`] defines how two elements combine. It
/// happens in the compute type, in row-major order of the source, and the result is rounded once.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, ScatterOp, ScatterReduce};
/// let mut x = CpuDevice.storage_from_slice(&[1.0f32, 5.0])?;
/// let ids = CpuDevice.storage_from_slice(&[0u32, 1, 0])?;
/// let src = CpuDevice.storage_from_slice(&[3.0f32, 4.0, 2.0])?;
/// let (two, three) = (Layout::contiguous(2), Layout::contiguous(3));
/// let op = ScatterReduce::new(ScatterOp::Amax, 0);
/// x.scatter_reduce(&two, &ids, &three, &src, &three, op)?;
/// assert_eq!(x.to_vec::<f32>()?, [3.0, 5.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScatterReduce {
    /// What happens at each position. [`ScatterOp::Set`] and [`ScatterOp::Add`] make it the same
    /// operation as [`Op::ScatterSet`] and [`Op::ScatterAdd`].
    pub op: ScatterOp,
    /// The dimension that ids index.
    pub dim: usize,
    /// Whether negative ids count from the end; see [`Indexing`].
    pub negative_ids: bool,
}

impl ScatterReduce {
    /// Combines elements at positions along a dimension; negative ids are out of range.
    pub const fn new(op: ScatterOp, dim: usize) -> Self {
        Self { op, dim, negative_ids: false }
    }

    /// Lets negative ids count from the end.
    pub const fn with_negative_ids(mut self) -> Self {
        self.negative_ids = true;
        self
    }
}

/// Takes slices at positions that tuples of ids give: ONNX's `GatherND`. A tuple is a row of the
/// last dimension of the ids, and indexes the first dimensions of the source, one after the other.
///
/// With shapes `[batch.., sizes.., slice..]` of the source and `[batch.., tuples.., k]` of the ids,
/// for k `sizes`, the result has the shape `[batch.., tuples.., slice..]`. Ids are those of
/// [`Indexing`]; a tuple with an id that is padding or out of range gives zeros.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, GatherNd, Layout};
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
/// let l = Layout::contiguous((2, 2));
/// let ids = CpuDevice.storage_from_slice(&[1i64, 0, 0, -1])?; // row 1, column 0, and so on
/// let y = x.gather_nd(&l, &ids, &l, GatherNd::new(0).with_negative_ids())?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 2.0]);
/// // The first dimension is shared: each row takes elements of its own.
/// let columns = CpuDevice.storage_from_slice(&[1u32, 0])?;
/// let y = x.gather_nd(&l, &columns, &Layout::contiguous((2, 1)), GatherNd::new(1))?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GatherNd {
    /// The number of leading dimensions that source and ids share, and that ids do not index.
    pub batch_dims: usize,
    /// Whether negative ids count from the end; see [`Indexing`].
    pub negative_ids: bool,
}

impl GatherNd {
    /// Takes slices after so many shared dimensions; negative ids are out of range.
    pub const fn new(batch_dims: usize) -> Self {
        Self { batch_dims, negative_ids: false }
    }

    /// Lets negative ids count from the end.
    pub const fn with_negative_ids(mut self) -> Self {
        self.negative_ids = true;
        self
    }
}

/// Writes slices to positions that tuples of ids give, or combines them with what is there: ONNX's
/// `ScatterND`. A tuple is a row of the last dimension of the ids, and indexes the first dimensions
/// of the tensor, one after the other.
///
/// With shapes `[sizes.., slice..]` of the tensor and `[tuples.., k]` of the ids, for k `sizes`,
/// the source has the shape `[tuples.., slice..]`. Ids are those of [`Indexing`]; the slice of a
/// tuple with an id that is padding or out of range is skipped.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, ScatterNd, ScatterOp};
/// let mut x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
/// let ids = CpuDevice.storage_from_slice(&[1u32, 0, 1, 0])?; // row 1, column 0, twice
/// let src = CpuDevice.storage_from_slice(&[10i32, 20])?;
/// let (l, two) = (Layout::contiguous((2, 2)), Layout::contiguous(2));
/// x.scatter_nd(&l, &ids, &l, &src, &two, ScatterNd::new(ScatterOp::Add))?;
/// assert_eq!(x.to_vec::<i32>()?, [1, 2, 33, 4]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScatterNd {
    /// What happens at each position.
    pub op: ScatterOp,
    /// Whether negative ids count from the end; see [`Indexing`].
    pub negative_ids: bool,
}

impl ScatterNd {
    /// Writes or combines slices; negative ids are out of range.
    pub const fn new(op: ScatterOp) -> Self {
        Self { op, negative_ids: false }
    }

    /// Lets negative ids count from the end.
    pub const fn with_negative_ids(mut self) -> Self {
        self.negative_ids = true;
        self
    }
}

impl Op {
    /// Returns what a scatter does at each position; `None` for other operations.
    pub const fn scatter_op(&self) -> Option<ScatterOp> {
        match self {
            Op::ScatterSet(_) => Some(ScatterOp::Set),
            Op::ScatterAdd(_) | Op::IndexAdd(_) => Some(ScatterOp::Add),
            Op::ScatterReduce(p) => Some(p.op),
            Op::ScatterNd(p) => Some(p.op),
            _ => None,
        }
    }

    /// Returns the dimension that single ids index, and how they count; `None` for operations
    /// without ids and for those with tuples of them.
    pub const fn indexing(&self) -> Option<Indexing> {
        match *self {
            Op::Gather(p) | Op::IndexSelect(p) | Op::ScatterSet(p) | Op::ScatterAdd(p) | Op::IndexAdd(p) => Some(p),
            Op::ScatterReduce(p) => Some(Indexing { dim: p.dim, negative_ids: p.negative_ids }),
            _ => None,
        }
    }

    /// Whether negative ids count from the end.
    pub const fn has_negative_ids(&self) -> bool {
        match self {
            Op::GatherNd(p) => p.negative_ids,
            Op::ScatterNd(p) => p.negative_ids,
            _ => matches!(self.indexing(), Some(Indexing { negative_ids: true, .. })),
        }
    }

    /// Returns the error for an id out of range: the one at number `place` of the ids of shape
    /// `ids`, in row-major order. `tensor` is the shape of the tensor that they index.
    pub fn id_out_of_range(&self, id: i64, place: usize, ids: &[usize], tensor: &[usize]) -> Error {
        let (mut at, mut rest) = (vec![0; ids.len()], place);
        for (index, &size) in at.iter_mut().zip(ids).rev() {
            (*index, rest) = (rest % size.max(1), rest / size.max(1));
        }
        let component = at.last().copied().unwrap_or(0);
        let dim = match self {
            Op::GatherNd(p) => p.batch_dims + component,
            Op::ScatterNd(_) => component,
            _ => self.indexing().map_or(0, |p| p.dim),
        };
        let size = tensor.get(dim).copied().unwrap_or(0);
        let from_end = match id {
            ..0 if !self.has_negative_ids() => "; negative ids count from the end if the call allows them",
            _ => "",
        };
        let message = format!(
            "{self}: the id {id} at {at:?} of the ids lies outside dimension {dim}, which has size {size}; what it names was skipped, \
             the rest was processed. u32::MAX, i32::MAX and i64::MAX mark elements that are skipped without an error{from_end}"
        );
        Error::new(ErrorKind::IndexOutOfRange, message).with_op(self)
    }
}
