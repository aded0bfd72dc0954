//! Races: two unordered accesses of one byte, of which at least one writes and not both are atomic.
//!
//! The threads are the waves: lanes of one wave run in step and in program order. Within a group,
//! barriers order accesses; between groups, chains of atomics do ([`order`]). Launches are ordered
//! by their streams. The shadows record the last accesses ([`tag`]): per block if waves access
//! whole blocks, else per granule ([`track`]). Every record is of an actual access, so no false
//! clash is reported. A clash may be missed if a record was replaced, or if two host threads change
//! a record at the same time.

pub(crate) mod atomic_order;
pub(crate) mod tag;
pub(crate) mod track;
