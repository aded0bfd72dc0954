//! `prmt`: selects bytes of two words in any order.

use crate::exec::emit::{op, ptx, refused};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// Selects four of eight bytes. Each is selected by a nibble of the control: three bits give the
/// byte's index, the fourth replicates its sign to all its bits.
#[inline(always)]
fn permute(a: u32, b: u32, control: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(b) << 32;
    let byte = |at: u32| {
        let nibble = control >> (4 * at);
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        u32::from(byte) << (8 * at)
    };
    byte(0) | byte(1) | byte(2) | byte(3)
}

macro_rules! modes {
    ($low:ident, $inst:ident, $ty:ident, $mode:ident, $($name:literal $controls:expr;)*) => {
        match $mode {
            $($name => op!($low, $inst, $ty, [$ty, $ty, $ty], |a: u32, b: u32, c: u32| -> u32 {
                const CONTROLS: [u32; 4] = $controls;
                permute(a, b, CONTROLS[(c & 3) as usize])
            }),)*
            _ => op!($low, $inst, $ty, [$ty, $ty, $ty], |a: u32, b: u32, c: u32| -> u32 { permute(a, b, c) }),
        }
    };
}

fn prmt(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    let mode = modifiers.take_any(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]).unwrap_or_default();
    modifiers.finish()?;
    if ty != ptx!(b32) {
        return Err(refused(ty));
    }
    modes! {
        low, inst, ty, mode,
        "f4e" [0x3210, 0x4321, 0x5432, 0x6543];
        "b4e" [0x5670, 0x6701, 0x7012, 0x0123];
        "rc8" [0x0000, 0x1111, 0x2222, 0x3333];
        "ecl" [0x3210, 0x3211, 0x3222, 0x3333];
        "ecr" [0x0000, 0x1110, 0x2210, 0x3210];
        "rc16" [0x1010, 0x3232, 0x1010, 0x3232];
    }
}

/// `prmt`
pub const TABLE: Table = &[("prmt", prmt)];
