//! Races: two unordered accesses of one byte, of which at least one writes and not both are atomic.
//!
//! The threads are the waves: lanes of one wave run in step and in program order. Within a group,
//! barriers order accesses; between groups, chains of atomics do ([`order`]). Launches are ordered
//! by their streams. The shadows record the last accesses ([`tag`]): per block if waves access
//! whole blocks, else per granule ([`track`]). Every record is of an actual access, so no false
//! clash is reported. A clash may be missed if a record was replaced, or if two host threads change
//! a record at the same time.
//!
//! Two things in compiled code look like races and are not:
//!
//! * The first load of a compare-and-swap loop is a plain one, in the loops that compilers and the
//!   vendors' guides make of other atomics. If its value is old, the first compare-and-swap fails,
//!   so nothing depends on it. The vendors' lowerings therefore follow the compared operand back to
//!   the loads that it comes from, and these do not race with atomics
//!   ([`ComparedLoad`](crate::check::Access::ComparedLoad)); they still race with plain stores. A
//!   load that feeds no compare-and-swap stays a plain one, in whatever kernel it is. The
//!   alternative is to keep a clash of a load with an atomic until its wave makes a
//!   compare-and-swap on the same address. It needs no knowledge of the code, but loops that exit
//!   before their first compare-and-swap (a maximum) never do, and an atomic that clashes with an
//!   earlier load does not know which of several instructions made it.
//! * On some targets an atomic store is the instruction of a plain one, whatever its scope and
//!   order ([`UnmarkedStores`](crate::check::UnmarkedStores)). An atomic load that finds its value
//!   shows what it is, and so does an earlier atomic of the same wave on the same address: a lock
//!   that is taken by a compare-and-swap is often released by a store. Without either, a store
//!   counts as a plain one, or a counter that is reset without a barrier would not be found.

pub(crate) mod atomic_order;
pub(crate) mod tag;
pub(crate) mod track;

use crate::check::{Access, Place};
use atomic_order::Order;

/// The earlier side of a clash at an address.
pub(crate) struct Earlier<'a> {
    pub(crate) place: &'a Place,
    pub(crate) was: Access,
    /// It was atomic; of several readers, all.
    pub(crate) atomic: bool,
    /// The address, as [`Order`] knows it.
    pub(crate) address: u64,
}

/// Whether the stores of a clash, in memory with unmarked stores, are atomic as far as can be seen.
/// If the earlier access is such a store, the later one acquires what it released.
pub(crate) fn excused(order: Option<&Order>, who: &Place, access: Access, earlier: &Earlier<'_>) -> bool {
    let &Earlier { place, was, atomic, address } = earlier;
    let made = |place: &Place| order.is_some_and(|order| order.made(place, address));
    let excused = match (access, was) {
        (Access::AtomicLoad, Access::Store) => true,
        (Access::Store, Access::Load) => atomic,
        (Access::Atomic, Access::Store) => made(place),
        (Access::Store, Access::Atomic) => made(who),
        (Access::Store, Access::Store) => made(who) && made(place),
        _ => false,
    };
    if let (true, Access::Store, Some(order)) = (excused, was, order) {
        order.released(place, address);
    }
    excused
}
