//! Races: two accesses of one byte, of which one writes and not both are atomic, that nothing
//! orders.
//!
//! The threads are the waves: lanes of one wave run in step and in the order of the program. Within
//! a group a barrier orders, between groups a chain of atomics does ([`order`]); launches are
//! ordered by their streams. The shadows keep who accessed what last ([`tag`]), for whole blocks
//! where waves access whole blocks, else for granules ([`track`]). Every record is of an access
//! that was made, so that a clash is never invented; where records give way to others, or two host
//! threads change one at the same time, a clash may be missed.

pub(crate) mod atomic_order;
pub(crate) mod tag;
pub(crate) mod track;
