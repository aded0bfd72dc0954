//! Invalid accesses are found, and do not stop the other lanes.

use super::{LOCAL, Rig, S, V, bytes, inst};
use isobit_simgpu_amd::exec::Flow;
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand};
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_core::memory::Kind;

fn global(name: &'static str, load: bool) -> Inst {
    match load {
        true => inst(name, Encoding::Global, V(8), &[V(2), S(20)]),
        false => inst(name, Encoding::Global, Operand::None, &[V(2), V(8), S(20)]),
    }
}

#[test]
fn lanes_outside_are_left_out() {
    Rig::each(|mut rig| {
        let lanes = rig.lanes();
        let base = rig.buffer(4 * lanes - 8);
        let before = bytes(base, 4 * lanes - 8);
        for lane in 0..lanes {
            rig.wave.v[2].0[lane] = 4 * lane as u32;
            rig.wave.v[8].0[lane] = 0xabcd;
        }
        rig.set_scalar_pair(20, base);
        let found = rig.findings(&global("global_load_b32", true));
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, FindingKind::OutOfBounds, 4 * lanes as i64 - 8));
        assert!(found[0].thread.ends_with(&format!("lane {}", lanes - 2)));
        let want: Vec<u32> = before.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(rig.wave.v[8].0[..lanes - 2], want);
        assert_eq!(rig.wave.v[8].0[lanes - 2..lanes], [0; 2], "what lies outside reads as zero");

        rig.wave.v[8].0.fill(5);
        let found = rig.findings(&global("global_store_b32", false));
        assert_eq!((found.len(), found[0].kind), (1, FindingKind::OutOfBounds));
        assert!(bytes(base, 4 * lanes - 8).chunks(4).all(|b| b == [5, 0, 0, 0]));
    });
}

#[test]
fn lanes_of_one_store_may_agree_but_not_disagree() {
    Rig::each(|mut rig| {
        let base = rig.buffer(1024);
        rig.set_scalar_pair(20, base);
        for lane in 0..rig.lanes() {
            rig.wave.v[2].0[lane] = 4 * (lane as u32 / 2);
            rig.wave.v[8].0[lane] = lane as u32 / 2;
        }
        assert_eq!(rig.findings(&global("global_store_b32", false)), []);
        let found = rig.findings(&global("global_store_b64", false));
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, FindingKind::Race, 4));
        rig.wave.v[8].0[7] = 99;
        let found = rig.findings(&global("global_store_b32", false));
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, FindingKind::Race, 12));
        assert!(found[0].thread.ends_with("lane 7"));

        let found = rig.findings(&inst("ds_store_b32", Encoding::Ds, Operand::None, &[V(2), V(8)]));
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, FindingKind::Race, 12));
    });
}

#[test]
fn group_memory_is_checked() {
    Rig::each(|mut rig| {
        for lane in 0..rig.lanes() {
            rig.wave.v[2].0[lane] = LOCAL as u32 - 4 * 16 + 4 * lane as u32;
        }
        let load = inst("ds_load_b32", Encoding::Ds, V(8), &[V(2)]);
        let kinds: Vec<_> = rig.findings(&load).into_iter().map(|f| f.kind).collect();
        assert_eq!(kinds, [FindingKind::OutOfBounds, FindingKind::UninitialisedRead]);
        rig.wave.set_exec(0xffff);
        rig.run(&inst("ds_store_b32", Encoding::Ds, Operand::None, &[V(2), V(8)]));
        rig.run(&load);
        rig.wave.v[2].0[3] += 2;
        let kinds: Vec<_> = rig.findings(&load).into_iter().map(|f| f.kind).collect();
        assert_eq!(kinds, [FindingKind::Misaligned]);
    });
}

#[test]
fn private_memory_is_checked() {
    Rig::each(|mut rig| {
        let store = inst("scratch_store_b32", Encoding::Scratch, Operand::None, &[Operand::None, V(8), S(20)]);
        let load = inst("scratch_load_b32", Encoding::Scratch, V(9), &[Operand::None, S(20)]);
        rig.fill();
        rig.wave.set_word(20, 16);
        let found = rig.findings(&load);
        assert_eq!((found[0].kind, found[0].offset), (FindingKind::UninitialisedRead, 16));
        rig.run(&store);
        rig.run(&load);
        assert_eq!(rig.wave.v[8].0[..rig.lanes()], rig.wave.v[9].0[..rig.lanes()]);
        for offset in [LOCAL as u32 - 2, 0xffff_fffc] {
            rig.wave.set_word(20, offset);
            let found = rig.findings(&store);
            assert_eq!((found.len(), found[0].kind), (1, FindingKind::OutOfBounds));
        }
        // Any address is valid.
        rig.wave.set_word(20, 17);
        rig.run(&store);
        rig.run(&load);
        assert_eq!(rig.wave.v[8].0[..rig.lanes()], rig.wave.v[9].0[..rig.lanes()]);
    });
}

#[test]
fn atomics_must_be_aligned_and_on_memory_that_may_be_written() {
    Rig::each(|mut rig| {
        let base = rig.memory.alloc(64, Kind::Constant, "").unwrap();
        rig.wave.set_exec(1);
        rig.wave.v[2].0[0] = 0;
        rig.set_scalar_pair(20, base);
        let add = inst("global_atomic_add_u64", Encoding::Global, Operand::None, &[V(2), V(8), S(20)]);
        assert_eq!(rig.findings(&add)[0].kind, FindingKind::OutOfBounds);
        let buffer = rig.buffer(64);
        rig.set_scalar_pair(20, buffer + 4);
        let before = bytes(buffer, 64);
        assert_eq!(rig.findings(&add)[0].kind, FindingKind::Misaligned);
        assert_eq!(bytes(buffer, 64), before);
    });
}

#[test]
fn what_is_not_simulated_says_so() {
    let mut rig = Rig::new(isobit_simgpu_amd::isa::Arch::Gfx90a, false);
    let mut gds = inst("ds_load_b32", Encoding::Ds, V(8), &[V(2)]);
    gds.lds = true;
    let (flow, why) = rig.try_run(&gds);
    assert_eq!(flow, Flow::Fault);
    assert!(why.unwrap().contains("gds"));
    let mut indexed =
        inst("buffer_load_b32", Encoding::Mubuf, V(8), &[V(2), Operand::None, S(40), Operand::Inline(128)]);
    indexed.idxen = true;
    assert!(rig.try_run(&indexed).1.unwrap().contains("an index"));
}
