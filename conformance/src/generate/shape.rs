//! Draws shapes of rank 0 to 12, with sizes at and around the sizes of warps, tiles and vectors.

use super::Draw;
use proptest::prelude::*;
use proptest::sample::select;

/// Sizes around powers of two, and primes.
pub const EDGES: &[usize] = &[
    1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 37, 61, 63, 64, 65, 97, 127, 128, 129, 251, 255, 256, 257, 509,
    511, 512, 513, 1021, 1023, 1024, 1025, 2047, 2049, 4093, 4095, 4097, 8191, 16385, 32771,
];

/// Draws the largest number of elements of a case: mostly a few thousand, sometimes enough for
/// several blocks of threads.
pub fn budget(draw: &mut Draw) -> usize {
    draw.pick(prop_oneof![3 => Just(512usize), 5 => Just(4096), 2 => Just(9000), 1 => Just(40_000)])
}

/// Draws a shape with a rank of at least `min_rank`.
pub fn draw(draw: &mut Draw, min_rank: usize, budget: fn(&mut Draw) -> usize) -> Vec<usize> {
    let rank = draw.pick(prop_oneof![
        2 => Just(0usize), 8 => Just(1), 8 => Just(2), 8 => Just(3), 6 => Just(4), 2 => Just(5), 2 => Just(6),
        1 => MANY..=12usize
    ]);
    draw_rank(draw, rank.max(min_rank), budget)
}

/// The smallest rank that is greater than that of any kernel's walk.
pub const MANY: usize = 9;

/// Draws a shape of more dimensions than kernels walk. Each has two elements or three, so that none
/// can be dropped.
fn many(draw: &mut Draw, rank: usize) -> Vec<usize> {
    let mut dims = vec![2; rank];
    let larger = draw.pick(0..rank);
    if rank < 12 {
        dims[larger] = draw.pick(2..=3usize);
    }
    dims
}

/// Draws a shape of a given rank.
pub fn draw_rank(draw: &mut Draw, rank: usize, budget: fn(&mut Draw) -> usize) -> Vec<usize> {
    let mut left = budget(draw);
    if rank >= MANY {
        return many(draw, rank);
    }
    let mut dims = vec![1; rank];
    for i in draw.pick(Just((0..rank).collect::<Vec<_>>()).prop_shuffle()) {
        let edges: Vec<usize> = EDGES.iter().copied().filter(|&e| e <= left).collect();
        dims[i] = draw.pick(prop_oneof![
            5 => select(edges),
            2 => 1..=left.min(9),
            1 => 1..=left,
        ]);
        left /= dims[i];
    }
    if rank > 0 && draw.chance(4) {
        let i = draw.pick(0..rank);
        dims[i] = 0;
    }
    dims
}
