//! Races between warps and between blocks, and cases that are not races: barriers, atomics, ordered
//! accesses.

use crate::rig::Rig;
use isobit_simgpu_core::check::Place;
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_core::memory::Kind;

/// Executes instructions at places, in one launch over a fresh buffer at `%d1`, and returns the
/// kinds of the findings.
fn kinds(code: &[(Place, &str)]) -> Vec<FindingKind> {
    let mut rig = Rig::new(true);
    let base = rig.memory.alloc(256, Kind::Device, "").unwrap();
    rig.memory.set_initialised(base, 256, true);
    rig.fill_shared();
    rig.fill();
    rig.set("%d1", |lane| u128::from(base + 4 * lane as u64));
    rig.set("%d2", |lane| 4 * lane as u128);
    rig.set("%d3", |_| base.into());
    rig.execute(code).unwrap();
    rig.findings.take().into_iter().map(|found| found.kind).collect()
}

fn at(group: u32, wave: u32, epoch: u32) -> Place {
    // Later than the stores that filled shared memory.
    Place { group, wave, epoch: epoch + 100 }
}

const STORE: &str = "st.global.u32 [%d1], %r1";
const LOAD: &str = "ld.global.u32 %r2, [%d1]";

#[test]
fn unordered_accesses_race() {
    assert_eq!(kinds(&[(at(0, 0, 0), STORE), (at(1, 0, 0), LOAD)]), [FindingKind::Race]);
    assert_eq!(kinds(&[(at(0, 0, 0), LOAD), (at(1, 0, 5), STORE)]), [FindingKind::Race]);
    assert_eq!(kinds(&[(at(0, 0, 0), STORE), (at(0, 1, 0), LOAD)]), [FindingKind::Race]);
    assert_eq!(kinds(&[(at(0, 0, 0), STORE), (at(0, 1, 1), LOAD)]), []);
    assert_eq!(kinds(&[(at(0, 0, 0), STORE), (at(0, 0, 0), LOAD)]), []);
    assert_eq!(kinds(&[(at(0, 0, 0), LOAD), (at(1, 1, 0), LOAD)]), []);
}

#[test]
fn shared_memory_races_too() {
    let (store, load) = ("st.shared.u32 [%d2], %r1", "ld.shared.u32 %r2, [%d2]");
    assert_eq!(kinds(&[(at(0, 0, 0), store), (at(0, 1, 0), load)]), [FindingKind::Race]);
    assert_eq!(kinds(&[(at(0, 0, 0), load), (at(0, 1, 0), store)]), [FindingKind::Race]);
    assert_eq!(kinds(&[(at(0, 0, 0), store), (at(0, 1, 1), load)]), []);
    // Sixteen lanes in a row and sixteen lanes at one address.
    let (column, row) = ("st.shared.u16 [%d2], %s1", "ld.shared.u8 %r2, [4]");
    assert_eq!(kinds(&[(at(0, 0, 0), column), (at(0, 1, 0), row)]), [FindingKind::Race]);
}

#[test]
fn strong_accesses_do_not_race_with_each_other() {
    for (store, load) in [
        ("st.relaxed.gpu.global.u32 [%d1], %r1", "ld.relaxed.gpu.global.u32 %r2, [%d1]"),
        ("st.release.gpu.global.u32 [%d1], %r1", "ld.acquire.gpu.global.u32 %r2, [%d1]"),
        ("st.volatile.global.u32 [%d1], %r1", "ld.volatile.global.u32 %r2, [%d1]"),
        ("red.global.add.u32 [%d1], %r1", "ld.acquire.sys.u32 %r2, [%d1]"),
    ] {
        assert_eq!(kinds(&[(at(0, 0, 0), store), (at(1, 0, 0), load)]), [], "{load}");
        assert_eq!(kinds(&[(at(0, 0, 0), load), (at(1, 0, 0), store)]), [], "{load}");
        assert_eq!(kinds(&[(at(0, 0, 0), load), (at(1, 0, 0), load), (at(2, 0, 0), store)]), [], "{load}");
        assert_eq!(kinds(&[(at(0, 0, 0), load), (at(1, 0, 0), LOAD)]), [], "two loads");
        assert_eq!(kinds(&[(at(0, 0, 0), STORE), (at(1, 0, 0), load)]), [FindingKind::Race], "{load}");
        assert_eq!(kinds(&[(at(0, 0, 0), store), (at(1, 0, 0), LOAD)]), [FindingKind::Race], "{store}");
        assert_eq!(kinds(&[(at(0, 0, 0), LOAD), (at(1, 0, 0), store)]), [FindingKind::Race], "{store}");
    }
}

#[test]
fn what_is_released_may_be_read_once_it_is_acquired() {
    // Block 0 stores its part and sets a flag; block 1 sees the flag and reads the part.
    let part = "membar.gl; fence.acq_rel.gpu";
    for (raise, see) in [
        ("st.release.gpu.global.u32 [%d3+128], %r1", "ld.acquire.gpu.global.u32 %r3, [%d3+128]"),
        ("atom.global.exch.b32 %r4, [%d3+128], %r1", "atom.global.or.b32 %r4, [%d3+128], 0"),
    ] {
        let ordered =
            [(at(0, 0, 0), STORE), (at(0, 0, 0), part), (at(0, 0, 0), raise), (at(1, 0, 0), see), (at(1, 0, 0), LOAD)];
        // All lanes hold the same value, but only one of them must store it.
        assert_eq!(kinds(&ordered), [], "{raise}");
        let mut late = ordered;
        late.swap(2, 3);
        assert_eq!(kinds(&late), [FindingKind::Race], "{raise}");
    }
}
