//! Where the ranks of a process meet: what each has brought to a call, and who has left.
//!
//! Ranks offer storages of their own, which the room keeps until every rank has taken what it
//! needs. So no rank waits for others to be done with its operands.

use super::operands::Signature;
use super::wait::wake;
use crate::Stream;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

/// Why a rank cannot go on, for people.
pub(super) type Failure = String;

/// Contiguous elements that other ranks may take.
#[derive(Debug)]
pub(super) struct Offer<S> {
    pub(super) data: S,
    /// The stream on which the elements are written.
    pub(super) stream: Stream,
}

/// What a rank brings to a call.
#[derive(Debug)]
pub(super) struct Arrival<S> {
    pub(super) signature: Signature,
    pub(super) source: Option<Offer<S>>,
}

/// An arrival, or why the rank's own call was refused. Shared, because every rank looks at it.
pub(super) type Arrived<S> = Arc<Result<Arrival<S>, Failure>>;

/// One call, until all ranks are done with it.
struct Meeting<S> {
    arrived: Vec<Option<Arrived<S>>>,
    /// The combined parts.
    parts: Vec<Option<Arc<Offer<S>>>>,
    done: usize,
}

/// A rank's place in a communicator that a split has made.
pub(super) type Place<S> = (Arc<Room<S>>, usize);

/// One split, until all ranks have their places.
struct Split<S> {
    /// The color and the key of each rank.
    wishes: Vec<Option<(Option<u32>, i64)>>,
    places: Option<Vec<Option<Place<S>>>>,
    done: usize,
}

struct State<S> {
    /// The number of calls that each rank has made.
    calls: Vec<u64>,
    meetings: BTreeMap<u64, Meeting<S>>,
    /// The number of splits that each rank has asked for.
    splits_asked: Vec<u64>,
    splits: BTreeMap<u64, Split<S>>,
    /// What is sent and not yet received, by sender and receiver.
    sent: BTreeMap<(usize, usize), VecDeque<Arrived<S>>>,
    left: Vec<bool>,
    failed: Option<Failure>,
}

/// The shared state of a communicator's ranks.
pub(super) struct Room<S> {
    size: usize,
    state: Mutex<State<S>>,
}

impl<S> fmt::Debug for Room<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").field("size", &self.size).finish_non_exhaustive()
    }
}

impl<S> Room<S> {
    pub(super) fn new(size: usize) -> Arc<Self> {
        let state = State {
            calls: vec![0; size],
            meetings: BTreeMap::new(),
            splits_asked: vec![0; size],
            splits: BTreeMap::new(),
            sent: BTreeMap::new(),
            left: vec![false; size],
            failed: None,
        };
        Arc::new(Self { size, state: Mutex::new(state) })
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Brings a rank to its next call. Returns the call's number.
    pub(super) fn arrive(&self, rank: usize, arrival: Result<Arrival<S>, Failure>) -> Result<u64, Failure> {
        let number = {
            let mut state = self.state.lock();
            state.going_on()?;
            let number = state.calls[rank];
            state.calls[rank] += 1;
            let meeting = state.meetings.entry(number).or_insert_with(|| Meeting {
                arrived: (0..self.size).map(|_| None).collect(),
                parts: (0..self.size).map(|_| None).collect(),
                done: 0,
            });
            meeting.arrived[rank] = Some(Arc::new(arrival));
            number
        };
        wake();
        Ok(number)
    }

    /// Returns what the ranks brought to a call, in order, or `None` if some are still to come.
    pub(super) fn arrived(&self, number: u64) -> Result<Option<Vec<Arrived<S>>>, Failure> {
        let state = self.state.lock();
        state.complete(&state.meetings[&number].arrived)
    }

    /// Offers a rank's combined part.
    pub(super) fn offer(&self, number: u64, rank: usize, part: Offer<S>) {
        if let Some(meeting) = self.state.lock().meetings.get_mut(&number) {
            meeting.parts[rank] = Some(Arc::new(part));
        }
        wake();
    }

    /// Returns the combined parts of a call, or `None` if some are still to come.
    pub(super) fn parts(&self, number: u64) -> Result<Option<Vec<Arc<Offer<S>>>>, Failure> {
        let state = self.state.lock();
        state.complete(&state.meetings[&number].parts)
    }

    /// Ends a call for one rank. The last one to end it drops what was offered.
    pub(super) fn finish(&self, number: u64) {
        let mut state = self.state.lock();
        let Some(meeting) = state.meetings.get_mut(&number) else { return };
        meeting.done += 1;
        let over = if meeting.done == self.size { state.meetings.remove(&number) } else { None };
        drop(state);
        // Outside the lock: dropping storages runs a driver's code.
        drop(over);
    }

    /// Returns the ranks that have not come to a call, or have not offered their part of it.
    pub(super) fn missing(&self, number: u64) -> Vec<usize> {
        let state = self.state.lock();
        let Some(meeting) = state.meetings.get(&number) else { return Vec::new() };
        let absent: Vec<usize> = (0..self.size).filter(|&rank| meeting.arrived[rank].is_none()).collect();
        if absent.is_empty() { (0..self.size).filter(|&rank| meeting.parts[rank].is_none()).collect() } else { absent }
    }

    /// Sends from one rank to another.
    pub(super) fn send(&self, from: usize, to: usize, message: Result<Arrival<S>, Failure>) -> Result<(), Failure> {
        {
            let mut state = self.state.lock();
            state.going_on()?;
            if state.left[to] {
                return Err(left(&[to]));
            }
            state.sent.entry((from, to)).or_default().push_back(Arc::new(message));
        }
        wake();
        Ok(())
    }

    /// Takes what was sent first, or `None` if nothing was sent yet.
    pub(super) fn receive(&self, from: usize, to: usize) -> Result<Option<Arrived<S>>, Failure> {
        let mut state = self.state.lock();
        match state.sent.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
            Some(message) => Ok(Some(message)),
            None if state.left[from] => Err(left(&[from])),
            None => state.going_on().map(|()| None),
        }
    }

