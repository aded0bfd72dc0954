//! Tests shapes against those that PyTorch 2.11 gives for the same calls (convolutions, pooling),
//! and the errors for bad shapes.

use isobit_hal::*;

fn shape(op: Op, inputs: &[&[usize]]) -> Result<Vec<usize>> {
    let shapes: Vec<Shape> = inputs.iter().map(|&d| d.into()).collect();
    let result = op.result_shape(&shapes.iter().collect::<Vec<_>>())?;
    Ok(result.expect("the inputs determine the shape").dims().to_vec())
}

fn refused(op: Op, inputs: &[&[usize]], kind: ErrorKind, says: &str) {
    let error = shape(op, inputs).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(says), "`{}` does not say `{says}`", error.message());
}

#[test]
fn convolutions_have_pytorchs_shapes() {
    let two = |op: Op, x: &[usize], k: &[usize]| shape(op, &[x, k]).unwrap();
    let plain = Conv2d::default();
    assert_eq!(two(Op::Conv2d(plain), &[2, 4, 9, 11], &[6, 4, 3, 5]), [2, 6, 7, 7]);
    let strided = plain.with_stride([2, 3]).with_padding([1, 2]).with_dilation([2, 1]);
    assert_eq!(two(Op::Conv2d(strided), &[2, 4, 9, 11], &[6, 4, 3, 5]), [2, 6, 4, 4]);
    assert_eq!(two(Op::Conv2d(plain.with_groups(4)), &[1, 8, 5, 5], &[12, 2, 1, 1]), [1, 12, 5, 5]);
    assert_eq!(two(Op::Conv1d(Conv1d::default().with_stride([4])), &[3, 2, 10], &[5, 2, 3]), [3, 5, 2]);
    let transposed = ConvTranspose2d::default().with_stride([2, 3]).with_padding([1, 0]).with_output_padding([1, 2]);
    assert_eq!(two(Op::ConvTranspose2d(transposed), &[2, 4, 5, 6], &[4, 3, 3, 2]), [2, 3, 10, 19]);
    let grouped = ConvTranspose1d::default().with_groups(2).with_dilation([3]);
    assert_eq!(two(Op::ConvTranspose1d(grouped), &[2, 4, 5], &[4, 3, 2]), [2, 6, 8]);
    assert_eq!(two(Op::Conv2d(plain), &[0, 4, 9, 11], &[6, 4, 3, 5]), [0, 6, 7, 7]);
    let volume = Conv3d::default().with_stride([1, 2, 3]);
    assert_eq!(two(Op::Conv3d(volume), &[2, 4, 5, 9, 11], &[6, 4, 2, 3, 5]), [2, 6, 4, 4, 3]);
    let back = ConvTranspose3d::default().with_stride([1, 2, 3]).with_padding([1, 0, 0]);
    assert_eq!(two(Op::ConvTranspose3d(back), &[2, 4, 5, 3, 2], &[4, 6, 2, 3, 5]), [2, 6, 4, 7, 8]);
}

#[test]
fn batches_broadcast_as_in_numpy() {
    // numpy.matmul(numpy.zeros(a), numpy.zeros(b)).shape, NumPy 2.3.
    let of = |a: &[usize], b: &[usize]| shape(Op::Matmul(Matmul::default()), &[a, b]);
    assert_eq!(of(&[3, 4], &[4, 5]).unwrap(), [3, 5]);
    assert_eq!(of(&[2, 1, 3, 4], &[7, 4, 5]).unwrap(), [2, 7, 3, 5]);
    assert_eq!(of(&[4, 5], &[6, 1, 5, 2]).unwrap(), [6, 1, 4, 2]);
    assert_eq!(of(&[1, 3, 4], &[0, 4, 5]).unwrap(), [0, 3, 5]);
    assert_eq!(of(&[9, 1, 3, 0], &[1, 8, 0, 2]).unwrap(), [9, 8, 3, 2]);
    let op = || Op::Matmul(Matmul::default());
    let kind = ErrorKind::ShapeMismatch;
    refused(op(), &[&[2, 3, 4], &[3, 4, 5]], kind, "batch dimensions [2] and [3] differ");
    refused(op(), &[&[0, 3, 4], &[2, 4, 5]], kind, "do not broadcast");
    refused(op(), &[&[4], &[4, 5]], kind, "two dimensions");
    refused(op(), &[&[2, 3, 4], &[3, 5]], kind, "inner dimensions 4 and 3");
}

#[test]
fn zero_points_are_one_or_one_a_line() {
    let op = |lhs, rhs| Op::MatmulInteger(MatmulInteger::new().with_zero_points(lhs, rhs));
    let (a, b): (&[usize], &[usize]) = (&[2, 3, 4], &[4, 5]);
    for zero in [&[][..], &[1], &[3]] {
        assert_eq!(shape(op(true, false), &[a, b, zero]).unwrap(), [2, 3, 5]);
    }
    assert_eq!(shape(op(true, true), &[a, b, &[3], &[5]]).unwrap(), [2, 3, 5]);
    let kind = ErrorKind::ShapeMismatch;
    refused(op(true, false), &[a, b, &[5]], kind, "one for each row ([3])");
    refused(op(false, true), &[a, b, &[3]], kind, "one for each column ([5])");
    refused(op(true, true), &[a, b, &[3], &[1, 5]], kind, "one zero point of rhs");
    refused(op(false, false), &[a, &[3, 5]], kind, "matmul_integer of [2, 3, 4] and [3, 5]");
}

