//! Instructions whose result saturates if the clamp modifier is set, and wraps otherwise.

/// Like [`lanes!`](crate::exec::lane::lanes), with both results: `"v_add_nc_u32" => |a: u32, b:
/// u32| -> u32 { wrapped } or { clamped };`
macro_rules! clamped {
    ($(#[$doc:meta])* $table:ident:
        $($name:literal => |$($x:ident: $t:ty),*| -> $out:ty $wrapped:block or $clamped:block;)*) => {
        $(#[$doc])*
        pub const $table: &[(&str, $crate::exec::lower::Lowering)] = &[$({
            struct Wrapped;
            impl $crate::exec::lane::Lanes for Wrapped {
                type In = ($($t,)*);
                type Out = $out;
                #[inline(always)]
                fn lane(($($x,)*): Self::In) -> $out $wrapped
            }
            struct Clamped;
            impl $crate::exec::lane::Lanes for Clamped {
                type In = ($($t,)*);
                type Out = $out;
                #[inline(always)]
                fn lane(($($x,)*): Self::In) -> $out $clamped
            }
            ($name, |lower, inst| $crate::exec::integer::clamp::choose::<Wrapped, Clamped>(lower, inst))
        }),*];
    };
}
pub(crate) use clamped;

use crate::exec::lane::{self, Lanes};
use crate::exec::lower::Lower;
use crate::exec::program::{Step, Unsupported};
use crate::isa::Inst;

/// Lowers as `Clamped` if the result is clamped, otherwise as `Wrapped`.
pub fn choose<Wrapped: Lanes, Clamped: Lanes>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    if inst.clamp {
        lane::lower::<Clamped>(lower, &Inst { clamp: false, ..inst.clone() })
    } else {
        lane::lower::<Wrapped>(lower, inst)
    }
}
