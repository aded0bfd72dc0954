//! Enums of functions that take the same parameters and differ only in their name.

use crate::DType;
use std::fmt;

macro_rules! named_ops {
    ($(#[$meta:meta])* $enum:ident { $($(#[doc = $vdoc:literal])+ $variant:ident $name:literal)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $enum { $($(#[doc = $vdoc])+ $variant,)* }

        impl $enum {
            /// All variants, in declaration order.
            pub const ALL: &[$enum] = &[$($enum::$variant),*];

            /// Returns the name used by kernels, reports and the command line.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// Returns the position in [`ALL`](Self::ALL), for indexing tables.
            pub const fn index(self) -> usize {
                self as usize
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named_ops! {
    /// Functions of one argument. Those marked *Floats* take f8e4m3, f8e5m2, f16, bf16, f32 and
    /// f64, those marked *Integers* the other dtypes; the rest take every dtype.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UnaryOp};
    /// let x = CpuDevice.storage_from_slice(&[-2.5f32, 0.5, 2.0])?;
    /// let y = x.unary(&Layout::contiguous(3), UnaryOp::Round)?; // halves away from zero
    /// assert_eq!(y.to_vec::<f32>()?, [-3.0, 1.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    UnaryOp {
        /// Negation; integers wrap.
        Neg "neg"
        /// Absolute value; `MIN` of a signed integer wraps to itself.
        Abs "abs"
        /// Sign: -1, 0 or 1; +0 for a zero of either sign, NaN for NaN.
        Sign "sign"
        /// x * x; integers wrap.
        Sqr "sqr"
        /// max(x, 0); NaN stays NaN, -0 gives +0.
        Relu "relu"
        /// Rounds up to an integer; integers are unchanged.
        Ceil "ceil"
        /// Rounds down to an integer; integers are unchanged.
        Floor "floor"
        /// Rounds to the nearest integer, halves away from zero; integers are unchanged.
        Round "round"
        /// Rounds toward zero to an integer; integers are unchanged.
        Trunc "trunc"
        /// Rounds to the nearest integer, halves to the even one (PyTorch's `round`); integers are
        /// unchanged.
        RoundEven "round_even"
        /// Every bit flipped. *Integers.*
        BitwiseNot "bitwise_not"
        /// Square root, correctly rounded. *Floats.*
        Sqrt "sqrt"
        /// 1 / sqrt(x). *Floats.*
        Rsqrt "rsqrt"
        /// 1 / x, correctly rounded. *Floats.*
        Recip "recip"
        /// e^x. *Floats.*
        Exp "exp"
        /// 2^x. *Floats.*
        Exp2 "exp2"
        /// Natural logarithm. *Floats.*
        Log "log"
        /// Logarithm to base 2. *Floats.*
        Log2 "log2"
        /// log(1 + x). *Floats.*
        Log1p "log1p"
        /// e^x - 1. *Floats.*
        Expm1 "expm1"
        /// Sine of an angle in radians. *Floats.*
        Sin "sin"
        /// Cosine of an angle in radians. *Floats.*
        Cos "cos"
        /// Tangent of an angle in radians. *Floats.*
        Tan "tan"
        /// Hyperbolic tangent. *Floats.*
        Tanh "tanh"
        /// Hyperbolic sine. *Floats.*
        Sinh "sinh"
        /// Hyperbolic cosine. *Floats.*
        Cosh "cosh"
        /// Arc sine in radians. *Floats.*
        Asin "asin"
        /// Arc cosine in radians. *Floats.*
        Acos "acos"
        /// Arc tangent in radians. *Floats.*
        Atan "atan"
        /// The error function. *Floats.*
        Erf "erf"
        /// GELU, tanh approximation: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) (Hendrycks
        /// and Gimpel 2016, [arXiv:1606.08415](https://arxiv.org/abs/1606.08415)). *Floats.*
        Gelu "gelu"
        /// GELU: x/2 * (1 + erf(x / sqrt(2))) (same source as [`Gelu`](Self::Gelu)). *Floats.*
        GeluErf "gelu_erf"
        /// SiLU: x / (1 + e^-x) (Elfwing, Uchibe and Doya 2017,
        /// [arXiv:1702.03118](https://arxiv.org/abs/1702.03118)). *Floats.*
        Silu "silu"
        /// Logistic function: 1 / (1 + e^-x). *Floats.*
        Sigmoid "sigmoid"
        /// Inverse hyperbolic sine. *Floats.*
        Asinh "asinh"
        /// Inverse hyperbolic cosine; NaN below 1. *Floats.*
        Acosh "acosh"
        /// Inverse hyperbolic tangent; NaN outside [-1, 1]. *Floats.*
        Atanh "atanh"
        /// log(1 + e^x), with no threshold above which it would be cut to x. *Floats.*
        Softplus "softplus"
        /// Mish: x * tanh(softplus(x)) (Misra 2019,
        /// [arXiv:1908.08681](https://arxiv.org/abs/1908.08681)); -0 at minus infinity. *Floats.*
        Mish "mish"
        /// min(max(x/6 + 1/2, 0), 1), the factor of [`HardSwish`](Self::HardSwish). *Floats.*
        HardSigmoid "hard_sigmoid"
        /// x * min(max(x/6 + 1/2, 0), 1) (Howard et al. 2019,
        /// [arXiv:1905.02244](https://arxiv.org/abs/1905.02244)); -0 up to -3, also at minus
        /// infinity. *Floats.*
        HardSwish "hard_swish"
        /// SELU: s * x above 0, else s * a * (e^x - 1), with s = 1.0507009873554805 and a =
        /// 1.6732632423543772 (Klambauer, Unterthiner, Mayr and Hochreiter 2017,
        /// [arXiv:1706.02515](https://arxiv.org/abs/1706.02515)). *Floats.*
        Selu "selu"
    }
}

named_ops! {
    /// Functions of two arguments of the same dtype. Those marked *Floats* take f8e4m3, f8e5m2,
    /// f16, bf16, f32 and f64, those marked *Integers* the other dtypes; the rest take every dtype.
    ///
    /// One argument may be a [scalar](crate::Src::Scalar).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, Layout};
    /// let l = Layout::contiguous(3);
    /// let a = CpuDevice.storage_from_slice(&[7i32, -7, 1])?;
    /// let b = CpuDevice.storage_from_slice(&[2i32, 2, 0])?;
    /// assert_eq!(a.binary(&l, &b, &l, BinaryOp::Div)?.to_vec::<i32>()?, [3, -3, 0]);
    /// assert_eq!(a.binary(&l, &b, &l, BinaryOp::Rem)?.to_vec::<i32>()?, [1, -1, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    BinaryOp {
        /// Addition; integers wrap.
        Add "add"
        /// Subtraction; integers wrap.
        Sub "sub"
        /// Multiplication; integers wrap.
        Mul "mul"
        /// Division; integers truncate toward zero, division by zero gives 0, and `MIN / -1` wraps.
        Div "div"
        /// Exact remainder with the sign of the dividend (`fmod` in C, `%` in Rust); for integers,
        /// a zero divisor gives 0.
        Rem "rem"
        /// x to the power y; integers wrap. An integer with a negative exponent gives the integer
        /// part of the real result: 0, 1 or -1, and 0 for base 0.
        Pow "pow"
        /// The larger: IEEE 754-2019 maximum (NaN propagates, -0 is below +0).
        Maximum "maximum"
        /// The smaller: IEEE 754-2019 minimum (NaN propagates, -0 is below +0).
        Minimum "minimum"
        /// The quotient rounded down to an integer (`//` in Python, `floor_divide` in PyTorch).
        /// Integers: division by zero gives 0, and `MIN / -1` wraps.
        FloorDiv "floor_div"
        /// The remainder of [`FloorDiv`](Self::FloorDiv), which has the sign of the divisor (`%` in
        /// Python, `remainder` in PyTorch); for integers, a zero divisor gives 0.
        FloorMod "floor_mod"
        /// The next representable value after x in the direction of y; y if both are equal.
        /// *Floats.*
        NextAfter "nextafter"
        /// Bits set in both. *Integers.*
        BitwiseAnd "bitwise_and"
        /// Bits set in either. *Integers.*
        BitwiseOr "bitwise_or"
        /// Bits set in exactly one. *Integers.*
        BitwiseXor "bitwise_xor"
        /// x shifted left by y bits. The amount counts as unsigned: one that is negative, or not
        /// below the number of bits, gives 0. *Integers.*
        BitwiseLeftShift "bitwise_left_shift"
        /// x shifted right by y bits; a signed integer keeps its sign. The amount counts as
        /// unsigned: one that is negative, or not below the number of bits, leaves only the sign:
        /// 0, or -1 for negative x. *Integers.*
        BitwiseRightShift "bitwise_right_shift"
        /// The angle, in radians from -pi to pi, of the point with the ordinate of the left and the
        /// abscissa of the right argument; the special cases are those of C's Annex F. *Floats.*
        Atan2 "atan2"
        /// sqrt(x * x + y * y) without overflow or underflow on the way; infinite if an argument
        /// is, even if the other is NaN. *Floats.*
        Hypot "hypot"
    }
}

named_ops! {
    /// Comparisons and logical functions of two arguments of the same dtype, for every dtype. The
    /// result is u8, 0 or 1. Every comparison with a NaN is false, except `Ne`, which is true; as a
    /// truth value, every element but a zero is true, also a NaN. One argument may be a
    /// [scalar](crate::Src::Scalar).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CmpOp, Layout};
    /// let l = Layout::contiguous(3);
    /// let a = CpuDevice.storage_from_slice(&[1.0f32, -0.0, f32::NAN])?;
    /// let b = CpuDevice.storage_from_slice(&[2.0f32, 0.0, f32::NAN])?;
    /// assert_eq!(a.cmp(&l, &b, &l, CmpOp::Lt)?.to_vec::<u8>()?, [1, 0, 0]);
    /// assert_eq!(a.cmp(&l, &b, &l, CmpOp::Ne)?.to_vec::<u8>()?, [1, 0, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    CmpOp {
        /// Equal; +0 and -0 are equal.
        Eq "eq"
        /// Not equal.
        Ne "ne"
        /// Less.
        Lt "lt"
        /// Less or equal.
        Le "le"
        /// Greater.
        Gt "gt"
        /// Greater or equal.
        Ge "ge"
        /// Whether both are true.
        LogicalAnd "logical_and"
        /// Whether one of them or both are true.
        LogicalOr "logical_or"
        /// Whether exactly one of them is true.
        LogicalXor "logical_xor"
    }
}

named_ops! {
    /// Tests of one argument. The result is u8, 0 or 1. Those marked *Floats* take f8e4m3, f8e5m2,
    /// f16, bf16, f32 and f64; the others take every dtype.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Predicate};
    /// let x = CpuDevice.storage_from_slice(&[f32::NAN, f32::INFINITY, -0.0])?;
    /// let l = Layout::contiguous(3);
    /// assert_eq!(x.predicate(&l, Predicate::IsNan)?.to_vec::<u8>()?, [1, 0, 0]);
    /// assert_eq!(x.predicate(&l, Predicate::IsInf)?.to_vec::<u8>()?, [0, 1, 0]);
    /// assert_eq!(x.predicate(&l, Predicate::LogicalNot)?.to_vec::<u8>()?, [0, 0, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Predicate {
        /// Whether the element is a NaN. *Floats.*
        IsNan "isnan"
        /// Whether the element is infinite; f8e4m3 has no infinities. *Floats.*
        IsInf "isinf"
        /// Whether the element is a zero.
        LogicalNot "logical_not"
    }
}

named_ops! {
    /// Reductions over a set of dimensions; see [`Reduce`](crate::Reduce). Section 8 of
    /// [`docs/numerics.md`](https://github.com/isobit/isobit/blob/main/docs/numerics.md)
    /// fixes the order in which elements are combined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Reduce, ReduceOp};
    /// let x = CpuDevice.storage_from_slice(&[2.0f32, 9.0, 4.0, 9.0])?;
    /// let l = Layout::contiguous(4);
    /// let mean = x.reduce(&l, &Reduce::new(ReduceOp::Mean, &[0]))?;
    /// assert_eq!(mean.to_vec::<f32>()?, [6.0]);
    /// let first = x.reduce(&l, &Reduce::new(ReduceOp::ArgMax, &[0]))?;
    /// assert_eq!(first.to_vec::<u32>()?, [1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ReduceOp {
        /// Sum, in the compute type; integers wrap. 0 for zero elements.
        Sum "sum"
        /// Product, in the compute type; integers wrap. 1 for zero elements.
        Prod "prod"
        /// Sum divided by the count, in the compute type. *Floats.* NaN for zero elements.
        Mean "mean"
        /// Minimum, with the rules of [`BinaryOp::Minimum`]. An error for zero elements, unless the
        /// call [asks for an extreme](crate::Reduce::with_empty_extremes).
        Min "min"
        /// Maximum, with the rules of [`BinaryOp::Maximum`]. An error for zero elements, unless the
        /// call [asks for an extreme](crate::Reduce::with_empty_extremes).
        Max "max"
        /// Index, in row-major order of the reduced dimensions, of the first NaN, or of the first
        /// smallest element if there is no NaN. u32, or i64 if the destination is i64. An error for
        /// zero elements.
        ArgMin "argmin"
        /// Index, in row-major order of the reduced dimensions, of the first NaN, or of the first
        /// largest element if there is no NaN. u32, or i64 if the destination is i64. An error for
        /// zero elements.
        ArgMax "argmax"
        /// log(sum of e^x), computed as m + log(sum of e^(x - m)) with m the maximum, so that no
        /// power overflows. *Floats.* -infinity for zero elements, -448 in f8e4m3.
        LogSumExp "logsumexp"
        /// Sum of |x|, in the compute type; integers wrap. 0 for zero elements.
        L1Norm "l1_norm"
        /// Square root of the sum of squares, in the compute type, where squares may overflow to
        /// infinity. *Floats.* 0 for zero elements.
        L2Norm "l2_norm"
        /// Maximum of |x|, the norm of order infinity: NaN propagates, and |`MIN`| of a signed
        /// integer wraps to `MIN`. 0 for zero elements.
        MaxNorm "max_norm"
        /// 1 if any element is not 0, else 0, as u8; NaN is not 0. 0 for zero elements.
        Any "any"
        /// 1 if no element is 0, else 0, as u8; NaN is not 0. 1 for zero elements.
        All "all"
        /// Variance: the sum of squared deviations from the mean divided by the count less the
        /// [correction](crate::Reduce::with_correction), which is 1 unless the call says otherwise.
        /// *Floats.* NaN for zero elements.
        Var "var"
        /// Standard deviation: the square root of [`Var`](Self::Var). *Floats.*
        Std "std"
    }
}

