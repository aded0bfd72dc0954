//! The engine of vector instructions: applies one function of a lane's operands to all lanes of a
//! wave.

use super::lower::Lower;
use super::program::{Exec, Finish, Flow, Step, Unsupported};
use super::row::{HALF, Row, gather};
use super::source::fetch;
use super::value::{Kind, MAX_ROWS, Operands, Results};
use super::wave::{Env, Wave};
use crate::isa::{Inst, Select, Unused};
use std::hint::black_box;

/// A vector instruction.
pub trait Lanes {
    /// A lane's operands.
    type In: Operands;
    /// A lane's results.
    type Out: Results;
    /// Computes one lane. Implementations are `#[inline(always)]` and, if possible, without
    /// branches, so that they become vector code.
    fn lane(operands: Self::In) -> Self::Out;
}

/// Declares vector instructions and their lookup table: `"v_add_f32" => |a: f32, b: f32| -> f32 { a
/// + b };`
macro_rules! lanes {
    ($(#[$doc:meta])* $table:ident: $($name:literal => |$($x:ident: $t:ty),*| -> $out:ty $body:block;)*) => {
        $(#[$doc])*
        pub const $table: &[(&str, $crate::exec::lower::Lowering)] = &[$({
            struct Op;
            impl $crate::exec::lane::Lanes for Op {
                type In = ($($t,)*);
                type Out = $out;
                #[inline(always)]
                fn lane(($($x,)*): Self::In) -> $out $body
            }
            ($name, $crate::exec::lane::lower::<Op>)
        }),*];
    };
}
pub(crate) use lanes;

/// Lowers an instruction whose sources are `L`'s operands, in order. A mask that the instruction
/// implies is VCC.
///
/// # Errors
/// A modifier that the types do not support.
pub fn lower<L: Lanes>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    lowered::<L>(lower, inst, L::In::KINDS)
}

/// Lowers an instruction whose function takes its operands as words. `kinds` determines how
/// constants and modifiers act.
///
/// # Errors
/// A modifier that the kinds do not support.
pub fn lowered<L: Lanes>(lower: &mut Lower, inst: &Inst, kinds: &[Kind]) -> Result<Step, Unsupported> {
    let exec = lower.choose(fast::<L> as Exec, base::<L> as Exec);
    lower.vector(inst, exec, kinds, L::Out::KIND, L::Out::FLAG)
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<L: Lanes>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<true>(wave, step, env, Shape::of::<L>(), compute::<true, L>)
}

fn base<L: Lanes>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    run_base(wave, step, env, Shape::of::<L>(), compute::<false, L>)
}

/// The functions without AVX2 share everything except the lane's function.
#[inline(never)]
fn run_base(wave: &mut Wave, step: &Step, env: &mut Env<'_>, shape: Shape, compute: Compute) -> Flow {
    run::<false>(wave, step, env, shape, compute)
}

/// The inputs and outputs of a lane's function.
#[derive(Clone, Copy)]
struct Shape {
    operands: &'static [Kind],
    result: Option<Kind>,
    flag: bool,
}

impl Shape {
    #[inline(always)]
    const fn of<L: Lanes>() -> Self {
        Self { operands: L::In::KINDS, result: L::Out::KIND, flag: L::Out::FLAG }
    }
}

/// The results of half a row, and their flags.
type Computed = ([[u32; HALF]; 2], [u32; HALF]);
/// A function that computes half a row.
type Compute = fn(&[&[u32; HALF]; MAX_ROWS]) -> Computed;

#[inline(always)]
fn run<const AVX2: bool>(
    wave: &mut Wave,
    step: &Step,
    env: &mut Env<'_>,
    shape: Shape,
    compute: impl Fn(&[&[u32; HALF]; MAX_ROWS]) -> Computed,
) -> Flow {
    let mut rows = [std::ptr::null::<[[u32; HALF]; 2]>(); MAX_ROWS];
    let mut used = 0;
    for kind in shape.operands {
        for _ in 0..kind.dwords() {
            rows[used] = fetch(wave, env, step.rows[used], *kind, used).cast();
            used += 1;
        }
    }
    let mut flags = 0u64;
    for half in 0..wave.width / HALF {
        let mut halves = [&[0; HALF]; MAX_ROWS];
        for (half_row, row) in halves.iter_mut().zip(rows).take(used) {
            // SAFETY: `fetch` points to a whole row, which is two halves; nothing writes to it
            // before `compute` has returned.
            *half_row = unsafe { &(&*row)[half & 1] };
        }
        let (out, bits) = compute(&halves);
        if let Some(kind) = shape.result {
            if step.finish != 0 {
                // This copies, because results whose address is passed on are not kept in vector
                // registers.
                let mut changed = out;
                finish(wave, step, env, half, &mut changed);
            } else {
                for (at, result) in out.iter().enumerate().take(kind.dwords()) {
                    write(wave, usize::from(step.dst) + at, half, result);
                }
            }
        }
        if shape.flag {
            flags |= u64::from(gather::<AVX2>(&bits)) << (half * HALF);
        }
    }
    if shape.flag {
        set_flags(wave, step, env, flags);
    }
    Flow::Next
}

