//! Modifiers of vector instructions: how operands and results are modified.

use super::lower::{Lower, modifier};
use super::program::{Finish, Source, Unsupported};
use super::source::Slow;
use super::value::Kind;
use crate::isa::{Encoding, Inst, Select, Unused};

impl Lower {
    /// Applies the modifiers of operand `at` to its rows.
    pub(super) fn modified(
        &mut self,
        inst: &Inst,
        at: usize,
        kind: Kind,
        rows: [Source; 2],
    ) -> Result<[Source; 2], Unsupported> {
        let bit = |field: u8| field >> at & 1 == 1;
        let (neg, abs) = (bit(inst.neg), bit(inst.abs));
        let part = inst.sdwa.and_then(|s| s.src.get(at).copied()).filter(|&p| p != (Select::Dword, false));
        let dpp = if at == 0 { inst.dpp } else { None };
        let packed = inst.encoding == Encoding::Vop3p;
        let sixteen = matches!(kind, Kind::F16 | Kind::Int16);
        let high_half = !packed && sixteen && bit(inst.op_sel);
        if (neg || abs) && matches!(kind, Kind::Uint64 | Kind::Int64 | Kind::Int16 | Kind::Mask) {
            return Err(modifier(inst, "a sign modifier of an integer"));
        }
        match kind {
            Kind::PackedF32 if packed => {
                let pick = |high: bool| rows[usize::from(high)];
                let [low, high] = [pick(bit(inst.op_sel)), pick(bit(inst.op_sel_hi))];
                let sign = |lower: &mut Self, from, neg| {
                    if neg { lower.slow(Slow { neg, ..Slow::plain(from, Kind::F32) }) } else { from }
                };
                return Ok([sign(self, low, neg), sign(self, high, bit(inst.neg_hi))]);
            }
            Kind::PackedF16 | Kind::PackedInt16 if packed => {
                let halves = (bit(inst.op_sel), bit(inst.op_sel_hi));
                let neg_high = bit(inst.neg_hi);
                if halves == (false, true) && !neg && !neg_high {
                    return Ok(rows);
                }
                let slow = Slow { neg, neg_high, halves: Some(halves), ..Slow::plain(rows[0], kind) };
                return Ok([self.slow(slow), rows[1]]);
            }
            _ => {}
        }
        if !(neg || abs || high_half || part.is_some() || dpp.is_some()) {
            return Ok(rows);
        }
        if part.is_some() && kind.dwords() == 2 {
            return Err(modifier(inst, "a selection of a 64-bit operand"));
        }
        let part = if high_half { Some((Select::Word(1), false)) } else { part };
        let sign_kind = if kind == Kind::F16 { Kind::F16 } else { Kind::F32 };
        let changed =
            |from, sign: bool| Slow { dpp, part, abs: abs && sign, neg: neg && sign, ..Slow::plain(from, sign_kind) };
        Ok(if kind.dwords() == 2 {
            let low = if dpp.is_some() { self.slow(changed(rows[0], false)) } else { rows[0] };
            [low, self.slow(changed(rows[1], true))]
        } else {
            [self.slow(changed(rows[0], true)), rows[1]]
        })
    }

    /// Returns the modification of the result.
    pub(super) fn result(&mut self, inst: &Inst, kind: Kind) -> Result<u16, Unsupported> {
        let sixteen = matches!(kind, Kind::F16 | Kind::Int16);
        let float = matches!(kind, Kind::F16 | Kind::F32 | Kind::F64);
        if (inst.clamp || inst.omod != 0) && !float {
            return Err(modifier(inst, "clamp of an integer result"));
        }
        let high = inst.op_sel & 8 != 0;
        let part = match inst.sdwa.and_then(|s| s.dst) {
            Some((Select::Dword, _)) => None,
            Some(part) => Some(part),
            // A result in the high half keeps the low half.
            None if sixteen && high && inst.encoding == Encoding::Vop3 => Some((Select::Word(1), Unused::Preserve)),
            None if sixteen && (!self.arch.is_gfx9() || keeps_high_half(inst.name)) => {
                Some((Select::Word(0), Unused::Preserve))
            }
            None => None,
        };
        Ok(self.finish(Finish { kind, omod: inst.omod, clamp: inst.clamp, part, dpp: inst.dpp }))
    }
}

/// Whether a 16-bit instruction of GFX9 keeps the high half of its destination. Instructions that
/// GFX8 already had clear it (LLVM lists them in `GCNSubtarget::zeroesHigh16BitsOfDest`).
/// Instructions that GFX9 added with its `op_sel` keep it, as all do on GFX11.
fn keeps_high_half(name: &str) -> bool {
    let name = name.strip_prefix("v_").unwrap_or_default();
    ["add_nc_i16", "sub_nc_i16", "mad_u16", "mad_i16", "mad_f16", "mac_f16", "madak_f16", "madmk_f16", "fma_f16"]
        .contains(&name)
        || name == "div_fixup_f16"
        || ["min3", "max3", "med3"].iter().any(|op| name.starts_with(op))
}
