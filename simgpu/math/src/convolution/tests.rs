//! Tests of convolutions: computed by hand, against a loop over all indices in exact arithmetic,
//! and the property that gradients are transposes.

use super::*;
use half::f16;
use std::cell::RefCell;

fn line(length: usize) -> Tensor {
    Tensor::packed([1, 1, 1, 1, length])
}

/// Returns a convolution with packed tensors and the shapes that follow from `x` and `w`.
fn convolution(window: Window, x: [usize; 5], w: [usize; 5]) -> Convolution {
    let size = |d: usize| window.size(d, x[d + 2], w[d + 2]).unwrap();
    let y = [x[0], w[0], size(0), size(1), size(2)];
    let conv = Convolution { pass: Pass::Forward, window, tensors: [x, w, y].map(Tensor::packed) };
    assert!(conv.is_valid());
    conv
}

#[test]
fn a_convolution_by_hand() {
    let window = Window { padding: [[0; 2], [0; 2], [1; 2]], stride: [1, 1, 2], ..Window::default() };
    let conv = convolution(window, [1, 1, 1, 1, 5], [1, 1, 1, 1, 3]);
    // 0 1 2 3 4 5 0 against 1 10 100, at every second position.
    assert_eq!(conv.sums::<f32>([&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 10.0, 100.0]]), [210.0, 432.0, 54.0]);
    // Flipped: 100 10 1.
    let flipped = Convolution { window: Window { is_flipped: true, ..window }, ..conv };
    assert_eq!(flipped.sums::<f32>([&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 10.0, 100.0]]), [12.0, 234.0, 450.0]);
    // Each element of the result adds the filter to the positions it was computed from.
    let data = Convolution { pass: Pass::Data, ..conv };
    assert_eq!(data.sums::<f32>([&[1.0, 0.0, 2.0], &[1.0, 10.0, 100.0]]), [10.0, 100.0, 0.0, 2.0, 20.0]);
    // Each element of the filter was multiplied with 0 2 4, 1 3 5 and 2 4 0.
    let filter = Convolution { pass: Pass::Filter, ..conv };
    assert_eq!(filter.sums::<f32>([&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 10.0, 100.0]]), [420.0, 531.0, 42.0]);
}

#[test]
fn groups_do_not_see_each_other() {
    let conv = convolution(Window { groups: 2, ..Window::default() }, [1, 4, 1, 1, 1], [2, 2, 1, 1, 1]);
    assert_eq!(conv.sums::<f32>([&[1.0, 2.0, 3.0, 4.0], &[1.0, 10.0, 100.0, 1000.0]]), [21.0, 4300.0]);
}

#[test]
fn what_does_not_suit_is_not_valid() {
    let conv = convolution(Window { groups: 2, ..Window::default() }, [2, 4, 1, 5, 6], [6, 2, 1, 3, 3]);
    for (i, d) in [(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 4), (2, 0), (2, 1), (2, 2)] {
        let mut other = conv;
        other.tensors[i].dims[d] += 1;
        assert!(!other.is_valid(), "operand {i}, dimension {d}");
    }
}

fn numbers(count: usize, step: usize) -> Vec<i64> {
    (0..count).map(|i| (i * step % 11) as i64 - 5).collect()
}

/// Computes the definition, index by index, in integers.
fn by_definition(conv: &Convolution, x: &[i64], w: &[i64]) -> Vec<i64> {
    let at = |t: &Tensor, i: [usize; 5]| (0..5).fold(0, |at, d| at * t.dims[d] + i[d]);
    let [tx, tw, ty] = &conv.tensors;
    let mut y = vec![0; ty.elements()];
    let Window { padding, stride, dilation, groups, is_flipped } = conv.window;
    for (i, sum) in y.iter_mut().enumerate() {
        let mut index = [0; 5];
        (0..5).rev().fold(i, |rest, d| {
            index[d] = rest % ty.dims[d];
            rest / ty.dims[d]
        });
        for j in 0..tw.dims[1..].iter().product::<usize>() {
            let mut tap = [index[1], 0, 0, 0, 0];
            (1..5).rev().fold(j, |rest, d| {
                tap[d] = rest % tw.dims[d];
                rest / tw.dims[d]
            });
            let channel = index[1] / (tw.dims[0] / groups) * tw.dims[1] + tap[1];
            let mut from = [index[0], channel, 0, 0, 0];
            let inside = (0..3).all(|d| {
                let t = if is_flipped { tw.dims[d + 2] - 1 - tap[d + 2] } else { tap[d + 2] };
                let place = (index[d + 2] * stride[d] + t * dilation[d]) as i64 - padding[d][0] as i64;
                from[d + 2] = place.max(0) as usize;
                (0..tx.dims[d + 2] as i64).contains(&place)
            });
            if inside {
                *sum += x[at(tx, from)] * w[at(tw, tap)];
            }
        }
    }
    y
}

const WINDOWS: [Window; 2] = [
    Window { padding: [[1, 2], [0, 1], [2, 0]], stride: [2, 1, 3], dilation: [1, 2, 1], groups: 2, is_flipped: false },
    Window { padding: [[0; 2], [1; 2], [1; 2]], stride: [1; 3], dilation: [1, 1, 2], groups: 1, is_flipped: true },
];

fn general(window: Window) -> Convolution {
    convolution(window, [2, 4, 3, 6, 7], [6, 4 / window.groups, 2, 3, 2])
}

