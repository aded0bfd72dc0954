//! Modifiers as text: those around a source, and those after the operands.

use crate::isa::inst::{Arch, Dpp, Encoding, Inst, Mai, Operand, Sdwa, Select, Unused};
use crate::isa::table::{H, Role, Row};
use std::fmt::{self, Formatter};

/// Returns a source with its sign, absolute value or sign extension.
pub(super) fn around(inst: &Inst, place: u8, operand: Operand, text: String) -> String {
    let set = |mask: u8| place < 3 && mask >> place & 1 == 1;
    if inst.sdwa.is_some_and(|sdwa| sdwa.src.get(usize::from(place)).is_some_and(|(_, sext)| *sext)) {
        return format!("sext({text})");
    }
    let packed = inst.encoding == Encoding::Vop3p;
    if packed && !mixed(inst) {
        return text;
    }
    let constant = matches!(operand, Operand::Inline(_) | Operand::Literal(_));
    match (set(inst.neg), set(if packed { inst.neg_hi } else { inst.abs })) {
        (false, false) => text,
        (false, true) => format!("|{text}|"),
        (true, false) if constant => format!("neg({text})"),
        (true, false) => format!("-{text}"),
        (true, true) => format!("-|{text}|"),
    }
}

/// Whether a VOP3P instruction has single numbers as sources, with the modifiers of VOP3.
fn mixed(inst: &Inst) -> bool {
    inst.name.starts_with("v_fma_mix")
}

/// Writes the modifiers after the operands.
pub(super) fn write(f: &mut Formatter<'_>, inst: &Inst, arch: Arch, row: &Row) -> fmt::Result {
    match inst.encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p => {
            vector(f, inst, arch, row)
        }
        Encoding::Smem => cache(f, inst, arch),
        Encoding::Ds => {
            super::numbers::share_offsets(f, inst, row)?;
            flag(f, inst.lds, "gds")
        }
        Encoding::Flat | Encoding::Global | Encoding::Scratch => {
            offset(f, inst)?;
            cache(f, inst, arch)?;
            flag(f, inst.lds, "lds")
        }
        Encoding::Mubuf if row.slots.is_empty() => cache(f, inst, arch),
        Encoding::Mubuf => {
            flag(f, inst.idxen, "idxen")?;
            flag(f, inst.offen, "offen")?;
            offset(f, inst)?;
            cache(f, inst, arch)?;
            flag(f, inst.lds, "lds")
        }
        _ => Ok(()),
    }
}

fn flag(f: &mut Formatter<'_>, on: bool, name: &str) -> fmt::Result {
    if on { write!(f, " {name}") } else { Ok(()) }
}

fn offset(f: &mut Formatter<'_>, inst: &Inst) -> fmt::Result {
    if inst.imm == 0 { Ok(()) } else { write!(f, " offset:{}", inst.imm) }
}

fn cache(f: &mut Formatter<'_>, inst: &Inst, arch: Arch) -> fmt::Result {
    let [glc, slc, dlc] = match arch {
        Arch::Gfx942 if inst.encoding != Encoding::Smem => ["sc0", "nt", "sc1"],
        Arch::Gfx1100 => ["glc", "slc", "dlc"],
        _ => ["glc", "slc", "scc"],
    };
    flag(f, inst.cache.glc, glc)?;
    flag(f, inst.cache.slc, slc)?;
    flag(f, inst.cache.dlc, dlc)
}

/// Writes the patterns of a matrix instruction of GFX9.
fn patterns(f: &mut Formatter<'_>, inst: &Inst, arch: Arch) -> fmt::Result {
    let Mai { cbsz, abid, blgp } = inst.mai;
    for (name, value) in [(" cbsz:", cbsz), (" abid:", abid)] {
        if value != 0 {
            write!(f, "{name}{value}")?;
        }
    }
    match blgp {
        0 => Ok(()),
        _ if arch == Arch::Gfx942 && inst.name.starts_with("v_mfma_f64_") => {
            write!(f, " neg:[{},{},{}]", blgp & 1, blgp >> 1 & 1, blgp >> 2)
        }
        _ => write!(f, " blgp:{blgp}"),
    }
}

