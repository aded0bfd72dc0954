//! The host's side of the idioms: common patterns of CUDA and HIP programs, one source for both
//! vendors. Each must give the result that the host computes, and no finding. The vendors' tests
//! include this file next to `compile`, and to `warp`, the number of lanes of a card.

use super::{Arch, Card, compile, warp};
use bytemuck::Pod;
use std::fmt::Debug;
use std::path::Path;
use std::sync::OnceLock;

const N: usize = 1000;
const BLOCKS: u32 = 4;

/// Returns the idioms for a card, compiled once.
fn compiled(arch: Arch) -> &'static [u8] {
    static MODULES: [OnceLock<Vec<u8>>; Arch::ALL.len()] = [const { OnceLock::new() }; Arch::ALL.len()];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../idioms/all.cu");
    let position = Arch::ALL.iter().position(|&known| known == arch).expect("a known card");
    MODULES[position].get_or_init(|| compile(&source, arch))
}

/// Runs idioms on a card, and collects what is wrong.
struct Idioms<'a> {
    card: &'a Card,
    arch: Arch,
    wrong: Vec<String>,
}

impl Idioms<'_> {
    /// Launches blocks of 256 threads. A finding is wrong.
    fn launch(&mut self, kernel: &str, blocks: u32, args: &[u64]) {
        let found = self.card.findings(kernel, blocks, 256, args);
        if let Some(first) = found.first() {
            self.wrong.push(format!("{kernel} on {}: {} findings, first {first}", self.arch.name(), found.len()));
        }
    }

    /// Compares what a kernel wrote.
    fn is<T: Pod + PartialEq + Debug>(&mut self, kernel: &str, at: u64, expected: &[T]) {
        let got = self.card.download::<T>(at, expected.len());
        if let Some(i) = (0..expected.len()).find(|&i| got[i] != expected[i]) {
            let (got, expected) = (got[i], expected[i]);
            self.wrong.push(format!("{kernel} on {}: element {i} is {got:?}, not {expected:?}", self.arch.name()));
        }
    }
}

fn on_every_card(idioms: impl Fn(&mut Idioms) + Sync) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let one = |arch| {
            let card = Card::new(arch, compiled(arch));
            let mut on_it = Idioms { card: &card, arch, wrong: Vec::new() };
            idioms(&mut on_it);
            on_it.wrong
        };
        let started: Vec<_> = Arch::ALL.into_iter().map(|arch| scope.spawn(move || one(arch))).collect();
        started.into_iter().flat_map(|card| card.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Numbers without a pattern, of 31 bits.
fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(11) >> 1).collect()
}

/// The sums of the first 1, 2, ... numbers of each group.
fn scanned(values: &[u32], group: usize) -> Vec<u32> {
    let scan = |sum: &mut u32, &x: &u32| {
        *sum = sum.wrapping_add(x);
        Some(*sum)
    };
    values.chunks(group).flat_map(|group| group.iter().scan(0, scan)).collect()
}

fn sum(values: &[u32]) -> u32 {
    values.iter().fold(0, |sum, &x| sum.wrapping_add(x))
}

#[test]
fn atomics_of_integers() {
    on_every_card(|run| {
        let values = numbers(N);
        let input = run.card.upload(&values);
        let signed = |x: &u32| *x as i32;
        let start = [0, u32::MAX, 0, u32::MAX, 0, 0, i32::MAX as u32, i32::MIN as u32, 0, 0];
        let out = run.card.upload(&start);
        run.launch("atomic_integers", BLOCKS, &[input, out, N as u64]);
        let wide: u64 = values.iter().map(|&x| u64::from(x) << 20).sum();
        let expected = [
            sum(&values),
            *values.iter().min().unwrap(),
            *values.iter().max().unwrap(),
            values.iter().fold(u32::MAX, |a, x| a & x),
            values.iter().fold(0, |a, x| a | x),
            values.iter().fold(0, |a, x| a ^ x),
            values.iter().map(signed).min().unwrap() as u32,
            values.iter().map(signed).max().unwrap() as u32,
            wide as u32,
            (wide >> 32) as u32,
        ];
        run.is("atomic_integers", out, &expected);

        let mut bins = [0u32; 64];
        values.iter().for_each(|x| bins[*x as usize % 64] += 1);
        let out = run.card.upload(&[0u32; 64]);
        run.launch("atomic_histogram", 2, &[input, out, N as u64]);
        run.is("atomic_histogram", out, &bins);

        let (lock, words) = (run.card.upload(&[0u32]), run.card.upload(&[0u32; 16]));
        run.launch("atomic_lock", 8, &[lock, words, 16]);
        let expected: Vec<u32> = (0..16).map(|i| 8 * i + 28).collect();
        run.is("atomic_lock", words, &expected);
    });
}

