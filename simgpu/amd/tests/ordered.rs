//! Kernels whose accesses are ordered although they do not look so: compare-and-swap loops that
//! begin with a plain load, and flags. Each has the right result and no finding, and the same with
//! a race in it has one.

mod common;

use common::{Card, compile};
use half::f16;
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::finding::{Finding, FindingKind};
use std::path::Path;

/// Blocks of most launches, and the threads of a block.
const BLOCKS: u32 = 11;
const THREADS: u32 = 256;
const ALL: usize = (BLOCKS * THREADS) as usize;
/// The cells that the threads add to.
const CELLS: usize = 4;

fn on_every_card(test: impl Fn(&Card, Arch) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ordered.hip");
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let (source, test) = (&source, &test);
            scope.spawn(move || test(&Card::new(arch, &compile(source, arch)), arch));
        }
    });
}

fn races(found: &[Finding], kernel: &str, instructions: &[&str], arch: Arch) {
    assert!(!found.is_empty(), "{kernel} on {}: nothing was found", arch.name());
    for finding in found {
        let context = format!("{kernel} on {}: {finding:?}", arch.name());
        assert_eq!(finding.kind, FindingKind::Race, "{context}");
        assert!(instructions.iter().any(|i| finding.instruction.contains(i)), "{context}");
    }
}

#[test]
fn loops_of_compare_and_swaps() {
    on_every_card(|card, arch| {
        // The threads of each cell.
        let count = ALL as f64 / CELLS as f64;
        let run = |kernel: &str, cells: u64| {
            let found = card.findings(kernel, BLOCKS, THREADS, &[cells, CELLS as u64]);
            assert_eq!(found, [], "{kernel} on {}", arch.name());
        };
        for (kernel, sign) in [("add_f32", 1.0), ("sub_f32", -1.0)] {
            let cells = card.upload(&[0f32; CELLS]);
            run(kernel, cells);
            assert_eq!(card.download::<f32>(cells, CELLS), [(sign * count) as f32; CELLS], "{kernel}");
        }
        for kernel in ["add_f64", "add_f64_unoptimised", "guide_f64", "guide_unoptimised"] {
            let cells = card.upload(&[0f64; CELLS]);
            run(kernel, cells);
            assert_eq!(card.download::<f64>(cells, CELLS), [count; CELLS], "{kernel}");
        }
        let cells = card.upload(&[0f64; CELLS]);
        run("sub_f64", card.upload(&[cells]));
        assert_eq!(card.download::<f64>(cells, CELLS), [-count; CELLS]);

        // Elements of a word that is swapped as a whole.
        let cells = card.upload(&[0u16; CELLS]);
        run("add_f16", cells);
        assert_eq!(card.download::<u16>(cells, CELLS), [f16::from_f64(count).to_bits(); CELLS]);
        let cells = card.upload(&[0u16; CELLS]);
        run("add_u16", cells);
        assert_eq!(card.download::<u16>(cells, CELLS), [count as u16; CELLS]);
        let cells = card.upload(&[0u8; CELLS]);
        run("add_u8", cells);
        assert_eq!(card.download::<u8>(cells, CELLS), [count as u64 as u8; CELLS]);

        let cells = card.upload(&[0f32; CELLS]);
        run("largest", cells);
        let value = |i: usize| (i * 37 % 1024) as f32;
        let largest = |cell: usize| (0..ALL).filter(|i| i % CELLS == cell).map(value).fold(0.0, f32::max);
        assert_eq!(card.download::<f32>(cells, CELLS), [0, 1, 2, 3].map(largest));
    });
}

#[test]
fn loops_of_compare_and_swaps_in_group_memory() {
    on_every_card(|card, arch| {
        let (count, all) = (f64::from(THREADS) / CELLS as f64, CELLS * BLOCKS as usize);
        let out = card.uninitialised(8 * all);
        let run = |kernel: &str| {
            assert_eq!(card.findings(kernel, BLOCKS, THREADS, &[out, CELLS as u64]), [], "{kernel} on {}", arch.name());
        };
        run("shared_f16");
        assert!(card.download::<u16>(out, all).iter().all(|x| *x == f16::from_f64(-count).to_bits()));
        run("shared_f32");
        assert!(card.download::<f32>(out, all).iter().all(|x| *x == -count as f32));
        run("shared_f64");
        assert!(card.download::<f64>(out, all).iter().all(|x| *x == -count));
    });
}