#[test]
fn scales_are_of_the_tensor_of_lines_or_of_blocks() {
    let op = || Op::ScaledMatmul(ScaledMatmul::default());
    let (a, b): (&[usize], &[usize]) = (&[2, 300, 257], &[257, 5]);
    let (one, of_a): (&[usize], [&[usize]; 8]) =
        (&[1], [&[], &[1], &[1, 1], &[300, 1], &[300, 3], &[3, 3], &[1, 3], &[2, 300, 1]]);
    for scale in of_a {
        assert_eq!(shape(op(), &[a, b, scale, one]).unwrap(), [2, 300, 5]);
    }
    for scale in [&[][..], &[1, 5], &[3, 5], &[3, 1], &[2, 1, 5], &[1, 1, 1]] {
        assert_eq!(shape(op(), &[a, b, one, scale]).unwrap(), [2, 300, 5]);
    }
    // Without elements of k there are no blocks of them.
    assert_eq!(shape(op(), &[&[3, 0], &[0, 5], &[3, 0], &[1, 5]]).unwrap(), [3, 5]);
    let kind = ErrorKind::ShapeMismatch;
    for scale in [&[300][..], &[2, 1], &[300, 257], &[3, 300, 1], &[1, 2, 300, 1], &[1, 300]] {
        refused(op(), &[a, b, scale, one], kind, "a matrix of 1, 300 or 3 by 1 or 3");
    }
    refused(op(), &[a, b, one, &[5, 1]], kind, "one scale of rhs ([] or [1]), or a matrix of 1 or 3 by 1, 5 or 1");
    refused(op(), &[a, &[5, 257], one, one], kind, "inner dimensions 257 and 5");
}

#[test]
fn convolutions_that_have_no_result_are_refused() {
    let (x, k): (&[usize], &[usize]) = (&[2, 4, 9], &[6, 4, 3]);
    let op = |c: Conv1d| Op::Conv1d(c);
    let plain = Conv1d::default();
    refused(op(plain.with_stride([0])), &[x, k], ErrorKind::InvalidArgument, "at least 1");
    refused(op(plain.with_groups(0)), &[x, k], ErrorKind::InvalidArgument, "at least 1");
    refused(op(plain.with_groups(3)), &[x, k], ErrorKind::ShapeMismatch, "4 channels");
    refused(op(plain.with_dilation([5])), &[x, k], ErrorKind::InvalidArgument, "no window");
    refused(op(plain.with_padding([usize::MAX])), &[x, k], ErrorKind::InvalidArgument, "no window");
    refused(op(plain), &[x, &[6, 4, 0]], ErrorKind::InvalidArgument, "no window");
    refused(op(plain), &[&[2, 4], k], ErrorKind::ShapeMismatch, "rank 3");
    let biased = plain.with_bias(true);
    assert_eq!(shape(op(biased), &[x, k, &[6]]).unwrap(), [2, 6, 7]);
    refused(op(biased), &[x, k, &[4]], ErrorKind::ShapeMismatch, "the bias must have shape [6]");
    refused(op(biased), &[x, k, &[6, 1]], ErrorKind::ShapeMismatch, "gives 6 channels");
    let grouped = ConvTranspose1d::default().with_groups(2).with_bias(true);
    assert_eq!(shape(Op::ConvTranspose1d(grouped), &[x, &[4, 3, 2], &[6]]).unwrap(), [2, 6, 10]);
    refused(Op::ConvTranspose1d(grouped), &[x, &[4, 3, 2], &[3]], ErrorKind::ShapeMismatch, "must have shape [6]");
    let transposed = ConvTranspose1d::default().with_output_padding([1]);
    refused(Op::ConvTranspose1d(transposed), &[x, &[4, 2, 3]], ErrorKind::InvalidArgument, "output padding");
    let cut = ConvTranspose1d::default().with_padding([6]);
    refused(Op::ConvTranspose1d(cut), &[x, &[4, 2, 3]], ErrorKind::InvalidArgument, "no window");
}

