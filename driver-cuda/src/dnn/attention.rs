//! Builds attention as the graph that cuDNN has fused kernels for: products, and what happens to
//! the scores between them. The order and the types of the operations are those by which it
//! recognises the graph.

use super::graph::{Graph, Tensor, data_type};
use cudarc::cudnn::sys::{cudnnDataType_t as DataType, cudnnPointwiseMode_t::*, cudnnReduceTensorOp_t as Reduction};
use isobit_kernels::{AttentionProblem, DnnOperand, FusedAttention};

const FLOAT: DataType = DataType::CUDNN_DATA_FLOAT;
const INT: DataType = DataType::CUDNN_DATA_INT32;
const BOOLEAN: DataType = DataType::CUDNN_DATA_BOOLEAN;

/// Returns why cuDNN has no attention of these sizes and parameters, if that is known.
pub(crate) fn refusal(asked: &FusedAttention) -> Option<String> {
    let (m, n, d) = (asked.query.dims[2], asked.key.dims[2], asked.query.dims[3]);
    let to = &asked.dst;
    let aligned = to.strides[..3].iter().fold(to.ptr.0, |all, &s| all | (s * asked.dtype.size_in_bytes()) as u64);
    let [left, right] = [asked.window_size_left, asked.window_size_right];
    let why = if !d.is_multiple_of(8) {
        "takes heads of a multiple of 8 elements"
    } else if to.strides[3] != 1 || !aligned.is_multiple_of(16) {
        "writes results whose heads lie in one piece, at multiples of 16 bytes"
    } else if asked.scale <= 0.0 {
        // It multiplies by the scale after it took the largest score: 0 gave NaN (9.14, H100).
        "takes positive scales"
    } else if m == 1 {
        // Its kernel for one query adds in varying order: of 20 calls with 4096 keys, 7 had another
        // bit. With a mask, or a soft-cap and a window, it ended with a misaligned address, which
        // makes the device unusable (9.14, H100).
        "has no repeatable attention of one query"
    } else if right.is_some_and(|right| right > 0) || left.is_some() && right.is_none() {
        "has no windows but causal ones"
    } else if right.is_some() && asked.mask.is_some() && (m != n || asked.lengths.is_some()) {
        "has no masks with causal attention of fewer queries than keys"
    } else {
        return None;
    };
    Some(format!("cuDNN {why}"))
}

/// The numbers of queries and keys as tensors, of each batch entry or of all.
struct Lengths {
    queries: Tensor,
    keys: Tensor,
}

/// The operands are the query, the key, the value, the result, then the mask and both lengths if
/// there are any.
pub(super) fn graph(problem: &AttentionProblem) -> Result<Graph, String> {
    let data = data_type(problem.dtype)?;
    let mut graph = Graph::default();
    let transposed = |[a, b, c, d]: [i32; 4]| [a, b, d, c];
    let DnnOperand { dims, strides, alignment } = problem.key;
    let key = DnnOperand { dims: transposed(dims), strides: transposed(strides), alignment };
    let [query, key, value, to] =
        [problem.query, key, problem.value, problem.dst].map(|operand| graph.operand(data, &operand));
    let [query, key, value, to] = [query?, key?, value?, to?];
    let mask = problem.mask.map(|mask| graph.operand(data, &mask)).transpose()?;
    let lengths = if problem.has_lengths {
        let each = DnnOperand { dims: [problem.query.dims[0], 1, 1, 1], strides: [1; 4], alignment: 16 };
        Some(Lengths { queries: graph.operand(INT, &each)?, keys: graph.operand(INT, &each)? })
    } else {
        None
    };
    let (m, n) = (lengths.as_ref().map(|l| &l.queries), lengths.as_ref().map(|l| &l.keys));
    let mut scores = graph.matmul([&query, &key], [m, n, None], None)?;
    let scale = graph.float(f32::from_bits(problem.scale))?;
    scores = graph.pointwise(CUDNN_POINTWISE_MUL, &[&scores, &scale], FLOAT)?;
    if let Some(cap) = problem.softcap {
        let cap = graph.float(f32::from_bits(cap))?;
        scores = graph.pointwise(CUDNN_POINTWISE_DIV, &[&scores, &cap], FLOAT)?;
        scores = graph.pointwise(CUDNN_POINTWISE_TANH_FWD, &[&scores], FLOAT)?;
        scores = graph.pointwise(CUDNN_POINTWISE_MUL, &[&scores, &cap], FLOAT)?;
    }
    if let Some(mask) = &mask {
        scores = graph.pointwise(CUDNN_POINTWISE_ADD, &[&scores, mask], FLOAT)?;
    }
    if let Some(lengths) = &lengths {
        scores = within(&mut graph, scores, lengths)?;
    }
    scores = windowed(&mut graph, scores, lengths.as_ref(), problem)?;
    let weights = softmax(&mut graph, &scores, data)?;
    graph.matmul([&weights, &value], [m, None, n], Some(to))?;
    Ok(graph)
}

