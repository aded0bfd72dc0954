//! Enums of functions that take the same parameters and differ only in their name.

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
    /// Functions of one argument. Those marked *Floats* take f8e4m3, f16, bf16, f32 and f64; the
    /// others take every dtype.
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
    }
}

named_ops! {
    /// Functions of two arguments of the same dtype, for every dtype.
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
    }
}

named_ops! {
    /// Comparisons of two arguments of the same dtype, for every dtype. The result is u8, 0 or 1.
    /// Every comparison with a NaN is false, except `Ne`, which is true.
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
        /// Minimum, with the rules of [`BinaryOp::Minimum`]. An error for zero elements.
        Min "min"
        /// Maximum, with the rules of [`BinaryOp::Maximum`]. An error for zero elements.
        Max "max"
        /// Index (u32, in row-major order of the reduced dimensions) of the first NaN, or of the
        /// first smallest element if there is no NaN. An error for zero elements.
        ArgMin "argmin"
        /// Index (u32, in row-major order of the reduced dimensions) of the first NaN, or of the
        /// first largest element if there is no NaN. An error for zero elements.
        ArgMax "argmax"
    }
}

impl UnaryOp {
    /// Whether the function takes only floats.
    pub const fn is_float_only(self) -> bool {
        use UnaryOp::*;
        !matches!(self, Neg | Abs | Sign | Sqr | Relu | Ceil | Floor | Round | Trunc)
    }

    /// Whether the function rounds to an integer; it leaves integer dtypes unchanged.
    pub const fn is_rounding(self) -> bool {
        matches!(self, UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Round | UnaryOp::Trunc)
    }
}

impl ReduceOp {
    /// Whether the result is a u32 index.
    pub const fn is_arg(self) -> bool {
        matches!(self, ReduceOp::ArgMin | ReduceOp::ArgMax)
    }

    /// Whether a reduction over zero elements is an error.
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
