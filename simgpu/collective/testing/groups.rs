//! Groups of calls, messages, parts of communicators, and communicators that do not block.

use super::gpu::{Config, Gpu, Handle};
use super::run::{Rank, bytes, floats, on_cards, threads};
use std::ptr::{null, null_mut};
use std::time::Duration;

/// Makes the communicators of all ranks in this thread.
fn all_ranks(gpu: &Gpu, ranks: usize) -> Vec<Rank<'_>> {
    let mut communicators = vec![Handle(null_mut()); ranks];
    let devices: Vec<i32> = (0..ranks as i32).collect();
    (0..ranks).for_each(|device| gpu.set_device(device));
    // SAFETY: room for so many communicators, and as many devices.
    gpu.ok(unsafe { (gpu.nccl.ncclCommInitAll)(communicators.as_mut_ptr(), ranks as i32, devices.as_ptr()) });
    let rank = |(rank, communicator)| {
        gpu.set_device(rank);
        Rank { gpu, rank, ranks, communicator, stream: gpu.stream() }
    };
    communicators.into_iter().enumerate().map(rank).collect()
}

#[test]
fn one_thread_acts_for_all_ranks() {
    on_cards("testing::groups::one_thread_acts_for_all_ranks", 3, &[], |gpu| {
        let ranks = all_ranks(gpu, 3);
        let upload = |rank: &Rank<'_>| {
            gpu.set_device(rank.rank);
            rank.upload(&bytes(&[rank.rank as f32; 5]))
        };
        for reverse in [false, true] {
            let memory: Vec<Handle> = ranks.iter().map(upload).collect();
            // SAFETY: the simulator checks the memory.
            unsafe {
                gpu.ok((gpu.nccl.ncclGroupStart)());
                for (rank, &at) in ranks.iter().zip(&memory) {
                    // A group inside the group changes nothing.
                    gpu.ok((gpu.nccl.ncclGroupStart)());
                    gpu.ok((gpu.nccl.ncclAllReduce)(at, at, 5, 7, 0, rank.communicator, rank.stream));
                    gpu.ok((gpu.nccl.ncclGroupEnd)());
                }
                gpu.ok((gpu.nccl.ncclGroupEnd)());
            }
            let mut order: Vec<usize> = (0..3).collect();
            if reverse {
                order.reverse();
            }
            for rank in order {
                assert_eq!(floats(&ranks[rank].download(memory[rank], 20)), [3.0; 5]);
            }
        }
        ranks.iter().for_each(Rank::destroy);
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn a_thread_that_only_looks_at_one_stream_sees_its_end() {
    on_cards("testing::groups::a_thread_that_only_looks_at_one_stream_sees_its_end", 2, &[], |gpu| {
        let ranks = all_ranks(gpu, 2);
        let memory = [0, 1].map(|rank: usize| {
            gpu.set_device(rank);
            ranks[rank].upload(&bytes(&[2.0]))
        });
        // SAFETY: the simulator checks the memory.
        unsafe {
            gpu.ok((gpu.nccl.ncclGroupStart)());
            for (rank, at) in ranks.iter().zip(memory) {
                gpu.ok((gpu.nccl.ncclAllReduce)(at, at, 1, 7, 1, rank.communicator, rank.stream));
            }
            gpu.ok((gpu.nccl.ncclGroupEnd)());
        }
        let done = (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            gpu.query(ranks[0].stream) == 0
        });
        assert!(done, "nothing has done the part of the other rank");
        assert_eq!(floats(&ranks[1].download(memory[1], 4)), [4.0]);
        ranks.iter().for_each(Rank::destroy);
    });
}

#[test]
fn communicators_are_made_in_a_group() {
    on_cards("testing::groups::communicators_are_made_in_a_group", 2, &[], |gpu| {
        let (id, mut made) = (gpu.id(), [Handle(null_mut()); 2]);
        // SAFETY: out-parameters.
        unsafe {
            gpu.ok((gpu.nccl.ncclGroupStart)());
            for (rank, communicator) in made.iter_mut().enumerate() {
                gpu.set_device(rank);
                gpu.ok((gpu.nccl.ncclCommInitRank)(communicator, 2, id, rank as i32));
            }
            gpu.ok((gpu.nccl.ncclGroupEnd)());
        }
        let of = |communicator| {
            let mut rank = -1;
            // SAFETY: an out-parameter.
            gpu.ok(unsafe { (gpu.nccl.ncclCommUserRank)(communicator, &mut rank) });
            rank
        };
        assert_eq!(made.map(of), [0, 1]);
        // SAFETY: checked by the library.
        made.into_iter().for_each(|communicator| gpu.ok(unsafe { (gpu.nccl.ncclCommDestroy)(communicator) }));
    });
}

#[test]
fn messages_find_their_receivers() {
    on_cards("testing::groups::messages_find_their_receivers", 3, &[], |gpu| {
        threads(gpu, 3, |rank| {
            let (nccl, communicator, stream) = (&gpu.nccl, rank.communicator, rank.stream);
            let (next, last) = ((rank.rank + 1) % 3, (rank.rank + 2) % 3);
            let own = [rank.rank as f32, 10.0 + rank.rank as f32];
            let from = rank.upload(&bytes(&own));
            let to = [(); 3].map(|()| gpu.alloc(8));
            for _ in 0..2 {
                // Around the ring, twice, and to itself.
                // SAFETY: the simulator checks the memory.
                unsafe {
                    gpu.ok((nccl.ncclGroupStart)());
                    gpu.ok((nccl.ncclSend)(from, 2, 7, next as i32, communicator, stream));
                    gpu.ok((nccl.ncclSend)(from, 1, 7, next as i32, communicator, stream));
                    gpu.ok((nccl.ncclSend)(from, 2, 7, rank.rank as i32, communicator, stream));
                    gpu.ok((nccl.ncclRecv)(to[0], 2, 7, last as i32, communicator, stream));
                    gpu.ok((nccl.ncclRecv)(to[1], 1, 7, last as i32, communicator, stream));
                    gpu.ok((nccl.ncclRecv)(to[2], 2, 7, rank.rank as i32, communicator, stream));
                    gpu.ok((nccl.ncclGroupEnd)());
                }
                assert_eq!(floats(&rank.download(to[0], 8)), [last as f32, 10.0 + last as f32]);
                assert_eq!(floats(&rank.download(to[1], 4)), [last as f32]);
                assert_eq!(floats(&rank.download(to[2], 8)), own);
            }
            // Without a group: from rank to rank.
            // SAFETY: the simulator checks the memory.
            unsafe {
                if rank.rank > 0 {
                    gpu.ok((nccl.ncclRecv)(from, 2, 7, last as i32, communicator, stream));
                }
                if rank.rank < 2 {
                    gpu.ok((nccl.ncclSend)(from, 2, 7, next as i32, communicator, stream));
                }
            }
            assert_eq!(floats(&rank.download(from, 8)), [0.0, 10.0]);
            rank.destroy();
        });
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn a_communicator_is_split() {
    on_cards("testing::groups::a_communicator_is_split", 5, &[], |gpu| {
        let places = threads(gpu, 5, |rank| {
            let mut part = Handle(null_mut());
            // Rank 4 is in no part; the keys reverse the others.
            let color = if rank.rank == 4 { -1 } else { rank.rank as i32 % 2 };
            // SAFETY: an out-parameter.
            gpu.ok(unsafe {
                (gpu.nccl.ncclCommSplit)(rank.communicator, color, -(rank.rank as i32), &mut part, null())
            });
            if part.0.is_null() {
                rank.destroy();
                return None;
            }
            let part = Rank { gpu, ranks: 2, communicator: part, ..*rank };
            let (mut own, mut count) = (-1, -1);
            // SAFETY: out-parameters.
            unsafe {
                gpu.ok((gpu.nccl.ncclCommUserRank)(part.communicator, &mut own));
                gpu.ok((gpu.nccl.ncclCommCount)(part.communicator, &mut count));
            }
            // The whole may end before its parts.
            rank.destroy();
            let sum = part.all_reduce(&[rank.rank as f32])[0];
            part.destroy();
            Some((own, count, sum))
        });
        assert_eq!(places, [Some((1, 2, 2.0)), Some((1, 2, 4.0)), Some((0, 2, 2.0)), Some((0, 2, 4.0)), None]);
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn a_communicator_that_does_not_block_says_when_it_is_ready() {
    on_cards("testing::groups::a_communicator_that_does_not_block_says_when_it_is_ready", 2, &[], |gpu| {
        const IN_PROGRESS: i32 = 7;
        let (id, config) = (gpu.id(), Config::new(0));
        let begin = |rank: usize| {
            gpu.set_device(rank);
            let mut communicator = Handle(null_mut());
            // SAFETY: an out-parameter, and a config.
            let begun = unsafe { (gpu.nccl.ncclCommInitRankConfig)(&mut communicator, 2, id, rank as i32, &config) };
            assert_eq!(begun, IN_PROGRESS);
            communicator
        };
        let ready = |communicator: Handle| {
            while gpu.asynchronous_error(communicator) == IN_PROGRESS {
                std::thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(gpu.asynchronous_error(communicator), 0);
        };
        // One thread makes both without a group, because no call waits.
        let first = begin(0);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(gpu.asynchronous_error(first), IN_PROGRESS);
        let stream = gpu.stream();
        let at = gpu.upload(&bytes(&[1.0]), stream);
        // SAFETY: the simulator checks the memory.
        let early = unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, first, stream) };
        assert_eq!(early, 4, "an invalid argument: the communicator is not ready");
        let both = [first, begin(1)];
        both.into_iter().for_each(ready);
        for communicator in both {
            // SAFETY: checked by the library.
            let finalized = unsafe { (gpu.nccl.ncclCommFinalize)(communicator) };
            assert_eq!(finalized, IN_PROGRESS);
            ready(communicator);
            // SAFETY: checked by the library.
            gpu.ok(unsafe { (gpu.nccl.ncclCommDestroy)(communicator) });
        }
    });
}

#[test]
fn memory_is_freed_while_another_rank_waits() {
    on_cards("testing::groups::memory_is_freed_while_another_rank_waits", 2, &[], |gpu| {
        threads(gpu, 2, |rank| {
            let other = gpu.alloc(64);
            if rank.rank == 1 {
                // The other rank's part has begun long ago.
                std::thread::sleep(Duration::from_millis(300));
                gpu.free(other);
            }
            assert_eq!(rank.all_reduce(&[1.0]), [2.0]);
            rank.destroy();
        });
    });
}
