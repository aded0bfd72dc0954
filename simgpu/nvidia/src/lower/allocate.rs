//! Allocates rows to registers: registers that do not hold values at the same time share rows.

use super::liveness::Interval;
use crate::ptx::ast::{Kind, Register};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The locations of a function's registers.
#[derive(Debug, Default)]
pub struct Allocation {
    /// The first row of each register, or its predicate, by register number.
    pub places: Vec<u32>,
    /// Number of rows.
    pub rows: u32,
    /// Number of predicates.
    pub predicates: u32,
    /// Rows that some path reads before it writes them.
    pub undefined: Vec<u32>,
}

/// The register widths that have separate pools, with the rows that a register takes. In a row of
/// another width, the values of a lane are at other positions. Registers therefore share rows only
/// with registers of the same width: lanes that have moved on must not overwrite values that other
/// lanes still use.
const WIDTHS: [(u32, u32); 4] = [(16, 1), (32, 1), (64, 2), (128, 4)];
/// The pool of predicates follows those of the widths.
const PREDICATES: usize = WIDTHS.len();

/// The number of places that registers need, by pool.
pub type Made = [u32; PREDICATES + 1];

/// Registers with their places in the pools.
#[derive(Debug)]
pub struct Assigned {
    /// When registers hold values, by the start.
    pub intervals: Vec<Interval>,
    /// The place of each register in its pool, by register number.
    places: Vec<u32>,
    /// The size of the pools.
    pub made: Made,
}

/// Gives each register the lowest place of its width that is free while it holds a value. A result
/// never gets the row of a source, even at the last read of the source, because lowering can turn
/// an instruction into several steps.
pub fn assign(registers: &[Register], mut intervals: Vec<Interval>) -> Assigned {
    intervals.sort_by_key(|interval| interval.start);
    let mut pools: [Pool; PREDICATES + 1] = Default::default();
    let mut places = vec![0; registers.len()];
    for interval in &intervals {
        let register = interval.register.0 as usize;
        let pool = &mut pools[pool_of(&registers[register])];
        pool.release_before(interval.start);
        places[register] = pool.take(interval.end);
    }
    Assigned { intervals, places, made: pools.map(|pool| pool.made) }
}

impl Assigned {
    /// Turns places in pools of these sizes into rows and predicates, from the given first ones on.
    /// Functions that run in one warp at the same time must have the same pools, because registers
    /// of different widths cannot share rows.
    pub fn place(&self, registers: &[Register], made: &Made, rows: u32, predicates: u32) -> Allocation {
        let mut done = Allocation { places: self.places.clone(), rows, ..Allocation::default() };
        let mut first = [0; PREDICATES];
        for (width, (_, rows)) in WIDTHS.iter().enumerate() {
            first[width] = done.rows;
            done.rows += made[width] * rows;
        }
        done.predicates = predicates + made[PREDICATES];
        for interval in &self.intervals {
            let register = interval.register.0 as usize;
            let pool = pool_of(&registers[register]);
            let place = &mut done.places[register];
            if pool == PREDICATES {
                *place += predicates;
            } else {
                *place = first[pool] + *place * WIDTHS[pool].1;
                if interval.undefined {
                    done.undefined.extend(*place..*place + WIDTHS[pool].1);
                }
            }
        }
        done.undefined.sort_unstable();
        done.undefined.dedup();
        done
    }
}

/// Returns the bits of the places that a register takes; predicates have none.
pub fn bits(register: &Register) -> u32 {
    WIDTHS.get(pool_of(register)).map_or(0, |(bits, _)| *bits)
}

fn pool_of(register: &Register) -> usize {
    match register.ty.kind {
        Kind::Predicate => PREDICATES,
        _ => WIDTHS.iter().position(|(bits, _)| register.ty.bits <= *bits).unwrap_or(WIDTHS.len() - 1),
    }
}

/// The places of one width.
#[derive(Default)]
struct Pool {
    made: u32,
    free: BinaryHeap<Reverse<u32>>,
    /// Places in use, by the end of their use.
    held: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Pool {
    /// Frees the places whose use ends before an instruction.
    fn release_before(&mut self, number: u32) {
        while let Some(&Reverse((end, place))) = self.held.peek()
            && end < number
        {
            self.held.pop();
            self.free.push(Reverse(place));
        }
    }

    /// Takes the lowest free place.
    fn take(&mut self, end: u32) -> u32 {
        let place = self.free.pop().map_or(self.made, |Reverse(place)| place);
        self.made = self.made.max(place + 1);
        self.held.push(Reverse((end, place)));
        place
    }
}