named_ops! {
    /// Scans along a dimension, for every dtype; see [`Scan`](crate::Scan). Section 6 of
    /// [`docs/numerics/shape.md`](https://github.com/isobit/isobit/blob/main/docs/numerics/shape.md)
    /// fixes the order in which elements are combined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Scan, ScanOp};
    /// let x = CpuDevice.storage_from_slice(&[2.0f32, 1.0, 3.0])?;
    /// let y = x.scan(&Layout::contiguous(3), Scan::new(ScanOp::Max, 0).exclusive())?;
    /// assert_eq!(y.to_vec::<f32>()?, [f32::NEG_INFINITY, 2.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ScanOp {
        /// Sums, in the compute type; integers wrap. 0 for no elements.
        Sum "cumsum"
        /// Products, in the compute type; integers wrap. 1 for no elements.
        Prod "cumprod"
        /// Minima, with the rules of [`BinaryOp::Minimum`]. The largest value of the dtype for no
        /// elements: infinity for floats, 448 for f8e4m3.
        Min "cummin"
        /// Maxima, with the rules of [`BinaryOp::Maximum`]. The least value of the dtype for no
        /// elements: -infinity for floats, -448 for f8e4m3.
        Max "cummax"
    }
}

named_ops! {
    /// What a scatter does with an element of the source and the one at its position; see
    /// [`ScatterReduce`](crate::ScatterReduce) and [`ScatterNd`](crate::ScatterNd). All dtypes.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, ScatterNd, ScatterOp};
    /// let ids = CpuDevice.storage_from_slice(&[0u32, 0])?;
    /// let src = CpuDevice.storage_from_slice(&[3i32, 5])?;
    /// let (one, two) = (Layout::contiguous(1), Layout::contiguous(2));
    /// let pair = Layout::contiguous((2, 1));
    /// let mut results = vec![];
    /// for &op in ScatterOp::ALL {
    ///     let mut x = CpuDevice.storage_from_slice(&[4i32])?;
    ///     x.scatter_nd(&one, &ids, &pair, &src, &two, ScatterNd::new(op))?;
    ///     results.extend(x.to_vec::<i32>()?);
    /// }
    /// assert_eq!(results, [5, 12, 60, 3, 5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ScatterOp {
        /// Sets the element; the last one in row-major order of the source wins.
        Set "set"
        /// Adds, in the compute type; integers wrap.
        Add "add"
        /// Multiplies, in the compute type; integers wrap.
        Prod "prod"
        /// The minimum, with the rules of [`BinaryOp::Minimum`].
        Amin "amin"
        /// The maximum, with the rules of [`BinaryOp::Maximum`].
        Amax "amax"
    }
}

