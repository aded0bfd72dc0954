//! The families of operations and the list of all operations. The kernel sources, the conformance
//! suite and the reports are ordered by family.
//!
//! Every match here is exhaustive, so that a new operation does not compile until it has a family.
//! A test names each operation that has no example.

use super::{
    Activation, AdaptivePool, Affine, Attention, BatchNorm, Bernoulli, BernoulliProbs, BinaryOp, Cast, Celu, Clamp,
    CmpOp, Concat, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Dropout, Elu, Flip,
    GatherNd, GgmlDType, GridSample, GroupNorm, Indexing, Interpolation, LayerNorm, LeakyRelu, LocalResponseNorm,
    Matmul, MatmulInteger, Op, Pack, PackedDType, Pad, PadMode, Pool1d, Pool2d, Pool3d, Powf, Predicate, QActivations,
    QMatmul, RandNormal, RandUniform, Reduce, ReduceOp, Repeat, Resize, Roll, RopeForm, ScaledMatmul, Scan, ScanOp,
    ScatterNd, ScatterOp, ScatterReduce, Sort, TopK, Triangle, UnaryOp, Unpack, UpsampleBilinear2d, UpsampleNearest1d,
    UpsampleNearest2d,
};
use crate::Scalar;
use std::fmt;

macro_rules! families {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal)*) => {
        /// A family of operations. Each has one folder in the kernel sources and one group of lines
        /// in a report.
        ///
        /// ```rust
        /// # use isobit_hal::{Family, Op};
        /// assert_eq!(Op::Softmax.family(), Family::Norm);
        /// assert_eq!(Family::Norm.name(), "norm");
        /// assert_eq!(Family::Norm.examples().len(), 19);
        /// # Ok::<(), isobit_hal::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Family { $($(#[doc = $doc])+ $variant,)* }

        impl Family {
            /// Every family, in the order of reports.
            pub const ALL: &[Family] = &[$(Family::$variant),*];

            /// Returns the name used by the folders of the kernel sources and by reports.
            pub const fn name(self) -> &'static str {
                match self { $(Family::$variant => $name,)* }
            }
        }
    };
}

