//! Communicators of some of the ranks of another one.

use super::group::{Group, Member};
use super::{Hub, Seat};
use crate::packet::Packet;
use crate::status::Failure;
use std::collections::BTreeMap;
use std::ffi::c_int;

/// The colors and keys of the ranks that have come.
#[derive(Debug)]
pub(super) struct Splitting {
    wishes: Vec<Option<(Option<c_int>, c_int)>>,
    /// Group, rank and size of each rank that has a color.
    places: Option<Vec<Option<[usize; 3]>>>,
    taken: usize,
}

impl Splitting {
    /// Returns the ranks of each color, in the order of their keys.
    fn parts(&self) -> Vec<Vec<usize>> {
        let mut parts: BTreeMap<c_int, Vec<(c_int, usize)>> = BTreeMap::new();
        for (rank, wish) in self.wishes.iter().enumerate() {
            if let Some((Some(color), key)) = wish {
                parts.entry(*color).or_default().push((*key, rank));
            }
        }
        let sorted = parts.into_values().map(|mut part| {
            part.sort_unstable();
            part.into_iter().map(|(_, rank)| rank).collect()
        });
        sorted.collect()
    }
}

impl Hub {
    pub(super) fn split(&self, seat: Seat, number: u64, color: Option<c_int>, key: c_int) -> Result<Packet, Failure> {
        let mut state = self.lock(seat)?;
        let next = state.groups.len();
        let group = &mut state.groups[seat.group];
        let ranks = group.members.len();
        let splitting = group.splits.entry(number).or_insert_with(|| Splitting {
            wishes: vec![None; ranks],
            places: None,
            taken: 0,
        });
        splitting.wishes[seat.rank] = Some((color, key));
        if splitting.wishes.iter().all(Option::is_some) {
            let (parts, mut places) = (splitting.parts(), vec![None; ranks]);
            for (part, of) in parts.iter().enumerate() {
                for (rank, &parent) in of.iter().enumerate() {
                    places[parent] = Some([next + part, rank, of.len()]);
                }
            }
            splitting.places = Some(places);
            let members = |part: &Vec<usize>| part.iter().filter_map(|&rank| group.members[rank].clone()).collect();
            let groups: Vec<Vec<Member>> = parts.iter().map(members).collect();
            state.groups.extend(groups.into_iter().map(Group::of));
            self.changed.notify_all();
        }
        let place = self.wait(&mut state, seat, "ncclCommSplit", |group| {
            let Some(splitting) = group.splits.get_mut(&number) else { return Err(Vec::new()) };
            let Some(places) = &splitting.places else {
                let missing = splitting.wishes.iter().enumerate().filter(|(_, wish)| wish.is_none());
                return Err(missing.map(|(rank, _)| rank).collect());
            };
            let place = places[seat.rank];
            splitting.taken += 1;
            if splitting.taken == ranks {
                group.splits.remove(&number);
            }
            Ok(place)
        })?;
        let numbers = place.map_or_else(Vec::new, |place| place.map(|number| number as u64).to_vec());
        Ok(Packet::new(numbers, Vec::new()))
    }
}
