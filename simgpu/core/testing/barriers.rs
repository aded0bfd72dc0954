//! What is expected of the kernels of `barriers.cu` on the cards of both vendors. The test programs
//! of each include this file.

use isobit_simgpu_core::finding::{Finding, FindingKind};

/// The kernels, and whether threads go around a barrier in them.
pub const KERNELS: [(&str, bool); 16] = [
    ("no_thread_leaves", false),
    ("part_of_a_wave_returns", false),
    ("part_of_a_wave_works_and_returns", false),
    ("whole_waves_return", false),
    ("waves_return_in_the_middle", false),
    ("return_after_a_barrier", false),
    ("return_in_a_loop", false),
    ("work_and_return_in_a_loop", false),
    ("return_before_a_loop", false),
    ("return_instead_of_a_barrier", false),
    ("one_branch", true),
    ("one_branch_and_a_later_barrier", true),
    ("both_branches", true),
    ("different_trip_counts", true),
    ("one_branch_in_a_loop", true),
    ("a_branch_after_a_return", true),
];

/// Checks who goes around the barrier of `one_branch_in_a_loop` in a block of one wave of this
/// width: in each of the first `rounds` one half of the threads, at first the even ones.
pub fn check_loop(card: &str, found: &[Finding], width: usize, rounds: usize) {
    let who = |round: usize| format!("block [0, 0, 0] thread [{}, 0, 0]", round % 2);
    assert_eq!(found.len(), rounds, "{card}: {found:#?}");
    for (round, finding) in found.iter().enumerate() {
        let end = format!(": {} threads of the wave go around the barrier, {} among them", width / 2, who(round));
        assert!(finding.message.ends_with(&end), "{card}, round {round}: {found:#?}");
    }
}

/// Checks what was found in a kernel. `instruction` is the barrier's name.
pub fn check(card: &str, kernel: &str, around: bool, found: &[Finding], instruction: &str) {
    assert_eq!(!found.is_empty(), around, "{kernel} on {card}: {found:#?}");
    for finding in found {
        let right = finding.kind == FindingKind::DivergentBarrier
            && finding.kernel == kernel
            && finding.instruction.contains(instruction)
            && finding.message.contains("of the wave go around the barrier, block [0, 0, 0] thread [")
            && finding.message.contains("] among them");
        assert!(right, "{kernel} on {card}: {finding:#?}");
    }
}
