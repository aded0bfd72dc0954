//! The comparison functions.

use super::outcome::finish;
use crate::exec::emit::{flags, ptx, refused, typed};
use crate::exec::float::flush;
use crate::exec::half::Half;
use crate::exec::lane::{Operands, Outcome, after};
use crate::exec::row::{LANES, gather};
use crate::exec::{Env, Exec, Flow, Step, Warp};
use crate::lower::Lower;
use crate::ptx::ast::{Kind, Type};

/// The comparisons that have functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The operands are equal.
    Equal,
    /// The first is less.
    Less,
    /// The first is not greater. Floating point only, like the tests below.
    LessOrEqual,
    /// The operands differ, and neither is a NaN.
    Different,
    /// Neither is a NaN.
    Number,
}

/// A comparison: a test, optionally with exchanged operands or a negated result.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    /// The test.
    pub test: Test,
    /// The operands are exchanged.
    pub exchanged: bool,
    /// The result is negated.
    pub negated: bool,
}

impl Comparison {
    /// Returns the comparison with a name for a type. Comparisons with a `u` are true if an operand
    /// is a NaN: each is the negation of its opposite.
    pub fn of(name: &str, ty: Type) -> Option<Self> {
        let integer = match (name, ty.kind) {
            ("eq", Kind::Bits | Kind::Unsigned | Kind::Signed) => (Test::Equal, false, false),
            ("ne", Kind::Bits | Kind::Unsigned | Kind::Signed) => (Test::Equal, false, true),
            ("lt", Kind::Unsigned | Kind::Signed) | ("lo", Kind::Unsigned) => (Test::Less, false, false),
            ("gt", Kind::Unsigned | Kind::Signed) | ("hi", Kind::Unsigned) => (Test::Less, true, false),
            ("le", Kind::Unsigned | Kind::Signed) | ("ls", Kind::Unsigned) => (Test::Less, true, true),
            ("ge", Kind::Unsigned | Kind::Signed) | ("hs", Kind::Unsigned) => (Test::Less, false, true),
            (_, Kind::Bits | Kind::Unsigned | Kind::Signed) => return None,
            ("eq", _) => (Test::Equal, false, false),
            ("neu", _) => (Test::Equal, false, true),
            ("ne", _) => (Test::Different, false, false),
            ("equ", _) => (Test::Different, false, true),
            ("lt", _) => (Test::Less, false, false),
            ("geu", _) => (Test::Less, false, true),
            ("gt", _) => (Test::Less, true, false),
            ("leu", _) => (Test::Less, true, true),
            ("le", _) => (Test::LessOrEqual, false, false),
            ("gtu", _) => (Test::LessOrEqual, false, true),
            ("ge", _) => (Test::LessOrEqual, true, false),
            ("ltu", _) => (Test::LessOrEqual, true, true),
            ("num", _) => (Test::Number, false, false),
            ("nan", _) => (Test::Number, false, true),
            _ => return None,
        };
        let (test, exchanged, negated) = integer;
        Some(Self { test, exchanged, negated })
    }
}

/// A comparison of one pair of values, or of two pairs.
trait Compared {
    /// The operands.
    type In: Operands;
    /// Whether the operands are packed halves.
    const PAIR: bool;
    /// Returns the result, or the results of the lower and the upper halves.
    fn compare(operands: Self::In) -> (bool, bool);
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<C: Compared>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<true, C>(warp, step, env)
}

fn base<C: Compared>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<false, C>(warp, step, env)
}

#[inline(always)]
fn run<const AVX2: bool, C: Compared>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let (mut low, mut high) = (bool::NOTHING, bool::NOTHING);
    {
        // SAFETY: lowering gave the step sources of these types.
        let rows = unsafe { C::In::fetch(warp, env.program, step) };
        let mut lane = 0;
        while lane < LANES {
            let (one, other) = C::compare(C::In::lane(&rows, lane));
            one.put(&mut low, lane);
            if C::PAIR {
                other.put(&mut high, lane);
            }
            lane = after::<AVX2>(lane);
        }
    }
    let low = gather::<AVX2>(&low);
    finish(warp, step, low, if C::PAIR { Some(gather::<AVX2>(&high)) } else { None });
    Flow::Next
}

