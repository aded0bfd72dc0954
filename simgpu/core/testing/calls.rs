//! Tests of function pointers, virtual calls and recursion that both vendors have: the results
//! equal those of the same algorithms on the host. What includes this file has `Card`,
//! `on_every_card` and the kernels of `calls.h`.

use super::{Card, on_every_card};

/// Threads of a block: several warps or waves, the last of which is not full.
pub const THREADS: u32 = 100;

/// Runs a kernel whose first argument is an array of `count` words per thread.
pub fn words(card: &Card, kernel: &str, count: usize, rest: &[u64]) -> Vec<u32> {
    let all = THREADS as usize * count;
    let out = card.uninitialised(4 * all);
    let args = [&[out], rest].concat();
    let found = card.findings(kernel, 1, THREADS, &args);
    assert_eq!(found, [], "{kernel} on {}", card.gpu.arch().name());
    card.download(out, all)
}

pub fn of_threads<const N: usize>(value: impl Fn(u32) -> [u32; N]) -> Vec<u32> {
    (0..THREADS).flat_map(value).collect()
}

fn triple(x: u32) -> u32 {
    3 * x + 1
}

fn flip(x: u32) -> u32 {
    x ^ 0x55
}

fn shift(x: u32) -> u32 {
    x + 100
}

#[test]
fn tables_of_functions() {
    let [constants, variables] = [[triple, flip, shift], [shift, triple, flip]] as [[fn(u32) -> u32; 3]; 2];
    let expected = of_threads(|i| [constants[i as usize % 3](i) + 1000 * variables[i as usize / 3 % 3](i)]);
    on_every_card(|card| assert_eq!(words(card, "tables", 1, &[]), expected));
}

#[test]
fn pointers_that_another_kernel_stores() {
    on_every_card(|card| {
        let pointer = card.uninitialised(8);
        for (which, function) in [(0, triple as fn(u32) -> u32), (1, flip)] {
            assert_eq!(card.findings("store_pointer", 1, 1, &[pointer, which]), []);
            assert_eq!(words(card, "call_pointer", 1, &[pointer]), of_threads(|i| [function(i)]));
        }
    });
}

#[test]
fn virtual_calls() {
    on_every_card(|card| {
        let n = THREADS as usize;
        let [areas, kinds, memory] = [4 * n, 4 * n, 32 * n].map(|bytes| card.uninitialised(bytes));
        assert_eq!(card.findings("shapes", 1, THREADS, &[areas, kinds, memory]), []);
        let other = |i: u32| i ^ 1;
        let area = |i: u32| if i.is_multiple_of(3) { (i * i) as f32 } else { (2 * i) as f32 };
        let kind = |i: u32| if i.is_multiple_of(3) { 1 } else { 7 };
        assert_eq!(card.download::<f32>(areas, n), (0..THREADS).map(|i| area(other(i))).collect::<Vec<_>>());
        assert_eq!(card.download::<u32>(kinds, n), of_threads(|i| [kind(other(i))]));
    });
}

fn fibonacci(n: u32) -> u32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn even(n: u32) -> u32 {
    if n == 0 { 1 } else { odd(n - 1) * 3 + n }
}

fn odd(n: u32) -> u32 {
    if n == 0 { 0 } else { even(n - 1) * 5 + n }
}

#[test]
fn recursion_of_one_function_and_of_two() {
    let expected = of_threads(|i| [fibonacci(i % 12), ackermann(i % 3, i % 4), even(i % 9)]);
    on_every_card(|card| assert_eq!(words(card, "recursion", 3, &[]), expected));
}

/// A number that depends on `i` in no simple way.
fn mixed(i: u32) -> u32 {
    (i.wrapping_mul(2_654_435_761) >> 7) % 1000
}

#[test]
fn quicksort_of_arrays_on_the_stack() {
    let values: Vec<u32> = (0..16 * THREADS).map(mixed).collect();
    let mut expected = values.clone();
    expected.chunks_mut(16).for_each(<[u32]>::sort_unstable);
    on_every_card(|card| {
        let at = card.upload(&values);
        assert_eq!(card.findings("sort", 1, THREADS, &[at]), []);
        assert_eq!(card.download::<u32>(at, values.len()), expected);
    });
}

fn walk(tree: &[[u32; 3]], at: u32) -> u32 {
    let Some([left, right, value]) = tree.get(at as usize).filter(|_| at != 0) else { return 0 };
    let [left, right] = [left, right].map(|child| walk(tree, *child));
    left.wrapping_mul(31).wrapping_add(right.wrapping_mul(17)).wrapping_add(*value)
}

#[test]
fn walks_of_a_tree() {
    // An unbalanced search tree; the root is element 1.
    let mut tree = vec![[0, 0, 0], [0, 0, 500]];
    for value in (0..60).map(mixed) {
        let new = tree.len() as u32;
        let mut at = 1;
        loop {
            let side = usize::from(value >= tree[at][2]);
            match tree[at][side] {
                0 => break tree[at][side] = new,
                child => at = child as usize,
            }
        }
        tree.push([0, 0, value]);
    }
    let count = tree.len() as u32 - 1;
    let expected = of_threads(|i| [walk(&tree, 1 + i % count)]);
    on_every_card(|card| {
        let at = card.upload(tree.as_flattened());
        assert_eq!(words(card, "tree", 1, &[at, count.into()]), expected);
    });
}

fn turned(s: [u32; 6], depth: u32) -> [u32; 6] {
    if depth == 0 {
        return s;
    }
    let t = std::array::from_fn(|i| s[(i + 1) % 6] + depth);
    let below = turned(t, depth - 1);
    if below[0] & 1 != 0 { turned(t, depth / 2) } else { below }
}

fn doubled(a: [f32; 4], n: u32) -> [f32; 4] {
    if n == 0 {
        return a;
    }
    let deeper = doubled(a.map(|a| 2.0 * a + 1.0), n - 1);
    std::array::from_fn(|i| deeper[i] + a[i])
}

#[test]
fn structures_and_vectors_by_value() {
    on_every_card(|card| {
        let vectors = card.uninitialised(16 * THREADS as usize);
        let expected = of_threads(|i| turned([0, 1, 2, 3, 4, 5].map(|j| i + j), i % 5));
        assert_eq!(words(card, "values", 6, &[vectors]), expected);
        let expected: Vec<f32> = (0..THREADS).flat_map(|i| doubled([i as f32, 2.0, 3.0, 4.0], i % 5)).collect();
        assert_eq!(card.download::<f32>(vectors, expected.len()), expected);
    });
}

/// 128 bytes of stack for each call.
pub fn deep(n: u32, from: [u32; 32]) -> u32 {
    let own = from.map(|word| word + n);
    if n == 0 { own[3] } else { deep(n - 1, own) + own[n as usize % 32] }
}
