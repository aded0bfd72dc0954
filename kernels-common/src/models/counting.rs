//! What threads count and keep for later without a common lock.

use super::explore;
use crate::counters::Counts;
use crate::deferred::Deferred;
use isobit_hal::{Error, ErrorKind, PoolStats};
use std::sync::Arc;

#[test]
fn every_count_of_every_thread_is_in_the_sum() {
    explore(|| {
        let counts = Arc::new(Counts::default());
        let theirs = counts.clone();
        let thread = loom::thread::spawn(move || {
            theirs.launches.add();
            theirs.launches.add();
            theirs.compiles.add();
        });
        counts.launches.add();
        counts.graph_replays.add();
        thread.join().unwrap();
        let all = counts.with(&PoolStats::default());
        assert_eq!((all.launches, all.graph_replays, all.compiles), (3, 1, 1));
    });
}

#[test]
fn a_kept_error_is_returned_once_and_to_one_thread() {
    explore(|| {
        let deferred = Arc::new(Deferred::default());
        let error = |message: &str| Err(Error::new(ErrorKind::Other, message));
        let (keeper, taker) = (deferred.clone(), deferred.clone());
        let keeper = loom::thread::spawn(move || {
            keeper.keep(error("first"));
            keeper.keep(error("second"));
        });
        let taker = loom::thread::spawn(move || taker.take().err());
        let mut found: Vec<Error> = deferred.take().err().into_iter().collect();
        keeper.join().unwrap();
        found.extend(taker.join().unwrap());
        found.extend(std::iter::from_fn(|| deferred.take().err()));
        let mut messages: Vec<&str> = found.iter().map(Error::message).collect();
        messages.sort_unstable();
        assert_eq!(messages, ["first", "second"]);
    });
}
