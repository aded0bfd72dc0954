//! Functions of the host run on threads of their streams. Where they ran on the thread that
//! enqueues or waits, these tests would never end; they then fail instead.

use super::{Log, MODES, one_device};
use crate::finding::Fault;
use crate::queue::{Graph, GraphExec, Mode, OwnWork, QueueError, Queues, StreamId, Work};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Fails if a test has not ended after a time that no machine needs for it.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (ended, wait) = channel();
    let thread = thread::spawn(move || {
        test();
        let _ = ended.send(());
    });
    if wait.recv_timeout(Duration::from_secs(120)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("a thread waits for itself");
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// A function that reports its thread, waits to be released, and logs a number.
struct Held {
    begun: Receiver<ThreadId>,
    release: Sender<()>,
}

impl Held {
    fn new(log: &Log, number: usize) -> (Self, Work) {
        let ((begin, begun), (release, released)) = (channel(), channel());
        let (log, parts) = (log.clone(), Mutex::new((begin, released)));
        let work = Work::host(move || {
            let (begin, released) = &*parts.lock();
            begin.send(thread::current().id()).map_err(|e| Fault::new(e.to_string()))?;
            released.recv().map_err(|e| Fault::new(e.to_string()))?;
            log.0.lock().push(number);
            Ok(())
        });
        (Self { begun, release }, work)
    }
}

fn streams<const N: usize>(queues: &Queues) -> [StreamId; N] {
    [(); N].map(|()| queues.create_stream(0, false).unwrap())
}

#[test]
fn a_function_may_wait_for_the_thread_that_enqueued_it() {
    ends(|| {
        for mode in MODES {
            let (queues, log) = one_device(mode);
            let [stream] = streams(&queues);
            let (held, work) = Held::new(&log, 0);
            queues.enqueue(stream, work).unwrap();
            queues.enqueue(stream, log.work(1)).unwrap();
            if mode == Mode::Eager {
                assert_ne!(held.begun.recv().unwrap(), thread::current().id());
            } else {
                assert!(held.begun.try_recv().is_err(), "{mode:?}: nobody waits for it");
            }
            thread::scope(|scope| {
                let waiting = scope.spawn(|| queues.synchronize(stream));
                if mode != Mode::Eager {
                    assert_ne!(held.begun.recv().unwrap(), waiting.thread().id(), "{mode:?}");
                }
                assert_eq!(queues.query(stream), Err(QueueError::NotReady), "{mode:?}");
                assert!(log.seen().is_empty(), "{mode:?}: later work waits for the function");
                held.release.send(()).unwrap();
                assert_eq!(waiting.join().unwrap(), Ok(()));
            });
            assert_eq!(log.take(), [0, 1], "{mode:?}");
        }
    });
}

#[test]
fn functions_of_a_stream_share_a_thread_and_those_of_several_run_at_the_same_time() {
    ends(|| {
        for mode in MODES {
            let (queues, _) = one_device(mode);
            let [a, b] = streams(&queues);
            let (both, threads) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(Vec::new())));
            for turn in 0..3 {
                for stream in [a, b] {
                    let (both, threads) = (both.clone(), threads.clone());
                    let meet = Work::host(move || {
                        both.wait();
                        threads.lock().push((stream, turn, thread::current().id()));
                        Ok(())
                    });
                    queues.enqueue(stream, meet).unwrap();
                }
            }
            queues.synchronize_device(0).unwrap();
            let threads = threads.lock();
            let of = |wanted| threads.iter().filter(move |(stream, ..)| *stream == wanted);
            let mut different = Vec::new();
            for stream in [a, b] {
                assert!(of(stream).map(|(_, turn, _)| *turn).eq(0..3), "{mode:?}: {threads:?}");
                let first = of(stream).next().unwrap().2;
                assert!(of(stream).all(|(.., on)| *on == first), "{mode:?}: {threads:?}");
                different.push(first);
            }
            assert!(different[0] != different[1] && !different.contains(&thread::current().id()), "{mode:?}");
        }
    });
}

#[test]
fn only_work_behind_a_function_is_left_and_runs_when_that_has_ended() {
    ends(|| {
        let (queues, log) = one_device(Mode::Eager);
        let [a, b, c] = streams(&queues);
        let (held, work) = Held::new(&log, 0);
        let event = queues.create_event(0).unwrap();
        queues.enqueue(a, work).unwrap();
        queues.record(event, a).unwrap();
        queues.wait_event(b, event).unwrap();
        queues.enqueue(b, log.work(1)).unwrap();
        queues.enqueue(c, log.work(2)).unwrap();
        assert_eq!(log.take(), [2], "what does not wait runs in its call");
        assert_eq!(queues.query_event(event), Err(QueueError::NotReady));
        held.release.send(()).unwrap();
        // Nobody waits for it.
        while log.seen().len() < 2 {
            thread::yield_now();
        }
        assert_eq!(log.take(), [0, 1]);
        queues.synchronize(b).unwrap();
        assert_eq!(queues.query_event(event), Ok(()));
    });
}

