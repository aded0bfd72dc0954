//! Comparisons. The sixteen conditions are the subsets of the possible relations between two
//! numbers, in the order of the opcodes: bit 0 less, bit 1 equal, bit 2 greater, bit 3 unordered.

use super::half::widen;
use crate::exec::lane::{Lanes, lower};
use crate::exec::lower::Lowering;
use crate::exec::value::{F16, Flag, Value};
use std::marker::PhantomData;

/// A type that may be compared as a wider type.
trait Compared: Value {
    type As: PartialOrd + Copy;
    fn value(self) -> Self::As;
}

impl Compared for F16 {
    type As = f32;
    #[inline(always)]
    fn value(self) -> f32 {
        widen(self)
    }
}

impl Compared for f32 {
    type As = f32;
    #[inline(always)]
    fn value(self) -> f32 {
        self
    }
}

impl Compared for f64 {
    type As = f64;
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
}

struct Compare<T, const CONDITION: u8>(PhantomData<T>);

impl<T: Compared, const CONDITION: u8> Lanes for Compare<T, CONDITION> {
    type In = (T, T);
    type Out = Flag;
    #[inline(always)]
    #[allow(
        clippy::eq_op,
        clippy::double_comparisons,
        reason = "only NaN differs from itself; each bit is its own relation"
    )]
    fn lane((a, b): Self::In) -> Flag {
        let (a, b) = (a.value(), b.value());
        let holds = |bit: u8, relation: bool| (CONDITION >> bit & 1 == 1) & relation;
        Flag(holds(0, a < b) | holds(1, a == b) | holds(2, a > b) | holds(3, (a != a) | (b != b)))
    }
}

macro_rules! conditions {
    ($table:ident, $type:ty, $suffix:literal: $($name:literal = $code:literal),*) => {
        const $table: &[(&str, Lowering)] = &[
            $((concat!("v_cmp_", $name, "_", $suffix), lower::<Compare<$type, $code>>),)*
            $((concat!("v_cmpx_", $name, "_", $suffix), lower::<Compare<$type, $code>>),)*
        ];
    };
    ($table:ident, $type:ty, $suffix:literal) => {
        conditions!(
            $table, $type, $suffix: "f" = 0, "lt" = 1, "eq" = 2, "le" = 3, "gt" = 4, "lg" = 5, "ge" = 6, "o" = 7, "u" = 8,
            "nge" = 9, "nlg" = 10, "ngt" = 11, "nle" = 12, "neq" = 13, "nlt" = 14, "t" = 15
        );
    };
}

conditions!(F16_TABLE, F16, "f16");
conditions!(F32_TABLE, f32, "f32");
conditions!(F64_TABLE, f64, "f64");

/// The comparisons of each type.
pub const TABLES: [&[(&str, Lowering)]; 3] = [F16_TABLE, F32_TABLE, F64_TABLE];
