//! Blocks that wait for other blocks, and deadlocks: the same as on NVIDIA's cards.

#[path = "../../../core/testing/spinning.rs"]
mod expected;

use crate::common::{Card, compile};
use expected::Subject;
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::finding::{Fault, Finding};
use isobit_simgpu_core::memory::Kind;
use std::path::Path;
use std::time::Duration;

impl Subject for Card {
    fn zeros(&self, count: usize) -> u64 {
        self.upload(&vec![0u32; count])
    }

    fn launch(&self, kernel: &str, blocks: u32, threads: u32, words: u64) -> Result<(), Fault> {
        Card::launch(self, kernel, blocks, threads, &[words, blocks.into()])
    }

    fn words(&self, at: u64, count: usize) -> Vec<u32> {
        self.download(at, count)
    }

    fn found(&self) -> Vec<Finding> {
        self.findings.take()
    }
}

/// Runs a test on every card, with one and with several host threads.
fn on_every_card(test: impl Fn(&Card)) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/testing/spinning.cu");
    for (arch, threads) in Arch::ALL.into_iter().zip([1, 3, 2]) {
        let image = compile(&source, arch);
        test(&Card::with(arch, &image, threads, 0));
    }
}

#[test]
fn blocks_wait_for_the_last() {
    on_every_card(expected::blocks_wait_for_the_last);
}

#[test]
fn blocks_wait_for_each_other() {
    on_every_card(expected::blocks_wait_for_each_other);
}

#[test]
fn waits_end_by_themselves() {
    on_every_card(expected::waits_that_end_by_themselves);
}

#[test]
fn deadlocks_are_findings() {
    on_every_card(expected::deadlocks);
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
            Card::launch(card, "never_set", 3, 64, &[flag, 3]).unwrap_or_else(|fault| panic!("{fault}"));
        });
        assert_eq!(card.findings.take(), []);
        card.memory.free(flag).expect("it is allocated");
    });
}
