//! Kernels with a planted fault: each fault is found and named on every card, and the same kernel
//! without it gives no finding.

use crate::common::{Card, compile};
use isobit_simgpu_core::finding::{Finding, FindingKind};
use isobit_simgpu_nvidia::arch::Arch;
use std::path::Path;

const N: usize = 1000;

fn on_every_card(test: impl Fn(&Card, Arch) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted_faults.cu");
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let (source, test) = (&source, &test);
            scope.spawn(move || test(&Card::new(arch, &compile(source, arch)), arch));
        }
    });
}

/// Checks that all findings have this kind and kernel, and that their instruction is one of those
/// given and names its line of the PTX and of the source.
fn only(found: &[Finding], kind: FindingKind, kernel: &str, instructions: &[&str], arch: Arch) {
    assert!(!found.is_empty(), "{kernel} on {}: nothing was found", arch.name());
    for finding in found {
        let context = format!("{kernel} on {}: {finding:?}", arch.name());
        assert_eq!((finding.kind, finding.kernel.as_str()), (kind, kernel), "{context}");
        let (line, text) = finding.instruction.split_once(": ").expect("a line and its text");
        assert!(line.strip_prefix("line ").is_some_and(|number| number.parse::<u32>().is_ok()), "{context}");
        let code = text.strip_prefix('@').and_then(|guarded| guarded.split_once(' ')).map_or(text, |(_, code)| code);
        assert!(instructions.iter().any(|opcode| code.starts_with(opcode)), "{context}");
        assert!(finding.instruction.contains("(planted_faults.cu:"), "{context}");
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
        only(&found, FindingKind::OutOfBounds, "store_past_the_end", &["st.global"], arch);
        assert_eq!((found.len(), found[0].offset), (1, 4 * N as i64), "{found:?}");
        assert!(found[0].thread.contains("block [3, 0, 0] thread [232, 0, 0]"), "{found:?}");
        assert!(found[0].buffer.contains("4000 bytes"), "{found:?}");
        assert!(found[0].instruction.ends_with("(planted_faults.cu:20)"), "{found:?}");

        let found = card.findings("load_before_the_start", blocks(N), 256, &args);
        only(&found, FindingKind::OutOfBounds, "load_before_the_start", &["ld.global"], arch);
        assert_eq!((found.len(), found[0].offset), (1, -4), "{found:?}");
        assert!(found[0].thread.contains("block [0, 0, 0] thread [0, 0, 0]"), "{found:?}");

        card.memory.free(input).unwrap();
        let found = card.findings("copy", 1, 256, &args);
        only(&found, FindingKind::OutOfBounds, "copy", &["ld.global"], arch);
        assert!(found.iter().all(|finding| finding.buffer.contains("freed")), "{found:?}");
    });
}

#[test]
fn loads_that_reach_past_the_end() {
    on_every_card(|card, arch| {
        let (input, out) = (card.upload(&[0u32, 1, 2, 5, 3, 4, 97]), card.upload(&[9u32; 4]));
        for (kernel, threads, load) in
            [("three_words_as_four", 1, &["ld.global"][..]), ("three_shared_words_as_four", 32, &["ld.shared"][..])]
        {
            assert_eq!(card.findings(kernel, 1, threads, &[input, out, 0]), []);
            assert_eq!(card.download::<u32>(out, 4), [0, 1, 2, 5], "{kernel}");
            // The three words in bounds are right; the fourth reads as zero.
            let found = card.findings(kernel, 1, threads, &[input, out, 4]);
            only(&found, FindingKind::OverRead, kernel, load, arch);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].buffer.contains("28 bytes") && [16, 24].contains(&found[0].offset), "{found:?}");
            assert_eq!(card.download::<u32>(out, 4), [3, 4, 97, 0], "{kernel}");
        }
        let small = card.upload(&[9u32; 7]);
        assert_eq!(card.findings("store_four_words", 1, 1, &[input, small, 0]), []);
        let found = card.findings("store_four_words", 1, 1, &[input, small, 4]);
        only(&found, FindingKind::OutOfBounds, "store_four_words", &["st.global"], arch);
        assert_eq!(card.download::<u32>(small, 7), [0, 1, 2, 5, 0, 1, 2]);
    });
}

#[test]
fn reads_of_what_nothing_wrote() {
    on_every_card(|card, arch| {
        let (empty, out) = (card.uninitialised(4 * N), card.uninitialised(4 * N));
        let found = card.findings("copy", blocks(N), 256, &[empty, out, N as u64]);
        only(&found, FindingKind::UninitialisedRead, "copy", &["ld.global"], arch);
        // Byte stores initialise single bytes: if one is missing, the word that contains it is not
        // fully initialised.
        assert_eq!(card.findings("store_bytes", 1, 256, &[out, empty, 255]), []);
        let found = card.findings("copy", 1, 64, &[empty, out, 64]);
        only(&found, FindingKind::UninitialisedRead, "copy", &["ld.global"], arch);
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
        only(&found, FindingKind::Race, "reduce_without_barriers", &["ld.shared", "st.shared"], arch);
    });
}

#[test]
fn warps_are_32_wide() {
    on_every_card(|card, arch| {
        let values: Vec<u32> = (0..512).map(|i| i * i).collect();
        let (input, out) = (card.upload(&values), card.uninitialised(8));
        assert_eq!(card.findings("warps_of_32", 2, 256, &[input, out]), []);
        assert_eq!(card.download::<u32>(out, 2), [values[..256].iter().sum::<u32>(), values[256..].iter().sum()]);
        let found = card.findings("warps_of_64", 2, 256, &[input, out]);
        only(&found, FindingKind::UninitialisedRead, "warps_of_64", &["ld.shared"], arch);
    });
}

#[test]
fn threads_that_nothing_orders() {
    on_every_card(|card, arch| {
        let values = vec![1u32; 1024];
        let (input, out) = (card.upload(&values), card.upload(&values));
        let found = card.findings("every_block_writes_one_word", 4, 256, &[input, out]);
        only(&found, FindingKind::Race, "every_block_writes_one_word", &["st.global"], arch);
        let found = card.findings("lanes_of_one_store_disagree", 1, 32, &[input, out]);
        only(&found, FindingKind::Race, "lanes_of_one_store_disagree", &["st.global"], arch);
        assert_eq!(card.findings("lanes_of_one_store_agree", 1, 32, &[input, out]), []);

        let count = card.upload(&[0u32]);
        assert_eq!(card.findings("last_block_by_atomic", 4, 256, &[input, out, count]), []);
        assert_eq!(card.download::<u32>(out + 1024, 64), [4; 64]);
        let found = card.findings("last_block_by_number", 4, 256, &[input, out, count]);
        only(&found, FindingKind::Race, "last_block_by_number", &["ld.global", "st.global"], arch);
    });
}

#[test]
fn misaligned_accesses_and_divided_barriers() {
    on_every_card(|card, arch| {
        let values = vec![1u32; 1024];
        let (input, out) = (card.upload(&values), card.upload(&values));
        let found = card.findings("misaligned_load", 1, 64, &[input, out]);
        only(&found, FindingKind::Misaligned, "misaligned_load", &["ld.global"], arch);
        let found = card.findings("barrier_for_half", 1, 256, &[input, out]);
        only(&found, FindingKind::DivergentBarrier, "barrier_for_half", &["bar.sync"], arch);
        assert!(found.iter().any(|f| f.message.contains("16 threads of the wave")), "{found:?}");
        assert_eq!(card.findings("barrier_after_return", 1, 256, &[input, out]), []);
    });
}