/// Keeps the scores where `kept` is true; others become minus infinity.
fn select(graph: &mut Graph, scores: &Tensor, kept: &Tensor) -> Result<Tensor, String> {
    let hidden = graph.float(f32::NEG_INFINITY)?;
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, &[scores, &hidden, kept], FLOAT)
}

/// Hides what is beyond the lengths.
fn within(graph: &mut Graph, scores: Tensor, lengths: &Lengths) -> Result<Tensor, String> {
    let [row, column] = [graph.index(&scores, 2)?, graph.index(&scores, 3)?];
    let row = graph.pointwise(CUDNN_POINTWISE_CMP_LT, &[&row, &lengths.queries], BOOLEAN)?;
    let column = graph.pointwise(CUDNN_POINTWISE_CMP_LT, &[&column, &lengths.keys], BOOLEAN)?;
    let both = graph.pointwise(CUDNN_POINTWISE_LOGICAL_AND, &[&row, &column], BOOLEAN)?;
    select(graph, &scores, &both)
}

/// Hides what is outside the windows, which end at the last key. With as many queries as keys they
/// are those that begin at the first, which cuDNN supports in more graphs.
fn windowed(
    graph: &mut Graph,
    mut scores: Tensor,
    lengths: Option<&Lengths>,
    problem: &AttentionProblem,
) -> Result<Tensor, String> {
    let (m, n) = (problem.query.dims[2], problem.key.dims[2]);
    if problem.window_size_right.is_some() {
        let [mut row, column] = [graph.index(&scores, 2)?, graph.index(&scores, 3)?];
        let all;
        let ends = match lengths {
            None if m != n => {
                all = Lengths { queries: graph.int(m)?, keys: graph.int(n)? };
                Some(&all)
            }
            given => given,
        };
        if let Some(Lengths { queries, keys }) = ends {
            row = graph.pointwise(CUDNN_POINTWISE_ADD, &[&row, keys], INT)?;
            row = graph.pointwise(CUDNN_POINTWISE_SUB, &[&row, queries], INT)?;
        }
        let kept = graph.pointwise(CUDNN_POINTWISE_CMP_GE, &[&row, &column], BOOLEAN)?;
        scores = select(graph, &scores, &kept)?;
    }
    if let Some(left) = problem.window_size_left {
        let [row, mut column] = [graph.index(&scores, 2)?, graph.index(&scores, 3)?];
        if let Some(Lengths { queries, keys }) = lengths {
            let width = graph.int(left + 1)?;
            column = graph.pointwise(CUDNN_POINTWISE_ADD, &[&column, &width], INT)?;
            column = graph.pointwise(CUDNN_POINTWISE_SUB, &[&column, keys], INT)?;
            column = graph.pointwise(CUDNN_POINTWISE_ADD, &[&column, queries], INT)?;
        } else {
            // cuDNN recognises only a float here.
            let width = graph.float((left + 1 - n + m) as f32)?;
            column = graph.pointwise(CUDNN_POINTWISE_ADD, &[&column, &width], FLOAT)?;
        }
        let kept = graph.pointwise(CUDNN_POINTWISE_CMP_GT, &[&column, &row], BOOLEAN)?;
        scores = select(graph, &scores, &kept)?;
    }
    Ok(scores)
}

