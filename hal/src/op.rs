//! Operations as values: what `supports` is asked, what errors name, and the parameters that calls take.

use crate::{DType, Error, ErrorKind, Numerics, Result};
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
    /// Functions of one argument. Those marked *floats* are for f8e4m3, f16, bf16, f32 and f64; the others are for every dtype.
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
        /// Remainder with the sign of the dividend, exact (`fmod` in C, `%` in Rust); an integer by zero gives 0.
        Rem "rem"
        /// x to the power y; integers wrap, and a negative exponent gives the integer part of the real result (0, 1 or -1; 0 for base 0).
        Pow "pow"
        /// The larger: IEEE 754-2019 maximum (NaN propagates, -0 is below +0).
        Maximum "maximum"
        /// The smaller: IEEE 754-2019 minimum (NaN propagates, -0 is below +0).
        Minimum "minimum"
    }
}

named_ops! {
    /// Comparisons of two arguments of one dtype, for every dtype; the result is u8, 0 or 1. Every comparison with a NaN is false, but `Ne`.
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
        /// u32 index, in row-major order of the reduced dimensions, of the first NaN, else of the first smallest element. An error for no elements.
        ArgMin "argmin"
        /// u32 index, in row-major order of the reduced dimensions, of the first NaN, else of the first largest element. An error for no elements.
        ArgMax "argmax"
    }
}

impl UnaryOp {
    /// True for those that are defined for floats alone.
    pub const fn is_float_only(self) -> bool {
        use UnaryOp::*;
        !matches!(self, Neg | Abs | Sign | Sqr | Relu | Ceil | Floor | Round | Trunc)
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

/// `x * mul + add`. Floats: one fma in the compute type, to which `mul` and `add` are rounded first. Integers: `mul` and `add` are
/// cast to the dtype (truncated, saturating, NaN to 0), and the arithmetic wraps.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Affine {
    /// The factor.
    pub mul: f64,
    /// The summand.
    pub add: f64,
}

impl Affine {
    /// `x * mul + add`.
    pub const fn new(mul: f64, add: f64) -> Self {
        Self { mul, add }
    }
}

/// `x^exponent`, as [`BinaryOp::Pow`] with the exponent rounded to the compute type. *Floats.*
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Powf {
    /// The exponent.
    pub exponent: f64,
}

impl Powf {
    /// `x^exponent`.
    pub const fn new(exponent: f64) -> Self {
        Self { exponent }
    }
}

/// `x` where x > 0, else `alpha * (e^x - 1)`, with alpha rounded to the compute type. *Floats.*
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Elu {
    /// The factor of the negative branch.
    pub alpha: f64,
}

impl Elu {
    /// ELU with a given alpha.
    pub const fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

/// A copy of `rows` rows of `cols` elements between buffers with a stride from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy2d {
    /// Rows to copy.
    pub rows: usize,
    /// Elements in a row.
    pub cols: usize,
    /// Elements from a row of the source to the next.
    pub src_stride: usize,
    /// Elements from a row of the destination to the next; at least `cols`.
    pub dst_stride: usize,
    /// The first element of the source.
    pub src_offset: usize,
    /// The first element of the destination.
    pub dst_offset: usize,
}

impl Copy2d {
    /// Rows that lie one behind the other in both buffers, from their start.
    pub const fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, src_stride: cols, dst_stride: cols, src_offset: 0, dst_offset: 0 }
    }

    /// With given distances from row to row.
    pub const fn with_strides(mut self, src_stride: usize, dst_stride: usize) -> Self {
        self.src_stride = src_stride;
        self.dst_stride = dst_stride;
        self
    }

    /// With given first elements.
    pub const fn with_offsets(mut self, src_offset: usize, dst_offset: usize) -> Self {
        self.src_offset = src_offset;
        self.dst_offset = dst_offset;
        self
    }
}

/// A reduction over a set of dimensions, which stay in the result with size 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reduce {
    /// What is computed.
    pub op: ReduceOp,
    /// The dimensions, each at most once, in any order: the elements are taken in row-major order of the tensor either way. None
    /// reduces every element by itself.
    pub dims: crate::Dims,
}

impl Reduce {
    /// A reduction over some dimensions.
    pub fn new(op: ReduceOp, dims: &[usize]) -> Self {
        Self { op, dims: dims.into() }
    }
}

/// A batched matrix product `[.., m, k] x [.., k, n] -> [.., m, n]` with equal batch dimensions (broadcast one by a stride of 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Matmul {
    /// Who computes it; `None` takes the device's default.
    pub numerics: Option<Numerics>,
}

