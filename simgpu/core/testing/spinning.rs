//! Launches of the kernels of `spinning.cu`, and what is expected of them on the cards of both
//! vendors. The test programs of each include this file.

use isobit_simgpu_core::finding::{Fault, FaultKind, Finding, FindingKind};

/// A card, as far as these tests need it.
pub trait Subject {
    /// Allocates words that are zero.
    fn zeros(&self, count: usize) -> u64;
    /// Launches a kernel along x with the address of the words and the number of blocks.
    fn launch(&self, kernel: &str, blocks: u32, threads: u32, words: u64) -> Result<(), Fault>;
    /// Returns the words.
    fn words(&self, at: u64, count: usize) -> Vec<u32>;
    /// Returns and forgets the findings.
    fn found(&self) -> Vec<Finding>;
}

/// Launches a kernel that must end, and returns the first words.
fn ends(card: &impl Subject, kernel: &str, blocks: u32, threads: u32) -> Vec<u32> {
    let words = card.zeros(16 + blocks.max(16) as usize);
    card.launch(kernel, blocks, threads, words).unwrap_or_else(|fault| panic!("{kernel}, {blocks} blocks: {fault}"));
    // Flags that are not atomics race, which is not the subject here.
    let found: Vec<Finding> = card.found().into_iter().filter(|finding| finding.kind != FindingKind::Race).collect();
    assert_eq!(found, [], "{kernel}, {blocks} blocks");
    let words = card.words(words, 16 + blocks.max(16) as usize);
    assert_eq!(words[1], blocks, "{kernel}: every block comes to its end");
    words
}

/// Blocks that wait for the last one, of which there are more than host threads.
pub fn blocks_wait_for_the_last(card: &impl Subject) {
    for kernel in ["for_the_last", "for_the_last_volatile", "for_the_last_asleep", "for_the_last_at_a_barrier"] {
        for (blocks, threads) in [(2, 1), (5, 100), (20, 64)] {
            ends(card, kernel, blocks, threads);
        }
    }
}

/// Rings in both directions, a scan with look-back, and barriers of all blocks.
pub fn blocks_wait_for_each_other(card: &impl Subject) {
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
}

/// Waits that nobody ends, but that end by themselves.
pub fn waits_that_end_by_themselves(card: &impl Subject) {
    ends(card, "tries", 3, 64);
    ends(card, "until", 3, 64);
}

/// Deadlocks: each is one finding that names a thread and what it waits for.
pub fn deadlocks(card: &impl Subject) {
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
        let words = card.zeros(16);
        let fault = card.launch(kernel, blocks, threads, words).expect_err(kernel);
        assert_eq!(fault.kind(), FaultKind::Timeout, "{kernel}: {fault}");
        let mut found = card.found();
        found.retain(|finding| finding.kind != FindingKind::Race);
        assert_eq!(found.len(), 1, "{kernel}: {found:#?}");
        let Finding { kind, kernel: name, instruction, thread, message, .. } = &found[0];
        assert_eq!((*kind, name.as_str()), (FindingKind::Deadlock, kernel));
        assert!(!instruction.is_empty() && thread.contains("block ["), "{kernel}: {found:#?}");
        assert!(says.iter().all(|part| message.contains(part)), "{kernel}: {message}");
        assert_eq!(fault.to_string(), format!("{kernel}: deadlock: {message}"));
    }
}