impl UnaryOp {
    /// Whether the function takes only floats.
    pub const fn is_float_only(self) -> bool {
        use UnaryOp::*;
        !matches!(self, Neg | Abs | Sign | Sqr | Relu | BitwiseNot) && !self.is_rounding()
    }

    /// Whether the function takes only integers.
    pub const fn is_int_only(self) -> bool {
        matches!(self, UnaryOp::BitwiseNot)
    }

    /// Whether the function takes elements of a dtype.
    pub const fn takes(self, dtype: DType) -> bool {
        if dtype.is_float() { !self.is_int_only() } else { !self.is_float_only() }
    }

    /// Whether the function rounds to an integer; it leaves integer dtypes unchanged.
    pub const fn is_rounding(self) -> bool {
        use UnaryOp::*;
        matches!(self, Ceil | Floor | Round | Trunc | RoundEven)
    }
}

impl BinaryOp {
    /// Whether the function takes only floats.
    pub const fn is_float_only(self) -> bool {
        matches!(self, BinaryOp::NextAfter | BinaryOp::Atan2 | BinaryOp::Hypot)
    }

    /// Whether the function takes only integers.
    pub const fn is_int_only(self) -> bool {
        use BinaryOp::*;
        matches!(self, BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseLeftShift | BitwiseRightShift)
    }

