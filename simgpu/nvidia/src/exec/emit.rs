//! Shared code of the arithmetic lowerings: selects the Rust type and the constants for an
//! instruction's modifiers, and pushes the step of a one-lane function.

use super::lane::{Function, Lanes, function};
use super::program::{Place, Step};
use crate::lower::{Lower, Lowering};
use crate::ptx::ast::{Instruction, Kind, Operand, Type};

/// The Rust type for the values of a PTX type.
macro_rules! rust {
    (u8) => {
        u8
    };
    (s8) => {
        i8
    };
    (u16) => {
        u16
    };
    (s16) => {
        i16
    };
    (b16) => {
        u16
    };
    (u32) => {
        u32
    };
    (s32) => {
        i32
    };
    (b32) => {
        u32
    };
    (u64) => {
        u64
    };
    (s64) => {
        i64
    };
    (b64) => {
        u64
    };
    (f32) => {
        f32
    };
    (f64) => {
        f64
    };
    (f16) => {
        $crate::exec::half::F16
    };
    (bf16) => {
        $crate::exec::half::BF16
    };
    (f16x2) => {
        $crate::exec::half::F16x2
    };
    (bf16x2) => {
        $crate::exec::half::BF16x2
    };
}
pub(crate) use rust;

/// The PTX type with a name, as an expression and as a pattern.
macro_rules! ptx {
    (u8) => { $crate::exec::emit::ptx!(Unsigned 8) };
    (s8) => { $crate::exec::emit::ptx!(Signed 8) };
    (u16) => { $crate::exec::emit::ptx!(Unsigned 16) };
    (s16) => { $crate::exec::emit::ptx!(Signed 16) };
    (b16) => { $crate::exec::emit::ptx!(Bits 16) };
    (u32) => { $crate::exec::emit::ptx!(Unsigned 32) };
    (s32) => { $crate::exec::emit::ptx!(Signed 32) };
    (b32) => { $crate::exec::emit::ptx!(Bits 32) };
    (u64) => { $crate::exec::emit::ptx!(Unsigned 64) };
    (s64) => { $crate::exec::emit::ptx!(Signed 64) };
    (b64) => { $crate::exec::emit::ptx!(Bits 64) };
    (f32) => { $crate::exec::emit::ptx!(Float 32) };
    (f64) => { $crate::exec::emit::ptx!(Float 64) };
    (f16) => { $crate::exec::emit::ptx!(Float 16) };
    (bf16) => { $crate::exec::emit::ptx!(BFloat 16) };
    (f16x2) => { $crate::exec::emit::ptx!(HalfPair 32) };
    (bf16x2) => { $crate::exec::emit::ptx!(BFloatPair 32) };
    (pred) => { $crate::exec::emit::ptx!(Predicate 1) };
    ($kind:ident $bits:literal) => {
        $crate::ptx::ast::Type { kind: $crate::ptx::ast::Kind::$kind, bits: $bits }
    };
}
pub(crate) use ptx;

/// `typed!(ty, T: u32 s32 => body)` evaluates the body with `T` as `u32` or `i32`, depending on
/// `ty`; another type is an error.
macro_rules! typed {
    ($ty:expr, $t:ident: $($name:ident)* => $body:expr) => {
        match $ty {
            $($crate::exec::emit::ptx!($name) => {
                type $t = $crate::exec::emit::rust!($name);
                $body
            })*
            other => Err($crate::exec::emit::refused(other)),
        }
    };
}
pub(crate) use typed;

/// `flags!(ftz FTZ, sat SAT => body)` evaluates the body with the flags as constants.
macro_rules! flags {
    (=> $body:expr) => { $body };
    ($flag:ident $name:ident $(, $flags:ident $names:ident)* => $body:expr) => {
        if $flag {
            const $name: bool = true;
            $crate::exec::emit::flags!($($flags $names),* => $body)
        } else {
            const $name: bool = false;
            $crate::exec::emit::flags!($($flags $names),* => $body)
        }
    };
}
pub(crate) use flags;

/// Pushes the step of a one-lane function: `op!(low, inst, to, [from, from], |a: T, b: T| -> T { a
/// })`.
macro_rules! op {
    ($low:expr, $inst:expr, $to:expr, [$($from:expr),*], |$($x:ident: $t:ty),*| -> $out:ty $body:block) => {{
        struct Op;
        impl $crate::exec::lane::Lanes for Op {
            type In = ($($t,)*);
            type Out = $out;
            #[inline(always)]
            fn lane(($($x,)*): Self::In) -> $out $body
        }
        $crate::exec::emit::emit::<Op>($low, $inst, $to, &[$($from),*])
    }};
}
pub(crate) use op;

/// The type of predicates.
pub const PREDICATE: Type = ptx!(pred);
/// The type of shift amounts, positions and lengths.
pub const U32: Type = ptx!(u32);