#[test]
fn atomics_of_floats() {
    on_every_card(|run| {
        let values = numbers(N);
        let input = run.card.upload(&values);
        // Sums of small integers, so that their order does not matter.
        let of = |wanted: &dyn Fn(usize) -> bool, modulus: u32| -> u32 {
            values.iter().enumerate().filter(|(i, _)| wanted(*i)).map(|(_, x)| x % modulus).sum()
        };
        let (single, twice) = (run.card.upload(&[0f32]), run.card.upload(&[0f64; 4]));
        run.launch("atomic_floats", BLOCKS, &[input, single, twice, N as u64]);
        run.is("atomic_floats", single, &[of(&|_| true, 16) as f32]);
        run.is("atomic_floats", twice, &[0, 1, 2, 3].map(|k| f64::from(of(&|i| i % 4 == k, 16))));

        let twice = run.card.upload(&[0f64]);
        run.launch("atomic_double_by_swap", BLOCKS, &[input, twice, N as u64]);
        run.is("atomic_double_by_swap", twice, &[f64::from(of(&|_| true, 16))]);

        let halves = run.card.upload(&[0u16; 2]);
        run.launch("atomic_half_by_swap", BLOCKS, &[input, halves, N as u64]);
        let expected = [0, 1].map(|k| half::f16::from_f32(of(&|i| i % 2 == k, 2) as f32).to_bits());
        run.is("atomic_half_by_swap", halves, &expected);

        let negative: Vec<u32> = values.iter().map(|x| x.wrapping_sub(1 << 31)).collect();
        for values in [values, negative] {
            let (input, out) = (run.card.upload(&values), run.card.upload(&[f32::MIN]));
            run.launch("atomic_float_maximum", BLOCKS, &[input, out, N as u64]);
            let expected = values.iter().map(|&x| x as i32 as f32 / 3.0).fold(f32::MIN, f32::max);
            run.is("atomic_float_maximum", out, &[expected]);
        }
    });
}

#[test]
fn flags() {
    on_every_card(|run| {
        let lanes = warp(run.arch);
        let total = 256 * BLOCKS;
        let (data, out) = (run.card.uninitialised(4 * 1024), run.card.uninitialised(4 * 1024));
        run.launch("flag_in_block", BLOCKS, &[data, out]);
        let of = |i: u32| if i % 256 < lanes { 0 } else { 8 * (i % 256 % lanes) + i / 256 };
        run.is("flag_in_block", out, &(0..total).map(of).collect::<Vec<_>>());

        for (kernel, factor) in [("flag_gpu", 7), ("flag_system", 7), ("flag_fences", 7), ("flag_every_thread", 11)] {
            let (data, out) = (run.card.uninitialised(4 * 1024), run.card.uninitialised(4 * 1024));
            let flags = run.card.upload(&[0u32; 256]);
            run.launch(kernel, BLOCKS, &[data, flags, out]);
            let of = |i: u32| if i < 256 { 0 } else { factor * (i % 256) + i / 256 };
            run.is(kernel, out, &(0..total).map(of).collect::<Vec<_>>());
        }

        let (sums, turn) = (run.card.upload(&(0..256).collect::<Vec<u32>>()), run.card.upload(&[0u32]));
        run.launch("flag_chain", 8, &[sums, turn]);
        let of = |i: u32| (0..8).fold(i, |x, block| x * 3 + block);
        run.is("flag_chain", sums, &(0..256).map(of).collect::<Vec<_>>());
    });
}

#[test]
fn a_flag_from_the_last_block() {
    on_every_card(|run| {
        let (data, out) = (run.card.uninitialised(1024), run.card.uninitialised(1024));
        let flag = run.card.upload(&[0u32]);
        run.launch("flag_from_the_last_block", 64, &[data, flag, out]);
        run.is("flag_from_the_last_block", out, &(0..256).map(|i| 13 * i).collect::<Vec<u32>>());
    });
}

#[test]
fn scans() {
    on_every_card(|run| {
        let values = numbers(8 * 256);
        let input = run.card.upload(&values);
        for kernel in ["scan_block", "scan_shuffles", "scan_tree"] {
            let out = run.card.uninitialised(4 * values.len());
            run.launch(kernel, 8, &[input, out]);
            run.is(kernel, out, &scanned(&values, 256));
        }
    });
}

#[test]
fn scans_of_one_pass() {
    on_every_card(|run| {
        let values = numbers(24 * 256);
        let all = scanned(&values, values.len());
        let input = run.card.upload(&values);
        let (out, ticket) = (run.card.uninitialised(4 * values.len()), run.card.upload(&[0u32]));
        let states = run.card.upload(&[0u64; 24]);
        run.launch("scan_look_back", 24, &[input, out, states, ticket]);
        run.is("scan_look_back", out, &all);

        let (out, ticket) = (run.card.uninitialised(4 * values.len()), run.card.upload(&[0u32]));
        let (sums, flags) = (run.card.uninitialised(4 * 24), run.card.upload(&[0u32; 24]));
        run.launch("scan_look_back_with_fences", 24, &[input, out, sums, flags, ticket]);
        run.is("scan_look_back_with_fences", out, &all);
    });
}

