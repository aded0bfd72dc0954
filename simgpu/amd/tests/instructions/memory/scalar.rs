//! Tests of scalar loads and clocks.

use super::{Rig, S, bytes, inst};
use isobit_simgpu_amd::isa::{Encoding, Operand, sreg};
use isobit_simgpu_core::finding::FindingKind;

fn words(base: u64, offset: u64, count: usize) -> Vec<u32> {
    bytes(base + offset, 4 * count).chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

const LOADS: [(&str, &str, usize); 5] = [
    ("s_load_b32", "s_buffer_load_b32", 1),
    ("s_load_b64", "s_buffer_load_b64", 2),
    ("s_load_b128", "s_buffer_load_b128", 4),
    ("s_load_b256", "s_buffer_load_b256", 8),
    ("s_load_b512", "s_buffer_load_b512", 16),
];

#[test]
fn loads() {
    Rig::each(|mut rig| {
        let base = rig.buffer(256);
        for (name, _, count) in LOADS {
            for (register, imm) in [(None, 8), (Some(16), -4), (None, 0), (Some(7), 0)] {
                rig.wave.s[..100].fill(0xdead);
                rig.set_scalar_pair(60, base + 4);
                let offset = match register {
                    Some(value) => {
                        rig.wave.set_word(62, value);
                        S(62)
                    }
                    None => Operand::None,
                };
                let mut inst = inst(name, Encoding::Smem, S(20), &[S(60), offset]);
                inst.imm = imm;
                rig.run(&inst);
                let at = 4u64.wrapping_add_signed(i64::from(imm)) + u64::from(register.unwrap_or(0));
                let have = &rig.wave.s[20..20 + count];
                assert_eq!(have, words(base, at & !3, count), "{name} {register:?} {imm}");
                assert!(rig.wave.s[20 + count..60].iter().all(|s| *s == 0xdead));
            }
        }
        // The destination may be VCC, and the load may overwrite its base.
        rig.set_scalar_pair(60, base);
        rig.run(&inst("s_load_b64", Encoding::Smem, S(sreg::VCC_LO), &[S(60), Operand::None]));
        assert_eq!(rig.wave.pair(sreg::VCC_LO).to_le_bytes(), *bytes(base, 8));
        rig.run(&inst("s_load_b64", Encoding::Smem, S(60), &[S(60), Operand::None]));
        assert_eq!(rig.wave.pair(60).to_le_bytes(), *bytes(base, 8));
    });
}

#[test]
fn loads_by_resource_read_zero_outside() {
    Rig::each(|mut rig| {
        let base = rig.buffer(256);
        for (_, name, count) in LOADS {
            rig.wave.s[..100].fill(0xdead);
            rig.set_scalar_pair(60, base);
            rig.wave.set_word(62, 32);
            let mut inst = inst(name, Encoding::Smem, S(20), &[S(60), Operand::None]);
            inst.imm = 20;
            rig.run(&inst);
            let mut want = words(base, 20, 3);
            want.resize(16, 0);
            assert_eq!(rig.wave.s[20..20 + count], want[..count], "{name}");
        }
    });
}

#[test]
fn loads_from_nowhere_are_found() {
    Rig::each(|mut rig| {
        let base = rig.buffer(64);
        rig.set_scalar_pair(60, base);
        let mut inst = inst("s_load_b64", Encoding::Smem, S(20), &[S(60), Operand::None]);
        inst.imm = 64;
        let found = rig.findings(&inst);
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, FindingKind::OutOfBounds, 64));
        assert_eq!(rig.wave.s[20..22], [0, 0]);
    });
}

#[test]
fn clocks_and_cache_control() {
    Rig::each(|mut rig| {
        for name in ["s_memtime", "s_memrealtime"] {
            rig.run(&inst(name, Encoding::Smem, S(20), &[]));
            assert_eq!(rig.wave.pair(20), 40);
        }
        for name in ["s_dcache_inv", "s_gl1_inv", "s_dcache_wb"] {
            rig.run(&inst(name, Encoding::Smem, Operand::None, &[]));
        }
        for name in
            ["buffer_wbl2", "buffer_inv", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv"]
        {
            rig.run(&inst(name, Encoding::Mubuf, Operand::None, &[]));
        }
    });
}
