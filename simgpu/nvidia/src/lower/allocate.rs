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
    pub zeroed: Vec<u32>,
}

/// The register widths that have separate pools, with the rows that a register takes. In a row of
/// another width, the values of a lane are at other positions. Registers therefore share rows only
/// with registers of the same width: lanes that have moved on must not overwrite values that other
/// lanes still use.
const WIDTHS: [(u32, u32); 4] = [(16, 1), (32, 1), (64, 2), (128, 4)];
/// The pool of predicates follows those of the widths.
const PREDICATES: usize = WIDTHS.len();

/// Gives each register the lowest rows of its width that are free while it holds a value. A result
/// never gets the row of a source, even at the last read of the source, because lowering can turn
/// an instruction into several steps.
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