/// Writes the flags of all lanes.
#[inline(never)]
fn set_flags(wave: &mut Wave, step: &Step, env: &Env<'_>, flags: u64) {
    let mut flags = flags & wave.exec();
    if let Some(dpp) = env.program.finishes[usize::from(step.finish)].dpp {
        flags &= super::dpp::written(dpp, wave);
    }
    wave.set_mask(step.sdst, flags);
    if step.sets_exec {
        wave.set_exec(flags);
    }
}

/// Computes all lanes of half a row. The results are owned by the function, so the compiler knows
/// that no operand overlaps them. Without AVX2 the order of lanes is hidden from the compiler, so
/// that it generates a loop over single lanes, which compiles in a fraction of the time of vector
/// code. Almost no processor needs that version, and its results are the same.
#[inline(always)]
fn compute<const AVX2: bool, L: Lanes>(operands: &[&[u32; HALF]; MAX_ROWS]) -> Computed {
    let (mut out, mut bits) = ([[0; HALF]; 2], [0; HALF]);
    let mut next = 0;
    while next < HALF {
        L::lane(L::In::read(operands, next)).write(&mut out, &mut bits, next);
        next = if AVX2 { next + 1 } else { black_box(next + 1) };
    }
    (out, bits)
}

/// Writes the active lanes of half a row.
#[inline(always)]
fn write(wave: &mut Wave, row: usize, half: usize, result: &[u32; HALF]) {
    let active = *half_of(&wave.active, half);
    let (halves, _) = wave.v[row & 511].0.as_chunks_mut::<HALF>();
    for ((old, new), active) in halves[half & 1].iter_mut().zip(result).zip(active) {
        *old = new & active | *old & !active;
    }
}

#[inline(always)]
fn half_of(row: &Row, half: usize) -> &[u32; HALF] {
    &row.0.as_chunks().0[half & 1]
}

/// Writes a result after its modifiers are applied.
#[inline(never)]
fn finish(wave: &mut Wave, step: &Step, env: &Env<'_>, half: usize, out: &mut [[u32; HALF]; 2]) {
    let how = env.program.finishes[usize::from(step.finish)];
    how.scale(out);
    let row = usize::from(step.dst);
    let old: [u32; HALF] = std::array::from_fn(|lane| wave.v[row & 511].0[half * HALF + lane]);
    if let Some((part, unused)) = how.part {
        for (word, old) in out[0].iter_mut().zip(old) {
            *word = merge(*word, old, part, unused);
        }
    }
    for (at, result) in out.iter_mut().enumerate().take(how.kind.dwords()) {
        if let Some(dpp) = how.dpp {
            let keep = super::dpp::written(dpp, wave);
            for (lane, word) in result.iter_mut().enumerate() {
                if keep >> (half * HALF + lane) & 1 == 0 {
                    *word = wave.v[(row + at) & 511].0[half * HALF + lane];
                }
            }
        }
        write(wave, row + at, half, result);
    }
}

/// Puts the low bits of a result into the selected part of a register.
fn merge(word: u32, old: u32, part: Select, unused: Unused) -> u32 {
    let (shift, bits) = match part {
        Select::Byte(n) => (8 * u32::from(n), 8),
        Select::Word(n) => (16 * u32::from(n), 16),
        Select::Dword => return word,
    };
    let field = (u32::MAX >> (32 - bits)) << shift;
    let placed = word << shift & field;
    match unused {
        Unused::Pad => placed,
        Unused::Preserve => placed | old & !field,
        Unused::Sext => {
            let end = shift + bits;
            let negative = word >> (bits - 1) & 1 == 1 && end < 32;
            placed | if negative { u32::MAX << end } else { 0 }
        }
    }
}

impl Finish {
    /// Applies the output modifier and the clamp of floats.
    fn scale(&self, out: &mut [[u32; HALF]; 2]) {
        if self.omod == 0 && !self.clamp {
            return;
        }
        let factor = [1.0, 2.0, 4.0, 0.5][usize::from(self.omod & 3)];
        let clamp = |x: f64| if self.clamp { if x > 0.0 { x.min(1.0) } else { 0.0 } } else { x };
        let [low, high] = out;
        match self.kind {
            Kind::F32 => low.iter_mut().for_each(|x| {
                let y = f32::from_bits(*x) * factor as f32;
                *x = (clamp(y.into()) as f32).to_bits();
            }),
            Kind::F16 => low.iter_mut().for_each(|x| {
                let y = half::f16::from_f32(half::f16::from_bits(*x as u16).to_f32() * factor as f32);
                *x = half::f16::from_f64(clamp(y.to_f64())).to_bits().into();
            }),
            Kind::F64 => low.iter_mut().zip(high).for_each(|(low, high)| {
                let x = f64::from_bits(u64::from(*low) | u64::from(*high) << 32);
                let bits = clamp(x * factor).to_bits();
                (*low, *high) = (bits as u32, (bits >> 32) as u32);
            }),
            _ => {}
        }
    }
}
