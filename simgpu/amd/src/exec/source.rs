//! Fetches operands: most are a register's own row, some are spread from a scalar, and a few are
//! modified (negated, shifted out of a half, permuted).

use super::program::{Scalar, Source, Special};
use super::row::{HALF, Row};
use super::value::Kind;
use super::wave::{Env, Wave};
use crate::isa::{Dpp, Select, sreg};

/// A source row that is modified when it is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slow {
    /// The row or scalar that is read.
    pub from: Base,
    /// The permutation of the lanes.
    pub dpp: Option<Dpp>,
    /// The part that is read, and whether it is sign-extended.
    pub part: Option<(Select, bool)>,
    /// Whether the absolute value is used.
    pub abs: bool,
    /// Whether the sign is then changed. For a packed operand this applies to the low half.
    pub neg: bool,
    /// Whether the sign of the high half of a packed operand is changed.
    pub neg_high: bool,
    /// The kind, which determines the position of the sign.
    pub kind: Kind,
    /// The halves of the register that a packed operand uses as low and high half.
    pub halves: Option<(bool, bool)>,
}

/// The source of a modified row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// An unmodified row.
    Plain(Source),
    /// The low or high word of a special scalar.
    Special(Special, bool),
}

impl Slow {
    /// Returns a source without modifications.
    pub const fn plain(from: Source, kind: Kind) -> Self {
        Self {
            from: Base::Plain(from),
            dpp: None,
            part: None,
            abs: false,
            neg: false,
            neg_high: false,
            kind,
            halves: None,
        }
    }
}

/// Returns a special scalar's value.
pub fn special(wave: &Wave, env: &Env<'_>, which: Special) -> u64 {
    let vcc = if wave.width == 64 { wave.pair(sreg::VCC_LO) } else { wave.word(sreg::VCC_LO).into() };
    let exec = if wave.width == 64 { wave.exec() } else { wave.word(sreg::EXEC_LO).into() };
    match which {
        Special::SharedBase => u64::from(env.shared_aperture) << 32,
        Special::SharedLimit => u64::from(env.shared_aperture) << 32 | 0xffff_ffff,
        Special::PrivateBase => u64::from(env.private_aperture) << 32,
        Special::PrivateLimit => u64::from(env.private_aperture) << 32 | 0xffff_ffff,
        Special::Vccz => (vcc == 0).into(),
        Special::Execz => (exec == 0).into(),
        Special::Scc => wave.scc.into(),
    }
}

/// Returns the words of a source of a kind, one per lane. Words that are not a register's own are
/// computed in row `slot` of the wave's operand rows. Sources that are unlikely for the kind are
/// handled out of line, so that their code is not part of the caller's.
#[inline(always)]
pub fn fetch(wave: &mut Wave, env: &Env<'_>, source: Source, kind: Kind, slot: usize) -> *const u32 {
    match source {
        Source::Mask(at) if kind == Kind::Mask => {
            let bits = wave.mask(at);
            wave.operands[slot].spread(bits);
            wave.operands[slot].0.as_ptr()
        }
        _ if kind == Kind::Mask => fetch_unlikely(wave, env, source, slot),
        Source::Row(row) => wave.v[usize::from(row)].0.as_ptr(),
        Source::Constant(row) => env.program.constants[usize::from(row)].0.as_ptr(),
        Source::Scalar(at) => {
            let word = wave.word(at);
            wave.operands[slot].0.fill(word);
            wave.operands[slot].0.as_ptr()
        }
        Source::Mask(_) | Source::Slow(_) => fetch_unlikely(wave, env, source, slot),
    }
}

#[inline(never)]
fn fetch_unlikely(wave: &mut Wave, env: &Env<'_>, source: Source, slot: usize) -> *const u32 {
    match source {
        Source::Mask(_) => fetch(wave, env, source, Kind::Mask, slot),
        Source::Slow(index) => {
            fetch_slow(wave, env, env.program.slow[usize::from(index)], slot);
            wave.operands[slot].0.as_ptr()
        }
        _ => fetch(wave, env, source, Kind::Int32, slot),
    }
}

fn fetch_slow(wave: &mut Wave, env: &Env<'_>, slow: Slow, slot: usize) {
    let mut row = match slow.from {
        Base::Plain(source) => {
            let words = fetch(wave, env, source, Kind::Int32, slot);
            // SAFETY: `fetch` points to a whole row of the wave or of the program, and nothing
            // writes to it during the read.
            unsafe { *words.cast::<Row>() }
        }
        Base::Special(which, high) => Row::splat((special(wave, env, which) >> (32 * u32::from(high))) as u32),
    };
    if let Some(dpp) = slow.dpp {
        row = super::dpp::permute(&row, dpp, wave);
    }
    for word in &mut row.0 {
        *word = slow.change(*word);
    }
    wave.operands[slot] = row;
}

impl Slow {
    fn change(&self, word: u32) -> u32 {
        let mut word = match self.part {
            Some((Select::Byte(n), false)) => word >> (8 * n) & 0xff,
            Some((Select::Byte(n), true)) => (word >> (8 * n)) as i8 as u32,
            Some((Select::Word(n), false)) => word >> (16 * n) & 0xffff,
            Some((Select::Word(n), true)) => (word >> (16 * n)) as i16 as u32,
            Some((Select::Dword, _)) | None => word,
        };
        if let Some((low, high)) = self.halves {
            let half = |high: bool| word >> (16 * u32::from(high)) & 0xffff;
            word = half(low) | half(high) << 16;
        }
        let sign = match self.kind {
            Kind::F16 => 0x8000,
            Kind::PackedF16 => {
                let signs = u32::from(self.neg) << 15 | u32::from(self.neg_high) << 31;
                return word ^ signs;
            }
            _ => 0x8000_0000,
        };
        let word = if self.abs { word & !sign } else { word };
        if self.neg { word ^ sign } else { word }
    }
}

/// Returns a scalar operand of 32 bits.
#[inline(always)]
pub fn word(wave: &Wave, env: &Env<'_>, source: Scalar) -> u32 {
    match source {
        Scalar::Register(at) => wave.word(at),
        Scalar::Word(index) => env.program.words[usize::from(index)] as u32,
        Scalar::Special(which) => special(wave, env, which) as u32,
    }
}

/// Returns a scalar operand of 64 bits.
#[inline(always)]
pub fn pair(wave: &Wave, env: &Env<'_>, source: Scalar) -> u64 {
    match source {
        Scalar::Register(at) => wave.pair(at),
        Scalar::Word(index) => env.program.words[usize::from(index)],
        Scalar::Special(which) => special(wave, env, which),
    }
}

const _: () = assert!(size_of::<Row>() == 2 * HALF * 4);