#[test]
fn a_sparse_product_with_rows_of_many_groups() {
    on_every_card(|card, arch| {
        let values: Vec<f32> = (0..ALL).map(|i| (i % 16) as f32).collect();
        let row: Vec<u32> = (0..ALL as u32).map(|i| i / 700).collect();
        let mut expected = [0f32; 5];
        values.iter().zip(&row).for_each(|(value, row)| expected[*row as usize] += value);
        let out = card.upload(&[0f32; 5]);
        let args = [card.upload(&values), card.upload(&row), out];
        assert_eq!(card.findings("rows", BLOCKS, THREADS, &args), [], "{}", arch.name());
        assert_eq!(card.download::<f32>(out, 5), expected);
    });
}

#[test]
fn reads_of_what_others_still_add_to() {
    on_every_card(|card, arch| {
        let out = card.uninitialised(8 * ALL);
        let found = card.findings("add_and_read", BLOCKS, THREADS, &[card.upload(&[0f64]), out]);
        races(&found, "add_and_read", &["load", "cmpswap"], arch);
        let found = card.findings("count_and_read", BLOCKS, THREADS, &[card.upload(&[0u32]), out]);
        races(&found, "count_and_read", &["load", "atomic"], arch);
        let found = card.findings("reset_and_add", BLOCKS, THREADS, &[card.upload(&[0f64; CELLS]), CELLS as u64]);
        races(&found, "reset_and_add", &["load", "store", "cmpswap"], arch);
    });
}

#[test]
fn flags_between_groups() {
    const FLAGS: [&str; 5] = ["flag_agent", "flag_system", "flag_sequential", "flag_fences", "flag_volatile"];
    on_every_card(|card, arch| {
        let launch = |kernel: &str| {
            let (data, flag) = (card.uninitialised(4 * THREADS as usize), card.upload(&[0u32]));
            let out = card.uninitialised(4 * ALL);
            let found = card.findings(kernel, BLOCKS, THREADS, &[data, flag, out]);
            (found, card.download::<u32>(out, ALL))
        };
        for kernel in FLAGS {
            let (found, out) = launch(kernel);
            assert_eq!(found, [], "{kernel} on {}", arch.name());
            assert!(out[256..].iter().enumerate().all(|(i, x)| *x == i as u32 % 256 + 7), "{kernel}");
        }
        let (found, out) = launch("flag_of_a_wave");
        assert_eq!(found, [], "{}", arch.name());
        assert!(out[256..].iter().all(|x| *x == 5));

        let data = card.upload(&[0u32; THREADS as usize]);
        for kernel in ["flag_ignored", "flag_too_early"] {
            let out = card.uninitialised(4 * ALL);
            let found = card.findings(kernel, BLOCKS, THREADS, &[data, card.upload(&[0u32]), out]);
            races(&found, kernel, &["global_load", "global_store"], arch);
        }
    });
}

#[test]
fn flags_in_a_group() {
    on_every_card(|card, arch| {
        let blocks = 2usize;
        let launch = |kernel: &str| {
            let (data, flags) = (card.upload(&vec![0u32; blocks]), card.upload(&vec![0u32; blocks]));
            let out = card.upload(&vec![5u32; 256 * blocks]);
            (
                card.findings(kernel, blocks as u32, THREADS, &[data, flags, out]),
                card.download::<u32>(out, 256 * blocks),
            )
        };
        for kernel in ["flag_in_group", "flag_in_shared"] {
            let (found, out) = launch(kernel);
            assert_eq!(found, [], "{kernel} on {}", arch.name());
            assert_eq!(out, vec![5; 256 * blocks], "{kernel}");
        }
        for kernel in ["flag_in_group_ignored", "flag_in_shared_ignored"] {
            races(&launch(kernel).0, kernel, &["load", "store", "read", "write"], arch);
        }
    });
}

