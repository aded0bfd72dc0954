//! Which engines are offered, and the results of graphs, compared with an f64 loop over all
//! indices, for every type, pass and engine and many layouts.

use crate::status::SUCCESS;
use crate::testing::*;
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t::*, cudnnBackendDescriptorType_t::*, cudnnBackendHeurMode_t as Mode,
    cudnnBackendNumericalNote_t as Note, cudnnDataType_t as Data, cudnnDataType_t::*,
};
use half::{bf16, f16};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::c_void;

const PASSES: [Pass; 3] = [Pass::Forward, Pass::Data, Pass::Filter];

/// A number in memory.
trait Number: Copy + Default + 'static {
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! number {
    ($($t:ty: $of:expr, $value:expr;)*) => {$(
        impl Number for $t {
            fn of(value: f64) -> Self {
                $of(value)
            }

            fn value(self) -> f64 {
                $value(self)
            }
        }
    )*};
}

number! {
    f32: |v| v as f32, f64::from;
    f64: |v| v, |v| v;
    f16: f16::from_f64, f16::to_f64;
    bf16: bf16::from_f64, bf16::to_f64;
}

/// Returns the offsets of a tensor's elements in row-major order.
fn offsets(t: &TensorSpec) -> Vec<usize> {
    let mut all = vec![0];
    for (&size, &stride) in t.dims.iter().zip(&t.strides) {
        all = all.iter().flat_map(|&at| (0..size).map(move |i| at + (i * stride) as usize)).collect();
    }
    all
}

/// Returns small integers, exact in every type, by operand and index.
fn value(operand: usize, i: usize) -> f64 {
    ((i * [3, 7, 5][operand]) % 7) as f64 - 3.0
}

/// Computes with the engine of a configuration on memory of type `T` and returns the result in
/// row-major order. Checks that gaps in the result keep their contents.
fn compute<T: Number>(
    config: Descriptor,
    tensors: &[TensorSpec; 3],
    pass: Pass,
    fill: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let gap = 77.0;
    let mut memory: Vec<Vec<T>> = tensors
        .iter()
        .enumerate()
        .map(|(operand, t)| {
            let offsets = offsets(t);
            let mut memory = vec![T::of(gap); offsets.iter().max().unwrap() + 3];
            for (i, &at) in offsets.iter().enumerate() {
                memory[at] = T::of(fill(operand, i));
            }
            memory
        })
        .collect();
    let plan = plan(config);
    let bytes = plan.int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) as usize;
    assert_eq!(config.int(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE) as usize, bytes);
    let mut workspace = vec![0x11u8; bytes + 1];
    let pointers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.as_mut_ptr().cast()).collect();
    let pack = pack(&[1, 2, 3], &pointers, workspace.as_mut_ptr().cast());
    assert_eq!(pack.finalize(), SUCCESS);
    // SAFETY: no tensor is given by value; the memory covers the extent of the tensors, and the
    // workspace has the requested size.
    unsafe {
        let execution = crate::backend::plan::execution(plan.0, pack.0).unwrap();
        execution.run(&|_: *const u8, _: usize, _: bool, _: &str| true);
    }
    assert_eq!(workspace[bytes], 0x11, "accesses stay in the workspace");
    assert!(!workspace[..bytes].contains(&0x11), "a requested workspace is used");
    let to = result_of(pass);
    let offsets = offsets(&tensors[to]);
    let result = offsets.iter().map(|&at| memory[to][at].value()).collect();
    let untouched = (0..memory[to].len()).filter(|at| !offsets.contains(at));
    assert!(untouched.map(|at| memory[to][at].value()).all(|v| v == gap), "a gap was written");
    result
}

/// Compares every engine's result for integers with the definition.
fn check<T: Number>(pass: Pass, window: &WindowSpec, tensors: &[TensorSpec; 3], [alpha, beta]: [f64; 2]) {
    let operation = operation(pass, window, tensors, [alpha, beta]);
    let graph = graph(operation);
    assert_eq!(graph.finalize(), SUCCESS);
    let operands: Vec<Vec<f64>> =
        (0..3).map(|i| (0..tensors[i].dims.iter().product::<i64>() as usize).map(|e| value(i, e)).collect()).collect();
    let sums = seven_loops(pass, window, tensors, [&operands[0], &operands[1], &operands[2]]);
    let to = result_of(pass);
    let expected: Vec<f64> = sums.iter().zip(&operands[to]).map(|(s, old)| alpha * s + beta * old).collect();
    let configs = configurations(graph, Mode::CUDNN_HEUR_MODE_A);
    assert!(configs.len() >= 2, "{pass:?}");
    for config in configs {
        assert_eq!(compute::<T>(config, tensors, pass, value), expected, "{pass:?} {:?}", notes(engine(config)));
    }
}

