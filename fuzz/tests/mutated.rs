//! Small random changes of the committed inputs, the same in every run: a short search without
//! instrumentation, which finds what a careless change of a parser breaks.

use isobit_fuzz::{SECONDS, TARGETS, Target};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Changed inputs of each target.
const BRIEF: u64 = 2000;
/// The same in the long tests.
const LONG: u64 = 100_000;

/// A generator of numbers, the same in every run.
struct Numbers(SplitMix64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }
}

/// Numbers at which lengths and offsets go wrong.
const EDGES: [u64; 10] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX >> 1, u64::MAX];

/// Changes an input in one to four places.
fn change(numbers: &mut Numbers, data: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(data.len() + 1);
        let length = numbers.below(16).min(data.len() - at);
        match numbers.below(7) {
            0 if at < data.len() => data[at] ^= 1 << numbers.below(8),
            1 => drop(data.drain(at..at + length)),
            2 => data.truncate(at),
            3 => {
                let part = data[at..at + length].to_vec();
                let to = numbers.below(data.len() + 1);
                data.splice(to..to, part);
            }
            4 => {
                let from = numbers.below(other.len() + 1);
                let part = other[from..(from + length).min(other.len())].to_vec();
                data.splice(at..at, part);
            }
            5 => {
                // A number in the text becomes another.
                let digits = data[at..].iter().position(u8::is_ascii_digit).map(|digit| at + digit);
                if let Some(digit) = digits {
                    let end = data[digit..].iter().position(|byte| !byte.is_ascii_digit());
                    let end = end.map_or(data.len(), |end| digit + end);
                    let edge = EDGES[numbers.below(EDGES.len())].to_string();
                    data.splice(digit..end, edge.into_bytes());
                }
            }
            _ => {
                let edge = EDGES[numbers.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][numbers.below(4)].min(data.len() - at);
                data[at..at + width].copy_from_slice(&edge[..width]);
            }
        }
    }
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries = std::fs::read_dir(&folder).expect("every target has a corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a committed file").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("a committed file")).collect()
}

fn search(times: u64) {
    let mut broken = Vec::new();
    for target in TARGETS {
        let inputs = corpus(target);
        for seed in 0..times {
            let mut numbers = Numbers(SplitMix64::seed_from_u64(seed));
            let mut data = inputs[numbers.below(inputs.len())].clone();
            let other = &inputs[numbers.below(inputs.len())];
            change(&mut numbers, &mut data, other);
            let start = Instant::now();
            let panicked = catch_unwind(AssertUnwindSafe(|| (target.run)(&data))).is_err();
            let took = start.elapsed();
            if panicked || took > Duration::from_secs(SECONDS) {
                let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{seed}", target.name));
                std::fs::write(&file, &data).expect("cargo's folder can be written");
                broken.push(format!("{} ({took:?})", file.display()));
            }
        }
        eprintln!("{}: {times} inputs", target.name);
    }
    assert!(broken.is_empty(), "these inputs break a target; copy them to fuzz/regressions:\n{}", broken.join("\n"));
}

#[test]
fn every_target_survives_small_changes() {
    search(BRIEF);
}

#[test]
#[ignore = "takes minutes: cargo xtask test --full"]
fn every_target_survives_many_small_changes() {
    search(LONG);
}
