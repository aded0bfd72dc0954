//! The part of candle's backend on Isobit that names no type of candle: which devices there are,
//! and what candle expects of an operation beyond what the HAL defines. The backend itself,
//! `integrations/candle/core`, can only be compiled inside candle; what is here is compiled,
//! linted and tested with the workspace.

mod devices;
mod ids;
mod matmul;
mod pool;
mod quantized;
mod rope;

pub use devices::{open, ordinal_of};
pub use ids::padded_ids;
pub use isobit;
pub use matmul::matmul;
pub use pool::avg_pool2d;
pub use quantized::{QFormat, QStorage};
pub use rope::rope;

use isobit::{BinaryOp, Error, ErrorKind, ReduceOp, Result, UnaryOp};

fn by_name<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, wanted: &str) -> Result<T> {
    all.iter().copied().find(|&op| name(op) == wanted).ok_or_else(|| {
        let message = format!("candle's operation `{wanted}` is not one of Isobit's");
        Error::new(ErrorKind::UnsupportedOp, message)
    })
}

/// Returns the unary operation that candle calls `name`.
///
/// # Errors
/// `UnsupportedOp` if Isobit has none.
pub fn unary_op(name: &str) -> Result<UnaryOp> {
    by_name(UnaryOp::ALL, UnaryOp::name, name)
}

/// Returns the binary operation that candle calls `name`.
///
/// # Errors
/// As [`unary_op`].
pub fn binary_op(name: &str) -> Result<BinaryOp> {
    by_name(BinaryOp::ALL, BinaryOp::name, name)
}

/// Returns the reduction that candle calls `name`.
///
/// # Errors
/// As [`unary_op`].
pub fn reduce_op(name: &str) -> Result<ReduceOp> {
    by_name(ReduceOp::ALL, ReduceOp::name, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_candle_has_a_name_here() {
        // `NAME` of every implementation of candle 0.11.1's traits `UnaryOpT` and `BinaryOpT`, and
        // the names of its `ReduceOp`.
        let unary = "exp log sin cos tanh neg recip sqr sqrt gelu erf silu abs ceil floor round gelu_erf relu sign";
        assert!(unary.split(' ').all(|name| unary_op(name).unwrap().name() == name));
        let binary = "add sub mul div minimum maximum";
        assert!(binary.split(' ').all(|name| binary_op(name).unwrap().name() == name));
        assert!("sum min max argmin argmax".split(' ').all(|name| reduce_op(name).unwrap().name() == name));
        let e = unary_op("frobnicate").unwrap_err();
        assert!(e.kind() == ErrorKind::UnsupportedOp && e.to_string().contains("`frobnicate`"), "{e}");
    }
}
