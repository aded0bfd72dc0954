//! Comparisons of integers, which give one flag per lane. `v_cmpx` also sets the active lanes to
//! it.

use crate::exec::lane::{Lanes, lower};
use crate::exec::lower::Lowering;
use crate::exec::value::{Flag, Value};
use std::marker::PhantomData;

/// A condition, by the relations that it accepts: 1 less, 2 equal, 4 greater.
struct Compare<T, const ACCEPTED: u8>(PhantomData<T>);

impl<T: Value + Ord, const ACCEPTED: u8> Lanes for Compare<T, ACCEPTED> {
    type In = (T, T);
    type Out = Flag;
    #[inline(always)]
    fn lane((a, b): (T, T)) -> Flag {
        Flag(ACCEPTED & 1 != 0 && a < b || ACCEPTED & 2 != 0 && a == b || ACCEPTED & 4 != 0 && a > b)
    }
}

macro_rules! compare {
    ($($(#[$doc:meta])* $table:ident: $type:ty, $suffix:literal;)*) => {$(
        $(#[$doc])*
        pub const $table: &[(&str, Lowering)] = &[
            (concat!("v_cmp_f_", $suffix), lower::<Compare<$type, 0>>),
            (concat!("v_cmp_lt_", $suffix), lower::<Compare<$type, 1>>),
            (concat!("v_cmp_eq_", $suffix), lower::<Compare<$type, 2>>),
            (concat!("v_cmp_le_", $suffix), lower::<Compare<$type, 3>>),
            (concat!("v_cmp_gt_", $suffix), lower::<Compare<$type, 4>>),
            (concat!("v_cmp_ne_", $suffix), lower::<Compare<$type, 5>>),
            (concat!("v_cmp_ge_", $suffix), lower::<Compare<$type, 6>>),
            (concat!("v_cmp_t_", $suffix), lower::<Compare<$type, 7>>),
            (concat!("v_cmpx_f_", $suffix), lower::<Compare<$type, 0>>),
            (concat!("v_cmpx_lt_", $suffix), lower::<Compare<$type, 1>>),
            (concat!("v_cmpx_eq_", $suffix), lower::<Compare<$type, 2>>),
            (concat!("v_cmpx_le_", $suffix), lower::<Compare<$type, 3>>),
            (concat!("v_cmpx_gt_", $suffix), lower::<Compare<$type, 4>>),
            (concat!("v_cmpx_ne_", $suffix), lower::<Compare<$type, 5>>),
            (concat!("v_cmpx_ge_", $suffix), lower::<Compare<$type, 6>>),
            (concat!("v_cmpx_t_", $suffix), lower::<Compare<$type, 7>>),
        ];
    )*};
}

compare! {
    /// Signed 16-bit comparisons.
    I16: i16, "i16";
    /// Unsigned 16-bit comparisons.
    U16: u16, "u16";
    /// Signed 32-bit comparisons.
    I32: i32, "i32";
    /// Unsigned 32-bit comparisons.
    U32: u32, "u32";
    /// Signed 64-bit comparisons.
    I64: i64, "i64";
    /// Unsigned 64-bit comparisons.
    U64: u64, "u64";
}