#[test]
fn three_dimensions_are_the_definition() {
    for conv in WINDOWS.map(general) {
        let [x, w] = [(0, 3), (1, 7)].map(|(i, step)| numbers(conv.tensors[i].elements(), step));
        let floats = |v: &[i64]| v.iter().map(|&v| v as f64).collect::<Vec<_>>();
        assert_eq!(conv.sums([&floats(&x)[..], &floats(&w)[..]]), floats(&by_definition(&conv, &x, &w)));
    }
}

/// The gradients are the transposes: <y, conv(x, w)> equals <data(y, w), x> and <filter(x, y), w>.
#[test]
fn the_gradients_are_transposes() {
    for conv in WINDOWS.map(general) {
        let floats = |i: usize, step| numbers(conv.tensors[i].elements(), step).iter().map(|&v| v as f32).collect();
        let [x, w, y]: [Vec<f32>; 3] = [floats(0, 3), floats(1, 7), floats(2, 5)];
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let product = dot(&y, &conv.sums([&x[..], &w[..]]));
        assert_ne!(product, 0.0);
        assert_eq!(dot(&x, &Convolution { pass: Pass::Data, ..conv }.sums([&y[..], &w[..]])), product);
        assert_eq!(dot(&w, &Convolution { pass: Pass::Filter, ..conv }.sums([&x[..], &y[..]])), product);
    }
}

/// The requested accesses: name, length, and whether it is a write.
type Asked = Vec<(String, usize, bool)>;

/// Runs a convolution of one element by two of a type. The simulator refuses the access with the
/// name `refuse`.
fn run<T: Output<C>, C: Compute>(memory: [&mut [T]; 3], alpha: C, beta: C, refuse: &str) -> Asked {
    let conv = Convolution {
        pass: Pass::Forward,
        window: Window::default(),
        tensors: [line(3), line(2), Tensor { dims: [1, 1, 1, 1, 2], strides: [9, 9, 9, 9, 2] }],
    };
    let addresses = memory.map(|m| m.as_mut_ptr().expose_provenance());
    let asked = RefCell::new(Vec::new());
    let access = |_: *const u8, bytes: usize, write: bool, what: &str| {
        asked.borrow_mut().push((what.to_string(), bytes, write));
        what != refuse
    };
    let call = Call { what: "f", addresses, alpha, beta, prepare: |c| c };
    // SAFETY: the memory has as many elements as the tensors span.
    unsafe { conv.run::<T, C>(&call, &access) };
    asked.into_inner()
}

#[test]
fn an_old_result_of_factor_zero_is_not_read_and_gaps_are_left() {
    let (mut x, mut w) = ([1f32, 2.0, 3.0], [1f32, 10.0]);
    let mut y = [f32::NAN, 7.0, f32::NAN];
    let written = ("f: y".to_string(), 4, true);
    let asked = run([&mut x, &mut w, &mut y], 2f32, 0.0, "");
    assert_eq!(y, [42.0, 7.0, 64.0]);
    assert_eq!(asked[..2], [("f: x".to_string(), 12, false), ("f: w".to_string(), 8, false)]);
    assert_eq!(asked[2..], [written.clone(), written]);
    let asked = run([&mut x, &mut w, &mut y], 1f32, -1.0, "");
    assert_eq!((y, asked.len()), ([21.0 - 42.0, 7.0, 32.0 - 64.0], 6));
    run([&mut [f32::NAN, 1.0, 1.0], &mut w, &mut y], 0f32, 0.0, "");
    assert!(y[0].is_nan() && y[1..] == [7.0, 0.0], "zero times NaN or infinity is NaN");
}

#[test]
fn nothing_is_computed_from_what_is_refused() {
    let mut y = [7f32; 3];
    for name in ["f: x", "f: w", "f: y"] {
        run([&mut [1f32; 3], &mut [1f32; 2], &mut y], 1f32, 0.0, name);
        assert_eq!(y, [7.0; 3], "{name}");
    }
    let asked = run([&mut [1f32; 3], &mut [1f32; 2], &mut y], 1f32, 0.0, "f: x");
    assert!(asked.iter().any(|a| a.0 == "f: w"), "a finding about one operand does not hide one about another");
}

/// Sums of narrow numbers use a wider type and round once.
#[test]
fn narrow_results_round_once() {
    // f16 can represent 2048 + 1 + 1 but not 2048 + 1: a sum in f16 would stay at 2048.
    let mut y = [f16::ZERO; 3];
    let mut x = [2048.0, 1.0, 1.0].map(f16::from_f32);
    let conv = convolution(Window::default(), [1, 1, 1, 1, 3], [1, 1, 1, 1, 3]);
    let mut ones = [f16::ONE; 3];
    let addresses = [x.as_mut_ptr(), ones.as_mut_ptr(), y.as_mut_ptr()].map(|p| p.expose_provenance());
    let all = |_: *const u8, _: usize, _: bool, _: &str| true;
    let call = Call { what: "f", addresses, alpha: 1f32, beta: 0.0, prepare: |c| c };
    // SAFETY: the memory has as many elements as the tensors.
    unsafe { conv.run::<f16, f32>(&call, &all) };
    assert_eq!(y[0], f16::from_f32(2050.0));
    let in_f16 = Call { what: "f", addresses, alpha: f16::ONE, beta: f16::ZERO, prepare: |c| c };
    // SAFETY: as above.
    unsafe { conv.run::<f16, f16>(&in_f16, &all) };
    assert_eq!(y[0], f16::from_f32(2048.0));
}
