//! What is wrong with a launch, by evaluating every access of every thread on the host: which kinds
//! of finding it must give, which it may give, and the result if nothing is wrong. Nothing here
//! comes from the simulators.

use crate::program::{Access, Arguments, Kind, Place, Program, Space, Step};
use isobit_simgpu_core::finding::FindingKind;
use std::collections::{BTreeMap, BTreeSet};

/// Where the buffers in global memory are, and what the card rounds.
pub struct Card<'a> {
    /// The number of threads that run in step.
    pub wave: u32,
    /// The bytes of which the size of shared memory is a multiple.
    pub shared_unit: u64,
    /// Whether the card refuses every misaligned access.
    pub aligned: bool,
    /// The address of each buffer, in the order of [`Space::GLOBAL`].
    pub at: [u64; Space::GLOBAL.len()],
    /// Whether anything is allocated at an address: a buffer, or what the card itself keeps there.
    pub is_live: &'a dyn Fn(u64) -> bool,
}

/// The bytes of which the size of an allocation in global memory is a multiple.
const GLOBAL_UNIT: u64 = 256;

/// The verdict on a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The kinds that a complete check finds.
    pub must: BTreeSet<FindingKind>,
    /// The kinds that depend on the order of threads, or on what else lies in memory.
    pub may: BTreeSet<FindingKind>,
    /// Whether an access lands in another allocation, which no check of addresses can tell.
    pub elsewhere: bool,
    /// The elements of the output, if `must` and `may` are empty; `None` for those never written.
    pub output: Vec<Option<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Read,
    Write,
    Atomic,
}

/// Who accessed an element: the block, the interval between two barriers, the wave, and how.
type Seen = (u32, u32, u32, Class);

/// The space, the block if it is that block's shared memory, and the position.
type Element = (Space, u32, i64);

#[derive(Default)]
struct Cell {
    seen: BTreeSet<Seen>,
    value: u64,
    /// The last plain store of a wave: block, wave, instance of the step, and value.
    last: Option<(u32, u32, u32, u64)>,
}

struct Run<'a> {
    program: &'a Program,
    arguments: &'a Arguments,
    card: &'a Card<'a>,
    cells: BTreeMap<Element, Cell>,
    /// The reads that no store is known to precede.
    unwritten: Vec<(Element, Seen)>,
    accumulators: Vec<u32>,
    block: u32,
    interval: u32,
    /// The number of steps executed so far.
    instance: u32,
    /// Whether lanes of one store gave an element the same value.
    agreed: bool,
    /// Whether an access is misaligned.
    misaligned: bool,
    verdict: Verdict,
}

