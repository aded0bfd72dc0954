//! Barriers that some threads do not reach: the same verdicts as on AMD's cards.

#[path = "../../../core/testing/barriers.rs"]
mod expected;

use crate::common::{Card, compile};
use isobit_simgpu_nvidia::arch::Arch;
use std::path::Path;

#[test]
fn a_thread_may_return_before_a_barrier_but_not_go_around_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/testing/barriers.cu");
    for arch in Arch::ALL {
        let card = Card::new(arch, &compile(&source, arch));
        let values: Vec<u32> = (0..2048).collect();
        for (kernel, around) in expected::KERNELS {
            let args = [card.upload(&values), card.upload(&values), 6];
            let found = card.findings(kernel, 1, 256, &args);
            expected::check(arch.name(), kernel, around, &found, "bar.sync");
        }
        // The even threads come to the barrier in the next round, and all go on together.
        let args = [card.upload(&values), card.upload(&values), 6];
        expected::check_loop(arch.name(), &card.findings("one_branch_in_a_loop", 1, 32, &args), 32, 1);
    }
}
