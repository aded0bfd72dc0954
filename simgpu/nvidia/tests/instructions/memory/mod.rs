//! Tests of the instructions that access memory.

mod atomics;
mod copies;
mod faults;
mod matrices;
mod moves;
mod partial;
mod races;
