//! A convolution with its types: the common form of both cuDNN APIs.

use crate::status::{BAD_PARAM, DATA_TYPE, NOT_SUPPORTED, Outcome, SHAPE, ensure, fail};
use isobit_simgpu_math::convolution::{Convolution, Pass, SPATIAL, Tensor, Window};
use std::ffi::c_int;

/// `CUDNN_DATA_FLOAT`.
pub const FLOAT: c_int = 0;
/// `CUDNN_DATA_DOUBLE`.
pub const DOUBLE: c_int = 1;
/// `CUDNN_DATA_HALF`.
pub const HALF: c_int = 2;
/// `CUDNN_DATA_INT32`.
pub const INT32: c_int = 4;
/// `CUDNN_DATA_BFLOAT16`.
pub const BFLOAT16: c_int = 9;
/// `CUDNN_DATA_BOOLEAN`.
pub const BOOLEAN: c_int = 11;

/// Returns the bytes per element of a `cudnnDataType_t`.
pub(crate) fn size_of_data(data_type: c_int) -> Outcome<i64> {
    match data_type {
        FLOAT | INT32 => Ok(4),
        DOUBLE | 10 => Ok(8),
        HALF | BFLOAT16 => Ok(2),
        3 | 6 | BOOLEAN | 12 | 13 => Ok(1),
        5 | 7 | 8 => fail(NOT_SUPPORTED, "a vector data type, which only releases before 9 have"),
        other => fail(BAD_PARAM, format!("unknown data type: {other}")),
    }
}

/// A tensor as its descriptor gives it: sizes and strides of samples (or filters), channels and the
/// spatial dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) data_type: c_int,
    pub(crate) dims: Vec<i64>,
    pub(crate) strides: Vec<i64>,
}

/// A window as its descriptor gives it, along each spatial dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) before: Vec<i64>,
    pub(crate) after: Vec<i64>,
    pub(crate) stride: Vec<i64>,
    pub(crate) dilation: Vec<i64>,
    pub(crate) is_flipped: bool,
}

/// A convolution and the types of its computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) convolution: Convolution,
    /// The types of the operands, in the order of the convolution's tensors.
    pub(crate) data_types: [c_int; 3],
    /// The type of the sums.
    pub(crate) compute_type: c_int,
    /// The number of spatial dimensions in the descriptor.
    pub(crate) spatial: usize,
}

/// Expands `from` to `N` values by inserting `fill` after the first `kept` values. The values must
/// not be negative.
fn spread<const N: usize>(from: &[i64], kept: usize, fill: usize) -> Outcome<[usize; N]> {
    let mut to = [fill; N];
    for (i, &n) in from.iter().enumerate() {
        let at = if i < kept { i } else { i + N - from.len() };
        to[at] = usize::try_from(n).or_else(|_| fail(BAD_PARAM, format!("invalid size or step {n}")))?;
    }
    Ok(to)
}

impl Described {
    fn tensor(&self) -> Outcome<Tensor> {
        // The stride of a missing dimension is never used: the dimension has one index.
        let tensor = Tensor { dims: spread(&self.dims, 2, 1)?, strides: spread(&self.strides, 2, 0)? };
        ensure(tensor.extent().is_some(), SHAPE, || "the tensor exceeds the address space".into())?;
        ensure(tensor.is_distinct(), BAD_PARAM, || "elements of the tensor overlap".into())?;
        Ok(tensor)
    }
}

impl Steps {
    fn window(&self, groups: usize) -> Outcome<Window> {
        let (before, after): ([usize; SPATIAL], [usize; SPATIAL]) =
            (spread(&self.before, 0, 0)?, spread(&self.after, 0, 0)?);
        Ok(Window {
            padding: std::array::from_fn(|d| [before[d], after[d]]),
            stride: spread(&self.stride, 0, 1)?,
            dilation: spread(&self.dilation, 0, 1)?,
            groups,
            is_flipped: self.is_flipped,
        })
    }
}

impl Problem {
    /// Creates a problem. The operands are the convolution's input, filter and result, or their
    /// gradients. Without a number of groups, the channel counts determine it.
    pub(crate) fn new(
        pass: Pass,
        steps: &Steps,
        operands: [&Described; 3],
        compute_type: c_int,
        groups: Option<usize>,
    ) -> Outcome<Self> {
        let spatial = steps.stride.len();
        let rank = spatial + 2;
        ensure(operands.iter().all(|t| t.dims.len() == rank && t.strides.len() == rank), BAD_PARAM, || {
            format!("a convolution with {spatial} spatial dimensions does not fit tensors of rank {rank}")
        })?;
        ensure((1..=SPATIAL).contains(&spatial), SHAPE, || format!("unsupported: {spatial} spatial dimensions"))?;
        let [x, w, y] = operands.map(Described::tensor);
        let tensors = [x?, w?, y?];
        let groups = groups.unwrap_or(tensors[0].dims[1] / tensors[1].dims[1].max(1));
        let convolution = Convolution { pass, window: steps.window(groups)?, tensors };
        ensure(convolution.is_valid(), BAD_PARAM, || {
            let dims = operands.map(|t| &t.dims);
            format!("tensors of sizes {dims:?} do not fit a convolution with {:?}", convolution.window)
        })?;
        ensure(!tensors[1].has_gaps(), BAD_PARAM, || "the filter has gaps between its elements".into())?;
        Ok(Self { convolution, data_types: operands.map(|t| t.data_type), compute_type, spatial })
    }