macro_rules! compared {
    ($low:ident, $t:ty, |$a:ident, $b:ident| $test:expr) => {
        compared!($low, $t, false, |$a, $b| ($test, false))
    };
    ($low:ident, $t:ty, $pair:literal, |$a:ident, $b:ident| $test:expr) => {{
        struct Op;
        impl Compared for Op {
            type In = ($t, $t);
            const PAIR: bool = $pair;
            #[inline(always)]
            fn compare(($a, $b): Self::In) -> (bool, bool) {
                $test
            }
        }
        Ok($low.choose(fast::<Op> as Exec, base::<Op> as Exec))
    }};
}

/// Evaluates the test `TEST` on numbers.
#[inline(always)]
fn holds<const TEST: u8, T: PartialOrd>(a: T, b: T) -> bool {
    const EQUAL: u8 = Test::Equal as u8;
    const LESS: u8 = Test::Less as u8;
    const LESS_OR_EQUAL: u8 = Test::LessOrEqual as u8;
    const DIFFERENT: u8 = Test::Different as u8;
    match TEST {
        EQUAL => a == b,
        LESS => a < b,
        LESS_OR_EQUAL => a <= b,
        DIFFERENT => (a < b) | (a > b),
        _ => (a <= b) | (a > b),
    }
}

/// Evaluates an expression with the constant `TEST`.
macro_rules! tested {
    ($test:expr, $name:ident => $body:expr, $($variant:ident)*) => {
        match $test {
            $(Test::$variant => {
                const $name: u8 = Test::$variant as u8;
                $body
            })*
        }
    };
}

/// Returns the function of a test.
///
/// # Errors
/// Fails if the type does not support the test.
pub fn function(low: &Lower<'_>, test: Test, ty: Type, ftz: bool) -> Result<Exec, String> {
    match (ty.kind, test) {
        (Kind::Bits | Kind::Unsigned | Kind::Signed, _) if ftz => Err(refused(ty)),
        (Kind::Bits | Kind::Unsigned | Kind::Signed, Test::Equal) => {
            typed!(ty, T: b16 u16 s16 b32 u32 s32 b64 u64 s64 => compared!(low, T, |a, b| a == b))
        }
        (Kind::Bits | Kind::Unsigned | Kind::Signed, _) => {
            typed!(ty, T: u16 s16 u32 s32 u64 s64 => compared!(low, T, |a, b| a < b))
        }
        (Kind::HalfPair | Kind::BFloatPair, _) => tested!(test, TEST => flags!(ftz FTZ => {
            typed!(ty, T: f16x2 bf16x2 => compared!(low, T, true, |a, b| {
                let ([a, x], [b, y]) = (a.split(), b.split());
                (
                    holds::<TEST, f32>(a.flush::<FTZ>().widen(), b.flush::<FTZ>().widen()),
                    holds::<TEST, f32>(x.flush::<FTZ>().widen(), y.flush::<FTZ>().widen()),
                )
            }))
        }), Equal Less LessOrEqual Different Number),
        (_, _) if ty == ptx!(f32) => tested!(test, TEST => flags!(ftz FTZ => {
            compared!(low, f32, |a, b| holds::<TEST, f32>(flush::<FTZ>(a), flush::<FTZ>(b)))
        }), Equal Less LessOrEqual Different Number),
        (_, _) if ty == ptx!(f64) && !ftz => tested!(test, TEST => {
            compared!(low, f64, |a, b| holds::<TEST, f64>(a, b))
        }, Equal Less LessOrEqual Different Number),
        _ => tested!(test, TEST => flags!(ftz FTZ => typed!(ty, T: f16 bf16 => compared!(low, T, |a, b| {
            holds::<TEST, f32>(a.flush::<FTZ>().widen(), b.flush::<FTZ>().widen())
        }))), Equal Less LessOrEqual Different Number),
    }
}