fn vector(f: &mut Formatter<'_>, inst: &Inst, arch: Arch, row: &Row) -> fmt::Result {
    if ["v_mfma_", "v_smfmac_"].iter().any(|kind| inst.name.starts_with(kind)) {
        return patterns(f, inst, arch);
    }
    let sources = row.slots.iter().filter(|slot| slot.shown && matches!(slot.role, Role::Source(_))).count() as u8;
    let list = |mask: u8, count: u8| {
        let bits: Vec<String> = (0..count).map(|i| (mask >> i & 1).to_string()).collect();
        format!("[{}]", bits.join(","))
    };
    if inst.encoding == Encoding::Vop3p {
        let all = (1 << sources) - 1;
        let plain = if mixed(inst) { 0 } else { all };
        if inst.op_sel != 0 {
            write!(f, " op_sel:{}", list(inst.op_sel, sources))?;
        }
        if inst.op_sel_hi & all != plain && row.ignored >> 59 & 1 == 0 {
            write!(f, " op_sel_hi:{}", list(inst.op_sel_hi, sources))?;
        }
        if !mixed(inst) && inst.neg != 0 {
            write!(f, " neg_lo:{}", list(inst.neg, sources))?;
        }
        if !mixed(inst) && inst.neg_hi != 0 {
            write!(f, " neg_hi:{}", list(inst.neg_hi, sources))?;
        }
    } else if inst.op_sel != 0 && !row.slots.iter().any(|slot| slot.class & H != 0) {
        // The permutations have two flags in op_sel. The stochastic roundings have a third
        // position, which together with the last selects the byte that is written.
        let places = match inst.name {
            "v_permlane16_b32" | "v_permlanex16_b32" => 1,
            name if name.starts_with("v_cvt_sr_") => 3,
            _ => inst.src_count,
        };
        let destination = if inst.op_sel & 8 != 0 { 1 << places } else { 0 };
        write!(f, " op_sel:{}", list(inst.op_sel & 7 | destination, places + 1))?;
    }
    flag(f, inst.clamp, "clamp")?;
    match inst.omod {
        1 => f.write_str(" mul:2")?,
        2 => f.write_str(" mul:4")?,
        3 => f.write_str(" div:2")?,
        _ => {}
    }
    if let Some(sdwa) = &inst.sdwa {
        selections(f, sdwa, sources)?;
    }
    if let Some(dpp) = &inst.dpp {
        permutation(f, dpp, arch)?;
    }
    Ok(())
}

fn selections(f: &mut Formatter<'_>, sdwa: &Sdwa, sources: u8) -> fmt::Result {
    let select = |select: Select| match select {
        Select::Byte(n) => format!("BYTE_{n}"),
        Select::Word(n) => format!("WORD_{n}"),
        Select::Dword => "DWORD".to_owned(),
    };
    if let Some((part, unused)) = sdwa.dst {
        let unused = match unused {
            Unused::Pad => "UNUSED_PAD",
            Unused::Sext => "UNUSED_SEXT",
            Unused::Preserve => "UNUSED_PRESERVE",
        };
        write!(f, " dst_sel:{} dst_unused:{unused}", select(part))?;
    }
    for (i, (part, _)) in sdwa.src.iter().enumerate().take(usize::from(sources)) {
        write!(f, " src{i}_sel:{}", select(*part))?;
    }
    Ok(())
}

fn permutation(f: &mut Formatter<'_>, dpp: &Dpp, arch: Arch) -> fmt::Result {
    match dpp {
        Dpp::Dpp8 { lanes, fetch_inactive } => {
            let lanes: Vec<String> = lanes.iter().map(u8::to_string).collect();
            write!(f, " dpp8:[{}]", lanes.join(","))?;
            flag(f, *fetch_inactive, "fi:1")
        }
        Dpp::Dpp16 { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive } => {
            match ctrl {
                0..=0xff => {
                    write!(f, " quad_perm:[{},{},{},{}]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6)?;
                }
                0x101..=0x10f => write!(f, " row_shl:{}", ctrl & 15)?,
                0x111..=0x11f => write!(f, " row_shr:{}", ctrl & 15)?,
                0x121..=0x12f => write!(f, " row_ror:{}", ctrl & 15)?,
                0x130 => f.write_str(" wave_shl:1")?,
                0x134 => f.write_str(" wave_rol:1")?,
                0x138 => f.write_str(" wave_shr:1")?,
                0x13c => f.write_str(" wave_ror:1")?,
                0x140 => f.write_str(" row_mirror")?,
                0x141 => f.write_str(" row_half_mirror")?,
                0x142 => f.write_str(" row_bcast:15")?,
                0x143 => f.write_str(" row_bcast:31")?,
                0x160.. => write!(f, " row_xmask:{}", ctrl & 15)?,
                _ if arch.is_gfx9() => write!(f, " row_newbcast:{}", ctrl & 15)?,
                _ => write!(f, " row_share:{}", ctrl & 15)?,
            }
            write!(f, " row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}")?;
            flag(f, *bound_ctrl, "bound_ctrl:1")?;
            flag(f, *fetch_inactive, "fi:1")
        }
    }
}