#[test]
fn reductions_and_votes() {
    on_every_card(|run| {
        let values = numbers(1024);
        let input = run.card.upload(&values);
        let out = run.card.upload(&[0u32]);
        run.launch("reduce_shuffles", 2, &[input, out, N as u64]);
        run.is("reduce_shuffles", out, &[sum(&values[..N])]);

        let out = run.card.uninitialised(16);
        run.launch("reduce_shared", BLOCKS, &[input, out]);
        run.is("reduce_shared", out, &values.chunks(256).map(sum).collect::<Vec<_>>());

        let (out, count) = (run.card.upload(&[0u32; N]), run.card.upload(&[0u32]));
        run.launch("compact_by_ballot", BLOCKS, &[input, out, count, N as u64]);
        let mut odd: Vec<u32> = values[..N].iter().copied().filter(|x| x % 2 == 1).collect();
        run.is("compact_by_ballot", count, &[odd.len() as u32]);
        // The warps take their room in any order.
        let mut kept = run.card.download::<u32>(out, odd.len());
        kept.sort_unstable();
        odd.sort_unstable();
        let (sorted, name) = (run.card.upload(&kept), "compact_by_ballot");
        run.is(name, sorted, &odd);

        for limit in [0, values.iter().max().unwrap() - 1, u32::MAX] {
            let out = run.card.uninitialised(16);
            run.launch("votes", BLOCKS, &[input, out, u64::from(limit)]);
            let vote = |block: &[u32]| {
                u32::from(block.iter().all(|&x| x > limit)) + 2 * u32::from(block.iter().any(|&x| x > limit))
            };
            run.is("votes", out, &values.chunks(256).map(vote).collect::<Vec<_>>());
        }

        let (sums, ticket, out) = (run.card.uninitialised(16), run.card.upload(&[0u32]), run.card.uninitialised(4));
        for _ in 0..2 {
            run.launch("last_block", BLOCKS, &[input, sums, ticket, out, N as u64]);
            run.is("last_block", out, &[sum(&values[..N])]);
        }
    });
}

#[test]
fn tiles() {
    on_every_card(|run| {
        let n = 32;
        let (a, b) = (numbers(n * n), numbers(2 * n * n)[n * n..].to_vec());
        let (left, right, out) = (run.card.upload(&a), run.card.upload(&b), run.card.uninitialised(4 * n * n));
        let cells = || (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        run.launch("tile_transpose", 4, &[left, out, n as u64]);
        run.is("tile_transpose", out, &cells().map(|(row, column)| a[column * n + row]).collect::<Vec<_>>());
        run.launch("tile_product", 4, &[left, right, out, n as u64]);
        let product = |(row, column): (usize, usize)| {
            (0..n).fold(0u32, |sum, k| sum.wrapping_add(a[row * n + k].wrapping_mul(b[k * n + column])))
        };
        run.is("tile_product", out, &cells().map(product).collect::<Vec<_>>());

        let values = numbers(1024);
        let (input, out) = (run.card.upload(&values), run.card.uninitialised(4 * 1024));
        run.launch("tile_stencil", BLOCKS, &[run.card.upload(&values[..N]), out, N as u64]);
        let around = |i: usize| sum(&values[i.saturating_sub(2)..(i + 3).min(N)]);
        run.is("tile_stencil", out, &(0..N).map(around).collect::<Vec<_>>());
        run.launch("tile_of_eight", BLOCKS, &[input, out]);
        let eight = |tile: &[u32]| sum(tile).wrapping_mul(2).wrapping_add(tile[0]);
        run.is("tile_of_eight", out, &values.chunks(8).map(eight).collect::<Vec<_>>());
        run.launch("tile_of_warp", BLOCKS, &[input, out]);
        run.is("tile_of_warp", out, &(0..1024).map(|i| values[i ^ 31]).collect::<Vec<_>>());
    });
}

#[test]
fn returns_before_a_barrier() {
    on_every_card(|run| {
        let values = numbers(1024);
        let input = run.card.upload(&values);
        for kernel in ["no_return_before_barrier", "return_before_barrier"] {
            // Whole warps are left out, and then a part of one.
            for n in [704, N] {
                let out = run.card.uninitialised(4 * n);
                run.launch(kernel, BLOCKS, &[input, out, n as u64]);
                let expected: Vec<u32> =
                    values[..n].chunks(256).flat_map(|block| block.iter().rev()).copied().collect();
                run.is(kernel, out, &expected);
            }
        }
    });
}
