//! The error of a launch after invalid accesses, which each vendor's cards report in part, and none
//! if findings are only recorded.

mod common;

use common::{HERE, Names, arena, kinds, lanes};
use isobit_simgpu_core::check::{Access, Launch, SiteCache, Violation};
use isobit_simgpu_core::finding::suppress::Suppressions;
use isobit_simgpu_core::finding::{Fault, FaultKind, FindingKind, Findings};
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::{Kind, Memory};
use isobit_simgpu_core::settings::Response;

const ALL: [Violation; 4] = [Violation::Outside, Violation::OutsideOwn, Violation::ReadOnly, Violation::Misaligned];

fn like_a_card() -> Findings {
    Findings::with(Response::Card, Suppressions::default(), None)
}

/// Makes one access of 4 bytes by each lane in a launch of its own, and returns the kind of the
/// launch's error on a card that reports these violations.
fn error(memory: &Memory, access: Access, addresses: &[u64], reported: &[Violation]) -> Option<FaultKind> {
    let findings = like_a_card();
    let launch = Launch::new("kernel", memory, &findings, 1, false);
    let (mask, addresses) = lanes(addresses);
    launch.check(&HERE, access, 0, mask, &addresses, 4, 4, &mut SiteCache::default(), &Names);
    let error = launch.outcome(Ok(()), reported).err();
    assert!(error.as_ref().is_none_or(Fault::is_found), "the finding is there already: {error:?}");
    assert!(error.is_none() || !findings.is_empty());
    error.map(|fault| fault.kind())
}

#[test]
fn an_access_fails_beyond_the_rounding_of_its_allocation() {
    let memory = arena();
    let at = memory.alloc(400, Kind::Device, "").unwrap();
    let full = memory.alloc(512, Kind::Device, "").unwrap();
    let freed = memory.alloc(400, Kind::Device, "").unwrap();
    memory.free(freed).unwrap();
    for access in [Access::Store, Access::Load, Access::Atomic] {
        let fails = |addresses: &[u64]| error(&memory, access, addresses, &[Violation::Outside]);
        for inside in [at, at + 396, at + 400, at + 508] {
            assert_eq!(fails(&[inside]), None, "{access:?} {}", inside - at);
        }
        for outside in [at + 512, at.wrapping_sub(4), full + 512, freed, freed + 400, 0, 8, u64::MAX - 3] {
            assert_eq!(fails(&[outside]), Some(FaultKind::Address), "{access:?} {outside:#x}");
        }
        // The worst lane counts, wherever it is.
        assert_eq!(fails(&[at, at + 404, at + 600]), Some(FaultKind::Address));
        assert_eq!(fails(&[at + 600, at + 404]), Some(FaultKind::Address));
    }
    // The launch's error names the first lane that fails, and not one that only over-reads.
    let findings = like_a_card();
    let launch = Launch::new("kernel", &memory, &findings, 1, false);
    let (mask, addresses) = lanes(&[at, at + 404, full + 512]);
    launch.check(&HERE, Access::Load, 0, mask, &addresses, 4, 4, &mut SiteCache::default(), &Names);
    let message = launch.outcome(Ok(()), &ALL).unwrap_err().to_string();
    assert!(message.contains("l2: a load") && message.contains("past the end of allocation #2"), "{message}");
}

#[test]
fn vendors_choose_what_they_report() {
    let memory = arena();
    let at = memory.alloc(400, Kind::Device, "").unwrap();
    let constant = memory.alloc(400, Kind::Constant, "").unwrap();
    let outside = [Violation::Outside];
    assert_eq!(error(&memory, Access::Store, &[at + 2], &ALL), Some(FaultKind::Misaligned));
    assert_eq!(error(&memory, Access::Store, &[at + 2], &outside), None);
    assert_eq!(error(&memory, Access::Store, &[constant], &ALL), Some(FaultKind::Address));
    assert_eq!(error(&memory, Access::Store, &[constant], &outside), None);
    // An uninitialised read and a race are findings only.
    assert_eq!(error(&memory, Access::Load, &[at + 8], &ALL), None);
}

#[test]
fn local_memory_is_rounded_up_too() {
    let (memory, findings) = (arena(), like_a_card());
    for (offset, fails) in
        [(296, None), (300, None), (508, None), (512, Some(FaultKind::Address)), (2, Some(FaultKind::Misaligned))]
    {
        let launch = Launch::new("kernel", &memory, &findings, 1, false).with_local_unit(256);
        let mut local = Local::new();
        local.reset(300, 1);
        local.check(&HERE, Access::Store, 0, 1, &[offset; 64], 4, 4, &launch, &Names);
        assert_eq!(launch.outcome(Ok(()), &ALL).err().map(|fault| fault.kind()), fails, "{offset}");
        assert_eq!(launch.outcome(Ok(()), &[Violation::Outside]), Ok(()));
    }
}

#[test]
fn a_card_does_not_reach_what_the_kernel_does_after_a_violation() {
    let memory = arena();
    let trap = || Err(Fault::new("a trap"));
    let wild = |findings: &Findings, ran| {
        let launch = Launch::new("kernel", &memory, findings, 1, false);
        let (mask, addresses) = lanes(&[64]);
        launch.check(&HERE, Access::Store, 0, mask, &addresses, 4, 4, &mut SiteCache::default(), &Names);
        launch.outcome(ran, &ALL)
    };
    let findings = like_a_card();
    let fault = wild(&findings, trap()).unwrap_err();
    assert_eq!((fault.kind(), fault.is_found()), (FaultKind::Address, true));
    assert!(fault.to_string().contains("a store of 4 bytes is in no allocation"), "{fault}");
    assert_eq!(kinds(&findings.take()), [FindingKind::OutOfBounds, FindingKind::Fault]);

    let recorded = Findings::new();
    assert_eq!(wild(&recorded, Ok(())), Ok(()));
    assert_eq!(wild(&recorded, trap()), trap());
    assert_eq!(kinds(&recorded.take()), [FindingKind::OutOfBounds; 2]);

    // What is suppressed is not told, and fails all the same.
    let suppressed = Findings::with(Response::Card, Suppressions::parse("*:*").0, None);
    assert_eq!(wild(&suppressed, Ok(())).unwrap_err().kind(), FaultKind::Address);
    assert!(suppressed.is_empty());
}