/// Returns work that ends when the flag is set, and a receiver of its begin.
fn polls(flag: &Arc<AtomicBool>, log: &Log, number: usize) -> (Receiver<bool>, Work) {
    let ((begin, begun), flag, log) = (channel(), flag.clone(), log.clone());
    let begin = Mutex::new(begin);
    let work = Work::new(move || {
        let own = OwnWork::new();
        let _ = begin.lock().send(true);
        let mut alone = false;
        while !flag.load(Ordering::Acquire) {
            alone |= !own.others_run();
            thread::yield_now();
        }
        log.0.lock().push(number);
        if alone { Err(Fault::new("there seemed to be no other work")) } else { Ok(()) }
    });
    (begun, work)
}

/// Returns work that sets a flag.
fn sets(flag: &Arc<AtomicBool>, log: &Log, number: usize) -> impl Fn() -> Result<(), Fault> + Send + Sync + 'static {
    let (flag, log) = (flag.clone(), log.clone());
    move || {
        log.0.lock().push(number);
        flag.store(true, Ordering::Release);
        Ok(())
    }
}

/// A kernel polls what a later function of another stream writes, with and without a kernel of that
/// stream in between.
#[test]
fn work_left_behind_a_function_keeps_no_other_function_or_work_waiting() {
    ends(|| {
        for between in [false, true] {
            let (queues, log) = one_device(Mode::Eager);
            let [a, b] = streams(&queues);
            let (event, flag) = (queues.create_event(0).unwrap(), Arc::new(AtomicBool::new(false)));
            let (first, work) = Held::new(&log, 0);
            queues.enqueue(a, work).unwrap();
            queues.record(event, a).unwrap();
            queues.wait_event(b, event).unwrap();
            let (begun, work) = polls(&flag, &log, 4);
            queues.enqueue(b, work).unwrap();
            if between {
                queues.enqueue(a, log.work(1)).unwrap();
            }
            let (second, work) = Held::new(&log, 2);
            queues.enqueue(a, work).unwrap();
            queues.enqueue(a, Work::host(sets(&flag, &log, 3))).unwrap();
            first.release.send(()).unwrap();
            // Nobody waits for it.
            begun.recv().unwrap();
            second.begun.recv().unwrap();
            queues.enqueue(b, log.work(5)).unwrap();
            assert!(!log.seen().contains(&4), "no call waits for work that was left");
            second.release.send(()).unwrap();
            queues.synchronize_device(0).unwrap();
            let want: &[usize] = if between { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 3, 4, 5] };
            assert_eq!(log.take(), want);
        }
    });
}

/// A kernel that waits for work which is left is not taken for one that waits for ever: there is no
/// moment in which no other work is running.
#[test]
fn left_work_follows_a_function_at_once() {
    ends(|| {
        for _ in 0..50 {
            let (queues, log) = one_device(Mode::Eager);
            let [a, b] = streams(&queues);
            let flag = Arc::new(AtomicBool::new(false));
            let (function, work) = Held::new(&log, 0);
            queues.enqueue(a, work).unwrap();
            queues.enqueue(a, log.work(1)).unwrap();
            queues.enqueue(a, Work::host(|| Ok(()))).unwrap();
            queues.enqueue(a, Work::new(sets(&flag, &log, 2))).unwrap();
            let (begun, work) = polls(&flag, &log, 3);
            thread::scope(|scope| {
                let launching = scope.spawn(|| queues.enqueue(b, work));
                begun.recv().unwrap();
                function.release.send(()).unwrap();
                assert_eq!(launching.join().unwrap(), Ok(()));
            });
            assert_eq!((queues.synchronize_device(0), log.take()), (Ok(()), vec![0, 1, 2, 3]));
        }
    });
}

#[test]
fn left_work_that_can_run_at_the_same_time_does_and_a_failure_skips_what_comes_after() {
    ends(|| {
        let (queues, log) = one_device(Mode::Eager);
        let [stream] = streams(&queues);
        let (function, work) = Held::new(&log, 0);
        let mut graph = Graph::default();
        let root = graph.add(work, &[]).unwrap();
        let both = Arc::new(Barrier::new(2));
        for _ in 0..2 {
            let both = both.clone();
            let meets = Work::new(move || {
                both.wait();
                Ok(())
            });
            graph.add(meets, &[root]).unwrap();
        }
        queues.launch_graph(&GraphExec::new(&graph), stream).unwrap();
        queues.enqueue(stream, Work::new(|| Err(Fault::new("the last")))).unwrap();
        queues.enqueue(stream, log.work(1)).unwrap();
        queues.enqueue(stream, Work::host(|| panic!("a function after a failure is not called"))).unwrap();
        function.release.send(()).unwrap();
        assert_eq!(queues.synchronize(stream), Err(QueueError::Fault(Fault::new("the last"))));
        assert_eq!(log.take(), [0]);
    });
}

