//! LLVM's names for numbers: hardware registers, messages and generations.

use crate::isa::inst::Arch;

/// Returns the name of a hardware register.
pub(super) fn hardware_register(arch: Arch, id: u32) -> Option<&'static str> {
    let common = match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 => "HW_REG_SH_MEM_BASES",
        _ => "",
    };
    if !common.is_empty() {
        return Some(common);
    }
    Some(match (arch, id) {
        (Arch::Gfx90a | Arch::Gfx942, 4) => "HW_REG_HW_ID",
        (Arch::Gfx90a | Arch::Gfx942, 16) => "HW_REG_TBA_LO",
        (Arch::Gfx90a | Arch::Gfx942, 17) => "HW_REG_TBA_HI",
        (Arch::Gfx90a | Arch::Gfx942, 18) => "HW_REG_TMA_LO",
        (Arch::Gfx90a | Arch::Gfx942, 19) => "HW_REG_TMA_HI",
        (Arch::Gfx942, 20) => "HW_REG_XCC_ID",
        (Arch::Gfx942, 21) => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
        (Arch::Gfx942, 22) => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
        (Arch::Gfx942, 23) => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
        (Arch::Gfx942, 24) => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
        (Arch::Gfx1100, 18) => "HW_REG_PERF_SNAPSHOT_PC_LO",
        (Arch::Gfx1100, 19) => "HW_REG_PERF_SNAPSHOT_PC_HI",
        (Arch::Gfx1100, 20) => "HW_REG_FLAT_SCR_LO",
        (Arch::Gfx1100, 21) => "HW_REG_FLAT_SCR_HI",
        (Arch::Gfx1100, 23) => "HW_REG_HW_ID1",
        (Arch::Gfx1100, 24) => "HW_REG_HW_ID2",
        (Arch::Gfx1100, 27) => "HW_REG_PERF_SNAPSHOT_DATA",
        (Arch::Gfx1100, 29) => "HW_REG_SHADER_CYCLES",
        _ => return None,
    })
}

/// Returns the name of a microcode generation.
pub(super) fn generation(code: u32) -> Option<&'static str> {
    Some(match code {
        0 => "UC_VERSION_GFX7",
        4 => "UC_VERSION_GFX10",
        6 => "UC_VERSION_GFX11",
        9 => "UC_VERSION_GFX12",
        _ => return None,
    })
}

/// Returns the name of a message.
pub(super) fn message(arch: Arch, id: u32) -> Option<&'static str> {
    Some(match (arch.is_gfx9(), id) {
        (_, 1) => "MSG_INTERRUPT",
        (true, 2) => "MSG_GS",
        (true, 3) => "MSG_GS_DONE",
        (true, 4) => "MSG_SAVEWAVE",
        (_, 5) => "MSG_STALL_WAVE_GEN",
        (_, 6) => "MSG_HALT_WAVES",
        (true, 7) => "MSG_ORDERED_PS_DONE",
        (true, 8) => "MSG_EARLY_PRIM_DEALLOC",
        (_, 9) => "MSG_GS_ALLOC_REQ",
        (true, 10) => "MSG_GET_DOORBELL",
        (true, 15) => "MSG_SYSMSG",
        (false, 2) => "MSG_HS_TESSFACTOR",
        (false, 3) => "MSG_DEALLOC_VGPRS",
        (false, 0x80) => "MSG_RTN_GET_DOORBELL",
        (false, 0x81) => "MSG_RTN_GET_DDID",
        (false, 0x82) => "MSG_RTN_GET_TMA",
        (false, 0x83) => "MSG_RTN_GET_REALTIME",
        (false, 0x84) => "MSG_RTN_SAVE_WAVE",
        (false, 0x85) => "MSG_RTN_GET_TBA",
        (false, 0x86) => "MSG_RTN_GET_TBA_TO_PC",
        _ => return None,
    })
}

/// Returns the name of an operation of a GFX9 message.
pub(super) fn message_operation(id: u32, operation: u32) -> Option<&'static str> {
    Some(match (id, operation) {
        (3, 0) => "GS_OP_NOP",
        (2 | 3, 1) => "GS_OP_CUT",
        (2 | 3, 2) => "GS_OP_EMIT",
        (2 | 3, 3) => "GS_OP_EMIT_CUT",
        (15, 1) => "SYSMSG_OP_ECC_ERR_INTERRUPT",
        (15, 2) => "SYSMSG_OP_REG_RD",
        (15, 4) => "SYSMSG_OP_TTRACE_PC",
        _ => return None,
    })
}