#[test]
fn windows_have_pytorchs_shapes() {
    let pool = Pool2d::new([3, 2]).with_stride([2, 1]).with_padding([1, 1]);
    assert_eq!(shape(Op::MaxPool2d(pool), &[&[1, 2, 7, 5]]).unwrap(), [1, 2, 4, 6]);
    refused(Op::AvgPool2d(pool.with_padding([3, 0])), &[&[1, 2, 7, 5]], ErrorKind::InvalidArgument, "covers");
    // torch.nn.functional.max_pool2d(torch.zeros(1, 2, 7, 6), (3, 2), (2, 5), (1, 0), (2, 1), True)
    let rounded = Pool2d::new([3, 2]).with_stride([2, 5]).with_padding([1, 0]).with_dilation([2, 1]);
    assert_eq!(shape(Op::MaxPool2d(rounded.with_ceil_mode(true)), &[&[1, 2, 7, 6]]).unwrap(), [1, 2, 3, 2]);
    // The second column of windows would begin after the input; the only one is wider than it.
    let wide = Pool2d::new([1, 8]).with_stride([1, 7]).with_ceil_mode(true);
    assert_eq!(shape(Op::MaxPool2d(wide), &[&[1, 2, 7, 6]]).unwrap(), [1, 2, 7, 1]);
    let beyond = Pool2d::new([1, 1]).with_stride([2, 2]).with_ceil_mode(true);
    assert_eq!(shape(Op::MaxPool2d(beyond), &[&[1, 2, 6, 7]]).unwrap(), [1, 2, 3, 4]);
    assert_eq!(shape(Op::AvgPool1d(Pool1d::new([2])), &[&[1, 2, 5]]).unwrap(), [1, 2, 2]);
    let volume = Op::AvgPool3d(Pool3d::new([2, 1, 3]));
    assert_eq!(shape(volume.clone(), &[&[1, 2, 5, 4, 9]]).unwrap(), [1, 2, 2, 4, 3]);
    refused(volume, &[&[1, 2, 5, 4]], ErrorKind::ShapeMismatch, "rank 5");
    let skips = Pool1d::new([3]).with_dilation([4]).with_padding([2]);
    refused(Op::MaxPool1d(skips), &[&[1, 2, 3]], ErrorKind::InvalidArgument, "at most the size");
    refused(Op::MaxPool1d(skips.with_dilation([0])), &[&[1, 2, 3]], ErrorKind::InvalidArgument, "at least 1");
    let huge = Pool2d::new([usize::MAX, 2]).with_padding([usize::MAX / 2, 1]);
    refused(Op::MaxPool2d(huge), &[&[1, 1, 1, 1]], ErrorKind::InvalidArgument, "larger");
    refused(Op::AvgPool2d(Pool2d::new([9, 1])), &[&[1, 2, 7, 5]], ErrorKind::InvalidArgument, "larger");
    let shared = AdaptivePool::new([3, 9]);
    assert_eq!(shape(Op::AdaptiveAvgPool(shared), &[&[1, 2, 7, 5]]).unwrap(), [1, 2, 3, 9]);
    refused(Op::AdaptiveMaxPool(shared), &[&[1, 2, 7]], ErrorKind::ShapeMismatch, "rank 4");
    refused(Op::AdaptiveMaxPool(shared), &[&[1, 2, 0, 5]], ErrorKind::InvalidArgument, "not be empty");
    let plane = Pool2d::new([2, 2]).with_ceil_mode(true);
    assert_eq!(shape(Op::LpPool(plane.lp(3.0)), &[&[1, 2, 7, 5]]).unwrap(), [1, 2, 4, 3]);
    for order in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e39, 1e-50] {
        refused(Op::LpPool(plane.lp(order)), &[&[1, 2, 7, 5]], ErrorKind::InvalidArgument, "positive");
    }
    let back = Op::MaxPoolBackward(plane.backward([7, 5]));
    assert_eq!(shape(back.clone(), &[&[1, 2, 4, 3], &[1, 2, 4, 3]]).unwrap(), [1, 2, 7, 5]);
    refused(back.clone(), &[&[1, 2, 4, 3], &[1, 2, 3, 4]], ErrorKind::ShapeMismatch, "[1, 2, 4, 3]");
    refused(back.clone(), &[&[1, 2, 4, 2], &[1, 2, 4, 2]], ErrorKind::ShapeMismatch, "[1, 2, 4, 3]");
    refused(back, &[&[1, 2, 4], &[1, 2, 4]], ErrorKind::ShapeMismatch, "rank 4");
    let wide = Op::MaxPoolBackward(Pool1d::new([1]).with_stride([1 << 33]).backward([1 << 32]));
    refused(wide, &[&[1, 1, 1], &[1, 1, 1]], ErrorKind::InvalidArgument, "u32 index");
    let back = Op::AdaptiveAvgPoolBackward(AdaptivePool::new([7, 5]));
    assert_eq!(shape(back.clone(), &[&[1, 2, 3, 9]]).unwrap(), [1, 2, 7, 5]);
    refused(back, &[&[1, 2, 0, 9]], ErrorKind::InvalidArgument, "has windows");
    let apart = Op::Col2im(Pool2d::new([2, 3]).with_stride([1, 2]).with_padding([1, 4]).backward([7, 5]));
    assert_eq!(shape(apart.clone(), &[&[3, 12, 48]]).unwrap(), [3, 2, 7, 5]);
    refused(apart.clone(), &[&[3, 10, 48]], ErrorKind::ShapeMismatch, "6 elements");
    refused(apart.clone(), &[&[3, 12, 47]], ErrorKind::ShapeMismatch, "takes 48 columns");
    refused(apart, &[&[3, 12, 8, 6]], ErrorKind::ShapeMismatch, "rank 3");
    let large = Op::Col2im(Pool1d::new([9]).backward([4]));
    refused(large, &[&[1, 9, 1]], ErrorKind::InvalidArgument, "larger");
    let many = Op::AdaptiveAvgPool(AdaptivePool::new([usize::MAX]));
    refused(many, &[&[1, 2, 7]], ErrorKind::InvalidArgument, "too many");
    assert_eq!(shape(Op::UpsampleNearest1d(UpsampleNearest1d::new([7])), &[&[1, 2, 3]]).unwrap(), [1, 2, 7]);
    let nothing = Op::UpsampleNearest2d(UpsampleNearest2d::new([2, 2]));
    refused(nothing, &[&[1, 2, 0, 3]], ErrorKind::InvalidArgument, "no elements to enlarge");
    let scaled = Op::UpsampleBilinear2d(UpsampleBilinear2d::new([2, 2]).with_scale([f64::NAN, 1.0]));
    refused(scaled, &[&[1, 2, 3, 3]], ErrorKind::InvalidArgument, "positive");
}