/// Returns a tensor `[n, c, h, w]` with the channels last.
fn channels_last(t: &TensorSpec) -> TensorSpec {
    let d = &t.dims;
    TensorSpec { strides: vec![d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]], ..t.clone() }
}

fn of_type<T: Number>(data: Data, compute: Data) {
    // A sum of at most 36 products of integers up to 3 stays below 2^11. For bf16 the sum has fewer
    // products and stays below 2^8.
    let channels = if data == CUDNN_DATA_BFLOAT16 { 1 } else { 2 };
    let window = WindowSpec {
        before: vec![1, 2],
        after: vec![1, 0],
        stride: vec![2, 1],
        dilation: vec![1, 2],
        ..plain(2, compute)
    };
    let shapes = [[2, 2 * channels, 5, 6], [4, channels, 3, 2], [2, 4, 3, 6]];
    let mut tensors = [1, 2, 3].map(|id| packed(id, data, &shapes[id as usize - 1]));
    for pass in PASSES {
        check::<T>(pass, &window, &tensors, [1.0, 0.0]);
        check::<T>(pass, &WindowSpec { is_flipped: true, ..window.clone() }, &tensors, [1.0, -1.0]);
        let last = tensors.each_ref().map(channels_last);
        check::<T>(pass, &window, &last, [1.0, 0.0]);
    }
    // Gaps in every operand that may have them; the filter may not.
    tensors[0].strides = vec![400, 100, 14, 2];
    tensors[2].strides = vec![1, 2, 70, 9];
    for pass in PASSES {
        check::<T>(pass, &window, &tensors, [2.0, 1.0]);
    }
}

