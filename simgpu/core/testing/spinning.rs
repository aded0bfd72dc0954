//! Blocks that wait for other blocks, and deadlocks: the kernels of `spinning.cu`, with the same
//! results on the cards of both vendors. What includes this file has `Card` and `Arch`, `compile`,
//! and `with_threads`, which gives a card with a number of host threads.

use super::{Arch, Card, compile, with_threads};
use isobit_simgpu_core::finding::{Fault, FaultKind, Finding, FindingKind};
use isobit_simgpu_core::memory::Kind;
use std::path::Path;
use std::time::Duration;

/// Runs a test on every card, with one and with several host threads.
fn on_every_card(test: impl Fn(&Card)) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/testing/spinning.cu");
    for (arch, threads) in Arch::ALL.into_iter().zip([1, 3, 2]) {
        let image = compile(&source, arch);
        test(&with_threads(arch, &image, threads));
    }
}

/// Launches a kernel along x with the address of its words and the number of blocks.
fn launch(card: &Card, kernel: &str, blocks: u32, threads: u32, words: u64) -> Result<(), Fault> {
    card.launch(kernel, blocks, threads, &[words, blocks.into()])
}

/// Launches a kernel that must end, and returns the first words.
fn ends(card: &Card, kernel: &str, blocks: u32, threads: u32) -> Vec<u32> {
    let count = 16 + blocks.max(16) as usize;
    let words = card.upload(&vec![0u32; count]);
    launch(card, kernel, blocks, threads, words).unwrap_or_else(|fault| panic!("{kernel}, {blocks} blocks: {fault}"));
    // Flags that are not atomics race, which is not the subject here.
    let mut found = card.findings.take();
    found.retain(|finding| finding.kind != FindingKind::Race);
    assert_eq!(found, [], "{kernel}, {blocks} blocks");
    let words = card.download::<u32>(words, count);
    assert_eq!(words[1], blocks, "{kernel}: every block comes to its end");
    words
}

/// Blocks that wait for the last one, of which there are more than host threads.
#[test]
fn blocks_wait_for_the_last() {
    on_every_card(|card| {
        for kernel in ["for_the_last", "for_the_last_volatile", "for_the_last_asleep", "for_the_last_at_a_barrier"] {
            for (blocks, threads) in [(2, 1), (5, 100), (20, 64)] {
                ends(card, kernel, blocks, threads);
            }
        }
    });
}

/// Rings in both directions, a scan with look-back, and barriers of all blocks.
#[test]
fn blocks_wait_for_each_other() {
    on_every_card(|card| {
        for kernel in ["ring_up", "ring_down"] {
            assert_eq!(ends(card, kernel, 20, 64)[0], 20, "{kernel}");
        }
        for kernel in ["scan_in_one_pass", "scan_in_one_pass_by_index"] {
            let words = ends(card, kernel, 24, 64);
            let sums = (0..24).scan(0, |sum, block| {
                *sum += block * block + 1;
                Some(*sum << 2 | 2)
            });
            assert_eq!(words[16..40], sums.collect::<Vec<u32>>(), "{kernel}");
        }
        assert_eq!(ends(card, "meet", 12, 128)[16..19], [12; 3]);
    });
}

/// Waits that nobody ends, but that end by themselves.
#[test]
fn waits_end_by_themselves() {
    on_every_card(|card| {
        ends(card, "tries", 3, 64);
        ends(card, "until", 3, 64);
    });
}

/// Deadlocks: each is one finding that names a thread and what it waits for.
#[test]
fn deadlocks_are_findings() {
    on_every_card(|card| {
        let cases: [(&str, u32, u32, &[&str]); 7] = [
            ("never_set", 4, 64, &["the threads of a block wait", "block [1, 0, 0] thread [0, 0, 0]", "at byte 0 of"]),
            ("never_set_volatile", 4, 64, &["the threads of a block wait", "block [1, 0, 0]", "at byte 0 of"]),
            ("for_each_other", 2, 1, &["of 2 blocks wait", "block [0, 0, 0]", "block [1, 0, 0]", "at byte 4 of"]),
            ("never_unlocked", 3, 64, &["of 2 blocks wait", "at byte 0 of"]),
            ("never_unlocked_by_a_neighbour", 1, 64, &["of a block wait", "at byte 0 of"]),
            ("never_set_at_a_barrier", 1, 256, &["of a block wait", "at byte 0 of"]),
            // The last block would release the others, but has no place on the card.
            ("for_the_last_asleep", 100_000, 1024, &["the others cannot start, because the"]),
        ];
        for (kernel, blocks, threads, says) in cases {
            let words = card.upload(&[0u32; 16]);
            let fault = launch(card, kernel, blocks, threads, words).expect_err(kernel);
            assert_eq!(fault.kind(), FaultKind::Timeout, "{kernel}: {fault}");
            let mut found = card.findings.take();
            found.retain(|finding| finding.kind != FindingKind::Race);
            assert_eq!(found.len(), 1, "{kernel}: {found:#?}");
            let Finding { kind, kernel: name, instruction, thread, message, .. } = &found[0];
            assert_eq!((*kind, name.as_str()), (FindingKind::Deadlock, kernel));
            assert!(!instruction.is_empty() && thread.contains("block ["), "{kernel}: {found:#?}");
            assert!(says.iter().all(|part| message.contains(part)), "{kernel}: {message}");
            assert_eq!(fault.to_string(), format!("{kernel}: deadlock: {message}"));
        }
    });
}

/// The host may write memory that it shares with the card at any time.
#[test]
fn a_wait_for_the_host_is_no_deadlock() {
    on_every_card(|card| {
        let flag = card.memory.alloc(64, Kind::Pinned, "").expect("memory");
        // SAFETY: the allocation has the bytes, and nothing uses it yet.
        unsafe { std::ptr::write_bytes(flag as *mut u8, 0, 64) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Long enough for a deadlock to be found, were it one.
                std::thread::sleep(Duration::from_millis(100));
                // SAFETY: the allocation has the word, which kernels access with atomics only.
                unsafe { std::sync::atomic::AtomicU32::from_ptr(flag as *mut u32) }
                    .store(1, std::sync::atomic::Ordering::SeqCst);
            });
            launch(card, "never_set", 3, 64, flag).unwrap_or_else(|fault| panic!("{fault}"));
        });
        assert_eq!(card.findings.take(), []);
        card.memory.free(flag).expect("it is allocated");
    });
}