    /// Whether the function takes elements of a dtype.
    pub const fn takes(self, dtype: DType) -> bool {
        if dtype.is_float() { !self.is_int_only() } else { !self.is_float_only() }
    }
}

impl CmpOp {
    /// Whether the function takes its arguments as truth values.
    pub const fn is_logical(self) -> bool {
        matches!(self, CmpOp::LogicalAnd | CmpOp::LogicalOr | CmpOp::LogicalXor)
    }
}

impl Predicate {
    /// Whether the test takes only floats.
    pub const fn is_float_only(self) -> bool {
        matches!(self, Predicate::IsNan | Predicate::IsInf)
    }

    /// Whether the test takes elements of a dtype.
    pub const fn takes(self, dtype: DType) -> bool {
        dtype.is_float() || !self.is_float_only()
    }
}

impl ReduceOp {
    /// Whether the result is an index: u32, or i64 if the destination is i64.
    pub const fn is_arg(self) -> bool {
        matches!(self, ReduceOp::ArgMin | ReduceOp::ArgMax)
    }

    /// Whether the result is a u8 that is 0 or 1.
    pub const fn is_logical(self) -> bool {
        matches!(self, ReduceOp::Any | ReduceOp::All)
    }

    /// Whether the reduction takes only floats.
    pub const fn is_float_only(self) -> bool {
        matches!(self, ReduceOp::Mean | ReduceOp::LogSumExp | ReduceOp::L2Norm | ReduceOp::Var | ReduceOp::Std)
    }