#[test]
fn f32_is_the_definition() {
    of_type::<f32>(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
}

#[test]
fn f64_is_the_definition() {
    // Only one forward engine besides the one with a workspace supports f64, so there are two for
    // each pass.
    of_type::<f64>(CUDNN_DATA_DOUBLE, CUDNN_DATA_DOUBLE);
}

#[test]
fn f16_is_the_definition() {
    of_type::<f16>(CUDNN_DATA_HALF, CUDNN_DATA_FLOAT);
}

#[test]
fn bf16_is_the_definition() {
    of_type::<bf16>(CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT);
}

/// Returns the notes of the offered engines, fastest first.
fn offered(pass: Pass, data: Data, compute: Data, mode: Mode) -> Vec<Vec<i32>> {
    let tensors = [packed(1, data, &[1, 1, 4, 4]), packed(2, data, &[1, 1, 3, 3]), packed(3, data, &[1, 1, 2, 2])];
    let graph = graph(operation(pass, &plain(2, compute), &tensors, [1.0, 0.0]));
    assert_eq!(graph.finalize(), SUCCESS);
    configurations(graph, mode).into_iter().map(|c| notes(engine(c))).collect()
}

#[test]
fn what_is_fastest_is_not_always_exact_and_says_so() {
    let [units, varies, strict] = [
        Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
        Note::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
        Note::CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP,
    ]
    .map(|n| vec![n as i32]);
    let (a, fallback) = (Mode::CUDNN_HEUR_MODE_A, Mode::CUDNN_HEUR_MODE_FALLBACK);
    let (f32, f64, f16) = (CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF);
    assert_eq!(offered(Pass::Forward, f32, f32, a), [units.clone(), vec![], strict.clone()]);
    assert_eq!(offered(Pass::Data, f32, f32, a), [units, varies.clone(), strict.clone()]);
    assert_eq!(offered(Pass::Filter, f64, f64, a), [varies, strict.clone()]);
    assert_eq!(offered(Pass::Data, f16, f16, a), std::slice::from_ref(&strict));
    assert_eq!(offered(Pass::Forward, f32, f32, fallback), [strict]);
    assert_eq!(offered(Pass::Forward, f32, f64, a).len(), 0, "types that no engine supports");
}

/// The matrix units drop the bits that TF32 does not have: 1 + 2^-12 becomes 1.
#[test]
fn the_matrix_units_take_f32_as_tf32() {
    let tensors = [1, 2, 3].map(|id| packed(id, CUDNN_DATA_FLOAT, &[1, 1, 1, 1]));
    let graph = graph(operation(Pass::Forward, &plain(2, CUDNN_DATA_FLOAT), &tensors, [1.0, 0.0]));
    assert_eq!(graph.finalize(), SUCCESS);
    let fine = 1.0 + 1.0 / 4096.0;
    for config in configurations(graph, Mode::CUDNN_HEUR_MODE_A) {
        let result = compute::<f32>(config, &tensors, Pass::Forward, |_, _| fine);
        let is_coarse = notes(engine(config)) == [Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE as i32];
        assert_eq!(result, [if is_coarse { 1.0 } else { f64::from((fine * fine) as f32) }]);
    }
}

/// 2048 plus two times 1: a sum in f16 loses the ones.
#[test]
fn sums_are_of_the_compute_type() {
    let shapes = [[1, 3, 1, 1], [1, 3, 1, 1], [1, 1, 1, 1]];
    let tensors = [1, 2, 3].map(|id| packed(id, CUDNN_DATA_HALF, &shapes[id as usize - 1]));
    for (compute_type, expected) in [(CUDNN_DATA_FLOAT, 2050.0), (CUDNN_DATA_HALF, 2048.0)] {
        let graph = graph(operation(Pass::Forward, &plain(2, compute_type), &tensors, [1.0, 0.0]));
        assert_eq!(graph.finalize(), SUCCESS);
        for config in configurations(graph, Mode::CUDNN_HEUR_MODE_A) {
            let fill = |operand: usize, i: usize| if operand == 0 && i == 0 { 2048.0 } else { 1.0 };
            assert_eq!(compute::<f16>(config, &tensors, Pass::Forward, fill), [expected]);
        }
    }
}

/// Three dimensions with two of size 1 act as one dimension: 0 1 2 3 4 5 0 with the filter 1 10
/// 100, stride 2.
#[test]
fn three_dimensions_by_hand() {
    for d in 0..3 {
        let along = |n: i64| {
            let mut dims = [1, 1, 1, 1, 1];
            dims[d + 2] = n;
            dims
        };
        let tensors = [(1, 5), (2, 3), (3, 3)].map(|(id, n)| packed(id, CUDNN_DATA_FLOAT, &along(n)));
        let mut window = plain(3, CUDNN_DATA_FLOAT);
        (window.before[d], window.after[d], window.stride[d]) = (1, 1, 2);
        let graph = graph(operation(Pass::Forward, &window, &tensors, [1.0, 0.0]));
        assert_eq!(graph.finalize(), SUCCESS);
        let fill = |operand: usize, i: usize| if operand == 0 { i as f64 + 1.0 } else { 10f64.powi(i as i32) };
        let config = configurations(graph, Mode::CUDNN_HEUR_MODE_A)[0];
        assert_eq!(compute::<f32>(config, &tensors, Pass::Forward, fill), [210.0, 432.0, 54.0]);
    }
}

/// cuDNN has no engine for one spatial dimension: a program describes it as two, one of size 1.
#[test]
fn one_dimension_is_described_as_two() {
    let tensors = [
        packed(1, CUDNN_DATA_FLOAT, &[1, 1, 4]),
        packed(2, CUDNN_DATA_FLOAT, &[1, 1, 3]),
        packed(3, CUDNN_DATA_FLOAT, &[1, 1, 2]),
    ];
    let graph = graph(operation(Pass::Forward, &plain(1, CUDNN_DATA_FLOAT), &tensors, [1.0, 0.0]));
    assert_eq!(graph.finalize(), SUCCESS);
    assert_eq!(configurations(graph, Mode::CUDNN_HEUR_MODE_A), []);
    let engine = Descriptor::new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    assert_eq!(engine.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph), SUCCESS);
    assert_eq!(engine.ints(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &[0]), SUCCESS);
    assert_eq!(engine.finalize(), crate::status::SHAPE);
}
