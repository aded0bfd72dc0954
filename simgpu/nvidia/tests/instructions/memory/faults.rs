//! Faulty accesses are reported, and do not stop the other lanes.

use crate::rig::{BYTES, Rig, bytes};
use isobit_simgpu_core::finding::FindingKind::{Misaligned, OutOfBounds, Race, UninitialisedRead};
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_nvidia::exec::LANES;
use isobit_simgpu_nvidia::exec::memory::{LOCAL_APERTURE, SHARED_APERTURE};

#[test]
fn lanes_outside_are_left_out() {
    Rig::each(|mut rig| {
        let base = rig.buffer(4 * LANES - 8);
        let before = bytes(base, 4 * LANES - 8);
        rig.fill();
        rig.set("%r1", |_| 0xabcd);
        rig.set("%d1", |lane| u128::from(base + 4 * lane as u64));
        let found = rig.found("ld.global.u32 %r1, [%d1]");
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, OutOfBounds, 4 * LANES as i64 - 8));
        assert!(found[0].thread.ends_with("lane 30") && found[0].instruction == "step 0", "{:?}", found[0]);
        for (lane, word) in before.chunks(4).enumerate() {
            assert_eq!(rig.get("%r1")[lane], u32::from_le_bytes(word.try_into().unwrap()).into());
        }
        assert_eq!(rig.get("%r1")[30..], [0; 2], "what lies outside reads as zero");
        rig.set("%r1", |_| 5);
        assert_eq!(rig.kinds("st.global.u32 [%d1], %r1"), [OutOfBounds]);
        assert!(bytes(base, 4 * LANES - 8).chunks(4).all(|word| word == [5, 0, 0, 0]));
        // An address outside of all apertures is an address of global memory.
        rig.set("%d1", |_| u128::from(LOCAL_APERTURE + (1 << 32)));
        assert_eq!(rig.kinds("ld.u32 %r1, [%d1]"), [OutOfBounds]);
    });
}

#[test]
fn whole_accesses_are_aligned() {
    Rig::each(|mut rig| {
        let base = rig.buffer(BYTES);
        rig.fill_shared();
        for (access, size) in [
            ("u16 %s0", 2),
            ("u32 %r0", 4),
            ("u64 %d0", 8),
            ("b128 %q0", 16),
            ("v2.u32 {%r0, %r1}", 8),
            ("v4.u16 {%s0, %s1, %s2, %s3}", 8),
            ("v4.u32 {%r0, %r1, %r2, %r3}", 16),
        ] {
            for (space, start) in [(".global", base), (".shared", 0), ("", base), ("", SHARED_APERTURE)] {
                rig.set("%d1", |lane| u128::from(start + size * lane as u64 + size / 2));
                assert_eq!(rig.kinds(&format!("ld{space}.{access}, [%d1]")), [Misaligned], "{access} in {space}");
                rig.run(&format!("ld{space}.{access}, [%d1+{}]", size / 2));
            }
        }
        let found = rig.kinds("ld.param.u32 %r0, [6]");
        assert_eq!(found, [Misaligned]);
    });
}

#[test]
fn what_nothing_wrote_is_not_read() {
    Rig::each(|mut rig| {
        let base = rig.memory.alloc(4 * LANES, Kind::Device, "").unwrap();
        rig.set("%d1", |lane| u128::from(base + 4 * lane as u64));
        rig.set("%r1", |lane| 4 * lane as u128);
        for (store, load) in [
            ("st.global.u32 [%d1], %r1", "ld.global.u32 %r2, [%d1]"),
            ("st.shared.u32 [%r1], %r1", "ld.shared.u32 %r2, [%r1]"),
            ("st.local.u32 [%r1], %r1", "ld.local.u32 %r2, [%r1]"),
            ("st.local.u32 [200], %r1", "ld.local.u32 %r2, [200]"),
        ] {
            rig.warp.active = u32::MAX >> 1;
            rig.run(store);
            rig.run(load);
            rig.warp.active = u32::MAX;
            let found = rig.found(load);
            assert_eq!((found.len(), found[0].kind), (1, UninitialisedRead), "{load}");
            assert!(found[0].thread.ends_with("lane 31"), "{:?}", found[0]);
            rig.run(store);
            rig.run(load);
        }
    });
}

