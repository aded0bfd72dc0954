//! Calls that do not fit together: where NCCL would wait for ever or compute nonsense, there is an
//! error and a finding.

use super::gpu::{Config, Gpu, Handle};
use super::run::{on_cards, threads};
use std::ptr::{null, null_mut};

const UNHANDLED_CUDA_ERROR: i32 = 1;
const INVALID_ARGUMENT: i32 = 4;
const INVALID_USAGE: i32 = 5;
const REMOTE_ERROR: i32 = 6;

/// Asserts that there is one finding of a kind, with some words.
fn found(gpu: &Gpu, kind: &str, words: &str) {
    let findings = gpu.findings();
    let fits = |(of, text): &(String, String)| of == kind && text.contains(words);
    assert!(findings.len() == 1 && findings.iter().all(fits), "{kind} with {words:?}, not {findings:?}");
}

#[test]
fn ranks_must_call_the_same() {
    on_cards("testing::misuse::ranks_must_call_the_same", 2, &[], |gpu| {
        // Count, type, operation, and the words of the finding.
        for (count, ty, op, words) in [
            (9, 7, 0, "ncclAllReduce of 9 ncclFloat32 by ncclSum"),
            (8, 2, 0, "ncclAllReduce of 8 ncclInt32 by ncclSum"),
            (8, 7, 3, "ncclAllReduce of 8 ncclFloat32 by ncclMin"),
        ] {
            threads(gpu, 2, |rank| {
                let at = rank.upload(&[0; 64]);
                let (count, ty, op) = if rank.rank == 0 { (8, 7, 0) } else { (count, ty, op) };
                // SAFETY: the simulator checks the memory.
                gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(at, at, count, ty, op, rank.communicator, rank.stream) });
                gpu.synchronize(rank.stream);
                assert_eq!(gpu.failure(rank.communicator), INVALID_USAGE);
                assert!(gpu.last_error().contains(words), "{}", gpu.last_error());
                // SAFETY: the simulator checks the memory.
                let later = unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, rank.communicator, rank.stream) };
                assert_eq!(later, INVALID_USAGE, "the communicator stays unusable");
                // SAFETY: checked by the library.
                gpu.ok(unsafe { (gpu.nccl.ncclCommAbort)(rank.communicator) });
            });
            found(gpu, "fault", words);
        }
    });
}

#[test]
fn messages_must_have_one_size() {
    on_cards("testing::misuse::messages_must_have_one_size", 2, &[], |gpu| {
        threads(gpu, 2, |rank| {
            let at = rank.upload(&[0; 64]);
            // SAFETY: the simulator checks the memory.
            gpu.ok(unsafe {
                match rank.rank {
                    0 => (gpu.nccl.ncclSend)(at, 3, 7, 1, rank.communicator, rank.stream),
                    _ => (gpu.nccl.ncclRecv)(at, 4, 7, 0, rank.communicator, rank.stream),
                }
            });
            gpu.synchronize(rank.stream);
            assert_eq!(gpu.failure(rank.communicator), INVALID_USAGE);
        });
        found(gpu, "fault", "ncclRecv of 4 ncclFloat32 from rank 0, which calls ncclSend of 3 ncclFloat32");
    });
}

#[test]
fn a_rank_that_does_not_come_is_not_waited_for_for_ever() {
    let (test, limit) = ("testing::misuse::a_rank_that_does_not_come_is_not_waited_for_for_ever", "0.5");
    on_cards(test, 2, &[("ISOBIT_SIM_RANK_TIMEOUT", limit)], |gpu| {
        threads(gpu, 2, |rank| {
            if rank.rank == 0 {
                let at = rank.upload(&[0; 4]);
                // SAFETY: the simulator checks the memory.
                gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, rank.communicator, rank.stream) });
                assert_eq!(gpu.synchronize(rank.stream), 0, "the stream goes on");
            }
            assert_eq!(gpu.failure(rank.communicator), REMOTE_ERROR);
        });
        found(gpu, "deadlock", "rank 0 has waited 0.5 s for ranks [1] in ncclAllReduce");
        // A thread that makes the communicators of two ranks one after the other.
        gpu.set_device(0);
        let (id, mut communicator) = (gpu.id(), Handle(null_mut()));
        // SAFETY: an out-parameter.
        let first = unsafe { (gpu.nccl.ncclCommInitRank)(&mut communicator, 2, id, 0) };
        assert_eq!((first, communicator), (REMOTE_ERROR, Handle(null_mut())));
        found(gpu, "deadlock", "does so in a group");
    });
}

