//! Asynchronous copies: the copied data, when it may be read, and the findings about reading it
//! earlier.

use crate::rig::{Rig, bytes};
use isobit_simgpu_core::check::Place;
use isobit_simgpu_core::finding::FindingKind::{Misaligned, OutOfBounds, Race, UninitialisedRead};
use isobit_simgpu_nvidia::exec::{Flow, LANES};

/// Returns a rig with a row of addresses, `size` bytes per lane, in global memory at `%d1` and in
/// shared memory at `%r1`.
fn rig(avx2: bool, size: usize) -> (Rig, u64) {
    let mut rig = Rig::new(avx2);
    let base = rig.buffer(size * LANES);
    rig.set("%d1", |lane| u128::from(base + (size * lane) as u64));
    rig.set("%r1", |lane| (size * lane) as u128);
    (rig, base)
}

#[test]
fn copies_are_made_when_they_are_waited_for() {
    for avx2 in [false, true] {
        for (through, size) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
            let (mut rig, base) = rig(avx2, size);
            rig.run(&format!("cp.async.{through}.shared.global.L2::128B [%r1], [%d1], {size}"));
            assert_eq!(rig.kinds("ld.shared.u32 %r2, [%r1]"), [UninitialisedRead]);
            rig.run("cp.async.wait_all; ld.shared.u32 %r2, [%r1]");
            assert_eq!(rig.shared.bytes()[..size * LANES], bytes(base, size * LANES));
        }
    }
}

#[test]
fn stale_bytes_are_not_read_either() {
    let (mut rig, _) = rig(true, 4);
    rig.run("st.shared.u32 [%r1], %r2; ld.shared.u32 %r3, [%r1]");
    rig.run("cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.commit_group");
    assert_eq!(rig.kinds("ld.shared.u32 %r3, [%r1]"), [UninitialisedRead]);
    // The group may still be incomplete.
    rig.run("cp.async.wait_group 1");
    assert_eq!(rig.kinds("ld.shared.u32 %r3, [%r1]"), [UninitialisedRead]);
    rig.run("cp.async.wait_group 0; ld.shared.u32 %r3, [%r1]");
}

#[test]
fn groups_are_done_in_their_order_lane_by_lane() {
    let (mut rig, base) = rig(false, 4);
    let copy = |to: usize| format!("cp.async.ca.shared.global [%r1+{to}], [%d1], 4; cp.async.commit_group");
    rig.run(&copy(0));
    rig.warp.active = 0xffff;
    rig.run(&copy(128));
    rig.run(&copy(256));
    rig.warp.active = u32::MAX;
    let want = |lane: usize| u32::from_le_bytes(bytes(base + 4 * lane as u64, 4).try_into().unwrap());
    // The lower lanes have three groups, one of which must be complete; the others have one, which
    // need not be.
    rig.run("cp.async.wait_group 2");
    rig.warp.active = 0xffff;
    rig.run("ld.shared.u32 %r2, [%r1]");
    assert_eq!(rig.get("%r2")[5], want(5).into());
    assert_eq!(rig.kinds("ld.shared.u32 %r2, [%r1+128]"), [UninitialisedRead]);
    rig.warp.active = 0xffff_0000;
    assert_eq!(rig.kinds("ld.shared.u32 %r2, [%r1]"), [UninitialisedRead]);
    rig.run("cp.async.wait_group 0; ld.shared.u32 %r2, [%r1]");
    assert_eq!(rig.get("%r2")[20], want(20).into());
    // A wait for groups does not wait for copies without a group.
    rig.warp.active = 0xffff;
    rig.run("cp.async.ca.shared.global [%r1+512], [%d1], 4; cp.async.wait_group 0; ld.shared.u32 %r2, [%r1+256]");
    assert_eq!(rig.kinds("ld.shared.u32 %r2, [%r1+512]"), [UninitialisedRead]);
    rig.run("cp.async.wait_all; ld.shared.u32 %r2, [%r1+512]");
}

