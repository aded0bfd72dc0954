//! The constants of scalar instructions and the offsets of memory instructions, as LLVM writes
//! them.

use super::names;
use crate::isa::inst::{Arch, Encoding, Inst, Operand};
use crate::isa::table::{Field, Row};
use std::fmt::{self, Formatter};

/// Returns the constant of SOPK, SOPP, SOPC and SOP1, or the offset of SMEM (or the constant of
/// `s_atc_probe`, which comes first).
pub(super) fn text(inst: &Inst, arch: Arch, row: &Row, first: bool) -> String {
    let value = inst.imm as u32 & 0xffff;
    match inst.encoding {
        Encoding::Smem if first && row.slots.len() > 1 => small(inst.imm1 as u32),
        Encoding::Smem => scalar_offset(inst, arch),
        Encoding::Sopc => index_mode(value),
        Encoding::Sop1 => message(arch, value),
        _ => match inst.mnemonic {
            "s_waitcnt" => waits(arch, value),
            "s_waitcnt_depctr" => dependencies(value),
            "s_delay_alu" => delays(value),
            "s_sendmsg" | "s_sendmsghalt" => message(arch, value),
            "s_set_gpr_idx_mode" => index_mode(value),
            "s_version" => version(value),
            "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => hardware_register(arch, value),
            "s_endpgm" if value == 0 => String::new(),
            "s_endpgm" | "s_branch" | "s_call_b64" => value.to_string(),
            name if name.starts_with("s_cbranch") || name.starts_with("s_subvector") => value.to_string(),
            "s_clause" | "s_set_inst_prefetch_distance" | "s_wait_event" | "s_round_mode" | "s_ttracedata_imm" => {
                format!("{value:#x}")
            }
            _ if inst.encoding == Encoding::Sopk => format!("{value:#x}"),
            _ => small(value),
        },
    }
}

/// Returns values that an inline constant can have in decimal, others in hexadecimal.
fn small(value: u32) -> String {
    if value <= 64 { value.to_string() } else { format!("{value:#x}") }
}

fn scalar_offset(inst: &Inst, arch: Arch) -> String {
    let hex = |value: i32| if value < 0 { format!("-{:#x}", -value) } else { format!("{value:#x}") };
    match inst.src[1] {
        Operand::Sgpr(_) => {
            let register = super::operand::text(arch, inst.src[1], 1, None);
            if inst.imm == 0 { register } else { format!("{register} offset:{}", hex(inst.imm)) }
        }
        _ if inst.imm == 0 && !arch.is_gfx9() => "null".into(),
        _ => hex(inst.imm),
    }
}

fn waits(arch: Arch, value: u32) -> String {
    let (vector, export, scalar, most) = if arch.is_gfx9() {
        (value & 15 | (value >> 14) << 4, value >> 4 & 7, value >> 8 & 15, 15)
    } else {
        (value >> 10, value & 7, value >> 4 & 63, 63)
    };
    let counters = [("vmcnt", vector, 63), ("expcnt", export, 7), ("lgkmcnt", scalar, most)];
    let all = counters.iter().all(|(_, count, most)| count == most);
    let shown = counters.iter().filter(|(_, count, most)| all || count != most);
    shown.map(|(name, count, _)| format!("{name}({count})")).collect::<Vec<_>>().join(" ")
}

fn dependencies(value: u32) -> String {
    let fields = [
        ("hold_cnt", 7, 1),
        ("sa_sdst", 0, 1),
        ("va_vdst", 12, 15),
        ("va_sdst", 9, 7),
        ("va_ssrc", 8, 1),
        ("va_vcc", 1, 1),
        ("vm_vsrc", 2, 7),
    ];
    if value & 0x60 != 0 {
        return format!("{value:#x}");
    }
    let all = fields.iter().all(|(_, low, most)| value >> low & most == *most);
    let shown = fields.iter().filter(|(_, low, most)| all || value >> low & most != *most);
    shown.map(|(name, low, most)| format!("depctr_{name}({})", value >> low & most)).collect::<Vec<_>>().join(" ")
}