#[test]
fn ranks_that_first_send_and_then_receive_are_in_a_deadlock() {
    let (test, limit) = ("testing::misuse::ranks_that_first_send_and_then_receive_are_in_a_deadlock", "0.5");
    on_cards(test, 2, &[("ISOBIT_SIM_RANK_TIMEOUT", limit)], |gpu| {
        threads(gpu, 2, |rank| {
            let (at, other) = (rank.upload(&[0; 4]), 1 - rank.rank as i32);
            // SAFETY: the simulator checks the memory.
            unsafe {
                gpu.ok((gpu.nccl.ncclSend)(at, 1, 7, other, rank.communicator, rank.stream));
                gpu.ok((gpu.nccl.ncclRecv)(at, 1, 7, other, rank.communicator, rank.stream));
            }
            assert_eq!(gpu.synchronize(rank.stream), 0);
            assert_eq!(gpu.failure(rank.communicator), REMOTE_ERROR);
        });
        found(gpu, "deadlock", "ncclSend of 1 ncclFloat32 to rank");
    });
}

#[test]
fn two_ranks_cannot_have_one_card() {
    on_cards("testing::misuse::two_ranks_cannot_have_one_card", 2, &[], |gpu| {
        let id = gpu.id();
        std::thread::scope(|scope| {
            for rank in 0..2 {
                scope.spawn(move || {
                    gpu.set_device(1);
                    let mut communicator = Handle(null_mut());
                    // SAFETY: an out-parameter.
                    let made = unsafe { (gpu.nccl.ncclCommInitRank)(&mut communicator, 2, id, rank) };
                    assert_eq!(made, INVALID_USAGE);
                    assert!(gpu.last_error().contains("Duplicate GPU detected"), "{}", gpu.last_error());
                });
            }
        });
        let mut communicators = [Handle(null_mut()); 2];
        // SAFETY: room for two communicators, and two devices.
        let made = unsafe { (gpu.nccl.ncclCommInitAll)(communicators.as_mut_ptr(), 2, [0, 0].as_ptr()) };
        assert_eq!((made, communicators), (INVALID_USAGE, [Handle(null_mut()); 2]));
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn a_thread_acts_for_two_ranks_in_a_group_only() {
    on_cards("testing::misuse::a_thread_acts_for_two_ranks_in_a_group_only", 2, &[], |gpu| {
        let mut communicators = [Handle(null_mut()); 2];
        (0..2).for_each(|device| gpu.set_device(device));
        // SAFETY: room for two communicators; null stands for the first devices.
        gpu.ok(unsafe { (gpu.nccl.ncclCommInitAll)(communicators.as_mut_ptr(), 2, null()) });
        let call = |rank: usize| {
            gpu.set_device(rank);
            let stream = gpu.stream();
            let at = gpu.upload(&[0; 4], stream);
            // SAFETY: the simulator checks the memory.
            let called = unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, communicators[rank], stream) };
            (called, stream)
        };
        let (first, stream) = call(0);
        gpu.ok(first);
        assert_eq!(call(1).0, INVALID_USAGE);
        assert!(gpu.last_error().contains("outside a group"), "{}", gpu.last_error());
        assert_eq!(gpu.synchronize(stream), 0, "the first rank does not wait for ever");
        assert_eq!(gpu.failure(communicators[0]), REMOTE_ERROR);
        found(gpu, "fault", "for ranks 0 and 1 outside a group");
    });
}

#[test]
fn memory_is_checked() {
    on_cards("testing::misuse::memory_is_checked", 2, &[], |gpu| {
        // Rank 1 has a short send buffer or a short receive buffer.
        for (send, receive, words) in
            [(12, 16, "ncclAllReduce: send buffer"), (16, 12, "ncclAllReduce: receive buffer")]
        {
            threads(gpu, 2, |rank| {
                let is_wrong = rank.rank == 1;
                let size = |wrong| if is_wrong { wrong } else { 16 };
                let (from, to) = (rank.upload(&vec![0; size(send)]), gpu.alloc(size(receive)));
                // SAFETY: the simulator checks the memory.
                gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(from, to, 4, 7, 0, rank.communicator, rank.stream) });
                gpu.synchronize(rank.stream);
                let expected = if is_wrong { UNHANDLED_CUDA_ERROR } else { REMOTE_ERROR };
                assert_eq!(gpu.failure(rank.communicator), expected);
            });
            found(gpu, "out_of_bounds", words);
        }
        // Bytes that nothing has written can be sent, as on a card.
        threads(gpu, 2, |rank| {
            let (from, to) = (gpu.alloc(16), gpu.alloc(16));
            let from = if rank.rank == 1 { from } else { rank.upload(&[0; 16]) };
            // SAFETY: the simulator checks the memory.
            gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(from, to, 4, 7, 0, rank.communicator, rank.stream) });
            assert_eq!(gpu.synchronize(rank.stream), 0);
            rank.destroy();
        });
        found(gpu, "uninitialised_read", "ncclAllReduce: send buffer");
    });
}

