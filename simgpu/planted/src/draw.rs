//! Draws programs without a fault from patterns that kernels are made of.

use crate::program::{Access, Arguments, Element, Guard, Index, Kind, Map, Program, Space, Step};
use rand::Rng;
use rand::seq::IndexedRandom;

/// Draws a permutation of a block's threads.
pub fn map(rng: &mut impl Rng, threads: u32) -> Map {
    let power = threads.is_power_of_two();
    match rng.random_range(0..6) {
        0 => Map::Same,
        1 => Map::Reversed,
        2 => Map::Rotated(rng.random_range(1..threads)),
        3 => Map::Strided(*[7, 11, 13, 17].choose(rng).expect("some")),
        4 if power => Map::Swapped(1 << rng.random_range(0..threads.ilog2())),
        _ => Map::Transposed(*[2, 4, 8, 16].choose(rng).expect("some")),
    }
}

fn access(kind: Kind, space: Space, index: Index, guard: Guard) -> Step {
    Step::Access(Access { kind, space, index, guard, width: 1 })
}

struct Drawing<'a, R> {
    rng: &'a mut R,
    threads: u32,
    steps: Vec<Step>,
}

impl<R: Rng> Drawing<'_, R> {
    fn all(&mut self, kind: Kind, space: Space, index: Index) {
        self.steps.push(access(kind, space, index, Guard::Always));
    }

    fn map(&mut self) -> Map {
        map(self.rng, self.threads)
    }

    fn barrier(&mut self) {
        self.steps.push(Step::Barrier);
    }

    /// Each thread stores an element and loads another's.
    fn exchange(&mut self, space: Space) {
        let pitch = if space == Space::Shared { 0 } else { i64::from(self.threads) };
        let at = |map| Index { pitch, ..Index::of(map) };
        let (store, load) = (self.map(), self.map());
        self.all(Kind::Store, space, at(store));
        self.barrier();
        self.all(Kind::Load, space, at(load));
        self.barrier();
    }

    /// A thread's own elements of the scratch buffer, without a barrier.
    fn own(&mut self) {
        let index = Index { pitch: i64::from(self.threads), ..Index::of(self.map()) };
        self.all(Kind::Store, Space::Scratch, index);
        self.all(Kind::Load, Space::Scratch, index);
        self.barrier();
    }

    fn tree(&mut self) {
        let half = self.threads.next_power_of_two() / 2;
        self.all(Kind::Store, Space::Shared, Index::of(Map::Same));
        self.barrier();
        // The elements from `threads` to the next power of two do not exist.
        let rest = Guard::Below(self.threads - half);
        if !self.threads.is_power_of_two() {
            self.steps.push(access(
                Kind::Load,
                Space::Shared,
                Index { base: i64::from(half), ..Index::of(Map::Same) },
                rest,
            ));
            self.barrier();
            self.all(Kind::Store, Space::Shared, Index::of(Map::Same));
            self.barrier();
        }
        let (half, guard) = (half / if self.threads.is_power_of_two() { 1 } else { 2 }, |h| Guard::Halved(h));
        let other = Index { halving: i64::from(half), ..Index::of(Map::Same) };
        let body = vec![
            access(Kind::Load, Space::Shared, other, guard(half)),
            Step::Barrier,
            access(Kind::Store, Space::Shared, Index::of(Map::Same), guard(half)),
            Step::Barrier,
        ];
        self.steps.push(Step::Loop(half.ilog2() + 1, body));
        let first = Index { scale: 0, ..Index::of(Map::Same) };
        self.all(Kind::Load, Space::Shared, first);
        self.barrier();
    }

    /// Several elements a thread, a block's width apart.
    fn several(&mut self, times: u32) {
        let threads = i64::from(self.threads);
        let maps = [self.map(), self.map()];
        let [store, load] = maps.map(|map| Index { hop: threads, ..Index::of(map) });
        self.steps.push(Step::Loop(times, vec![access(Kind::Store, Space::Shared, store, Guard::Always)]));
        self.barrier();
        self.steps.push(Step::Loop(times, vec![access(Kind::Load, Space::Shared, load, Guard::Always)]));
        self.barrier();
    }

    /// Two halves of shared memory in turns, with one barrier a turn.
    fn two_buffers(&mut self, times: u32) {
        let parity = i64::from(self.threads);
        let maps = [self.map(), self.map()];
        let [store, load] = maps.map(|map| Index { parity, ..Index::of(map) });
        let body = vec![
            access(Kind::Store, Space::Shared, store, Guard::Always),
            Step::Barrier,
            access(Kind::Load, Space::Shared, load, Guard::Always),
        ];
        self.steps.push(Step::Loop(times, body));
        self.barrier();
    }

    /// Wide stores with single loads, or the other way around.
    fn wide(&mut self, width: u32) {
        let (one, wide) = (self.map(), self.map());
        let wide = Index { scale: i64::from(width), ..Index::of(wide) };
        let step = |kind| Step::Access(Access { kind, space: Space::Shared, index: wide, guard: Guard::Always, width });
        if self.rng.random_bool(0.5) {
            self.steps.push(step(Kind::Store));
            self.barrier();
            let base = self.rng.random_range(0..width) as i64;
            self.all(Kind::Load, Space::Shared, Index { scale: i64::from(width), base, ..Index::of(one) });
        } else {
            let single = Index { hop: i64::from(self.threads), ..Index::of(one) };
            self.steps.push(Step::Loop(width, vec![access(Kind::Store, Space::Shared, single, Guard::Always)]));
            self.barrier();
            self.steps.push(step(Kind::Load));
        }
        self.barrier();
    }

    fn input(&mut self) {
        let index = Index { pitch: i64::from(self.threads), ..Index::of(Map::Same) };
        self.steps.push(access(Kind::Load, Space::Input, index, Guard::InGrid(0)));
    }

    fn count(&mut self) {
        let scale = i64::from(self.rng.random_bool(0.5));
        let base = if scale == 0 { self.rng.random_range(0..8) } else { 0 };
        let index = Index { scale, base, ..Index::of(self.map()) };
        self.all(Kind::AtomicAdd, Space::Counters, index);
    }
}