#[test]
fn padding_may_differ_by_side() {
    // Of an input that torch.nn.functional.pad pads first, and of a result that is cut afterwards.
    let conv = Conv2d::default().with_stride([2, 1]).with_padding_by_side([0, 2], [3, 1]);
    assert_eq!(shape(Op::Conv2d(conv), &[&[1, 2, 6, 5], &[4, 2, 3, 3]]).unwrap(), [1, 4, 4, 6]);
    let back = ConvTranspose1d::default().with_stride([2]).with_padding_by_side([1], [2]);
    assert_eq!(shape(Op::ConvTranspose1d(back), &[&[1, 2, 5], &[2, 3, 4]]).unwrap(), [1, 3, 9]);
    let whole = ConvTranspose1d::default().with_padding_by_side([4], [5]);
    refused(Op::ConvTranspose1d(whole), &[&[1, 2, 5], &[2, 3, 4]], ErrorKind::InvalidArgument, "no window");
    let huge = Conv1d::default().with_padding_by_side([usize::MAX], [1]);
    refused(Op::Conv1d(huge), &[&[1, 2, 5], &[3, 2, 4]], ErrorKind::InvalidArgument, "no window");
}

#[test]
fn images_are_sampled_and_resized_in_their_dimensions() {
    use ErrorKind::{InvalidArgument, ShapeMismatch};
    let sample = |mode| Op::GridSample(GridSample::new().with_mode(mode));
    let linear = sample(Interpolation::Linear);
    assert_eq!(shape(linear.clone(), &[&[2, 3, 4, 5], &[2, 6, 7, 2]]).unwrap(), [2, 3, 6, 7]);
    assert_eq!(shape(linear.clone(), &[&[2, 3, 4, 5, 6], &[2, 7, 8, 9, 3]]).unwrap(), [2, 3, 7, 8, 9]);
    assert_eq!(shape(linear.clone(), &[&[2, 3, 0, 5], &[2, 0, 7, 2]]).unwrap(), [2, 3, 0, 7]);
    refused(linear.clone(), &[&[2, 3, 4], &[2, 6, 1]], ShapeMismatch, "[n, c, h, w]");
    refused(linear.clone(), &[&[2, 3, 4, 5], &[2, 6, 7, 3]], ShapeMismatch, "2 numbers in its last dimension");
    refused(linear.clone(), &[&[2, 3, 4, 5], &[1, 6, 7, 2]], ShapeMismatch, "batch of 2");
    refused(linear, &[&[2, 3, 0, 5], &[2, 6, 7, 2]], InvalidArgument, "no elements to sample");
    let cubic = sample(Interpolation::Cubic);
    refused(cubic, &[&[2, 3, 4, 5, 6], &[2, 7, 8, 9, 3]], InvalidArgument, "two dimensions");

    let resize = |size: &[usize]| Resize::new(size, Interpolation::Linear);
    assert_eq!(shape(Op::Resize(resize(&[7])), &[&[2, 3, 4]]).unwrap(), [2, 3, 7]);
    assert_eq!(shape(Op::Resize(resize(&[7, 0, 9])), &[&[2, 3, 4, 0, 6]]).unwrap(), [2, 3, 7, 0, 9]);
    refused(Op::Resize(resize(&[7])), &[&[2, 3, 4, 5]], ShapeMismatch, "rank 3");
    refused(Op::Resize(resize(&[1; 4])), &[&[2, 3, 4, 5, 6, 7]], InvalidArgument, "one, two or three");
    refused(Op::Resize(resize(&[7])), &[&[2, 3, 0]], InvalidArgument, "no elements");
    for scale in [&[1.0, 2.0][..], &[0.0], &[f64::INFINITY]] {
        refused(Op::Resize(resize(&[7]).with_scale(scale)), &[&[2, 3, 4]], InvalidArgument, "1 positive numbers");
    }
    let vanishing = resize(&[1]).with_scale(&[1e-9]);
    assert_eq!(shape(Op::Resize(vanishing.clone()), &[&[2, 3, 4]]).unwrap(), [2, 3, 1]);
    refused(Op::Resize(vanishing.with_antialias(true)), &[&[2, 3, 4]], InvalidArgument, "half an element");
    let region = Coordinates::CropAndResize([[0.0, f64::NAN]].as_slice().into());
    refused(Op::Resize(resize(&[7]).with_coordinates(region)), &[&[2, 3, 4]], InvalidArgument, "region");
    refused(Op::Resize(resize(&[7]).with_cubic_coeff(f64::NAN)), &[&[2, 3, 4]], InvalidArgument, "coefficient");
}

