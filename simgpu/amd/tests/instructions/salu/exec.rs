//! Tests of instructions that change EXEC and save a copy.

use super::waves;
use crate::bench::{Random, inst};
use isobit_simgpu_amd::exec::lower;
use isobit_simgpu_amd::isa::{Encoding, Operand};

/// The name of an instruction, and a lane's new bit from its bits of the source and of EXEC.
type Change = (&'static str, fn(bool, bool) -> bool);

const CHANGES: [Change; 10] = [
    ("and", |s, exec| s && exec),
    ("or", |s, exec| s || exec),
    ("xor", |s, exec| s != exec),
    ("and_not0", |s, exec| !s && exec),
    ("and_not1", |s, exec| s && !exec),
    ("or_not0", |s, exec| !s || exec),
    ("or_not1", |s, exec| s || !exec),
    ("nand", |s, exec| !(s && exec)),
    ("nor", |s, exec| !(s || exec)),
    ("xnor", |s, exec| s == exec),
];

#[test]
fn exec_changes_bit_by_bit_and_is_kept() {
    let mut random = Random(13);
    for (change, bit) in CHANGES {
        for (form, keeps_old) in [("saveexec", true), ("wrexec", false)] {
            for bits in [32, 64] {
                let name = format!("s_{change}_{form}_b{bits}");
                let Some(name) = lower::names().find(|n| *n == name) else {
                    assert!(!keeps_old && !change.starts_with("and_not"), "{name} is not executed");
                    continue;
                };
                for mut bench in waves().filter(|bench| bits == 32 || bench.wave.width == 64) {
                    for trial in 0..40 {
                        bench.fill(&mut random);
                        let exec = if trial == 0 { 0 } else { random.next() } & bench.wave.live;
                        bench.wave.set_exec(exec);
                        // The copy may replace the source.
                        let dst = if trial % 2 == 0 { 10 } else { 20 };
                        let (s, mut registers) = (bench.wave.pair(10), bench.wave.s);
                        bench.run(&inst(name, Encoding::Sop1, Operand::Sgpr(dst), &[Operand::Sgpr(10)]));
                        let changed = (0..bits)
                            .fold(0u64, |all, i| all | u64::from(bit(s >> i & 1 == 1, exec >> i & 1 == 1)) << i);
                        let above = if bits == 32 { exec >> 32 << 32 } else { 0 };
                        assert_eq!(bench.wave.exec(), changed | above, "{name}");
                        assert_eq!(bench.wave.scc, changed != 0, "{name}");
                        let copy = if keeps_old { exec } else { changed };
                        registers[usize::from(dst)] = copy as u32;
                        if bits == 64 {
                            registers[usize::from(dst) + 1] = (copy >> 32) as u32;
                        }
                        assert_eq!(bench.wave.s[..126], registers[..126], "{name}");
                        for lane in 0..bench.wave.width {
                            assert_eq!(bench.wave.active.0[lane] != 0, bench.wave.exec() >> lane & 1 == 1, "{name}");
                        }
                    }
                }
            }
        }
    }
}
