//! Plants a fault in a program: one change, as it is made by mistake. Whether it is a fault, of
//! which kind, and with which arguments, is the oracle's verdict.

use crate::draw;
use crate::program::{Access, Argument, Guard, Kind, Program, Space, Step};
use rand::Rng;
use rand::seq::IndexedRandom;
use serde::Serialize;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Plant {
    /// A barrier is missing.
    BarrierMissing,
    /// A barrier comes a step later.
    BarrierLate,
    /// An access uses another permutation of the threads.
    OtherMap,
    /// All threads access the element of the first one.
    SameElement,
    /// The elements of two blocks overlap.
    BlocksOverlap,
    /// An index is off by one, or by a few.
    OffByFew,
    /// An argument is added to an index.
    ArgumentAdded,
    /// One thread, which an argument names, does not take part.
    OneThreadLess,
    /// The last thread does not take part.
    LastThreadLess,
    /// One thread too many takes part.
    OneThreadMore,
    /// The bounds are not checked.
    NoGuard,
    /// A store is missing.
    StoreMissing,
    /// A sum is not atomic.
    NotAtomic,
    /// An access is wider.
    Wider,
    /// The buffer of an access is an element shorter.
    Shorter,
    /// A loop has a turn more.
    TurnMore,
}

impl Plant {
    /// Every kind of change.
    pub const ALL: [Self; 16] = [
        Self::BarrierMissing,
        Self::BarrierLate,
        Self::OtherMap,
        Self::SameElement,
        Self::BlocksOverlap,
        Self::OffByFew,
        Self::ArgumentAdded,
        Self::OneThreadLess,
        Self::LastThreadLess,
        Self::OneThreadMore,
        Self::NoGuard,
        Self::StoreMissing,
        Self::NotAtomic,
        Self::Wider,
        Self::Shorter,
        Self::TurnMore,
    ];
}

/// The path to a step: positions in the lists that contain it.
type Path = Vec<usize>;

fn paths(steps: &[Step], wanted: &impl Fn(&Step) -> bool, at: &mut Path, found: &mut Vec<Path>) {
    for (i, step) in steps.iter().enumerate() {
        at.push(i);
        if wanted(step) {
            found.push(at.clone());
        }
        if let Step::Loop(_, body) = step {
            paths(body, wanted, at, found);
        }
        at.pop();
    }
}

/// Returns the list that contains a step, and its position there.
fn list<'a>(steps: &'a mut Vec<Step>, path: &[usize]) -> (&'a mut Vec<Step>, usize) {
    match path {
        [i] => (steps, *i),
        [i, rest @ ..] => match &mut steps[*i] {
            Step::Loop(_, body) => list(body, rest),
            other => unreachable!("{other:?} contains no steps"),
        },
        [] => unreachable!("a path has a position"),
    }
}

/// Returns the program with a change of the kind, or `None` if it has no place for one.
pub fn plant(rng: &mut impl Rng, program: &Program, plant: Plant) -> Option<Program> {
    let mut changed = program.clone();
    let suits = |step: &Step| match (plant, step) {
        (Plant::BarrierMissing | Plant::BarrierLate, step) => *step == Step::Barrier,
        (Plant::TurnMore, step) => matches!(step, Step::Loop(..)),
        (_, Step::Access(access)) => suits(plant, access),
        _ => false,
    };
    let mut found = Vec::new();
    paths(&program.steps, &suits, &mut Vec::new(), &mut found);
    let (steps, i) = list(&mut changed.steps, found.choose(rng)?);
    match plant {
        Plant::BarrierMissing | Plant::StoreMissing => _ = steps.remove(i),
        Plant::BarrierLate => steps.get(i + 1).is_some().then(|| steps.swap(i, i + 1))?,
        _ => match &mut steps[i] {
            Step::Loop(times, _) => *times += 1,
            Step::Access(access) => {
                let access = change(rng, plant, access, program);
                if plant == Plant::Shorter {
                    match Space::GLOBAL.iter().position(|&s| s == access) {
                        Some(space) => changed.lengths[space] -= 1,
                        None => changed.shared = i64::from(program.threads) - 1,
                    }
                }
            }
            Step::Barrier => unreachable!("barriers are removed or moved"),
        },
    }
    (changed != *program).then_some(changed)
}

fn suits(plant: Plant, access: &Access) -> bool {
    let written = matches!(access.space, Space::Shared | Space::Scratch);
    match plant {
        Plant::SameElement => access.index.scale != 0 && access.kind != Kind::Load,
        Plant::BlocksOverlap => access.index.pitch != 0,
        Plant::OneThreadLess | Plant::LastThreadLess | Plant::StoreMissing => access.kind == Kind::Store && written,
        Plant::OneThreadMore | Plant::NoGuard => access.guard != Guard::Always,
        Plant::NotAtomic => access.kind == Kind::AtomicAdd,
        Plant::Wider => access.width == 1 && matches!(access.kind, Kind::Load | Kind::Store),
        _ => true,
    }
}

/// Changes an access, and returns its space.
fn change(rng: &mut impl Rng, plant: Plant, access: &mut Access, program: &Program) -> Space {
    let threads = i64::from(program.threads);
    let index = &mut access.index;
    match plant {
        Plant::OtherMap => index.map = draw::map(rng, program.threads),
        Plant::SameElement => index.scale = 0,
        Plant::BlocksOverlap => index.pitch = *[0, threads - 1, threads / 2].choose(rng).expect("some"),
        Plant::OffByFew => index.base += *[1, -1, 2, 3, threads, -threads, 4 * threads].choose(rng).expect("some"),
        Plant::ArgumentAdded => index.argument = Some(Argument::Shift),
        Plant::OneThreadLess => access.guard = Guard::Others,
        Plant::LastThreadLess => access.guard = Guard::Below(program.threads - 1),
        Plant::OneThreadMore => {
            access.guard = match access.guard {
                Guard::Below(k) => Guard::Below(k + 1),
                Guard::Halved(k) => Guard::Halved(k + 1),
                _ => Guard::InGrid(1),
            }
        }
        Plant::NoGuard => access.guard = Guard::Always,
        Plant::NotAtomic => access.kind = Kind::PlainAdd,
        Plant::Wider => {
            access.width = if program.element.bytes() == 8 { 2 } else { *[2, 4].choose(rng).expect("some") }
        }
        _ => {}
    }
    access.space
}