#[test]
fn what_is_not_read_is_zero() {
    let (mut rig, base) = rig(true, 16);
    rig.set("%r2", |lane| lane as u128 % 17);
    // Lanes that read nothing may have any address.
    rig.set("%d1", |lane| if lane % 17 == 0 { 0 } else { u128::from(base + 16 * lane as u64) });
    rig.run("cp.async.cg.shared.global [%r1], [%d1], 16, %r2; cp.async.wait_all");
    let source = bytes(base, 16 * LANES);
    for (lane, copied) in rig.shared.bytes()[..16 * LANES].chunks(16).enumerate() {
        let read = lane % 17;
        assert_eq!(copied[..read], source[16 * lane..][..read]);
        assert_eq!(copied[read..], vec![0; 16 - read]);
    }
    *rig.predicate("%p0") = 0xffff_fffe;
    rig.run("cp.async.cg.shared.global [%r1], [%d1], 16, 0; cp.async.wait_all; cp.async.wait_group 3");
    assert!(rig.shared.bytes()[..16 * LANES].iter().all(|byte| *byte == 0));
    rig.set("%d1", |_| base.into());
    rig.run("cp.async.cg.shared.global [%r1], [%d1], 16, %p0; cp.async.wait_all");
    assert_eq!(rig.shared.bytes()[..16], source[..16]);
    assert_eq!(rig.shared.bytes()[16..32], [0; 16]);
    rig.set("%r2", |_| 17);
    let why = rig.refused("cp.async.cg.shared.global [%r1], [%d1], 16, %r2");
    assert!(why.contains("16 bytes cannot read 17"), "{why}");
}

#[test]
fn both_sides_are_checked() {
    let (mut rig, base) = rig(true, 16);
    let copy = "cp.async.cg.shared.global [%r1], [%d1], 16";
    rig.set("%d1", |lane| u128::from(base + 16 * lane as u64 + 8));
    assert_eq!(rig.kinds(copy).first(), Some(&OutOfBounds));
    rig.set("%d1", |lane| u128::from(base + 16 * (lane as u64 / 2) + 8));
    assert_eq!(rig.kinds(copy), [Misaligned]);
    rig.set("%d1", |_| base.into());
    rig.set("%r1", |lane| 8192 - 256 + 16 * lane as u128);
    assert_eq!(rig.kinds(copy), [OutOfBounds]);
    // The lanes in bounds have copied, two of them to the same address.
    rig.run("cp.async.wait_all; ld.shared.u32 %r2, [8188]");
    rig.set("%d1", |lane| u128::from(base + 16 * lane as u64));
    rig.set("%r1", |lane| 16 * (lane as u128 / 2));
    rig.run(copy);
    let found = rig.found("cp.async.wait_all");
    assert_eq!((found.len(), found[0].kind, found[0].instruction.as_str()), (1, Race, "step 0"));
}

#[test]
fn copies_race_from_the_instruction_to_the_wait() {
    let at = |wave, epoch: u32| Place { group: 0, wave, epoch: epoch + 100 };
    let copy = "cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.commit_group";
    let (wait, load) = ("cp.async.wait_group 0", "ld.shared.u32 %r2, [%r1]");
    let kinds = |code: &[(Place, &str)]| {
        let (mut rig, _) = rig(true, 4);
        rig.fill_shared();
        assert_eq!(rig.execute(code), Ok(Flow::Next));
        rig.findings.take().into_iter().map(|found| found.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&[(at(0, 0), copy), (at(0, 0), wait), (at(1, 1), load)]), []);
    assert_eq!(kinds(&[(at(0, 0), copy), (at(0, 0), wait), (at(1, 0), load)]), [Race]);
    // Other threads still read the data that the copy overwrites.
    assert_eq!(kinds(&[(at(1, 0), load), (at(0, 0), copy), (at(0, 1), wait), (at(1, 2), load)]), [Race]);
    assert_eq!(kinds(&[(at(1, 0), load), (at(0, 1), copy), (at(0, 2), wait), (at(1, 3), load)]), []);
    // A barrier does not replace the wait.
    assert_eq!(kinds(&[(at(0, 0), copy), (at(1, 1), load)]), [UninitialisedRead]);
}