#[test]
fn ids_must_suit_what_they_count_in() {
    let gather = Op::Gather(Indexing::new(1));
    assert_eq!(shape(gather.clone(), &[&[4, 5], &[3, 9]]).unwrap(), [3, 9]);
    refused(gather.clone(), &[&[4, 5], &[5, 1]], ErrorKind::ShapeMismatch, "only in dimension 1");
    refused(gather, &[&[4], &[3]], ErrorKind::InvalidArgument, "dimension 1");
    assert_eq!(shape(Op::IndexSelect(Indexing::new(0)), &[&[4, 5], &[9]]).unwrap(), [9, 5]);
    refused(Op::IndexSelect(Indexing::new(0)), &[&[4, 5], &[9, 1]], ErrorKind::ShapeMismatch, "rank 1");
    assert_eq!(shape(Op::ScatterAdd(Indexing::new(0)), &[&[4, 5], &[9, 2], &[9, 2]]).unwrap(), [4, 5]);
    refused(
        Op::ScatterSet(Indexing::new(0)),
        &[&[4, 5], &[9, 2], &[9, 3]],
        ErrorKind::ShapeMismatch,
        "different shapes",
    );
    assert_eq!(shape(Op::IndexAdd(Indexing::new(1)), &[&[4, 5], &[9], &[4, 9]]).unwrap(), [4, 5]);
    refused(Op::IndexAdd(Indexing::new(1)), &[&[4, 5], &[9], &[4, 8]], ErrorKind::ShapeMismatch, "9");
    let reduce = Op::ScatterReduce(ScatterReduce::new(ScatterOp::Amax, 0));
    assert_eq!(shape(reduce.clone(), &[&[4, 5], &[9, 2], &[9, 2]]).unwrap(), [4, 5]);
    refused(reduce, &[&[4, 5], &[9, 2], &[9, 3]], ErrorKind::ShapeMismatch, "different shapes");
    let tuples = |shared| Op::GatherNd(GatherNd::new(shared));
    assert_eq!(shape(tuples(0), &[&[4, 5, 6], &[9, 8, 2]]).unwrap(), [9, 8, 6]);
    assert_eq!(shape(tuples(1), &[&[4, 5, 6], &[4, 8, 1]]).unwrap(), [4, 8, 6]);
    assert_eq!(shape(tuples(0), &[&[4, 5], &[9, 0]]).unwrap(), [9, 4, 5]);
    refused(tuples(1), &[&[4, 5, 6], &[3, 8, 1]], ErrorKind::ShapeMismatch, "first 1 dimensions");
    refused(tuples(0), &[&[4, 5], &[9, 3]], ErrorKind::ShapeMismatch, "tuples of 3 ids");
    refused(tuples(2), &[&[4, 5], &[4, 1]], ErrorKind::ShapeMismatch, "after 2 shared dimensions");
    refused(tuples(usize::MAX), &[&[4, 5], &[4, 1]], ErrorKind::ShapeMismatch, "shared dimensions");
    refused(tuples(0), &[&[4, 5], &[]], ErrorKind::ShapeMismatch, "rank 0");
    refused(tuples(0), &[&[1 << 40, 1 << 40], &[1, 2]], ErrorKind::InvalidArgument, "more positions");
    let put = Op::ScatterNd(ScatterNd::new(ScatterOp::Add));
    assert_eq!(shape(put.clone(), &[&[4, 5], &[9, 1], &[9, 5]]).unwrap(), [4, 5]);
    refused(put, &[&[4, 5], &[9, 1], &[9, 4]], ErrorKind::ShapeMismatch, "take a source of [9, 5]");
}

#[test]
fn channels_and_their_parameters_must_fit() {
    let group = |groups| Op::GroupNorm(GroupNorm::new(groups, 0.0));
    assert_eq!(shape(group(2), &[&[3, 4, 0], &[4], &[4]]).unwrap(), [3, 4, 0]);
    assert_eq!(shape(group(3), &[&[2, 0], &[0], &[0]]).unwrap(), [2, 0]);
    for groups in [0, 3, 8, usize::MAX] {
        refused(group(groups), &[&[3, 4, 5], &[4], &[4]], ErrorKind::InvalidArgument, "4 channels cannot be divided");
    }
    refused(group(1), &[&[3], &[3], &[3]], ErrorKind::ShapeMismatch, "[n, c, ..]");
    let batch = Op::BatchNorm(BatchNorm::new(0.0).with_inputs(true, false));
    assert_eq!(shape(batch.clone(), &[&[3, 4], &[4], &[4], &[4]]).unwrap(), [3, 4]);
    for at in 1..4 {
        for other in [&[3][..], &[1, 4], &[]] {
            let mut inputs: [&[usize]; 4] = [&[3, 4, 5], &[4], &[4], &[4]];
            inputs[at] = other;
            refused(batch.clone(), &inputs, ErrorKind::ShapeMismatch, "parameters of shape [4]");
        }
    }
    let response = Op::LocalResponseNorm(LocalResponseNorm::new(5, 1.0, 1.0, 1.0));
    refused(response.clone(), &[&[]], ErrorKind::ShapeMismatch, "[n, c, ..]");
    assert_eq!(shape(response, &[&[0, 4]]).unwrap(), [0, 4]);
}

