//! Rows for registers: those that do not hold values at the same time share them.

use super::liveness::Interval;
use crate::ptx::ast::{Kind, Register};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where the registers of a function are.
#[derive(Debug, Default)]
pub struct Allocation {
    /// The first row of each register, or its predicate, by number.
    pub places: Vec<u32>,
    /// Rows that are needed.
    pub rows: u32,
    /// Predicates that are needed.
    pub predicates: u32,
    /// Rows that some path reads before writing them.
    pub zeroed: Vec<u32>,
}

/// The widths of registers that have rows of their own, with the rows that one takes. The values of
/// a lane lie elsewhere in a row of another width, so that registers share rows with those of their
/// width only: lanes that have gone on must not disturb what others still hold.
const WIDTHS: [(u32, u32); 4] = [(16, 1), (32, 1), (64, 2), (128, 4)];
/// The pool of predicates is behind those of the widths.
const PREDICATES: usize = WIDTHS.len();

/// Gives each register the lowest rows of its width that are free as long as it holds a value. A
/// result never gets the row of a source, also where that is read for the last time: lowering may
/// make several steps of an instruction.
pub fn allocate(registers: &[Register], mut intervals: Vec<Interval>) -> Allocation {
    intervals.sort_by_key(|interval| interval.start);
    let mut pools: [Pool; PREDICATES + 1] = Default::default();
    let mut done = Allocation { places: vec![0; registers.len()], ..Allocation::default() };
    for interval in &intervals {
        let register = interval.register.0 as usize;
        let pool = &mut pools[pool_of(&registers[register])];
        pool.release_before(interval.start);
        done.places[register] = pool.take(interval.end);
    }
    let mut first = [0; PREDICATES];
    for (width, (_, rows)) in WIDTHS.iter().enumerate() {
        first[width] = done.rows;
        done.rows += pools[width].made * rows;
    }
    done.predicates = pools[PREDICATES].made;
    for interval in &intervals {
        let register = interval.register.0 as usize;
        let pool = pool_of(&registers[register]);
        if pool != PREDICATES {
            let place = &mut done.places[register];
            *place = first[pool] + *place * WIDTHS[pool].1;
            if interval.undefined {
                done.zeroed.extend(*place..*place + WIDTHS[pool].1);
            }
        }
    }
    done.zeroed.sort_unstable();
    done.zeroed.dedup();
    done
}

fn pool_of(register: &Register) -> usize {
    match register.ty.kind {
        Kind::Predicate => PREDICATES,
        _ => WIDTHS.iter().position(|(bits, _)| register.ty.bits <= *bits).unwrap_or(WIDTHS.len() - 1),
    }
}

/// Places of one width.
#[derive(Default)]
struct Pool {
    made: u32,
    free: BinaryHeap<Reverse<u32>>,
    /// Those in use, by their end.
    held: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Pool {
    /// Frees what ends before an instruction.
    fn release_before(&mut self, number: u32) {
        while let Some(&Reverse((end, place))) = self.held.peek()
            && end < number
        {
            self.held.pop();
            self.free.push(Reverse(place));
        }
    }

    /// The lowest that is free.
    fn take(&mut self, end: u32) -> u32 {
        let place = self.free.pop().map_or(self.made, |Reverse(place)| place);
        self.made = self.made.max(place + 1);
        self.held.push(Reverse((end, place)));
        place
    }
}
