//! Registers and constants as text.

use crate::isa::inst::{Arch, Operand, sreg};
use crate::isa::table::{B, Class, D, I, P, T};

/// The float constants, starting at code 240.
const FLOATS: [f32; 9] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.159_154_94];
/// The same constants as f16 bits.
const FLOATS16: [u16; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];

/// Returns the text of an operand of `dwords` registers; `half` selects a half of a 16-bit operand.
pub(super) fn text(arch: Arch, operand: Operand, dwords: u8, half: Option<bool>) -> String {
    match operand {
        Operand::None => String::new(),
        Operand::Vgpr(number @ 256..) => span('a', number - 256, dwords),
        Operand::Vgpr(number) => match half {
            Some(high) => format!("v{number}.{}", if high { 'h' } else { 'l' }),
            None => span('v', number, dwords),
        },
        Operand::Sgpr(place) => scalar(arch, place, dwords),
        Operand::Inline(code) => inline(code, dwords),
        Operand::Literal(value) => literal(value, 0, dwords),
        Operand::SharedBase => "src_shared_base".into(),
        Operand::SharedLimit => "src_shared_limit".into(),
        Operand::PrivateBase => "src_private_base".into(),
        Operand::PrivateLimit => "src_private_limit".into(),
        Operand::Vccz => "src_vccz".into(),
        Operand::Execz => "src_execz".into(),
        Operand::Scc => "src_scc".into(),
    }
}

fn span(file: char, first: u16, dwords: u8) -> String {
    match dwords {
        0 | 1 => format!("{file}{first}"),
        _ => format!("{file}[{first}:{}]", first + u16::from(dwords) - 1),
    }
}

fn scalar(arch: Arch, place: u8, dwords: u8) -> String {
    let pair = |name: &str, low: u8| match dwords {
        2 => name.to_owned(),
        _ => format!("{name}_{}", if place == low { "lo" } else { "hi" }),
    };
    match place {
        sreg::FLAT_SCRATCH_LO | sreg::FLAT_SCRATCH_HI if arch.is_gfx9() => pair("flat_scratch", sreg::FLAT_SCRATCH_LO),
        104 | 105 if arch.is_gfx9() => pair("xnack_mask", sreg::XNACK_MASK_LO),
        sreg::VCC_LO | sreg::VCC_HI => pair("vcc", sreg::VCC_LO),
        sreg::EXEC_LO | sreg::EXEC_HI => pair("exec", sreg::EXEC_LO),
        sreg::M0 => "m0".into(),
        sreg::NULL => "null".into(),
        sreg::TTMP0..sreg::M0 => {
            let first = place - sreg::TTMP0;
            if dwords > 1 { format!("ttmp[{first}:{}]", first + dwords - 1) } else { format!("ttmp{first}") }
        }
        _ => span('s', place.into(), dwords),
    }
}

/// Returns the text of a literal for an operand of a class: the inline constant with the same value
/// if LLVM writes it that way, otherwise hexadecimal.
pub(super) fn literal(value: u32, class: Class, dwords: u8) -> String {
    let is_small = |integer: i32| (-16..=64).contains(&integer);
    let float = |place: Option<usize>| place.map(|place| inline(240 + place as u8, 1));
    let half = |value: u32| float(FLOATS16.iter().position(|bits| u32::from(*bits) == value));
    let single = || float(FLOATS.iter().position(|float| float.to_bits() == value));
    let (short, signed) = (value & 0xffff, value as i32);
    if class & T != 0 && class & I == 0 {
        let signed = i32::from(value as i16);
        return if is_small(signed) {
            signed.to_string()
        } else {
            half(short).unwrap_or_else(|| format!("{short:#x}"))
        };
    }
    if class & D != 0 {
        let high_half = |float: &f32| f64::from(*float).to_bits() == u64::from(value) << 32;
        let found = float(FLOATS.iter().position(high_half));
        return if value == 0 { "0".into() } else { found.unwrap_or_else(|| format!("{value:#x}")) };
    }
    if dwords == 2 {
        return if value <= 64 { value.to_string() } else { format!("{value:#x}") };
    }
    if is_small(signed) {
        return signed.to_string();
    }
    let found = match class & (P | B) {
        P => half(value),
        B => float(FLOATS.iter().position(|float| float.to_bits() >> 16 == value)),
        _ => single(),
    };
    // A 16-bit integer is compared with the constants using all bits, but written with only its own
    // 16.
    found.unwrap_or_else(|| format!("{:#x}", if class & T != 0 { short } else { value }))
}

/// Returns the text of a constant of a 16-bit integer operand.
pub(super) fn inline16(code: u8) -> String {
    match FLOATS16.get(usize::from(code.wrapping_sub(240))) {
        Some(bits) => format!("{bits:#x}"),
        None => inline(code, 1),
    }
}

fn inline(code: u8, dwords: u8) -> String {
    match code {
        240 => "0.5".into(),
        241 => "-0.5".into(),
        242 => "1.0".into(),
        243 => "-1.0".into(),
        244 => "2.0".into(),
        245 => "-2.0".into(),
        246 => "4.0".into(),
        247 => "-4.0".into(),
        248 if dwords == 2 => "0.15915494309189532".into(),
        248 => "0.15915494".into(),
        128..=192 => (code - 128).to_string(),
        _ => format!("-{}", code.wrapping_sub(192)),
    }
}