/// Returns the PTX name of a type, for errors.
pub fn name(ty: Type) -> String {
    let letter = match ty.kind {
        Kind::Bits => 'b',
        Kind::Unsigned => 'u',
        Kind::Signed => 's',
        Kind::Float => 'f',
        Kind::BFloat => return ".bf16".into(),
        Kind::HalfPair => return ".f16x2".into(),
        Kind::BFloatPair => return ".bf16x2".into(),
        Kind::TensorFloat => return ".tf32".into(),
        Kind::Predicate => return ".pred".into(),
    };
    format!(".{letter}{}", ty.bits)
}

/// Returns the error for a type that an instruction does not support.
pub fn refused(ty: Type) -> String {
    format!("it does not support {}", name(ty))
}

/// Pushes a step that computes `L`: the first operand is its destination, the others are its
/// sources, with these types.
///
/// # Errors
/// Fails if the operands or their widths differ.
pub fn emit<L: Lanes>(low: &mut Lower<'_>, inst: &Instruction, to: Type, from: &[Type]) -> Result<(), String> {
    let step = step(low, inst, function::<L>(low), to, from)?;
    low.push(step);
    Ok(())
}

/// Builds the step that [`emit`] pushes. This function is not generic, because there are about a
/// thousand instances of [`emit`].
///
/// # Errors
/// The errors of [`emit`].
pub fn step(
    low: &mut Lower<'_>,
    inst: &Instruction,
    function: Function,
    to: Type,
    from: &[Type],
) -> Result<Step, String> {
    let widths = function.sources.iter().copied().filter(|bits| *bits != 0);
    if !widths.eq(from.iter().map(width)) || function.result != width(&to) {
        return Err("the widths of its operands do not match".into());
    }
    let mut step = low.step(function.exec);
    (step.dst, step.also) = destination(low, inst.operands.first(), to)?;
    step.src = sources(low, inst.operands.get(1..).unwrap_or_default(), from)?;
    Ok(step)
}

/// Returns the register width of a type.
fn width(ty: &Type) -> u32 {
    if ty.kind == Kind::Predicate { 1 } else { ty.bits.max(16) }
}

/// Returns the destinations: a register, a predicate, or two predicates.
///
/// # Errors
/// Fails if the operand is anything else.
pub fn destination(low: &Lower<'_>, operand: Option<&Operand>, ty: Type) -> Result<(Place, Place), String> {
    let operand = operand.ok_or("it has no operands")?;
    if ty.kind != Kind::Predicate {
        return Ok((low.destination(operand, ty)?, Place::NONE));
    }
    match *operand {
        Operand::Register(_) => Ok((low.predicate(operand)?, Place::NONE)),
        Operand::Pair(first, second) => {
            let place = |id: Option<_>| id.map_or(Ok(Place::NONE), |id| low.predicate(&Operand::Register(id)));
            Ok((place(first)?, place(second)?))
        }
        Operand::Sink => Ok((Place::NONE, Place::NONE)),
        ref other => Err(format!("the operand {other:?} is not a predicate destination")),
    }
}

/// Returns the sources, which must have these types.
///
/// # Errors
/// Fails if the operands differ.
pub fn sources(low: &mut Lower<'_>, operands: &[Operand], types: &[Type]) -> Result<[Place; 4], String> {
    if operands.len() != types.len() {
        return Err(format!("it has {} sources, but {} are expected", operands.len(), types.len()));
    }
    let mut places = [Place::NONE; 4];
    for ((place, operand), ty) in places.iter_mut().zip(operands).zip(types) {
        *place = if ty.kind == Kind::Predicate { low.predicate(operand)? } else { low.source(operand, *ty)? };
    }
    Ok(places)
}

/// Returns the type that the last modifier names.
///
/// # Errors
/// Fails if the last modifier is not a type.
pub fn last_type(inst: &Instruction) -> Result<Type, String> {
    let last = inst.modifiers.last().ok_or("it has no type")?;
    Type::named(last).ok_or_else(|| format!("the modifier .{last} is not a type"))
}

/// The lowerings of an opcode for integers, for binary32 and binary64, and for halves; the
/// instruction's last type selects one.
pub struct Families {
    /// Integers and bits.
    pub integer: Lowering,
    /// `.f32` and `.f64`
    pub float: Lowering,
    /// `.f16`, `.bf16` and their packed pairs.
    pub half: Lowering,
}

impl Families {
    /// Lowers an instruction with the lowering of its family.
    ///
    /// # Errors
    /// The errors of that lowering.
    pub fn lower(&self, low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
        let ty = inst.modifiers.last().and_then(|last| Type::named(last));
        let family = match ty.map(|ty| (ty.kind, ty.bits)) {
            Some((Kind::Float, 32 | 64)) => self.float,
            Some((Kind::Float | Kind::BFloat | Kind::HalfPair | Kind::BFloatPair, _)) => self.half,
            _ => self.integer,
        };
        family(low, inst)
    }
}

/// The lowering for a family that an opcode does not support.
///
/// # Errors
/// Always fails.
pub fn none(_: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    Err(refused(last_type(inst)?))
}