#[test]
fn an_aborted_rank_ends_the_others() {
    on_cards("testing::misuse::an_aborted_rank_ends_the_others", 3, &[], |gpu| {
        threads(gpu, 3, |rank| {
            let at = rank.upload(&[0; 4]);
            if rank.rank == 2 {
                // SAFETY: checked by the library.
                unsafe {
                    gpu.ok((gpu.nccl.ncclCommAbort)(rank.communicator));
                    let again = (gpu.nccl.ncclCommDestroy)(rank.communicator);
                    assert_eq!(again, INVALID_ARGUMENT, "it is destroyed");
                }
                return;
            }
            // SAFETY: the simulator checks the memory.
            let called = unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, rank.communicator, rank.stream) };
            assert!([0, REMOTE_ERROR].contains(&called), "{called}");
            gpu.synchronize(rank.stream);
            assert_eq!(gpu.failure(rank.communicator), REMOTE_ERROR);
            // SAFETY: checked by the library.
            gpu.ok(unsafe { (gpu.nccl.ncclCommDestroy)(rank.communicator) });
        });
    });
}

#[test]
fn arguments_are_checked() {
    on_cards("testing::misuse::arguments_are_checked", 2, &[], |gpu| {
        threads(gpu, 2, |rank| {
            let (nccl, communicator, stream) = (&gpu.nccl, rank.communicator, rank.stream);
            let (at, none, mut new) = (rank.upload(&[0; 64]), Handle(null_mut()), Handle(null_mut()));
            gpu.set_device(1 - rank.rank);
            let stream_of_other = gpu.stream();
            gpu.set_device(rank.rank);
            let foreign = gpu.id().0.map(|byte| byte ^ 1);
            let unset = Config { magic: 0, ..Config::new(1) };
            // SAFETY: the library checks its arguments.
            unsafe {
                for wrong in [
                    (nccl.ncclAllReduce)(at, at, 1, 12, 0, communicator, stream),
                    (nccl.ncclAllReduce)(at, at, 1, -1, 0, communicator, stream),
                    (nccl.ncclAllReduce)(at, at, 1, 7, 5, communicator, stream),
                    (nccl.ncclAllReduce)(at, at, usize::MAX / 4, 7, 0, communicator, stream),
                    (nccl.ncclAllReduce)(at, at, 1, 7, 0, none, stream),
                    (nccl.ncclAllReduce)(at, at, 1, 7, 0, stream, stream),
                    (nccl.ncclBroadcast)(at, at, 1, 7, 2, communicator, stream),
                    (nccl.ncclReduce)(at, at, 1, 7, 0, -1, communicator, stream),
                    (nccl.ncclSend)(at, 1, 7, 2, communicator, stream),
                    (nccl.ncclCommCount)(communicator, null_mut()),
                    (nccl.ncclCommCount)(none, &mut 0),
                    (nccl.ncclGetUniqueId)(null_mut()),
                    (nccl.ncclGetVersion)(null_mut()),
                    (nccl.ncclCommInitRank)(&mut new, 2, gpu.id(), 2),
                    (nccl.ncclCommInitRank)(&mut new, 2, super::gpu::Id(foreign), 0),
                    (nccl.ncclCommInitRankConfig)(&mut new, 1, gpu.id(), 0, &unset),
                    (nccl.ncclCommInitAll)(&mut new, 0, null()),
                    (nccl.ncclCommInitAll)(&mut new, 1, [2].as_ptr()),
                    (nccl.ncclCommSplit)(communicator, -2, 0, &mut new, null()),
                ] {
                    assert_eq!(wrong, INVALID_ARGUMENT);
                }
                assert_eq!(new, none);
                assert_eq!((nccl.ncclGroupEnd)(), INVALID_USAGE);
                let other = (nccl.ncclAllReduce)(at, at, 1, 7, 0, communicator, stream_of_other);
                assert_eq!(other, UNHANDLED_CUDA_ERROR, "the stream is one of the other card");
                // A group with a wrong call does nothing.
                gpu.ok((nccl.ncclGroupStart)());
                gpu.ok((nccl.ncclAllReduce)(at, at, 1, 7, 0, communicator, stream));
                assert_eq!((nccl.ncclAllReduce)(at, at, 1, 99, 0, communicator, stream), INVALID_ARGUMENT);
                assert_eq!((nccl.ncclGroupEnd)(), INVALID_ARGUMENT);
                let text = std::ffi::CStr::from_ptr((nccl.ncclGetErrorString)(REMOTE_ERROR));
                assert_eq!(text, c"remote process exited or there was a network error");
            }
            rank.destroy();
        });
        assert_eq!(gpu.findings(), []);
    });
}