    /// Whether the reduction takes elements of a dtype.
    pub const fn takes(self, dtype: DType) -> bool {
        (dtype.is_float() || !self.is_float_only()) && !dtype.is_elementwise()
    }

    /// Returns the dtype of the result of the allocating forms for elements of a dtype.
    pub const fn result_dtype(self, dtype: DType) -> DType {
        if self.is_arg() {
            DType::U32
        } else if self.is_logical() {
            DType::U8
        } else {
            dtype
        }
    }

    /// Whether a reduction over zero elements is an error, unless a call
    /// [asks for an extreme](crate::Reduce::with_empty_extremes).
    pub const fn needs_elements(self) -> bool {
        matches!(self, ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax)
    }
}

named_ops! {
    /// The activation function of a fused addition,
    /// [`Op::AddActivation`](crate::Op::AddActivation). Each is the [`UnaryOp`] of the same name.
    ///
    /// ```rust
    /// # use isobit_hal::{Activation, BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[-1.0f32, 2.0])?;
    /// let bias = CpuDevice.storage_from_slice(&[0.5f32])?;
    /// let (l, broadcast) = (Layout::contiguous(2), Layout::contiguous(1).broadcast_as(2)?);
    /// let y = x.add_activation(&l, &bias, &broadcast, Activation::Relu)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Activation {
        /// [`UnaryOp::Relu`].
        Relu "relu"
        /// [`UnaryOp::Gelu`], the tanh approximation.
        Gelu "gelu"
        /// [`UnaryOp::GeluErf`].
        GeluErf "gelu_erf"
        /// [`UnaryOp::Silu`].
        Silu "silu"
    }
}