#[test]
fn rows_and_their_parameters_must_fit() {
    refused(Op::Softmax, &[&[]], ErrorKind::InvalidArgument, "rank 0");
    refused(Op::RmsNorm { eps: 0.0 }, &[&[2, 3], &[2]], ErrorKind::ShapeMismatch, "[3]");
    let layer = LayerNorm::new(0.0);
    refused(Op::LayerNorm(layer), &[&[2, 3], &[3], &[1, 3]], ErrorKind::ShapeMismatch, "[3]");
    refused(Op::LayerNorm(layer.with_inputs(false, true)), &[&[2, 3], &[2]], ErrorKind::ShapeMismatch, "[3]");
    assert_eq!(shape(Op::LayerNormStats { eps: 0.0 }, &[&[4, 0, 3]]).unwrap(), [4, 0, 2]);
    refused(Op::LayerNormStats { eps: 0.0 }, &[&[4, 0]], ErrorKind::InvalidArgument, "no mean");
    let skip = Op::SkipLayerNorm { eps: 0.0 };
    assert_eq!(shape(skip.clone(), &[&[2, 3], &[2, 3], &[3], &[3], &[3]]).unwrap(), [2, 3]);
    assert_eq!(shape(skip.clone(), &[&[0, 3], &[0, 3], &[3], &[3], &[3]]).unwrap(), [0, 3]);
    for other in [&[3, 2][..], &[3], &[1, 3], &[1, 2, 3]] {
        refused(skip.clone(), &[&[2, 3], other, &[3], &[3], &[3]], ErrorKind::ShapeMismatch, "skip of the same shape");
    }
    for other in [&[2][..], &[1, 3], &[2, 3], &[]] {
        for at in 2..5 {
            let mut inputs: [&[usize]; 5] = [&[2, 3], &[2, 3], &[3], &[3], &[3]];
            inputs[at] = other;
            refused(skip.clone(), &inputs, ErrorKind::ShapeMismatch, "parameters of shape [3]");
        }
    }
    refused(skip, &[&[], &[], &[], &[], &[]], ErrorKind::InvalidArgument, "rank 0");
    assert_eq!(shape(Op::TopK(TopK::largest(2)), &[&[2, 3]]).unwrap(), [2, 2]);
    refused(Op::ArgTopK(TopK::smallest(4)), &[&[2, 3]], ErrorKind::InvalidArgument, "k is 4");
    refused(Op::Scan(Scan::cumsum(2)), &[&[2, 3]], ErrorKind::InvalidArgument, "dimension 2");
    refused(Op::Triangle(Triangle::lower(0)), &[&[3]], ErrorKind::ShapeMismatch, "two dimensions");
    let rope = |form| Op::Rope(form);
    assert_eq!(shape(rope(RopeForm::Thd), &[&[2, 5, 3, 8], &[5, 4], &[5, 4]]).unwrap(), [2, 5, 3, 8]);
    assert_eq!(shape(rope(RopeForm::Halves), &[&[2, 3, 5, 8], &[2, 5, 4], &[2, 5, 4]]).unwrap(), [2, 3, 5, 8]);
    refused(rope(RopeForm::Halves), &[&[2, 5, 3, 8], &[5, 4], &[5, 4]], ErrorKind::ShapeMismatch, "[3, 4]");
    refused(rope(RopeForm::Halves), &[&[2, 5, 3, 7], &[3, 3], &[3, 3]], ErrorKind::ShapeMismatch, "even");
}

#[test]
fn attention_has_the_shape_of_its_query() {
    let sdpa = |p: Attention| Op::ScaledDotProductAttention(p);
    let (all, plain): (_, [&[usize]; 3]) = (Attention::new(), [&[2, 8, 5, 64], &[2, 2, 9, 64], &[2, 2, 9, 64]]);
    assert_eq!(shape(sdpa(all), &plain).unwrap(), [2, 8, 5, 64]);
    let [q, k, v] = plain;
    let masked = sdpa(all.with_inputs(true, false));
    let both = sdpa(all.with_inputs(true, true));
    assert_eq!(shape(masked.clone(), &[q, k, v, &[2, 8, 5, 9]]).unwrap(), [2, 8, 5, 64]);
    assert_eq!(shape(both.clone(), &[q, k, v, &[2, 8, 5, 9], &[2]]).unwrap(), [2, 8, 5, 64]);
    assert_eq!(shape(sdpa(all), &[&[2, 8, 0, 64], k, v]).unwrap(), [2, 8, 0, 64]);
    assert_eq!(shape(sdpa(all), &[&[2, 0, 5, 0], &[2, 0, 0, 0], &[2, 0, 0, 0]]).unwrap(), [2, 0, 5, 0]);
    assert_eq!(shape(sdpa(all), &[&[1, 1, 1, 256], &[1, 1, 1, 256], &[1, 1, 1, 256]]).unwrap(), [1, 1, 1, 256]);
    // Parameters at their limits.
    let scale = 2f32.powi(59);
    for p in [all.with_scale(scale), all.with_scale(-scale), all.with_scale(0.0), all.with_softcap(1e-10)] {
        assert_eq!(shape(sdpa(p), &plain).unwrap(), [2, 8, 5, 64]);
    }
    for (mask, lengths, inputs, name) in [
        (false, false, 3, "scaled_dot_product_attention"),
        (true, false, 4, "scaled_dot_product_attention_mask"),
        (false, true, 4, "scaled_dot_product_attention_lengths"),
        (true, true, 5, "scaled_dot_product_attention_mask_lengths"),
    ] {
        let op = sdpa(all.with_inputs(mask, lengths));
        assert_eq!((op.inputs(), op.name()), (inputs, name));
    }
}

