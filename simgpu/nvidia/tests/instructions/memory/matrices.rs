//! Matrices between shared memory and registers, compared with the tables of the PTX ISA, which
//! give the row and column of each element in a warp.

use crate::rig::Rig;
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_nvidia::exec::LANES;
use isobit_simgpu_nvidia::exec::memory::SHARED_APERTURE;

/// Gives the lanes random rows in shared memory, and returns their addresses.
fn rows(rig: &mut Rig) -> [usize; LANES] {
    let start = rig.random.next() as usize;
    let rows = std::array::from_fn(|lane| (start + 7 * lane) % 512 * 16);
    rig.set("%r9", |lane| rows[lane] as u128);
    rig.set("%d9", |lane| u128::from(SHARED_APERTURE) + rows[lane] as u128);
    rows
}

fn element(rig: &Rig, row: usize, column: usize) -> u128 {
    let at = row + 2 * column;
    u16::from_le_bytes([rig.shared.bytes()[at], rig.shared.bytes()[at + 1]]).into()
}

const LISTS: [(usize, &str); 3] = [(1, "{%r0}"), (2, "{%r0, %r1}"), (4, "{%r0, %r1, %r2, %r3}")];

/// Checks that the registers and shared memory agree on all elements.
fn agree(rig: &Rig, count: usize, trans: &str, rows: &[usize; LANES]) {
    for matrix in 0..count {
        let register = rig.get(&format!("%r{matrix}"));
        for (lane, word) in register.into_iter().enumerate() {
            let (outer, inner) = (lane / 4, lane % 4 * 2);
            let element = |i: usize| match trans {
                "" => element(rig, rows[8 * matrix + outer], inner + i),
                _ => element(rig, rows[8 * matrix + inner + i], outer),
            };
            assert_eq!(word, element(0) | element(1) << 16, "x{count}{trans}, lane {lane}");
        }
    }
}

#[test]
fn lanes_get_their_elements() {
    Rig::each(|mut rig| {
        rig.fill_shared();
        for (count, list) in LISTS {
            for (trans, space, address) in
                [("", ".shared", "%r9"), (".trans", ".shared::cta", "%r9"), ("", "", "%d9"), (".trans", "", "%d9")]
            {
                rig.fill();
                let rows = rows(&mut rig);
                rig.run(&format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {list}, [{address}]"));
                agree(&rig, count, trans, &rows);
            }
        }
    });
}

#[test]
fn lanes_store_their_elements() {
    Rig::each(|mut rig| {
        rig.fill_shared();
        for (count, list) in LISTS {
            for trans in ["", ".trans"] {
                rig.fill();
                let rows = rows(&mut rig);
                rig.run(&format!("stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r9], {list}"));
                agree(&rig, count, trans, &rows);
            }
        }
    });
}

#[test]
fn rows_are_checked() {
    let mut rig = Rig::new(true);
    rig.fill_shared();
    let load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r9]";
    rig.set("%r9", |lane| if lane == 9 { 8192 } else { 16 * lane as u128 });
    assert_eq!(rig.kinds(load), [FindingKind::OutOfBounds]);
    // Only the first sixteen lanes have rows.
    rig.set("%r9", |lane| if lane > 15 { 3 } else { 16 * lane as u128 });
    rig.run(load);
    rig.set("%r9", |lane| 16 * lane as u128 + 8);
    assert_eq!(rig.kinds(load), [FindingKind::Misaligned]);
    rig.set("%d9", |lane| 16 * lane as u128);
    assert_eq!(rig.kinds("ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%d9]"), [FindingKind::OutOfBounds]);
}