#[test]
fn shared_and_local_memory_and_the_arguments_have_an_end() {
    Rig::each(|mut rig| {
        rig.fill_shared();
        for offset in [BYTES as u64 - 2, BYTES as u64, u64::from(u32::MAX) - 1, 1 << 32, u64::MAX - 3] {
            rig.set("%d1", |_| offset.into());
            // An access that has bytes inside is checked further.
            let kinds = if offset % 4 == 0 { vec![OutOfBounds] } else { vec![OutOfBounds, Misaligned] };
            assert_eq!(rig.kinds("ld.shared.u32 %r0, [%d1]"), kinds, "{offset:#x}");
            assert_eq!(rig.kinds("st.shared.u32 [%d1], %r0"), kinds, "{offset:#x}");
            assert_eq!(rig.kinds("st.local.u32 [%d1], %r0"), [OutOfBounds], "{offset:#x}");
            rig.set("%d2", |lane| u128::from(offset.wrapping_add(64 * lane as u64)));
            assert_eq!(rig.kinds("st.local.u32 [%d2], %r0").first(), Some(&OutOfBounds), "{offset:#x}");
        }
        let end = rig.arguments.len();
        rig.run(&format!("ld.param.u32 %r0, [{}]", end - 4));
        rig.fill();
        let found = rig.found(&format!("ld.param.u32 %r0, [{end}]"));
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, OutOfBounds, end as i64));
        assert_eq!(rig.get("%r0"), [0; LANES]);
        assert_eq!(rig.kinds("ld.param.u32 %r0, [-4]"), [OutOfBounds]);
    });
}

#[test]
fn lanes_of_one_store_may_agree_but_not_disagree() {
    Rig::each(|mut rig| {
        let base = rig.buffer(1024);
        rig.fill_shared();
        rig.set("%d1", |lane| u128::from(base + 4 * (lane as u64 / 2)));
        rig.set("%r2", |lane| 4 * (lane as u128 / 2));
        rig.set("%r1", |lane| lane as u128 / 2);
        rig.set("%d3", |lane| 8 * (lane as u128 / 2));
        rig.run("st.global.u32 [%d1], %r1; st.shared.u32 [%r2], %r1");
        rig.set("%r1", |lane| if lane == 7 { 99 } else { lane as u128 / 2 });
        let found = rig.found("st.global.u32 [%d1], %r1");
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, Race, 12));
        assert!(found[0].thread.ends_with("lane 7"));
        let found = rig.found("st.shared.u32 [%r2], %r1");
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, Race, 12));
        // One invalid element of a vector is enough.
        rig.set("%r2", |lane| 8 * (lane as u128 / 2));
        rig.set("%r3", |_| 1);
        assert_eq!(rig.kinds("st.shared.v2.u32 [%r2], {%r3, %r1}"), [Race]);
        rig.run("st.shared.v2.u32 [%r2], {%r3, %r3}");
    });
}

#[test]
fn atomics_are_aligned_and_on_memory_that_may_be_written() {
    Rig::each(|mut rig| {
        let base = rig.memory.alloc(64, Kind::Constant, "").unwrap();
        rig.warp.active = 1;
        rig.set("%d1", |_| base.into());
        let add = "atom.add.u64 %d0, [%d1], 1";
        assert_eq!(rig.kinds(add), [OutOfBounds]);
        assert_eq!(rig.kinds("st.global.u32 [%d1], %r0"), [OutOfBounds]);
        let buffer = rig.buffer(64);
        rig.set("%d1", |_| u128::from(buffer + 4));
        let before = bytes(buffer, 64);
        assert_eq!(rig.kinds(add), [Misaligned]);
        assert_eq!(bytes(buffer, 64), before);
        rig.set("%d1", |_| u128::from(LOCAL_APERTURE));
        let found = rig.found(add);
        assert!(found[0].message.contains("global and shared memory only"), "{found:?}");
    });
}