#[test]
fn attention_that_has_no_result_is_refused() {
    use ErrorKind::{InvalidArgument, ShapeMismatch};
    let sdpa = |p: Attention| Op::ScaledDotProductAttention(p);
    let all = Attention::new();
    let [q, k, v]: [&[usize]; 3] = [&[2, 8, 5, 64], &[2, 2, 9, 64], &[2, 2, 9, 64]];
    refused(sdpa(all), &[&[8, 5, 64], k, v], ShapeMismatch, "takes a query of rank 4");
    refused(sdpa(all), &[q, &[2, 9, 64], v], ShapeMismatch, "takes keys of rank 4");
    refused(sdpa(all), &[q, k, &[1, 2, 2, 9, 64]], ShapeMismatch, "takes values of rank 4");
    for other in [[1, 2, 9, 64], [2, 4, 9, 64], [2, 2, 8, 64], [2, 2, 9, 32]] {
        refused(sdpa(all), &[q, k, &other], ShapeMismatch, "of one shape [2, kv_heads, n, 64]");
    }
    for other in [[1, 2, 9, 64], [2, 2, 9, 32]] {
        refused(sdpa(all), &[q, &other, &other], ShapeMismatch, "of one shape [2, kv_heads, n, 64]");
    }
    for heads in [0, 3, 16] {
        let kv = [2, heads, 9, 64];
        refused(sdpa(all), &[q, &kv, &kv], ShapeMismatch, "are no multiple of");
    }
    let long = [2, 2, 9, 257];
    refused(sdpa(all), &[&[2, 8, 5, 257], &long, &long], InvalidArgument, "257 elements; 256 is the most");
    let (one, most, more) = ([1, 1, 1, 1], [1, 1, 1 << 30, 1], [1, 1, (1 << 30) + 1, 1]);
    assert!(shape(sdpa(all), &[&most, &most, &most]).is_ok());
    refused(sdpa(all), &[&one, &more, &more], InvalidArgument, "2^30 is the most");
    refused(sdpa(all), &[&more, &one, &one], InvalidArgument, "2^30 is the most");
    refused(sdpa(all), &[&[1, 4, (1 << 28) + 1, 1], &one, &one], InvalidArgument, "2^30 is the most");
    let (mask, lengths) = (all.with_inputs(true, false), all.with_inputs(false, true));
    for other in [&[5, 9][..], &[1, 1, 5, 9], &[2, 8, 9, 5], &[2, 2, 5, 9]] {
        refused(sdpa(mask), &[q, k, v, other], ShapeMismatch, "takes a mask [2, 8, 5, 9]");
    }
    for other in [&[][..], &[1], &[2, 1]] {
        refused(sdpa(lengths), &[q, k, v, other], ShapeMismatch, "takes lengths [2]");
    }
    for cap in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused(sdpa(all.with_softcap(cap)), &[q, k, v], InvalidArgument, "must be positive and finite");
    }
    let most = 2f32.powi(59);
    for scale in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(most.to_bits() + 1)] {
        refused(sdpa(all.with_scale(scale)), &[q, k, v], InvalidArgument, "at most 2^59 in magnitude");
    }
    refused(sdpa(all.with_softcap(1e-20)), &[q, k, v], InvalidArgument, "more than 2^59 times the soft-cap");
}

#[test]
fn quantized_rows_are_whole_blocks() {
    let q = QMatmul::new(GgmlDType::Q4K);
    assert_eq!(shape(Op::Quantize(GgmlDType::Q4K), &[&[3, 512]]).unwrap(), [3, 288]);
    assert_eq!(shape(Op::Dequantize(GgmlDType::Q4_0), &[&[3, 36]]).unwrap(), [3, 64]);
    refused(Op::Quantize(GgmlDType::Q4K), &[&[3, 300]], ErrorKind::InvalidArgument, "block size 256");
    refused(Op::Dequantize(GgmlDType::Q4_0), &[&[3, 35]], ErrorKind::InvalidArgument, "18 bytes");
    assert_eq!(shape(Op::QMatmul(q), &[&[7, 288], &[2, 5, 512]]).unwrap(), [2, 5, 7]);
    refused(Op::QMatmul(q), &[&[7, 288], &[5, 256]], ErrorKind::ShapeMismatch, "hold 512");
    assert_eq!(shape(Op::QMatmulId(q), &[&[4, 7, 144], &[9, 1, 256], &[9, 2]]).unwrap(), [9, 2, 7]);
    refused(Op::QMatmulId(q), &[&[4, 7, 144], &[9, 3, 256], &[9, 2]], ErrorKind::ShapeMismatch, "1 or top");
}