/// Draws a program. None of its launches with [`clean`]'s arguments has a fault.
pub fn program(rng: &mut impl Rng) -> Program {
    let threads = *[32, 64, 96, 128, 160, 192, 256].choose(rng).expect("some");
    let blocks = rng.random_range(1..=3);
    let element = *Element::ALL.choose(rng).expect("some");
    let mut drawing = Drawing { rng, threads, steps: Vec::new() };
    drawing.input();
    for _ in 0..drawing.rng.random_range(1..=3) {
        match drawing.rng.random_range(0..9) {
            0 | 1 => drawing.exchange(Space::Shared),
            2 => drawing.exchange(Space::Scratch),
            3 => drawing.own(),
            4 => drawing.tree(),
            5 => {
                let times = drawing.rng.random_range(2..=4);
                drawing.several(times);
            }
            6 => {
                let times = drawing.rng.random_range(2..=5);
                drawing.two_buffers(times);
            }
            7 => {
                let width = if element == Element::U64 || drawing.rng.random_bool(0.5) { 2 } else { 4 };
                drawing.wide(width);
            }
            _ => drawing.count(),
        }
    }
    let index = Index { pitch: i64::from(threads), ..Index::of(Map::Same) };
    drawing.steps.push(access(Kind::Store, Space::Output, index, Guard::InGrid(0)));
    let steps = drawing.steps;
    let all = i64::from(threads * blocks);
    let count = all - rng.random_range(0..i64::from(threads));
    Program {
        element,
        threads,
        blocks,
        shared: 4 * i64::from(threads),
        lengths: [count, all, i64::from(threads), count],
        steps,
    }
}

/// Returns the arguments with which a program has no fault.
pub fn clean(program: &Program) -> Arguments {
    Arguments { count: program.len(Space::Input), shift: 0, chosen: -1 }
}

/// Draws the arguments of a program's launches, [`clean`]'s first.
pub fn arguments(rng: &mut impl Rng, program: &Program, count: usize) -> Vec<Arguments> {
    let base = clean(program);
    let threads = i64::from(program.threads);
    let mut all = vec![base];
    while all.len() < count {
        let shift = match rng.random_range(0..8) {
            0 | 1 => 0,
            2 => 1,
            3 => -1,
            4 => threads,
            5 => -threads,
            6 => rng.random_range(-2 * threads..2 * threads),
            _ => rng.random_range(-1 << 20..1 << 20),
        };
        let chosen = *[-1, 0, threads - 1, rng.random_range(0..threads)].choose(rng).expect("some");
        all.push(Arguments { count: base.count - rng.random_range(0..2), shift, chosen });
    }
    all
}