    /// Asks for a rank's place in a smaller communicator. Returns the split's number.
    pub(super) fn ask(&self, rank: usize, color: Option<u32>, key: i64) -> Result<u64, Failure> {
        let number = {
            let mut state = self.state.lock();
            state.going_on()?;
            let number = state.splits_asked[rank];
            state.splits_asked[rank] += 1;
            let new = || Split { wishes: vec![None; self.size], places: None, done: 0 };
            let split = state.splits.entry(number).or_insert_with(new);
            split.wishes[rank] = Some((color, key));
            if let Some(wishes) = split.wishes.iter().copied().collect::<Option<Vec<_>>>() {
                split.places = Some(places(&wishes));
            }
            number
        };
        wake();
        Ok(number)
    }

    /// Returns a rank's place after a split, `None` if some ranks have not asked yet.
    pub(super) fn place(&self, number: u64, rank: usize) -> Result<Option<Option<Place<S>>>, Failure> {
        let mut state = self.state.lock();
        let split = state.splits.get_mut(&number).expect("a rank asks for its place once, and is then done");
        let Some(places) = &mut split.places else {
            let wishes = split.wishes.clone();
            return state.complete(&wishes).map(|_| None);
        };
        let place = places[rank].take();
        split.done += 1;
        if split.done == self.size {
            state.splits.remove(&number);
        }
        Ok(Some(place))
    }

    /// Returns the ranks that have not asked for a split.
    pub(super) fn not_asked(&self, number: u64) -> Vec<usize> {
        let state = self.state.lock();
        let wishes = state.splits.get(&number).map_or(&[][..], |split| &split.wishes);
        (0..wishes.len()).filter(|&rank| wishes[rank].is_none()).collect()
    }

    /// Ends the communicator for all ranks. The first reason is kept.
    pub(super) fn fail(&self, why: Failure) {
        self.state.lock().failed.get_or_insert(why);
        wake();
    }

    /// Notes that a rank makes no more calls.
    pub(super) fn leave(&self, rank: usize) {
        self.state.lock().left[rank] = true;
        wake();
    }
}

impl<S> State<S> {
    fn going_on(&self) -> Result<(), Failure> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Returns the parts of all ranks, `None` if ranks that are still there have not brought
    /// theirs, and a failure if they never will.
    fn complete<T: Clone>(&self, parts: &[Option<T>]) -> Result<Option<Vec<T>>, Failure> {
        if let Some(parts) = parts.iter().cloned().collect::<Option<Vec<T>>>() {
            return Ok(Some(parts));
        }
        self.going_on()?;
        let gone: Vec<usize> = (0..parts.len()).filter(|&rank| parts[rank].is_none() && self.left[rank]).collect();
        if gone.is_empty() { Ok(None) } else { Err(left(&gone)) }
    }
}

fn left(ranks: &[usize]) -> Failure {
    format!("{} left: the communicator was dropped there", super::wait::names(ranks))
}

/// Makes a room for each color, with its ranks in the order of their keys.
fn places<S>(wishes: &[(Option<u32>, i64)]) -> Vec<Option<Place<S>>> {
    let mut by_color: BTreeMap<u32, Vec<(i64, usize)>> = BTreeMap::new();
    for (rank, &(color, key)) in wishes.iter().enumerate() {
        if let Some(color) = color {
            by_color.entry(color).or_default().push((key, rank));
        }
    }
    let mut places: Vec<Option<Place<S>>> = wishes.iter().map(|_| None).collect();
    for mut members in by_color.into_values() {
        members.sort();
        let room = Room::new(members.len());
        for (place, (_, rank)) in members.into_iter().enumerate() {
            places[rank] = Some((room.clone(), place));
        }
    }
    places
}