#[test]
fn calls_whose_inputs_do_not_say_their_result_say_so() {
    let x = CpuStorage::F32(vec![1.0; 4]);
    let l = Layout::contiguous(4);
    let error = CpuStorage::apply(&Op::Cast(Cast::default()), &[(&x, &l)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let mut dst = x.clone();
    let error = CpuStorage::apply_into(&Op::Softmax, &[Src::InPlace], &mut dst, &l).unwrap_err();
    assert!(error.message().contains("a storage of its own"), "{error}");
    let error = CpuStorage::apply_into(&Op::RandUniform(RandUniform::new(1.0, 0.0)), &[], &mut dst, &l).unwrap_err();
    assert_eq!((error.kind(), error.op()), (ErrorKind::InvalidArgument, Some("rand_uniform")));
    for p in [-1e-9, 1.0000001, f64::NAN, f64::INFINITY] {
        let error = CpuStorage::apply_into(&Op::Bernoulli(Bernoulli::new(p)), &[], &mut dst, &l).unwrap_err();
        assert_eq!((error.kind(), error.op()), (ErrorKind::InvalidArgument, Some("bernoulli")));
        refused(Op::Dropout(Dropout::new(p)), &[&[2, 3]], ErrorKind::InvalidArgument, "from 0 to 1");
    }
}

#[test]
fn maps_of_indices_have_pytorchs_shapes() {
    let pad = |before: &[isize], after: &[isize], mode| Op::Pad(Pad::new(before, after, mode));
    let zero = PadMode::Constant(Scalar::F32(0.0));
    assert_eq!(shape(pad(&[1, -2], &[3, 0], zero), &[&[4, 5]]).unwrap(), [8, 3]);
    assert_eq!(shape(pad(&[4, 0], &[4, 0], PadMode::Reflect), &[&[5, 0]]).unwrap(), [13, 0]);
    assert_eq!(shape(pad(&[5], &[5], PadMode::Circular), &[&[5]]).unwrap(), [15]);
    assert_eq!(shape(Op::Repeat(Repeat::new(&[2, 3, 0])), &[&[4, 5]]).unwrap(), [2, 12, 0]);
    assert_eq!(shape(Op::Concat(Concat::new(1, 3)), &[&[4, 5], &[4, 0], &[4, 1]]).unwrap(), [4, 6]);
    assert_eq!(shape(Op::Concat(Concat::new(0, 1)), &[&[4, 5]]).unwrap(), [4, 5]);
    assert_eq!(shape(Op::Flip(Flip::new(&[])), &[&[]]).unwrap(), [0usize; 0]);
}

#[test]
fn maps_of_indices_that_have_no_result_are_refused() {
    let invalid = ErrorKind::InvalidArgument;
    let pad = |before: isize, after: isize, mode| Op::Pad(Pad::new(&[before], &[after], mode));
    let zero = PadMode::Constant(Scalar::F32(0.0));
    refused(Op::Flip(Flip::new(&[2])), &[&[4, 5]], invalid, "dimension 2");
    refused(Op::Flip(Flip::new(&[1, 1])), &[&[4, 5]], invalid, "named twice");
    refused(Op::Roll(Roll::new(&[1], &[0, 1])), &[&[4, 5]], invalid, "1 shifts were given for 2");
    refused(Op::Roll(Roll::new(&[1], &[2])), &[&[4, 5]], invalid, "dimension 2");
    refused(pad(1, 1, zero), &[&[4, 5]], invalid, "one amount before and one after each");
    refused(pad(-3, -2, zero), &[&[4]], invalid, "would crop more");
    refused(pad(isize::MIN, 0, zero), &[&[4]], invalid, "would crop more");
    refused(pad(4, 0, PadMode::Reflect), &[&[4]], invalid, "shorter than the dimension");
    refused(pad(-1, 3, PadMode::Reflect), &[&[4]], invalid, "which has 3");
    refused(pad(1, 0, PadMode::Reflect), &[&[0]], invalid, "shorter");
    refused(pad(1, 0, PadMode::Replicate), &[&[0]], invalid, "no element to repeat");
    refused(pad(0, 5, PadMode::Circular), &[&[4]], invalid, "at most as long");
    refused(pad(isize::MAX, isize::MAX, zero), &[&[usize::MAX]], invalid, "exceeds a usize");
    refused(Op::Repeat(Repeat::new(&[2])), &[&[4, 5]], invalid, "at least 2 numbers");
    refused(Op::Repeat(Repeat::new(&[usize::MAX])), &[&[2]], invalid, "exceed a usize");
    refused(Op::Concat(Concat::new(0, 0)), &[], invalid, "at least one input");
    refused(Op::Concat(Concat::new(1, 1)), &[&[4]], invalid, "dimension 1");
    refused(Op::Concat(Concat::new(0, 2)), &[&[4, 5], &[4, 6]], ErrorKind::ShapeMismatch, "only in dimension 0");
    refused(Op::Concat(Concat::new(0, 2)), &[&[4, 5], &[4]], ErrorKind::ShapeMismatch, "only in dimension 0");
    refused(Op::Concat(Concat::new(0, 2)), &[&[usize::MAX], &[1]], invalid, "more than a usize");
}
