//! Ranks in several processes.

use super::gpu::{Gpu, Id};
use super::run::{Rank, again, on_cards, wait};
use std::process::{Child, exit};
use std::time::Duration;

const REMOTE_ERROR: i32 = 6;

/// The variables by which a test tells another process its ranks and the id.
const RANKS: &str = "TEST_RANKS";
const ID: &str = "TEST_ID";

/// The ranks that this process was started for, and their id.
fn told() -> Option<(Vec<usize>, Id)> {
    let ranks = std::env::var(RANKS).ok()?.split(',').map(|rank| rank.parse().expect("a rank")).collect();
    let text = std::env::var(ID).expect("the id");
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("two digits");
    Some((ranks, Id(std::array::from_fn(byte))))
}

/// Starts a process for ranks.
fn start(test: &str, ranks: &str, id: &Id) -> Child {
    let text: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    again(test).env(RANKS, ranks).env(ID, text).spawn().expect("this program starts again")
}

/// Runs ranks of this process in threads.
fn in_threads(gpu: &Gpu, total: usize, ranks: &[usize], id: Id, body: impl Fn(&Rank<'_>) + Sync) {
    std::thread::scope(|scope| {
        let body = &body;
        for &rank in ranks {
            scope.spawn(move || body(&Rank::join(gpu, total, id, rank)));
        }
    });
}

fn work(rank: &Rank<'_>) {
    for round in 0..3 {
        let own = (rank.rank + round) as f32;
        let sum: usize = (0..rank.ranks).map(|rank| rank + round).sum();
        assert_eq!(rank.all_reduce(&[own; 1000]), [sum as f32; 1000]);
    }
    // Around the ring.
    let (from, to) = (rank.upload(&[rank.rank as u8; 9]), rank.gpu.alloc(9));
    let (next, last) = ((rank.rank + 1) % rank.ranks, (rank.rank + rank.ranks - 1) % rank.ranks);
    let nccl = &rank.gpu.nccl;
    // SAFETY: the simulator checks the memory.
    unsafe {
        rank.gpu.ok((nccl.ncclGroupStart)());
        rank.gpu.ok((nccl.ncclSend)(from, 9, 1, next as i32, rank.communicator, rank.stream));
        rank.gpu.ok((nccl.ncclRecv)(to, 9, 1, last as i32, rank.communicator, rank.stream));
        rank.gpu.ok((nccl.ncclGroupEnd)());
    }
    assert_eq!(rank.download(to, 9), [last as u8; 9]);
    let mut part = super::gpu::Handle(std::ptr::null_mut());
    // SAFETY: an out-parameter.
    rank.gpu
        .ok(unsafe { (nccl.ncclCommSplit)(rank.communicator, rank.rank as i32 / 2, 0, &mut part, std::ptr::null()) });
    let part = Rank { communicator: part, ..*rank };
    let first = rank.rank / 2 * 2;
    assert_eq!(part.all_reduce(&[rank.rank as f32]), [(first + first + 1) as f32]);
    part.destroy();
    rank.destroy();
}

#[test]
fn ranks_of_three_processes() {
    const TEST: &str = "testing::processes::ranks_of_three_processes";
    on_cards(TEST, 4, &[], |gpu| {
        if let Some((ranks, id)) = told() {
            in_threads(gpu, 4, &ranks, id, work);
            return assert_eq!(gpu.findings(), []);
        }
        let id = gpu.id();
        let others = ["1,2", "3"].map(|ranks| start(TEST, ranks, &id));
        in_threads(gpu, 4, &[0], id, work);
        for other in others {
            assert!(wait(other).success());
        }
        assert_eq!(gpu.findings(), []);
    });
}

/// Rank 1 ends at once; rank 0, which made the id, sees it.
#[test]
fn a_process_that_ends_ends_the_others() {
    const TEST: &str = "testing::processes::a_process_that_ends_ends_the_others";
    on_cards(TEST, 2, &[], |gpu| {
        if let Some((ranks, id)) = told() {
            in_threads(gpu, 2, &ranks, id, |_| exit(0));
        }
        let id = gpu.id();
        let other = start(TEST, "1", &id);
        in_threads(gpu, 2, &[0], id, |rank| {
            let at = rank.upload(&[0; 4]);
            // SAFETY: the simulator checks the memory.
            let called = unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, rank.communicator, rank.stream) };
            assert!([0, REMOTE_ERROR].contains(&called), "{called}");
            assert_eq!(gpu.synchronize(rank.stream), 0);
            assert_eq!(gpu.failure(rank.communicator), REMOTE_ERROR);
            rank.destroy();
        });
        assert!(wait(other).success());
    });
}

/// The process that made the id ends; the other one sees it, in work that waits and without any.
#[test]
fn the_end_of_the_first_process_ends_the_others() {
    const TEST: &str = "testing::processes::the_end_of_the_first_process_ends_the_others";
    on_cards(TEST, 2, &[], |gpu| {
        if let Some((ranks, id)) = told() {
            return in_threads(gpu, 2, &ranks, id, |rank| {
                let at = rank.upload(&[0; 4]);
                // SAFETY: the simulator checks the memory.
                gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, rank.communicator, rank.stream) });
                assert_eq!(gpu.synchronize(rank.stream), 0);
                assert_eq!(gpu.failure(rank.communicator), REMOTE_ERROR);
                rank.destroy();
            });
        }
        if let Some(place) = std::env::var_os("TEST_PLACE") {
            let id = gpu.id();
            std::fs::write(place, id.0).expect("the id is written");
            in_threads(gpu, 2, &[0], id, |_| {
                std::thread::sleep(Duration::from_millis(200));
                exit(0);
            });
        }
        let place = std::env::temp_dir().join(format!("isobit-nccl-test-{}", std::process::id()));
        let first = again(TEST).env("TEST_PLACE", &place).spawn().expect("this program starts again");
        let id = loop {
            match std::fs::read(&place).ok().and_then(|bytes| bytes.try_into().ok()) {
                Some(id) => break Id(id),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        std::fs::remove_file(&place).expect("the file is there");
        let other = start(TEST, "1", &id);
        assert!(wait(first).success());
        assert!(wait(other).success());
    });
}
