//! Results, compared with the definition.

use super::problem::*;
use crate::backend::plan;
use crate::status::SUCCESS;
use crate::testing::{configurations, graph_of, notes, pack};
use crate::testing::{engine, plan as plan_of};
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendHeurMode_t as Mode, cudnnBackendNumericalNote_t as Note,
    cudnnDataType_t::*,
};
use std::cell::RefCell;
use std::ffi::c_void;

/// What is where nothing may be read or written.
const GAP: f64 = 77.0;

fn offset([a, b, c, d]: [usize; 4], strides: [usize; 4]) -> usize {
    a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]
}

/// Returns all indices, in row-major order.
fn indices([a, b, c, d]: [usize; 4]) -> impl Iterator<Item = [usize; 4]> {
    (0..a * b * c * d).map(move |i| [i / d / c / b, i / d / c % b, i / d % c, i % d])
}

/// Computes with the only engine and compares the result with the definition. Returns the bytes of
/// keys that were read.
fn check(problem: &Problem) -> usize {
    let described = problem.describe();
    let graph = graph_of(&described.builder.operations);
    assert_eq!(graph.finalize(), SUCCESS);
    let [config] = configurations(graph, Mode::CUDNN_HEUR_MODE_A)[..] else { panic!("one engine") };
    assert_eq!(notes(engine(config)), [Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE as i32]);
    let plan = plan_of(config);
    assert_eq!(plan.int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE), 0);
    let shapes = problem.shapes();
    let layouts = shapes.map(strides);
    let mut memory: Vec<Vec<u16>> = shapes.map(|s| vec![problem.bits(GAP); BATCH * strides(s)[0]]).to_vec();
    for operand in 0..3 {
        for index in indices(shapes[operand]) {
            // What is beyond the lengths must not matter.
            let within = problem.lengths_of(index[0])[usize::from(operand > 0)];
            let value = if index[2] < within { number(operand, index) } else { f64::NAN };
            memory[operand][offset(index, layouts[operand])] = problem.bits(value);
        }
    }
    memory.extend(problem.mask.map(|sizes| indices(sizes).map(|index| problem.bits(masked(index))).collect()));
    let mut lengths = problem.lengths.into_iter().flatten().collect::<Vec<_>>();
    let mut numbers: Vec<u32> = described.builder.numbers.iter().map(|&(_, bits)| bits).collect();
    let ids: Vec<_> =
        described.operands.iter().map(|t| t.id).chain(described.builder.numbers.iter().map(|&(id, _)| id)).collect();
    let pointers: Vec<*mut c_void> = memory
        .iter_mut()
        .map(|m| m.as_mut_ptr().cast())
        .chain(lengths.iter_mut().map(|l| l.as_mut_ptr().cast()))
        .chain(numbers.iter_mut().map(|n| std::ptr::from_mut(n).cast()))
        .collect();
    let pack = pack(&ids, &pointers, std::ptr::null_mut());
    assert_eq!(pack.finalize(), SUCCESS);
    // SAFETY: the numbers are live.
    let execution = unsafe { plan::execution(plan.0, pack.0) }.unwrap();
    // The call has copied them.
    numbers.fill(u32::MAX);
    let read = RefCell::new(0);
    let access = |_: *const u8, bytes: usize, write: bool, what: &str| {
        assert_eq!(write, what == "cudnnBackendExecute: o");
        *read.borrow_mut() += if what == "cudnnBackendExecute: k" { bytes } else { 0 };
        true
    };
    // SAFETY: the memory covers the operands.
    unsafe { execution.run(&access) };
    let tolerance = if problem.data == CUDNN_DATA_HALF { 1.0 / 1024.0 } else { 1.0 / 128.0 };
    let mut expected = vec![GAP; memory[3].len()];
    for index @ [entry, head, row, _] in indices([BATCH, HEADS, problem.queries, 1]) {
        let [queries, keys] = problem.lengths_of(entry);
        if row < queries && keys > 0 {
            let at = offset(index, layouts[3]);
            expected[at..at + HEAD].copy_from_slice(&problem.row([entry, head, row]));
        }
    }
    for (at, (&bits, expected)) in memory[3].iter().zip(expected).enumerate() {
        let is_close = (problem.value(bits) - expected).abs() <= tolerance;
        assert!(is_close, "{} instead of {expected} at {at}: {problem:?}", problem.value(bits));
    }
    read.into_inner()
}

#[test]
fn plain_attention() {
    assert_eq!(check(&plain(5, 7)), BATCH * HEADS * 7 * HEAD * 2);
    check(&Problem { data: CUDNN_DATA_BFLOAT16, ..plain(3, 9) });
    check(&plain(1, 1));
}

#[test]
fn queries_see_no_later_keys() {
    check(&Problem { is_causal: true, ..plain(6, 6) });
    check(&Problem { is_causal: true, ..plain(3, 7) });
    // The first queries come before all keys, and their results are zeros.
    check(&Problem { is_causal: true, ..plain(7, 4) });
}

#[test]
fn heads_share_keys() {
    for kv_heads in [1, 2] {
        check(&Problem { kv_heads, is_causal: true, ..plain(4, 4) });
    }
}

/// The mask hides every key of one query, whose results are zeros.
#[test]
fn masks_repeat_along_sides_of_one() {
    for mask in [[BATCH, HEADS, 5, 7], [1, HEADS, 5, 7], [BATCH, 1, 5, 7], [1, 1, 5, 7], [1, 1, 1, 7], [1, 1, 5, 1]] {
        check(&Problem { mask: Some(mask), ..plain(5, 7) });
    }
    check(&Problem { mask: Some([1, 1, 6, 6]), is_causal: true, left: Some(2), ..plain(6, 6) });
}

#[test]
fn batch_entries_have_lengths() {
    let lengths = |queries, keys| Some([queries, keys]);
    for is_causal in [false, true] {
        let problem = Problem { is_causal, lengths: lengths([3, 3], [7, 4]), ..plain(3, 7) };
        assert_eq!(check(&problem), HEADS * (7 + 4) * HEAD * 2, "no other keys are read");
        let none = Problem { lengths: lengths([3, 3], [5, 0]), ..problem.clone() };
        assert_eq!(check(&none), HEADS * 5 * HEAD * 2);
        check(&Problem { lengths: lengths([3, 3], [0, 0]), ..problem.clone() });
        check(&Problem { lengths: lengths([2, 0], [7, 7]), ..problem.clone() });
        check(&Problem { lengths: lengths([3, 3], [2, 6]), mask: Some([1, 1, 1, 7]), is_causal: false, ..problem });
    }
    check(&Problem { lengths: lengths([4, 4], [9, 5]), is_causal: true, left: Some(1), ..plain(4, 9) });
}

#[test]
fn scores_are_capped() {
    check(&Problem { softcap: Some(0.5), ..plain(5, 7) });
    check(&Problem { softcap: Some(2.0), is_causal: true, kv_heads: 2, ..plain(3, 7) });
}

#[test]
fn windows_begin_later() {
    for (queries, keys, left) in [(6, 6, 0), (6, 6, 2), (3, 8, 1)] {
        check(&Problem { is_causal: true, left: Some(left), ..plain(queries, keys) });
    }
}