#[test]
fn a_stream_is_destroyed_before_its_functions() {
    ends(|| {
        for mode in MODES {
            let (queues, log) = one_device(mode);
            let [stream] = streams(&queues);
            let (first, work) = Held::new(&log, 0);
            queues.enqueue(stream, work).unwrap();
            let (second, work) = Held::new(&log, 1);
            queues.enqueue(stream, work).unwrap();
            queues.enqueue(stream, log.work(2)).unwrap();
            queues.destroy_stream(stream).unwrap();
            first.release.send(()).unwrap();
            second.release.send(()).unwrap();
            queues.synchronize_device(0).unwrap();
            assert_eq!(log.take(), [0, 1, 2], "{mode:?}");
        }
    });
}

#[test]
fn a_function_that_panics_fails_its_stream_and_the_next_is_not_called() {
    ends(|| {
        for mode in MODES {
            let (queues, log) = one_device(mode);
            let [stream] = streams(&queues);
            let (held, work) = Held::new(&log, 0);
            queues.enqueue(stream, Work::host(|| panic!("{} of it", "none"))).unwrap();
            queues.enqueue(stream, work).unwrap();
            let told = queues.synchronize(stream);
            let Err(QueueError::Fault(fault)) = told else { panic!("{mode:?}: {told:?}") };
            assert_eq!(fault.to_string(), "a function of the host panicked: none of it", "{mode:?}");
            assert!(held.begun.try_recv().is_err(), "{mode:?}");
            let (held, work) = Held::new(&log, 1);
            held.release.send(()).unwrap();
            queues.enqueue(stream, work).unwrap();
            assert_eq!((queues.synchronize(stream), log.take()), (Ok(()), vec![1]), "{mode:?}: the thread lives");
        }
    });
}

#[test]
fn functions_of_graphs_run_on_the_thread_too_also_in_a_graph_within() {
    ends(|| {
        for mode in MODES {
            let (queues, log) = one_device(mode);
            let [stream] = streams(&queues);
            let (inner, work) = Held::new(&log, 1);
            let mut child = Graph::default();
            child.add(work, &[]).unwrap();
            let (outer, work) = Held::new(&log, 2);
            let mut graph = Graph::default();
            let first = graph.add(log.work(0), &[]).unwrap();
            let second = graph.add(child.as_work(), &[first]).unwrap();
            graph.add(work, &[second]).unwrap();
            let exec = GraphExec::new(&graph);
            for _ in 0..2 {
                queues.launch_graph(&exec, stream).unwrap();
            }
            for _ in 0..2 {
                inner.release.send(()).unwrap();
                outer.release.send(()).unwrap();
            }
            queues.synchronize(stream).unwrap();
            assert_eq!(log.take(), [0, 1, 2, 0, 1, 2], "{mode:?}");
            assert!([inner, outer].iter().all(|held| held.begun.recv().unwrap() != thread::current().id()));
        }
    });
}

#[test]
fn a_function_may_not_wait_for_the_device() {
    ends(|| {
        for mode in MODES {
            let queues = Arc::new(Queues::new(1, mode));
            let legacy = queues.legacy(0).unwrap();
            let (inner, (told, tell)) = (queues.clone(), channel());
            let ask = move || {
                let refused = [inner.synchronize(legacy), inner.synchronize_device(0), inner.drain(Some(0))];
                told.send(refused).map_err(|e| Fault::new(e.to_string()))
            };
            queues.enqueue(legacy, Work::host(ask)).unwrap();
            queues.synchronize(legacy).unwrap();
            assert_eq!(tell.recv().unwrap(), [(); 3].map(|()| Err(QueueError::InsideWork)), "{mode:?}");
        }
    });
}

/// Sends a message when its thread ends.
struct AtEnd(Sender<()>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

#[test]
fn the_thread_ends_with_its_stream_or_the_queues() {
    ends(|| {
        for destroy in [true, false] {
            let (queues, _) = one_device(Mode::Eager);
            let [stream] = streams(&queues);
            let (ended, wait) = channel();
            let ended = Mutex::new(Some(AtEnd(ended)));
            let stay = Work::host(move || {
                AT_END.set(ended.lock().take());
                Ok(())
            });
            queues.enqueue(stream, stay).unwrap();
            queues.synchronize(stream).unwrap();
            assert!(wait.try_recv().is_err(), "the thread waits for the next function");
            if destroy {
                queues.destroy_stream(stream).unwrap();
            } else {
                drop(queues);
            }
            wait.recv().unwrap();
        }
    });
}