impl Matmul {
    /// With given numerics.
    pub const fn with_numerics(numerics: Numerics) -> Self {
        Self { numerics: Some(numerics) }
    }
}

/// Any operation of the HAL, with its parameters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// [`BackendStorage::const_set`](crate::BackendStorage::const_set) and zeros. Dtypes: `[dst]`.
    ConstSet,
    /// [`BackendStorage::copy_into`](crate::BackendStorage::copy_into). Dtypes: `[src, dst]`, equal.
    Copy,
    /// [`BackendStorage::copy2d`](crate::BackendStorage::copy2d). Dtypes: `[src, dst]`, equal.
    Copy2d(Copy2d),
    /// [`BackendStorage::cast_into`](crate::BackendStorage::cast_into). Dtypes: `[src, dst]`, any.
    Cast,
    /// [`BackendStorage::affine_into`](crate::BackendStorage::affine_into). Dtypes: `[src, dst]`, equal.
    Affine(Affine),
    /// [`BackendStorage::powf_into`](crate::BackendStorage::powf_into). Dtypes: `[src, dst]`, equal floats.
    Powf(Powf),
    /// [`BackendStorage::elu_into`](crate::BackendStorage::elu_into). Dtypes: `[src, dst]`, equal floats.
    Elu(Elu),
    /// [`BackendStorage::unary_into`](crate::BackendStorage::unary_into). Dtypes: `[src, dst]`, equal.
    Unary(UnaryOp),
    /// [`BackendStorage::binary_into`](crate::BackendStorage::binary_into). Dtypes: `[lhs, rhs, dst]`, equal.
    Binary(BinaryOp),
    /// [`BackendStorage::cmp_into`](crate::BackendStorage::cmp_into). Dtypes: `[lhs, rhs, dst]`, the last u8.
    Cmp(CmpOp),
    /// [`BackendStorage::where_cond_into`](crate::BackendStorage::where_cond_into). Dtypes: `[cond, on_true, on_false, dst]`, cond u8, u32 or i64.
    WhereCond,
    /// [`BackendStorage::reduce_into`](crate::BackendStorage::reduce_into). Dtypes: `[src, dst]`, equal, or dst u32 for arg reductions.
    Reduce(Reduce),
    /// [`BackendStorage::matmul_into`](crate::BackendStorage::matmul_into). Dtypes: `[lhs, rhs, dst]`, equal floats.
    Matmul(Matmul),
}