/// The value that the host gives an element of the input.
pub fn input(program: &Program, i: i64) -> u64 {
    truncated(program, Space::Input, (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17)
}

fn truncated(program: &Program, space: Space, value: u64) -> u64 {
    let bytes = if space == Space::Counters { 4 } else { program.element.bytes() };
    if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

/// Evaluates a launch.
pub fn judge(program: &Program, arguments: &Arguments, card: &Card<'_>) -> Verdict {
    let mut run = Run {
        program,
        arguments,
        card,
        cells: BTreeMap::new(),
        unwritten: Vec::new(),
        agreed: false,
        misaligned: false,
        accumulators: Vec::new(),
        block: 0,
        interval: 0,
        instance: 0,
        verdict: Verdict::default(),
    };
    for block in 0..program.blocks {
        (run.block, run.interval) = (block, 0);
        run.accumulators = (0..program.threads).map(|t| block * program.threads + t).collect();
        run.steps(&program.steps, 0);
    }
    run.finish();
    let Run { cells, mut verdict, .. } = run;
    let may = std::mem::take(&mut verdict.may);
    verdict.may = may.difference(&verdict.must).copied().collect();
    if verdict.elsewhere {
        verdict.may = FindingKind::ALL.into_iter().filter(|kind| !verdict.must.contains(kind)).collect();
    }
    let written = |i| {
        let cell: &Cell = cells.get(&(Space::Output, 0, i))?;
        cell.seen.iter().any(|a| a.3 != Class::Read).then_some(cell.value)
    };
    verdict.output = (0..program.len(Space::Output)).map(written).collect();
    verdict
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step], turn: u32) {
        for step in steps {
            match step {
                Step::Barrier => self.interval += 1,
                Step::Loop(times, body) => (0..*times).for_each(|turn| self.steps(body, turn)),
                Step::Access(access) => {
                    self.instance += 1;
                    // All lanes load before the first one stores, as in an instruction of a wave.
                    for wave in 0..self.program.threads.div_ceil(self.card.wave) {
                        let first = wave * self.card.wave;
                        let threads = first..(first + self.card.wave).min(self.program.threads);
                        self.wave(access, wave, threads, turn);
                    }
                }
            }
        }
    }

    fn wave(&mut self, access: &Access, wave: u32, threads: std::ops::Range<u32>, turn: u32) {
        let (block, size) = (self.block, self.program.threads);
        let place = |thread| Place { thread, threads: size, block, turn };
        let active: Vec<u32> = threads.filter(|&t| access.guard.admits(&place(t), self.arguments)).collect();
        let elements = |t: u32| access.index.at(&place(t), self.arguments);
        let mut loaded = Vec::new();
        if matches!(access.kind, Kind::Load | Kind::PlainAdd) {
            for &t in &active {
                loaded.push(self.load(access, wave, elements(t)));
            }
        }
        for (lane, &t) in active.iter().enumerate() {
            let acc = self.accumulators[t as usize];
            let value = match access.kind {
                Kind::Load => {
                    self.accumulators[t as usize] = acc.wrapping_mul(3).wrapping_add(loaded[lane] as u32);
                    continue;
                }
                Kind::Store => u64::from(acc.wrapping_mul(5).wrapping_add(t).wrapping_add(1)),
                Kind::AtomicAdd => u64::from(acc % 97),
                Kind::PlainAdd => loaded[lane].wrapping_add(u64::from(acc % 97)),
            };
            self.store(access, wave, elements(t), value);
        }
    }

    fn must(&mut self, kind: FindingKind) {
        self.verdict.must.insert(kind);
    }

    /// Returns the elements of an access that lie in its buffer, and judges the others.
    fn inside(&mut self, access: &Access, first: i64, is_load: bool) -> std::ops::Range<i64> {
        let (space, width) = (access.space, i64::from(access.width));
        let length = self.program.len(space);
        let bytes = if space == Space::Counters { 4 } else { self.program.element.bytes() };
        // The alignment of an access that is outside as a whole says nothing more.
        let outside = first + width <= 0 || first >= length;
        if width > 1 && first.rem_euclid(width) != 0 && !outside {
            self.misaligned = true;
        }
        if first < 0 || first + width > length {
            let unit = if space == Space::Shared { self.card.shared_unit } else { GLOBAL_UNIT };
            let rounded = (length as u64 * bytes).next_multiple_of(unit) as i64;
            let over = is_load && (0..length).contains(&first) && (first + width) * bytes as i64 <= rounded;
            if over {
                self.must(FindingKind::OverRead);
            } else if self.lands_elsewhere(space, first, width, bytes) {
                self.verdict.elsewhere = true;
            } else {
                self.must(FindingKind::OutOfBounds);
            }
        }
        let inside = first.clamp(0, length)..(first + width).clamp(0, length);
        // An atomic is made as a whole or not at all.
        if access.kind == Kind::AtomicAdd && inside.end - inside.start < width { 0..0 } else { inside }
    }

    /// Whether a byte of an access outside its buffer belongs to another allocation.
    fn lands_elsewhere(&self, space: Space, first: i64, width: i64, bytes: u64) -> bool {
        let Some(own) = Space::GLOBAL.iter().position(|&s| s == space) else { return false };
        let at = |element: i64| self.card.at[own].wrapping_add_signed(element * bytes as i64);
        let outside = (first..first + width).filter(|element| !(0..self.program.len(space)).contains(element));
        outside.into_iter().any(|element| (self.card.is_live)(at(element)))
    }

    fn cell(&mut self, space: Space, element: i64) -> &mut Cell {
        let block = if space == Space::Shared { self.block } else { 0 };
        let start = match space {
            Space::Input => input(self.program, element),
            _ => 0,
        };
        self.cells.entry((space, block, element)).or_insert_with(|| Cell { value: start, ..Cell::default() })
    }

    fn load(&mut self, access: &Access, wave: u32, first: i64) -> u64 {
        let mut sum = 0u64;
        let (space, block, interval) = (access.space, self.block, self.interval);
        for element in self.inside(access, first, true) {
            let cell = self.cell(space, element);
            let before = |a: &Seen| a.0 == block && (a.1 < interval || a.2 == wave) && a.3 != Class::Read;
            let written = cell.seen.iter().any(before);
            cell.seen.insert((block, interval, wave, Class::Read));
            sum = sum.wrapping_add(cell.value);
            if !written && !matches!(space, Space::Input | Space::Counters) {
                let of = if space == Space::Shared { block } else { 0 };
                self.unwritten.push(((space, of, element), (block, interval, wave, Class::Read)));
            }
        }
        sum
    }

    fn store(&mut self, access: &Access, wave: u32, first: i64, value: u64) {
        let class = if access.kind == Kind::AtomicAdd { Class::Atomic } else { Class::Write };
        let (block, interval, instance) = (self.block, self.interval, self.instance);
        let value = truncated(self.program, access.space, value);
        for element in self.inside(access, first, false) {
            let program = self.program;
            let cell = self.cell(access.space, element);
            cell.seen.insert((block, interval, wave, class));
            if class == Class::Atomic {
                cell.value = truncated(program, access.space, cell.value.wrapping_add(value));
                continue;
            }
            let last = cell.last.filter(|l| (l.0, l.1, l.2) == (block, wave, instance)).map(|l| l.3);
            (cell.value, cell.last) = (value, Some((block, wave, instance, value)));
            match last {
                Some(other) if other != value => self.must(FindingKind::Race),
                Some(_) => self.agreed = true,
                None => {}
            }
        }
    }

    /// Judges what depends on all accesses of an element.
    fn finish(&mut self) {
        let races = |cell: &Cell| cell.seen.iter().any(|a| cell.seen.iter().any(|b| conflict(a, b)));
        if self.cells.values().any(races) {
            self.must(FindingKind::Race);
        }
        for (element, read) in std::mem::take(&mut self.unwritten) {
            // A store that nothing orders may come first; the two race.
            let perhaps = self.cells[&element].seen.iter().any(|a| a.3 != Class::Read && unordered(a, &read));
            match perhaps {
                true => _ = self.verdict.may.insert(FindingKind::UninitialisedRead),
                false => self.must(FindingKind::UninitialisedRead),
            }
        }
        // With another fault, the values may be others than those evaluated here.
        if self.agreed && !self.verdict.must.is_empty() {
            self.verdict.may.insert(FindingKind::Race);
        }
        // Whether a misaligned access is made, whole or in parts, is the card's choice, and with it
        // everything else.
        if self.misaligned {
            self.verdict.must.clear();
            self.verdict.may = FindingKind::ALL.into();
            if self.card.aligned {
                self.must(FindingKind::Misaligned);
            }
        }
    }
}

fn unordered(a: &Seen, b: &Seen) -> bool {
    a.0 != b.0 || (a.1 == b.1 && a.2 != b.2)
}

fn conflict(a: &Seen, b: &Seen) -> bool {
    let breaks = |x: &Seen, y: &Seen| x.3 == Class::Write || (x.3 == Class::Atomic && y.3 == Class::Read);
    unordered(a, b) && (breaks(a, b) || breaks(b, a))
}
