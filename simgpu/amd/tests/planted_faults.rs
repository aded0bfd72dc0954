//! Tests of kernels with a planted fault: each fault is found and named on every target, and the
//! same kernel without it has no findings.

mod common;

use common::{Card, compile};
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::finding::{Finding, FindingKind};
use std::path::Path;

const N: usize = 1000;

fn on_every_card(test: impl Fn(&Card, Arch) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted_faults.hip");
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let (source, test) = (&source, &test);
            scope.spawn(move || test(&Card::new(arch, &compile(source, arch)), arch));
        }
    });
}

/// Checks that there is only one kind of finding, in the kernel, at an instruction that starts with
/// one of the names.
fn only(found: &[Finding], kind: FindingKind, kernel: &str, instructions: &[&str], arch: Arch) {
    assert!(!found.is_empty(), "{kernel} on {}: nothing was found", arch.name());
    for finding in found {
        let context = format!("{kernel} on {}: {finding:?}", arch.name());
        assert_eq!((finding.kind, finding.kernel.as_str()), (kind, kernel), "{context}");
        assert!(instructions.iter().any(|i| finding.instruction.contains(i)), "{context}");
        assert!(finding.thread.contains("block") && finding.thread.contains("thread"), "{context}");
    }
}

fn blocks(n: usize) -> u32 {
    n.div_ceil(256) as u32
}

#[test]
fn accesses_outside_of_a_buffer() {
    on_every_card(|card, arch| {
        let values: Vec<u32> = (0..N as u32).collect();
        let (input, out) = (card.upload(&values), card.uninitialised(4 * N));
        let args = [input, out, N as u64];
        assert_eq!(card.findings("copy", blocks(N), 256, &args), []);
        assert_eq!(card.download::<u32>(out, N), values);

        let found = card.findings("store_past_the_end", blocks(N), 256, &args);
        only(&found, FindingKind::OutOfBounds, "store_past_the_end", &["global_store"], arch);
        assert_eq!((found.len(), found[0].offset), (1, 4 * N as i64), "{found:?}");
        assert!(found[0].thread.contains("block [3, 0, 0] thread [232, 0, 0]"), "{found:?}");
        assert!(found[0].buffer.contains("4000 bytes"), "{found:?}");

        let found = card.findings("load_before_the_start", blocks(N), 256, &args);
        only(&found, FindingKind::OutOfBounds, "load_before_the_start", &["global_load"], arch);
        assert_eq!((found.len(), found[0].offset), (1, -4), "{found:?}");

        card.memory.free(input).unwrap();
        let found = card.findings("copy", 1, 256, &args);
        only(&found, FindingKind::OutOfBounds, "copy", &["global_load"], arch);
    });
}

#[test]
fn loads_that_reach_past_the_end() {
    on_every_card(|card, arch| {
        let (input, out) = (card.upload(&[0u32, 1, 2, 5, 3, 4, 97]), card.upload(&[9u32; 4]));
        for (kernel, threads, load) in [
            ("three_words_as_four", 1, &["global_load", "s_load"][..]),
            ("three_shared_words_as_four", 32, &["ds_"][..]),
        ] {
            assert_eq!(card.findings(kernel, 1, threads, &[input, out, 0]), []);
            assert_eq!(card.download::<u32>(out, 4), [0, 1, 2, 5], "{kernel}");
            // The three words in bounds are right; the fourth reads as zero.
            let found = card.findings(kernel, 1, threads, &[input, out, 4]);
            only(&found, FindingKind::OverRead, kernel, load, arch);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].buffer.contains("28 bytes") & [16, 24].contains(&found[0].offset), "{found:?}");
            assert_eq!(card.download::<u32>(out, 4), [3, 4, 97, 0], "{kernel}");
        }
        let small = card.upload(&[9u32; 7]);
        assert_eq!(card.findings("store_four_words", 1, 1, &[input, small, 0]), []);
        let found = card.findings("store_four_words", 1, 1, &[input, small, 4]);
        only(&found, FindingKind::OutOfBounds, "store_four_words", &["global_store"], arch);
        assert_eq!(card.download::<u32>(small, 7), [0, 1, 2, 5, 0, 1, 2]);
    });
}