fn delays(value: u32) -> String {
    const WAITS: [&str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let name = |field: &str, kind: &str, names: &[&str], code: u32| match (code, names.get(code as usize)) {
        (0, _) => None,
        (_, Some(name)) => Some(format!("{field}({name})")),
        (_, None) => Some(format!("{field}(/* invalid {kind} value */)")),
    };
    let fields = [
        name("instid0", "instid", &WAITS, value & 15),
        name("instskip", "instskip", &SKIPS, value >> 4 & 7),
        name("instid1", "instid", &WAITS, value >> 7 & 15),
    ];
    let shown: Vec<String> = fields.into_iter().flatten().collect();
    if shown.is_empty() { "0".into() } else { shown.join(" | ") }
}

fn message(arch: Arch, value: u32) -> String {
    let (id, operation, stream) =
        if arch.is_gfx9() { (value & 15, value >> 4 & 7, value >> 8 & 3) } else { (value & 255, 0, 0) };
    let plain = if value == id | operation << 4 | stream << 8 {
        format!("sendmsg({id}, {operation}, {stream})")
    } else {
        value.to_string()
    };
    let Some(name) = names::message(arch, id) else {
        return plain;
    };
    let takes_operation = arch.is_gfx9() && matches!(id, 2 | 3 | 15);
    match (takes_operation, names::message_operation(id, operation)) {
        (false, _) if operation == 0 && stream == 0 => format!("sendmsg({name})"),
        (true, Some(what)) if id != 15 && operation != 0 => format!("sendmsg({name}, {what}, {stream})"),
        (true, Some(what)) if stream == 0 => format!("sendmsg({name}, {what})"),
        _ => plain,
    }
}

/// Returns the microcode's generation and flags, or a plain number if other bits are set.
fn version(value: u32) -> String {
    if value & 0x1f00 != 0 {
        return format!("{value:#x}");
    }
    let generation = names::generation(value & 0xff).map_or_else(|| (value & 0xff).to_string(), str::to_owned);
    let flags = [("W64", 13), ("W32", 14), ("MDP", 15)];
    let set = flags.iter().filter(|(_, bit)| value >> bit & 1 == 1);
    set.fold(generation, |text, (flag, _)| {
        let text = if text.contains('|') { format!("({text})") } else { text };
        format!("{text}|UC_VERSION_{flag}_BIT")
    })
}

fn hardware_register(arch: Arch, value: u32) -> String {
    let (id, offset, size) = (value & 63, value >> 6 & 31, (value >> 11) + 1);
    let name = names::hardware_register(arch, id).map_or_else(|| id.to_string(), str::to_owned);
    if offset == 0 && size == 32 { format!("hwreg({name})") } else { format!("hwreg({name}, {offset}, {size})") }
}

fn index_mode(value: u32) -> String {
    if value > 15 {
        return format!("{value:#x}");
    }
    let parts = ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate().filter(|(i, _)| value >> i & 1 == 1);
    format!("gpr_idx({})", parts.map(|(_, name)| *name).collect::<Vec<_>>().join(","))
}

/// Writes the offsets of a DS instruction.
pub(super) fn share_offsets(f: &mut Formatter<'_>, inst: &Inst, row: &Row) -> fmt::Result {
    if row.slots.iter().any(|slot| slot.field == Field::Offset1) {
        for (name, value) in [("offset0", inst.imm), ("offset1", inst.imm1)] {
            if value != 0 {
                write!(f, " {name}:{value}")?;
            }
        }
        return Ok(());
    }
    match inst.imm as u32 {
        0 => Ok(()),
        value if inst.name == "ds_swizzle_b32" => write!(f, " offset:{}", swizzle(value)),
        value => write!(f, " offset:{value}"),
    }
}

/// Returns the pattern of `ds_swizzle_b32`.
fn swizzle(value: u32) -> String {
    if value & 0x8000 != 0 && value & 0x7f00 == 0 {
        let lane = |i: u32| value >> (2 * i) & 3;
        return format!("swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if value & 0x8000 != 0 {
        return value.to_string();
    }
    let (and, or, xor) = (value & 31, value >> 5 & 31, value >> 10 & 31);
    if and == 31 && or == 0 && xor.count_ones() == 1 {
        format!("swizzle(SWAP,{xor})")
    } else if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        format!("swizzle(REVERSE,{})", xor + 1)
    } else {
        let group = 32 - and;
        if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
            return format!("swizzle(BROADCAST,{group},{or})");
        }
        let bits = (0..5).rev().map(|i| {
            let zero = or >> i & 1 ^ xor >> i & 1;
            let one = (and >> i & 1 | or >> i & 1) ^ xor >> i & 1;
            match (zero, one) {
                (0, 0) => '0',
                (1, 1) => '1',
                (0, _) => 'p',
                _ => 'i',
            }
        });
        format!("swizzle(BITMASK_PERM,\"{}\")", bits.collect::<String>())
    }
}
