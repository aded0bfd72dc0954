//! Families of functions that share their parameters: a name tells them apart.

use std::fmt;

macro_rules! named_ops {
    ($(#[$meta:meta])* $enum:ident { $($(#[doc = $vdoc:literal])+ $variant:ident $name:literal)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $enum { $($(#[doc = $vdoc])+ $variant,)* }

        impl $enum {
            /// Every operation of the family, in declaration order.
            pub const ALL: &[$enum] = &[$($enum::$variant),*];

            /// The name, as kernels, reports and the command line spell it.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// The position in [`ALL`](Self::ALL), for tables.
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
    /// Functions of one argument. Those marked *floats* are for f8e4m3, f16, bf16, f32 and f64; the
    /// others are for every dtype.
    UnaryOp {
        /// Negation; integers wrap.
        Neg "neg"
        /// Absolute value; `MIN` of a signed integer wraps to itself.
        Abs "abs"
        /// -1, 0 or 1; +0 for a zero of either sign, NaN for NaN.
        Sign "sign"
        /// x * x; integers wrap.
        Sqr "sqr"
        /// max(x, 0); NaN stays NaN, -0 gives +0.
        Relu "relu"
        /// Upward to an integer; integers are returned as they are.
        Ceil "ceil"
        /// Downward to an integer; integers are returned as they are.
        Floor "floor"
        /// To the nearest integer, halves away from zero; integers are returned as they are.
        Round "round"
        /// Toward zero to an integer; integers are returned as they are.
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
        /// GELU in its tanh form: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))). *Floats.*
        Gelu "gelu"
        /// GELU: x/2 * (1 + erf(x / sqrt(2))). *Floats.*
        GeluErf "gelu_erf"
        /// x / (1 + e^-x). *Floats.*
        Silu "silu"
        /// 1 / (1 + e^-x). *Floats.*
        Sigmoid "sigmoid"
    }
}

named_ops! {
    /// Functions of two arguments of one dtype, for every dtype.
    BinaryOp {
        /// Addition; integers wrap.
        Add "add"
        /// Subtraction; integers wrap.
        Sub "sub"
        /// Multiplication; integers wrap.
        Mul "mul"
        /// Division; integers truncate, by zero give 0, and `MIN / -1` wraps.
        Div "div"
        /// Remainder with the sign of the dividend, exact (`fmod` in C, `%` in Rust); an integer by
        /// zero gives 0.
        Rem "rem"
        /// x to the power y; integers wrap, and a negative exponent gives the integer part of the
        /// real result (0, 1 or -1; 0 for base 0).
        Pow "pow"
        /// The larger: IEEE 754-2019 maximum (NaN propagates, -0 is below +0).
        Maximum "maximum"
        /// The smaller: IEEE 754-2019 minimum (NaN propagates, -0 is below +0).
        Minimum "minimum"
    }
}

named_ops! {
    /// Comparisons of two arguments of one dtype, for every dtype; the result is u8, 0 or 1. Every
    /// comparison with a NaN is false, but `Ne`.
    CmpOp {
        /// Equal; zeros of both signs are equal.
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
    /// Reductions over a set of dimensions, in the order that `docs/numerics.md` fixes.
    ReduceOp {
        /// Sum, in the compute type; integers wrap. 0 for no elements.
        Sum "sum"
        /// Product, in the compute type; integers wrap. 1 for no elements.
        Prod "prod"
        /// Sum divided by the count, in the compute type. *Floats.* NaN for no elements.
        Mean "mean"
        /// Smallest, as [`BinaryOp::Minimum`]. An error for no elements.
        Min "min"
        /// Largest, as [`BinaryOp::Maximum`]. An error for no elements.
        Max "max"
        /// u32 index, in row-major order of the reduced dimensions, of the first NaN, else of the
        /// first smallest element. An error for no elements.
        ArgMin "argmin"
        /// u32 index, in row-major order of the reduced dimensions, of the first NaN, else of the
        /// first largest element. An error for no elements.
        ArgMax "argmax"
    }
}

impl UnaryOp {
    /// True for those that are defined for floats alone.
    pub const fn is_float_only(self) -> bool {
        use UnaryOp::*;
        !matches!(self, Neg | Abs | Sign | Sqr | Relu | Ceil | Floor | Round | Trunc)
    }

    /// True for the roundings, which give an integer back as it is.
    pub const fn is_rounding(self) -> bool {
        matches!(self, UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Round | UnaryOp::Trunc)
    }
}

impl ReduceOp {
    /// True for those whose result is a u32 index.
    pub const fn is_arg(self) -> bool {
        matches!(self, ReduceOp::ArgMin | ReduceOp::ArgMax)
    }

    /// True for those that are an error over no elements.
    pub const fn needs_elements(self) -> bool {
        matches!(self, ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax)
    }
}

named_ops! {
    /// What follows the sum in a fused addition. The functions are those of [`UnaryOp`] of the same
    /// name.
    Activation {
        /// [`UnaryOp::Relu`].
        Relu "relu"
        /// [`UnaryOp::Gelu`], the tanh form.
        Gelu "gelu"
        /// [`UnaryOp::GeluErf`].
        GeluErf "gelu_erf"
        /// [`UnaryOp::Silu`].
        Silu "silu"
    }
}

impl Activation {
    /// The function of one argument that it is.
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
    /// Which elements of a head are rotated together.
    RopeForm {
        /// `x[.., i]` with `x[.., i + d/2]`, of `[batch, heads, time, d]`: GPT-NeoX, Llama in
        /// Hugging Face's form.
        Halves "rope"
        /// `x[.., 2i]` with `x[.., 2i + 1]`, of `[batch, heads, time, d]`: GPT-J, Llama as
        /// published.
        Interleaved "rope_i"
        /// As halves, of `[batch, time, heads, d]`.
        Thd "rope_thd"
    }
}