#[test]
fn the_first_iteration_of_a_wait_apart() {
    on_every_card(|card, arch| {
        let count = 64 * BLOCKS as usize;
        let launch = |kernel: &str| {
            let cells = card.upload(&vec![0u32; count]);
            let pointers: Vec<u64> = (0..count as u64).map(|i| cells + 4 * i).collect();
            // The first wave writes nothing.
            let out = card.upload(&vec![3u32; ALL]);
            let rest = [card.upload(&pointers), card.uninitialised(4 * ALL)];
            let args = if kernel.ends_with("shared") { vec![out] } else { [&[out], &rest[..]].concat() };
            (card.findings(kernel, BLOCKS, THREADS, &args), card.download::<u32>(out, ALL))
        };
        for kernel in ["first_apart_atomic", "first_apart_atomic_in_shared"] {
            let (found, out) = launch(kernel);
            assert_eq!(found, [], "{kernel} on {}", arch.name());
            assert_eq!(out, vec![3; ALL], "{kernel}");
        }
        for kernel in ["first_apart_plain", "first_apart_plain_in_shared"] {
            races(&launch(kernel).0, kernel, &["load", "read", "_or"], arch);
        }
    });
}

#[test]
fn slots_that_a_count_gives() {
    on_every_card(|card, arch| {
        let launch = |kernel: &str| {
            let (counts, out) = (card.upload(&[0u32; 8]), card.uninitialised(4 * 4096));
            (card.findings(kernel, 2, THREADS, &[counts, out]), out)
        };
        let (found, out) = launch("append");
        assert_eq!(found, [], "{}", arch.name());
        for list in 0..4u32 {
            let mut threads = card.download::<u32>(out + u64::from(4096 * list), 128);
            threads.sort_unstable();
            assert_eq!(threads, (0..512).filter(|thread| thread % 4 == list).collect::<Vec<u32>>());
        }
        races(&launch("append_twice").0, "append_twice", &["global_store"], arch);
    });
}

#[test]
fn groups_in_turn_and_locks() {
    on_every_card(|card, arch| {
        let (data, flag) = (card.upload(&[0u32]), card.upload(&[0u32]));
        let out = card.uninitialised(4 * BLOCKS as usize);
        assert_eq!(card.findings("chain", BLOCKS, THREADS, &[data, flag, out]), [], "{}", arch.name());
        let sums: Vec<u32> = (0..BLOCKS).map(|block| (1..=block).sum()).collect();
        assert_eq!(card.download::<u32>(out, BLOCKS as usize), sums);

        let (count, flag) = (card.upload(&[0u32]), card.upload(&[0u32]));
        assert_eq!(card.findings("locked", BLOCKS, THREADS, &[count, flag]), [], "{}", arch.name());
        assert_eq!(card.download::<u32>(count, 1), [4 * BLOCKS]);
        let found = card.findings("not_locked", BLOCKS, THREADS, &[count, flag]);
        races(&found, "not_locked", &["load", "store"], arch);

        let out = card.uninitialised(4 * BLOCKS as usize);
        assert_eq!(card.findings("locked_in_shared", BLOCKS, THREADS, &[out, flag]), [], "{}", arch.name());
        assert_eq!(card.download::<u32>(out, BLOCKS as usize), [4; BLOCKS as usize]);
        let found = card.findings("not_locked_in_shared", BLOCKS, THREADS, &[out, flag]);
        races(&found, "not_locked_in_shared", &["load", "store", "read", "write"], arch);

        let data = card.upload(&[0u32; THREADS as usize]);
        assert_eq!(card.findings("locked_by_groups", BLOCKS, THREADS, &[data, flag]), [], "{}", arch.name());
        assert_eq!(card.download::<u32>(data, THREADS as usize), [BLOCKS; THREADS as usize]);
    });
}