impl Activation {
    /// Returns the unary operation that computes the function.
    pub const fn unary(self) -> UnaryOp {
        match self {
            Activation::Relu => UnaryOp::Relu,
            Activation::Gelu => UnaryOp::Gelu,
            Activation::GeluErf => UnaryOp::GeluErf,
            Activation::Silu => UnaryOp::Silu,
        }
    }
}

named_ops! {
    /// Which elements of a head form the pairs that a rotary position embedding rotates (Su et al.
    /// 2021, [arXiv:2104.09864](https://arxiv.org/abs/2104.09864)). A pair (a, b) becomes (a cos -
    /// b sin, a sin + b cos).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, RopeForm};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?; // one pair
    /// let cos = CpuDevice.storage_from_slice(&[0.0f32])?;
    /// let sin = CpuDevice.storage_from_slice(&[1.0f32])?;
    /// let (xl, l) = (Layout::contiguous((1, 1, 1, 2)), Layout::contiguous((1, 1)));
    /// let y = x.rope(&xl, &cos, &l, &sin, &l, RopeForm::Halves)?; // a quarter turn
    /// assert_eq!(y.to_vec::<f32>()?, [-2.0, 1.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    RopeForm {
        /// Pairs `x[.., i]` and `x[.., i + d/2]`, shape `[batch, heads, time, d]`: GPT-NeoX, and
        /// Llama as Hugging Face stores it.
        Halves "rope"
        /// Pairs `x[.., 2i]` and `x[.., 2i + 1]`, shape `[batch, heads, time, d]`: GPT-J, and Llama
        /// as published.
        Interleaved "rope_i"
        /// Pairs as in [`Halves`](Self::Halves), shape `[batch, time, heads, d]`.
        Thd "rope_thd"
    }
}
