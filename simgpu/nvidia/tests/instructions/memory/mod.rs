//! Tests of the instructions that reach memory.

mod atomics;
mod copies;
mod faults;
mod matrices;
mod moves;
mod races;