    /// Fails if no engine computes the problem.
    pub(crate) fn check_supported(&self) -> Outcome {
        let types = (self.data_types[0], self.compute_type);
        let known = [(FLOAT, FLOAT), (DOUBLE, DOUBLE), (HALF, FLOAT), (HALF, HALF), (BFLOAT16, FLOAT)];
        let one_type = self.data_types == [types.0; 3];
        ensure(one_type && known.contains(&types), DATA_TYPE, || {
            format!("no engine for operands of types {:?} with compute type {}", self.data_types, self.compute_type)
        })?;
        ensure(self.spatial >= 2, SHAPE, || "no engine supports one spatial dimension: describe it as two".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Failure;

    fn packed(dims: &[i64]) -> Described {
        let mut strides = vec![1; dims.len()];
        for d in (1..dims.len()).rev() {
            strides[d - 1] = strides[d] * dims[d];
        }
        Described { data_type: FLOAT, dims: dims.to_vec(), strides }
    }

    fn steps(spatial: usize) -> Steps {
        let (zero, one) = (vec![0; spatial], vec![1; spatial]);
        Steps { before: zero.clone(), after: zero, stride: one.clone(), dilation: one, is_flipped: false }
    }

    fn problem(x: &Described, w: &Described, y: &Described) -> Outcome<Problem> {
        Problem::new(Pass::Forward, &steps(x.dims.len() - 2), [x, w, y], FLOAT, None)
    }

    #[test]
    fn two_dimensions_are_the_last_of_three() {
        let found = problem(&packed(&[2, 6, 5, 7]), &packed(&[4, 3, 2, 3]), &packed(&[2, 4, 4, 5])).unwrap();
        let [x, ..] = found.convolution.tensors;
        assert_eq!((x.dims, x.strides), ([2, 6, 1, 5, 7], [210, 35, 0, 7, 1]));
        assert_eq!((found.convolution.window.groups, found.spatial), (2, 2));
        assert_eq!(found.check_supported(), Ok(()));
        let three = problem(&packed(&[2, 6, 5, 7, 2]), &packed(&[4, 3, 2, 3, 1]), &packed(&[2, 4, 4, 5, 2])).unwrap();
        assert_eq!(three.check_supported(), Ok(()));
    }

    #[test]
    fn what_is_no_convolution_is_refused() {
        let [x, w, y] = [packed(&[2, 6, 5, 7]), packed(&[4, 3, 2, 3]), packed(&[2, 4, 4, 5])];
        let status = |x: &Described, w: &Described, y: &Described| problem(x, w, y).map_err(|f| f.status);
        assert_eq!(status(&x, &packed(&[4, 4, 2, 3]), &y), Err(BAD_PARAM), "channels");
        assert_eq!(status(&x, &w, &packed(&[2, 4, 4, 6])), Err(BAD_PARAM), "the result's size");
        assert_eq!(status(&x, &w, &packed(&[2, 4, 4])), Err(BAD_PARAM), "the number of dimensions");
        assert_eq!(status(&x, &packed(&[4, 3, 9, 3]), &y), Err(BAD_PARAM), "a filter too large");
        let gaps = |t: &Described| Described { strides: t.strides.iter().map(|s| 2 * s).collect(), ..t.clone() };
        assert!(status(&gaps(&x), &w, &gaps(&y)).is_ok());
        assert_eq!(status(&x, &gaps(&w), &y), Err(BAD_PARAM), "a filter with gaps");
        let shared = Described { strides: vec![1; 4], ..x.clone() };
        assert_eq!(status(&shared, &w, &y), Err(BAD_PARAM), "elements in one place");
        let vast = Described { strides: vec![1 << 62, 35, 7, 1], ..x.clone() };
        assert_eq!(status(&vast, &w, &y), Err(SHAPE));
        let six = [packed(&[1; 6]), packed(&[1; 6]), packed(&[1; 6])];
        assert_eq!(status(&six[0], &six[1], &six[2]), Err(SHAPE));
    }

    #[test]
    fn types_that_no_engine_computes() {
        let [x, w, y] = [packed(&[2, 6, 5, 7]), packed(&[4, 3, 2, 3]), packed(&[2, 4, 4, 5])];
        let base = problem(&x, &w, &y).unwrap();
        let status = |data: c_int, compute_type: c_int| {
            let problem = Problem { data_types: [data; 3], compute_type, ..base };
            problem.check_supported().map_err(|f: Failure| f.status)
        };
        assert_eq!([status(DOUBLE, DOUBLE), status(HALF, HALF), status(BFLOAT16, FLOAT)], [Ok(()); 3]);
        let refused = [(FLOAT, DOUBLE), (DOUBLE, FLOAT), (BFLOAT16, BFLOAT16), (FLOAT, HALF), (4, 4)];
        assert!(refused.into_iter().all(|(data, compute)| status(data, compute) == Err(DATA_TYPE)));
        assert!(Problem { data_types: [HALF, HALF, FLOAT], ..base }.check_supported().is_err());
        let one = problem(&packed(&[2, 6, 5]), &packed(&[4, 3, 2]), &packed(&[2, 4, 4])).unwrap();
        assert_eq!(one.check_supported().unwrap_err().status, SHAPE);
    }
}