fn softmax(graph: &mut Graph, scores: &Tensor, data: DataType) -> Result<Tensor, String> {
    let largest = graph.reduce(Reduction::CUDNN_REDUCE_TENSOR_MAX, scores)?;
    let below = graph.pointwise(CUDNN_POINTWISE_SUB, &[scores, &largest], FLOAT)?;
    let weights = graph.pointwise(CUDNN_POINTWISE_EXP, &[&below], FLOAT)?;
    let sum = graph.reduce(Reduction::CUDNN_REDUCE_TENSOR_ADD, &weights)?;
    // The logarithm of the sum is for a backward pass: cuDNN recognises no graph without it.
    let logarithm = graph.pointwise(CUDNN_POINTWISE_LOG, &[&sum], FLOAT)?;
    graph.pointwise(CUDNN_POINTWISE_ADD, &[&largest, &logarithm], FLOAT)?;
    graph.pointwise(CUDNN_POINTWISE_DIV, &[&weights, &sum], data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::DType;
    use isobit_kernels::{DevicePtr, Tensor4};

    fn tensor([batch, heads, tokens, d]: [usize; 4]) -> Tensor4 {
        let strides = [heads * tokens * d, tokens * d, d, 1];
        Tensor4 { ptr: DevicePtr(4096), dims: [batch, heads, tokens, d], strides }
    }

    fn of([m, n, d]: [usize; 3]) -> FusedAttention {
        FusedAttention {
            dtype: DType::BF16,
            query: tensor([2, 4, m, d]),
            key: tensor([2, 2, n, d]),
            value: tensor([2, 2, n, d]),
            mask: None,
            dst: tensor([2, 4, m, d]),
            lengths: None,
            scale: 0.5,
            softcap: None,
            window_size_left: None,
            window_size_right: None,
        }
    }

    /// What is asked of the library, and what is not; which of it is right was found on cards.
    #[test]
    fn what_is_not_trusted_is_not_asked() {
        let plain = of([20, 30, 64]);
        let mask = Some(tensor([1, 1, 20, 30]));
        let causal = FusedAttention { window_size_right: Some(0), ..plain };
        let square = FusedAttention { window_size_right: Some(0), ..of([30, 30, 64]) };
        let lengths = Some([DevicePtr(4096); 2]);
        for asked in [
            plain,
            causal,
            FusedAttention { window_size_left: Some(3), ..causal },
            FusedAttention { mask, ..plain },
            FusedAttention { mask, ..square },
            FusedAttention { lengths, ..causal },
            FusedAttention { softcap: Some(5.0), ..plain },
            of([2, 1, 8]),
        ] {
            assert_eq!(refusal(&asked), None, "{asked:?}");
        }
        let apart = |strides| FusedAttention { dst: Tensor4 { strides, ..plain.dst }, ..plain };
        for (asked, why) in [
            (of([20, 30, 60]), "a multiple of 8"),
            (apart([5120, 1280, 64, 2]), "lie in one piece"),
            (apart([5120, 1284, 64, 1]), "multiples of 16 bytes"),
            (FusedAttention { dst: Tensor4 { ptr: DevicePtr(4104), ..plain.dst }, ..plain }, "multiples of 16 bytes"),
            (FusedAttention { scale: 0.0, ..plain }, "positive scales"),
            (FusedAttention { scale: -1.0, ..plain }, "positive scales"),
            (of([1, 30, 64]), "one query"),
            (FusedAttention { window_size_right: Some(1), ..plain }, "causal ones"),
            (FusedAttention { window_size_left: Some(1), ..plain }, "causal ones"),
            (FusedAttention { mask, ..causal }, "no masks"),
            (FusedAttention { mask, lengths, ..square }, "no masks"),
        ] {
            let said = refusal(&asked).unwrap_or_default();
            assert!(said.starts_with("cuDNN ") && said.contains(why), "{asked:?}: {said}");
        }
    }
}