families! {
    /// Setting all elements to one value.
    Fill "fill"
    /// Copying elements between layouts.
    Copy "copy"
    /// Conversions between dtypes.
    Cast "cast"
    /// Elementwise functions with parameters.
    Affine "affine"
    /// Elementwise functions of one argument.
    Unary "unary"
    /// Elementwise functions of two arguments.
    Binary "binary"
    /// Elementwise comparisons and tests.
    Compare "compare"
    /// Elementwise selection by a condition.
    Select "select"
    /// Fused bias addition and activation function.
    BiasActivation "bias_activation"
    /// Reductions over dimensions.
    Reduce "reduce"
    /// Matrix products.
    Matmul "matmul"
    /// Upper and lower triangles of matrices.
    Triangle "triangle"
    /// Running sums, products, minima and maxima.
    Scan "scan"
    /// Softmax and normalizations.
    Norm "norm"
    /// Rotary position embeddings.
    Rope "rope"
    /// Attention.
    Attention "attention"
    /// Sorting along the last dimension.
    Sort "sort"
    /// Gathering and scattering by index.
    Indexing "indexing"
    /// Results whose size depends on values: nonzero elements, selections by a mask, distinct
    /// values.
    Compact "compact"
    /// Convolutions.
    Conv "conv"
    /// Pooling of windows.
    Pooling "pooling"
    /// Upsampling of images.
    Upsample "upsample"
    /// Resizing of images in any way.
    Resize "resize"
    /// Samples of images at the positions of a grid.
    GridSample "grid_sample"
    /// Moving elements by a map of their indices: flips, rolls, padding, repetition, concatenation.
    IndexMap "index_map"
    /// Random numbers.
    Random "random"
    /// Elements of eight bits or fewer, packed in bytes.
    Packed "packed"
    /// Quantization to blocks, and products with quantized matrices.
    Quantized "quantized"
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Family {
    /// Returns each operation name of the family once, with arbitrary parameters. The fill has a
    /// value of dtype `u8`.
    pub fn examples(self) -> Vec<Op> {
        match self {
            Family::Fill => vec![Op::Fill(Scalar::U8(0))],
            Family::Copy => vec![Op::Copy],
            Family::Cast => vec![Op::Cast(Cast::default())],
            Family::Affine => vec![
                Op::Affine(Affine::new(1.0, 0.0)),
                Op::Clamp(Clamp::new(0.0, 1.0)),
                Op::Powf(Powf::new(1.0)),
                Op::Elu(Elu::new(1.0)),
                Op::LeakyRelu(LeakyRelu::new(0.01)),
                Op::Celu(Celu::new(1.0)),
            ],
            Family::Unary => UnaryOp::ALL.iter().map(|&op| Op::Unary(op)).collect(),
            Family::Binary => BinaryOp::ALL.iter().map(|&op| Op::Binary(op)).collect(),
            Family::Compare => {
                let comparisons = CmpOp::ALL.iter().map(|&op| Op::Cmp(op));
                comparisons.chain(Predicate::ALL.iter().map(|&op| Op::Predicate(op))).collect()
            }
            Family::Select => vec![Op::WhereCond],
            Family::BiasActivation => Activation::ALL.iter().map(|&op| Op::AddActivation(op)).collect(),
            Family::Reduce => ReduceOp::ALL.iter().map(|&op| Op::Reduce(Reduce::new(op, &[0]))).collect(),
            Family::Matmul => {
                let zeros = [(false, false), (true, false), (false, true), (true, true)];
                let of_bytes = zeros.map(|(l, r)| Op::MatmulInteger(MatmulInteger::new().with_zero_points(l, r)));
                let scaled = Op::ScaledMatmul(ScaledMatmul::default());
                std::iter::once(Op::Matmul(Matmul::default())).chain(of_bytes).chain([scaled]).collect()
            }
            Family::Triangle => vec![Op::Triangle(Triangle::lower(0)), Op::Triangle(Triangle::upper(0))],
            Family::Scan => ScanOp::ALL.iter().map(|&op| Op::Scan(Scan::new(op, 0))).collect(),
            Family::Norm => {
                let eps = 1e-5;
                let inputs = [(true, true), (true, false), (false, true), (false, false)];
                let layers = inputs.map(|(w, b)| Op::LayerNorm(LayerNorm::new(eps).with_inputs(w, b)));
                let mut ops = vec![Op::Softmax, Op::SafeSoftmax, Op::LogSoftmax, Op::RmsNorm { eps }];
                ops.extend(layers);
                ops.extend([Op::LayerNormStats { eps }, Op::SkipLayerNorm { eps }]);
                ops.extend(inputs.map(|(w, b)| Op::GroupNorm(GroupNorm::new(1, eps).with_inputs(w, b))));
                ops.extend(inputs.map(|(w, b)| Op::BatchNorm(BatchNorm::new(eps).with_inputs(w, b))));
                ops.push(Op::LocalResponseNorm(LocalResponseNorm::new(5, 1e-4, 0.75, 1.0)));
                ops
            }
            Family::Rope => RopeForm::ALL.iter().map(|&form| Op::Rope(form)).collect(),
            Family::Attention => {
                let inputs = [(false, false), (true, false), (false, true), (true, true)];
                inputs.map(|(m, l)| Op::ScaledDotProductAttention(Attention::new().with_inputs(m, l))).into()
            }
            Family::Sort => {
                let (sort, top) = (Sort::ascending(), TopK::largest(1));
                vec![Op::Sort(sort), Op::ArgSort(sort), Op::TopK(top), Op::ArgTopK(top)]
            }
            Family::Indexing => {
                let first = Indexing::new(0);
                let mut ops = vec![Op::Gather(first), Op::IndexSelect(first), Op::ScatterSet(first)];
                ops.extend([Op::ScatterAdd(first), Op::IndexAdd(first)]);
                let reduced = [ScatterOp::Prod, ScatterOp::Amin, ScatterOp::Amax];
                ops.extend(reduced.map(|op| Op::ScatterReduce(ScatterReduce::new(op, 0))));
                ops.push(Op::GatherNd(GatherNd::new(0)));
                ops.extend(ScatterOp::ALL.iter().map(|&op| Op::ScatterNd(ScatterNd::new(op))));
                ops
            }
            Family::Compact => vec![
                Op::CountNonzero,
                Op::Nonzero { bound: 1 },
                Op::MaskedSelect { bound: 1 },
                Op::Compress { dim: 0, bound: 1 },
                Op::CountUnique,
                Op::Unique { bound: 1 },
                Op::UniqueInverse,
                Op::UniqueCounts { bound: 1 },
                Op::UniqueFirst { bound: 1 },
            ],
            Family::Conv => {
                let with = |bias: bool| {
                    [
                        Op::Conv1d(Conv1d::default().with_bias(bias)),
                        Op::Conv2d(Conv2d::default().with_bias(bias)),
                        Op::ConvTranspose1d(ConvTranspose1d::default().with_bias(bias)),
                        Op::ConvTranspose2d(ConvTranspose2d::default().with_bias(bias)),
                        Op::Conv3d(Conv3d::default().with_bias(bias)),
                        Op::ConvTranspose3d(ConvTranspose3d::default().with_bias(bias)),
                    ]
                };
                [with(false), with(true)].concat()
            }
            Family::Pooling => {
                let (line, plane, volume) = (Pool1d::new([2]), Pool2d::new([2; 2]), Pool3d::new([2; 3]));
                let adaptive = [AdaptivePool::new([2]), AdaptivePool::new([2; 2]), AdaptivePool::new([2; 3])];
                let mut ops = vec![
                    Op::AvgPool1d(line),
                    Op::AvgPool2d(plane),
                    Op::AvgPool3d(volume),
                    Op::MaxPool1d(line),
                    Op::MaxPool2d(plane),
                    Op::MaxPool3d(volume),
                    Op::ArgMaxPool1d(line),
                    Op::ArgMaxPool2d(plane),
                    Op::ArgMaxPool3d(volume),
                ];
                for of in [Op::AdaptiveAvgPool, Op::AdaptiveMaxPool, Op::AdaptiveArgMaxPool] {
                    ops.extend(adaptive.map(of));
                }
                ops.extend([line.lp(2.0), plane.lp(2.0), volume.lp(2.0)].map(Op::LpPool));
                for of in [Op::AvgPoolBackward, Op::MaxPoolBackward, Op::Col2im] {
                    ops.extend([line.backward([2]), plane.backward([2; 2]), volume.backward([2; 3])].map(of));
                }
                for of in [Op::AdaptiveAvgPoolBackward, Op::AdaptiveMaxPoolBackward] {
                    ops.extend(adaptive.map(of));
                }
                ops
            }
            Family::Upsample => vec![
                Op::UpsampleNearest1d(UpsampleNearest1d::new([1])),
                Op::UpsampleNearest2d(UpsampleNearest2d::new([1, 1])),
                Op::UpsampleBilinear2d(UpsampleBilinear2d::new([1, 1])),
            ],
            Family::Resize => {
                let modes = [Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic];
                modes.map(|mode| Op::Resize(Resize::new(&[1], mode))).into()
            }
            Family::GridSample => vec![Op::GridSample(GridSample::new())],
            Family::IndexMap => vec![
                Op::Flip(Flip::new(&[0])),
                Op::Roll(Roll::new(&[1], &[0])),
                Op::Pad(Pad::new(&[0], &[0], PadMode::Reflect)),
                Op::Repeat(Repeat::new(&[1])),
                Op::Concat(Concat::new(0, 5)),
            ],
            Family::Random => {
                let (bernoulli, probs) =
                    (Op::Bernoulli(Bernoulli::new(0.5)), Op::BernoulliProbs(BernoulliProbs::new()));
                let drawn = [Op::RandUniform(RandUniform::new(0.0, 1.0)), Op::RandNormal(RandNormal::new(0.0, 1.0))];
                [drawn.as_slice(), &[bernoulli, probs, Op::Dropout(Dropout::new(0.5))]].concat()
            }
            Family::Packed => {
                let all = PackedDType::ALL.iter().copied();
                let unpack = all.clone().map(|dtype| Op::Unpack(Unpack::new(dtype, 1)));
                all.map(|dtype| Op::Pack(Pack::new(dtype))).chain(unpack).collect()
            }
            Family::Quantized => {
                let formats = || GgmlDType::ALL.iter().copied();
                let products = || {
                    let through = |a| formats().map(move |f| QMatmul::new(f).with_activations(a));
                    through(QActivations::Float).chain(through(QActivations::Q8_1))
                };
                let made = formats().filter(|format| format.has_quantizer());
                let mut ops: Vec<Op> = made.map(Op::Quantize).chain(formats().map(Op::Dequantize)).collect();
                ops.extend(products().map(Op::QMatmul).chain(products().map(Op::QMatmulId)));
                ops
            }
        }
    }
}

impl Op {
    /// Returns each operation name once, with arbitrary parameters, in the order of families.
    pub fn examples() -> Vec<Op> {
        Family::ALL.iter().flat_map(|family| family.examples()).collect()
    }

    /// Returns the family of the operation.
    pub const fn family(&self) -> Family {
        match self {
            Op::Fill(_) => Family::Fill,
            Op::Copy => Family::Copy,
            Op::Cast(_) => Family::Cast,
            Op::Affine(_) | Op::Powf(_) | Op::Elu(_) | Op::LeakyRelu(_) | Op::Celu(_) | Op::Clamp(_) => Family::Affine,
            Op::Unary(_) => Family::Unary,
            Op::Binary(_) => Family::Binary,
            Op::Cmp(_) | Op::Predicate(_) => Family::Compare,
            Op::WhereCond => Family::Select,
            Op::AddActivation(_) => Family::BiasActivation,
            Op::Reduce(_) => Family::Reduce,
            Op::Matmul(_) | Op::MatmulInteger(_) | Op::ScaledMatmul(_) => Family::Matmul,
            Op::Triangle(_) => Family::Triangle,
            Op::Scan(_) => Family::Scan,
            Op::Softmax | Op::SafeSoftmax | Op::LogSoftmax | Op::RmsNorm { .. } => Family::Norm,
            Op::LayerNorm(_) | Op::LayerNormStats { .. } | Op::SkipLayerNorm { .. } => Family::Norm,
            Op::GroupNorm(_) | Op::BatchNorm(_) | Op::LocalResponseNorm(_) => Family::Norm,
            Op::Rope(_) => Family::Rope,
            Op::ScaledDotProductAttention(_) => Family::Attention,
            Op::Sort(_) | Op::ArgSort(_) | Op::TopK(_) | Op::ArgTopK(_) => Family::Sort,
            Op::Gather(_) | Op::IndexSelect(_) | Op::ScatterSet(_) | Op::ScatterAdd(_) | Op::IndexAdd(_) => {
                Family::Indexing
            }
            Op::ScatterReduce(_) | Op::GatherNd(_) | Op::ScatterNd(_) => Family::Indexing,
            Op::CountNonzero
            | Op::Nonzero { .. }
            | Op::MaskedSelect { .. }
            | Op::Compress { .. }
            | Op::CountUnique
            | Op::Unique { .. }
            | Op::UniqueInverse
            | Op::UniqueCounts { .. }
            | Op::UniqueFirst { .. } => Family::Compact,
            Op::Conv1d(_) | Op::Conv2d(_) | Op::Conv3d(_) => Family::Conv,
            Op::ConvTranspose1d(_) | Op::ConvTranspose2d(_) | Op::ConvTranspose3d(_) => Family::Conv,
            Op::AvgPool1d(_) | Op::AvgPool2d(_) | Op::AvgPool3d(_) => Family::Pooling,
            Op::MaxPool1d(_) | Op::MaxPool2d(_) | Op::MaxPool3d(_) => Family::Pooling,
            Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) => Family::Pooling,
            Op::AdaptiveAvgPool(_) | Op::AdaptiveMaxPool(_) | Op::AdaptiveArgMaxPool(_) => Family::Pooling,
            Op::LpPool(_) => Family::Pooling,
            Op::AvgPoolBackward(_) | Op::MaxPoolBackward(_) | Op::Col2im(_) => Family::Pooling,
            Op::AdaptiveAvgPoolBackward(_) | Op::AdaptiveMaxPoolBackward(_) => Family::Pooling,
            Op::UpsampleNearest1d(_) | Op::UpsampleNearest2d(_) | Op::UpsampleBilinear2d(_) => Family::Upsample,
            Op::Resize(_) => Family::Resize,
            Op::GridSample(_) => Family::GridSample,
            Op::Flip(_) | Op::Roll(_) | Op::Pad(_) | Op::Repeat(_) | Op::Concat(_) => Family::IndexMap,
            Op::RandUniform(_) | Op::RandNormal(_) | Op::Bernoulli(_) | Op::BernoulliProbs(_) | Op::Dropout(_) => {
                Family::Random
            }
            Op::Pack(_) | Op::Unpack(_) => Family::Packed,
            Op::Quantize(_) | Op::Dequantize(_) | Op::QMatmul(_) | Op::QMatmulId(_) => Family::Quantized,
        }
    }
}