#[test]
fn reads_of_what_nothing_wrote() {
    on_every_card(|card, arch| {
        let (empty, out) = (card.uninitialised(4 * N), card.uninitialised(4 * N));
        let found = card.findings("copy", blocks(N), 256, &[empty, out, N as u64]);
        only(&found, FindingKind::UninitialisedRead, "copy", &["global_load"], arch);
        // Byte stores initialise bytes: if one is missing, the word that contains it is not fully
        // initialised.
        assert_eq!(card.findings("store_bytes", 1, 256, &[out, empty, 255]), []);
        let found = card.findings("copy", 1, 64, &[empty, out, 64]);
        only(&found, FindingKind::UninitialisedRead, "copy", &["global_load"], arch);
        assert!(found.iter().all(|f| (252..256).contains(&f.offset)), "{found:?}");
    });
}

#[test]
fn a_missing_barrier() {
    on_every_card(|card, arch| {
        let values: Vec<u32> = (0..1024).collect();
        let (input, out) = (card.upload(&values), card.uninitialised(16));
        let sums: Vec<u32> = values.chunks(256).map(|c| c.iter().sum()).collect();
        assert_eq!(card.findings("reduce_with_barriers", 4, 256, &[input, out]), []);
        assert_eq!(card.download::<u32>(out, 4), sums);
        let found = card.findings("reduce_without_barriers", 4, 256, &[input, out]);
        only(&found, FindingKind::Race, "reduce_without_barriers", &["ds_"], arch);
    });
}

#[test]
fn waves_taken_to_be_32_wide() {
    on_every_card(|card, arch| {
        let values: Vec<u32> = (0..512).map(|i| i * i).collect();
        let (input, out) = (card.upload(&values), card.uninitialised(8));
        let found = card.findings("waves_of_32", 2, 256, &[input, out]);
        if arch.wave_size() == 32 {
            assert_eq!(found, []);
            assert_eq!(card.download::<u32>(out, 2), [values[..256].iter().sum::<u32>(), values[256..].iter().sum()]);
        } else {
            only(&found, FindingKind::UninitialisedRead, "waves_of_32", &["ds_"], arch);
        }
    });
}

#[test]
fn threads_that_nothing_orders() {
    on_every_card(|card, arch| {
        let values = vec![1u32; 1024];
        let (input, out) = (card.upload(&values), card.upload(&values));
        let found = card.findings("every_block_writes_one_word", 4, 256, &[input, out]);
        only(&found, FindingKind::Race, "every_block_writes_one_word", &["global_store"], arch);
        let found = card.findings("lanes_of_one_store_disagree", 1, 32, &[input, out]);
        only(&found, FindingKind::Race, "lanes_of_one_store_disagree", &["global_store"], arch);
        assert_eq!(card.findings("lanes_of_one_store_agree", 1, 32, &[input, out]), []);

        let count = card.upload(&[0u32]);
        assert_eq!(card.findings("last_block_by_atomic", 4, 256, &[input, out, count]), []);
        assert_eq!(card.download::<u32>(out + 1024, 64), [4; 64]);
        let found = card.findings("last_block_by_number", 4, 256, &[input, out, count]);
        only(&found, FindingKind::Race, "last_block_by_number", &["global_load", "global_store"], arch);
    });
}

#[test]
fn unaligned_accesses_and_divided_barriers() {
    on_every_card(|card, arch| {
        let values = vec![1u32; 1024];
        let (input, out) = (card.upload(&values), card.upload(&values));
        // ROCm lets the hardware accept any address, except for read-modify-writes.
        for kernel in ["unaligned_load", "unaligned_volatile_load"] {
            let out = card.uninitialised(4 * 64);
            assert_eq!(card.findings(kernel, 1, 64, &[input, out]), [], "{}", arch.name());
            assert_eq!(card.download::<u32>(out, 64), [1 << 16; 64], "{kernel}");
        }
        let found = card.findings("misaligned_atomic", 1, 64, &[input]);
        only(&found, FindingKind::Misaligned, "misaligned_atomic", &["global_atomic"], arch);
        for kernel in ["barrier_for_half", "barrier_for_half_before_a_buffer"] {
            let found = card.findings(kernel, 1, 256, &[input, out]);
            only(&found, FindingKind::DivergentBarrier, kernel, &["s_barrier"], arch);
        }
    });
}