impl Op {
    /// The name, as kernels, reports and the command line spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Op::ConstSet => "const_set",
            Op::Copy => "copy_strided_src",
            Op::Copy2d(_) => "copy2d",
            Op::Cast => "cast",
            Op::Affine(_) => "affine",
            Op::Powf(_) => "powf",
            Op::Elu(_) => "elu",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Cmp(op) => op.name(),
            Op::WhereCond => "where_cond",
            Op::Reduce(r) => r.op.name(),
            Op::Matmul(_) => "matmul",
        }
    }

    /// Whether the operation is defined for these dtypes, inputs first and the destination last.
    ///
    /// # Errors
    /// `UnsupportedDtype`, saying what the operation takes; `InvalidArgument` for a wrong number of operands.
    pub fn check_dtypes(&self, dtypes: &[DType]) -> Result<()> {
        let equal = |ds: &[DType]| ds.windows(2).all(|w| w[0] == w[1]);
        let (operands, takes, ok): (usize, &str, bool) = match (self, dtypes) {
            (Op::ConstSet, &[_]) => return Ok(()),
            (Op::ConstSet, _) => (1, "", false),
            (Op::Cast, &[_, _]) => return Ok(()),
            (Op::Cast, _) => (2, "", false),
            (Op::Copy | Op::Copy2d(_) | Op::Affine(_), ds) => (2, "two operands of one dtype", equal(ds)),
            (Op::Powf(_) | Op::Elu(_), ds) => (2, "floats of one dtype", equal(ds) && ds.iter().all(|d| d.is_float())),
            (Op::Unary(u), ds) if u.is_float_only() => {
                (2, "floats of one dtype", equal(ds) && ds.iter().all(|d| d.is_float()))
            }
            (Op::Unary(_), ds) => (2, "two operands of one dtype", equal(ds)),
            (Op::Binary(_), ds) => (3, "operands of one dtype", equal(ds)),
            (Op::Cmp(_), ds) => (
                3,
                "two operands of one dtype and a u8 destination",
                ds.len() == 3 && ds[0] == ds[1] && ds[2] == DType::U8,
            ),
            (Op::WhereCond, ds) => (
                4,
                "a condition of u8, u32 or i64 and values of one dtype",
                matches!(ds.first(), Some(DType::U8 | DType::U32 | DType::I64)) && equal(&ds[1..]),
            ),
            (Op::Reduce(r), ds) if r.op.is_arg() => (2, "a u32 destination", ds.last() == Some(&DType::U32)),
            (Op::Reduce(r), ds) if r.op == ReduceOp::Mean => {
                (2, "floats of one dtype", equal(ds) && ds.iter().all(|d| d.is_float()))
            }
            (Op::Reduce(_), ds) => (2, "operands of one dtype", equal(ds)),
            (Op::Matmul(_), ds) => (3, "floats of one dtype", equal(ds) && ds.iter().all(|d| d.is_float())),
        };
        if dtypes.len() != operands {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} has {operands} operands, {} dtypes were given", self.name(), dtypes.len()),
            ));
        }
        if ok {
            return Ok(());
        }
        let given: Vec<_> = dtypes.iter().map(|d| d.as_str()).collect();
        Err(Error::new(
            ErrorKind::UnsupportedDtype,
            format!("{} takes {takes}, not ({}); cast the operands first", self.name(), given.join(", ")),
        ))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_positions_are_those_of_the_lists() {
        fn check<T: Copy + fmt::Display>(all: &[T], name: impl Fn(T) -> &'static str, index: impl Fn(T) -> usize) {
            for (i, &op) in all.iter().enumerate() {
                assert_eq!((index(op), op.to_string().as_str()), (i, name(op)));
                assert_eq!(all.iter().filter(|&&o| name(o) == name(op)).count(), 1);
            }
        }
        check(UnaryOp::ALL, UnaryOp::name, UnaryOp::index);
        check(BinaryOp::ALL, BinaryOp::name, BinaryOp::index);
        check(CmpOp::ALL, CmpOp::name, CmpOp::index);
        check(ReduceOp::ALL, ReduceOp::name, ReduceOp::index);
    }

    /// For every operation, which of all combinations of dtypes are taken.
    #[test]
    fn dtypes_are_judged_as_the_documentation_says() {
        use DType::*;
        let matmul = Op::Matmul(Matmul::default());
        let reduce = |op| Op::Reduce(Reduce::new(op, &[0]));
        for &a in DType::ALL {
            for &b in DType::ALL {
                let two = |op: Op| op.check_dtypes(&[a, b]).is_ok();
                assert!(two(Op::Cast));
                assert_eq!(two(Op::Copy), a == b);
                assert_eq!(two(Op::Affine(Affine::new(1.0, 0.0))), a == b);
                assert_eq!(two(Op::Powf(Powf::new(1.0))), a == b && a.is_float());
                assert_eq!(two(Op::Elu(Elu::new(1.0))), a == b && a.is_float());
                assert_eq!(two(Op::Unary(UnaryOp::Sqr)), a == b);
                assert_eq!(two(Op::Unary(UnaryOp::Sqrt)), a == b && a.is_float());
                assert_eq!(two(reduce(ReduceOp::Sum)), a == b);
                assert_eq!(two(reduce(ReduceOp::Mean)), a == b && a.is_float());
                assert_eq!(two(reduce(ReduceOp::ArgMin)), b == U32);
                for &c in DType::ALL {
                    let three = |op: &Op| op.check_dtypes(&[a, b, c]).is_ok();
                    assert_eq!(three(&Op::Binary(BinaryOp::Rem)), a == b && b == c);
                    assert_eq!(three(&Op::Cmp(CmpOp::Lt)), a == b && c == U8);
                    assert_eq!(three(&matmul), a == b && b == c && a.is_float());
                    let chosen = Op::WhereCond.check_dtypes(&[a, b, c, c]).is_ok();
                    assert_eq!(chosen, matches!(a, U8 | U32 | I64) && b == c);
                }
            }
            assert!(Op::ConstSet.check_dtypes(&[a]).is_ok());
        }
    }

    #[test]
    fn a_wrong_number_of_operands_is_its_own_error() {
        for op in [Op::ConstSet, Op::Copy, Op::Cast, Op::WhereCond, Op::Binary(BinaryOp::Add), Op::Cmp(CmpOp::Eq)] {
            for dtypes in [&[][..], &[DType::F32; 5]] {
                let error = op.check_dtypes(dtypes).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            }
        }
        for &op in ReduceOp::ALL {
            let error = Op::Reduce(Reduce::new(op, &[])).check_dtypes(&[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
}
