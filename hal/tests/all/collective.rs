//! Collectives over ranks on the host, against sums and moves that are written out here.

use isobit_hal::collective::{Call, Collective};
use isobit_hal::{
    BackendDevice, BackendStorage, Communicator, CpuDevice, CpuStorage, DType, DynDevice, Error, ErrorKind, Layout,
    Reduce, ReduceOp, Result, Src, WithDType,
};
use std::time::{Duration, Instant};

type Rank = Communicator<CpuDevice>;

/// Calls `f` for every rank in a thread of its own, and returns the results in order.
fn ranks<T: Send>(size: usize, f: impl Fn(Rank) -> T + Sync) -> Vec<T> {
    let ranks = Communicator::from_devices(&vec![CpuDevice; size]).unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(|| f(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn host<T: WithDType>(data: &[T]) -> CpuStorage {
    CpuDevice.storage_from_slice(data).unwrap()
}

/// Element `i` of a rank: small, and different for every rank and element.
fn element(rank: usize, i: usize) -> i32 {
    (rank * 37 + i * 11) as i32 % 23 - 7
}

fn elements(rank: usize, count: usize) -> Vec<i32> {
    (0..count).map(|i| element(rank, i)).collect()
}

const SIZES: [usize; 5] = [1, 2, 3, 5, 8];
const COUNTS: [usize; 5] = [0, 1, 4, 7, 40];

#[test]
fn reductions_combine_the_elements_of_all_ranks() {
    for size in SIZES {
        let sum = |i: usize| (0..size).map(|rank| element(rank, i)).sum::<i32>();
        let max = |i: usize| (0..size).map(|rank| element(rank, i)).max().unwrap();
        for count in COUNTS {
            let sums: Vec<i32> = (0..count).map(sum).collect();
            ranks(size, |rank| {
                let l = Layout::contiguous(count);
                let x = host(&elements(rank.rank(), count));
                let mut y = host(&vec![0i32; count]);
                rank.all_reduce((&x, &l).into(), &mut y, &l, ReduceOp::Sum).unwrap();
                assert_eq!(y.to_vec::<i32>().unwrap(), sums);
                let mut z = host(&elements(rank.rank(), count));
                rank.all_reduce(Src::InPlace, &mut z, &l, ReduceOp::Max).unwrap();
                assert_eq!(z.to_vec::<i32>().unwrap(), (0..count).map(max).collect::<Vec<_>>());

                // One rank has the result, and the others keep what they had.
                let root = size - 1;
                let mut z = host(&elements(rank.rank(), count));
                rank.reduce(Src::InPlace, Some((&mut z, &l)), ReduceOp::Sum, root).unwrap();
                let kept = if rank.rank() == root { sums.clone() } else { elements(rank.rank(), count) };
                assert_eq!(z.to_vec::<i32>().unwrap(), kept);
                let dst = (rank.rank() == 0).then_some((&mut z, &l));
                rank.reduce((&x, &l).into(), dst, ReduceOp::Sum, 0).unwrap();
                let has = if rank.rank() == 0 { sums.clone() } else { kept };
                assert_eq!(z.to_vec::<i32>().unwrap(), has);

                // Each rank has a part of the result.
                let all = Layout::contiguous((size, count));
                let x = host(&elements(rank.rank(), size * count));
                rank.reduce_scatter((&x, &all).into(), &mut y, &l, ReduceOp::Sum).unwrap();
                let part: Vec<i32> = (0..count).map(|i| sum(rank.rank() * count + i)).collect();
                assert_eq!(y.to_vec::<i32>().unwrap(), part);
            });
        }
    }
}

#[test]
fn moves_bring_elements_to_their_ranks() {
    for size in SIZES {
        for count in COUNTS {
            let every: Vec<i32> = (0..size).flat_map(|rank| elements(rank, count)).collect();
            ranks(size, |rank| {
                let (l, all) = (Layout::contiguous(count), Layout::contiguous((size, count)));
                let own = rank.rank();
                let mut y = host(&vec![0i32; size * count]);
                rank.all_gather((&host(&elements(own, count)), &l).into(), &mut y, &all).unwrap();
                assert_eq!(y.to_vec::<i32>().unwrap(), every);
                let mut z = host(&vec![0i32; size * count]);
                z.write_slice(own * count, &elements(own, count)).unwrap();
                rank.all_gather(Src::InPlace, &mut z, &all).unwrap();
                assert_eq!(z.to_vec::<i32>().unwrap(), every);

                let part = |of: usize, to: usize| elements(of, size * count)[to * count..][..count].to_vec();
                let exchanged: Vec<i32> = (0..size).flat_map(|from| part(from, own)).collect();
                let x = host(&elements(own, size * count));
                rank.all_to_all((&x, &all).into(), &mut y, &all).unwrap();
                assert_eq!(y.to_vec::<i32>().unwrap(), exchanged);
                let mut z = host(&elements(own, size * count));
                rank.all_to_all(Src::InPlace, &mut z, &all).unwrap();
                assert_eq!(z.to_vec::<i32>().unwrap(), exchanged);

                for root in 0..size {
                    let mut z = host(&elements(own, count));
                    rank.broadcast(&mut z, &l, root).unwrap();
                    assert_eq!(z.to_vec::<i32>().unwrap(), elements(root, count));
                }
                rank.barrier().unwrap();
            });
        }
    }
}

/// A layout without dimensions has one element, which one rank gathers from itself.
#[test]
fn one_rank_gathers_a_scalar() {
    let scalar = Layout::contiguous(isobit_hal::Shape::from([0usize; 0]));
    let mut x = host(&[5i32]);
    let rank = Rank::from_devices(&[CpuDevice]).unwrap().remove(0);
    rank.all_gather(Src::InPlace, &mut x, &scalar).unwrap();
    assert_eq!(x.to_vec::<i32>().unwrap(), [5]);
}

/// Sums of three ranks where the order decides: the first and the third are added first, as in a
/// reduction of three elements, and the second to their sum.
#[test]
fn ranks_are_added_in_the_order_of_the_recipe() {
    let own = [1e8f32, 1.0, -1e8];
    let sums = ranks(3, |rank| {
        let (mut x, l) = (host(&[own[rank.rank()]]), Layout::contiguous(1));
        rank.all_reduce(Src::InPlace, &mut x, &l, ReduceOp::Sum).unwrap();
        x.to_vec::<f32>().unwrap()[0]
    });
    assert_eq!(sums, [1.0; 3]);
}

/// The contract: the bits of a reduction over the stacked elements, for every dtype and operation.
#[test]
fn a_reduction_over_ranks_is_one_over_stacked_elements() {
    const N: usize = 13;
    for size in [2, 3, 6] {
        let bytes: Vec<u8> = (0..8 * size * N).map(|i| (i * i * 7 + i * 13 + i / 5) as u8).collect();
        for &dtype in DType::ALL {
            for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max] {
                if !op.takes(dtype) {
                    continue;
                }
                let width = N * dtype.size_in_bytes();
                let stacked = CpuDevice.storage_from_bytes(dtype, &bytes[..size * width]).unwrap();
                let expected = stacked.reduce(&Layout::contiguous((size, N)), &Reduce::new(op, &[0])).unwrap();
                ranks(size, |rank| {
                    let own = &bytes[rank.rank() * width..][..width];
                    let (mut x, l) = (CpuDevice.storage_from_bytes(dtype, own).unwrap(), Layout::contiguous(N));
                    rank.all_reduce(Src::InPlace, &mut x, &l, op).unwrap();
                    assert_eq!(x.as_bytes(), expected.as_bytes(), "{op} of {dtype}");
                });
            }
        }
    }
}

#[test]
fn operands_have_any_layout() {
    ranks(2, |rank| {
        // Columns of a matrix, into every second element.
        let x = host(&elements(rank.rank(), 6));
        let columns = Layout::contiguous((2, 3)).transpose(0, 1).unwrap();
        let mut y = host(&[-1i32; 13]);
        let second = Layout::new((3, 2), isobit_hal::Dims::from_slice(&[4, 2]), 1).unwrap();
        rank.all_reduce((&x, &columns).into(), &mut y, &second, ReduceOp::Sum).unwrap();
        let sum = |i: usize| element(0, i) + element(1, i);
        let expected = [0, 3, 1, 4, 2, 5].map(sum);
        let y = y.to_vec::<i32>().unwrap();
        assert_eq!([1, 3, 5, 7, 9, 11].map(|i| y[i]), expected);
        assert!((0..13).step_by(2).all(|i| y[i] == -1), "{y:?}");

        let mut y = host(&[-1i32; 13]);
        let three = Layout::new((2, 3), isobit_hal::Dims::from_slice(&[6, 2]), 1).unwrap();
        let own = three.narrow(0, rank.rank(), 1).unwrap();
        CpuStorage::copy_into(Src::Storage(&x, &Layout::contiguous((1, 3))), &mut y, &own).unwrap();
        rank.all_gather(Src::InPlace, &mut y, &three).unwrap();
        let y = y.to_vec::<i32>().unwrap();
        assert_eq!([1, 3, 5, 7, 9, 11].map(|i| y[i]), [0, 1].map(|r| [0, 1, 2].map(|i| element(r, i))).as_flattened());

        // Two parts of three rows, one after the other and turned: a part ends within a row.
        for rows in [Layout::contiguous((3, 2)), Layout::contiguous((2, 3)).transpose(0, 1).unwrap()] {
            let mut y = host(&[-1i32; 6]);
            let places: Vec<usize> = rows.strided_index().collect();
            for i in 0..3 {
                y.write_slice(places[3 * rank.rank() + i], &[element(rank.rank(), i)]).unwrap();
            }
            rank.all_gather(Src::InPlace, &mut y, &rows).unwrap();
            let y = y.to_vec::<i32>().unwrap();
            let gathered: Vec<i32> = places.iter().map(|&place| y[place]).collect();
            assert_eq!(gathered, [0, 1].map(|r| [0, 1, 2].map(|i| element(r, i))).as_flattened());
        }

        let mut y = host(&[0i32; 6]);
        let back = Layout::contiguous((3, 2)).transpose(0, 1).unwrap();
        let x = host(&elements(rank.rank(), 12));
        rank.reduce_scatter((&x, &Layout::contiguous(12)).into(), &mut y, &back, ReduceOp::Sum).unwrap();
        assert_eq!(y.to_vec::<i32>().unwrap(), [0, 3, 1, 4, 2, 5].map(|i| sum(6 * rank.rank() + i)));
    });
}

#[test]
fn messages_arrive_in_order() {
    ranks(3, |rank| {
        let (to, from) = ((rank.rank() + 1) % 3, (rank.rank() + 2) % 3);
        let l = Layout::contiguous(1);
        let x = [1, 2].map(|i| host(&[rank.rank() as i64 * 10 + i]));
        let mut y = [host(&[0i64]), host(&[0i64])];
        let [a, b] = &mut y;
        let calls = [Call::recv(a, &l, from), Call::send(&x[0], &l, to), Call::send(&x[1], &l, to)];
        Communicator::group(calls.into_iter().map(|call| (&rank, call))).unwrap();
        rank.recv(b, &l, from).unwrap();
        assert_eq!(y.map(|y| y.to_vec::<i64>().unwrap()[0]), [from as i64 * 10 + 1, from as i64 * 10 + 2]);
        // To itself.
        rank.send(&x[0], &l, rank.rank()).unwrap();
        let mut z = host(&[0i64]);
        rank.recv(&mut z, &l, rank.rank()).unwrap();
        assert_eq!(z.to_vec::<i64>().unwrap(), x[0].to_vec::<i64>().unwrap());
    });
}

#[test]
fn one_thread_has_several_ranks_of_several_communicators() {
    let (a, b) = (Rank::from_devices(&[CpuDevice; 3]).unwrap(), Rank::from_devices(&[CpuDevice; 2]).unwrap());
    let l = Layout::contiguous(1);
    let mut x: Vec<_> = (0..8).map(|i| host(&[i])).collect();
    // Two calls of each rank of the first communicator, and one of each rank of the second.
    let order = [(&a[0], 0), (&b[1], 1), (&a[2], 2), (&a[0], 3), (&a[1], 4), (&b[0], 5), (&a[1], 6), (&a[2], 7)];
    let calls = order.iter().zip(&mut x);
    Rank::group(calls.map(|(&(rank, _), x)| (rank, Call::all_reduce(Src::InPlace, x, &l, ReduceOp::Sum)))).unwrap();
    let results: Vec<i32> = x.iter().map(|x| x.to_vec::<i32>().unwrap()[0]).collect();
    assert_eq!(results, [6, 6, 6, 16, 6, 6, 16, 16]);
}

#[test]
fn any_driver_takes_part() {
    let device = DynDevice::from_backend(CpuDevice);
    let ranks = Communicator::from_devices(&[device.clone(), device.clone()]).unwrap();
    let l = Layout::contiguous(2);
    let mut x = [device.storage_from_slice(&[1f64, 2.0]).unwrap(), device.storage_from_slice(&[3f64, 5.0]).unwrap()];
    let calls = ranks.iter().zip(&mut x);
    Communicator::group(calls.map(|(rank, x)| (rank, Call::all_reduce(Src::InPlace, x, &l, ReduceOp::Mean)))).unwrap();
    for x in &x {
        assert_eq!(x.to_vec::<f64>().unwrap(), [2.0, 3.5]);
    }
}

#[track_caller]
fn is<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind, words: &[&str]) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    error
}

/// A call that works, to show that the communicator goes on.
fn works(rank: &Rank) {
    let (mut x, l) = (host(&[1u8]), Layout::contiguous(1));
    rank.all_reduce(Src::InPlace, &mut x, &l, ReduceOp::Sum).unwrap();
    assert_eq!(x.to_vec::<u8>().unwrap(), [rank.size() as u8]);
}

#[test]
fn ranks_that_disagree_are_told_and_go_on() {
    ranks(3, |rank| {
        let odd = rank.rank() == 2;
        let n = if odd { 5 } else { 4 };
        let (mut x, l) = (host(&vec![1f32; n]), Layout::contiguous(n));
        let error = rank.all_reduce(Src::InPlace, &mut x, &l, ReduceOp::Sum);
        is(
            error,
            ErrorKind::InvalidArgument,
            &["rank 0 calls all_reduce(sum) of 4 f32", "rank 2 all_reduce(sum) of 5"],
        );
        works(&rank);
        let op = if odd { ReduceOp::Max } else { ReduceOp::Min };
        is(rank.all_reduce(Src::InPlace, &mut x, &l, op), ErrorKind::InvalidArgument, &["(min)", "(max)"]);
        works(&rank);
        let error = if odd { rank.barrier() } else { rank.broadcast(&mut x, &l, 0) };
        is(error, ErrorKind::InvalidArgument, &["broadcast(root 0) of 4 f32", "barrier"]);
        works(&rank);
        // One rank's call is refused; the others do not wait for it.
        let wide = Layout::contiguous(if odd { 6 } else { n });
        let error = rank.all_reduce(Src::InPlace, &mut x, &wide, ReduceOp::Sum);
        let words: &[&str] = if odd { &["exceeds its buffer"] } else { &["rank 2 was refused", "exceeds its buffer"] };
        is(error, ErrorKind::InvalidArgument, words);
        works(&rank);
    });
}

#[test]
fn bad_calls_are_errors_of_their_kind() {
    ranks(2, |rank| {
        let (x, l) = (host(&[1f32; 4]), Layout::contiguous(4));
        let (mut y, three) = (host(&[0f32; 4]), Layout::contiguous(3));
        let src = Src::from((&x, &l));
        use ErrorKind::*;
        is(rank.all_reduce(src, &mut y, &three, ReduceOp::Sum), ShapeMismatch, &["4 elements into 3"]);
        is(rank.all_gather(src, &mut y, &l), ShapeMismatch, &["all_gather over 2 ranks", "4 elements into 4"]);
        is(rank.reduce_scatter(src, &mut y, &l, ReduceOp::Sum), ShapeMismatch, &["reduce_scatter"]);
        is(rank.all_to_all((&x, &three).into(), &mut y, &three), ShapeMismatch, &["3 elements", "share equally"]);
        is(rank.reduce_scatter(Src::InPlace, &mut y, &l, ReduceOp::Sum), InvalidArgument, &["in place"]);
        is(rank.broadcast(&mut y, &l, 2), InvalidArgument, &["names rank 2", "has 2 ranks"]);
        is(rank.send(&x, &l, 7), InvalidArgument, &["names rank 7"]);
        is(rank.recv(&mut y, &l, 7), InvalidArgument, &["names rank 7"]);
        is(rank.reduce(src, None, ReduceOp::Sum, rank.rank()), InvalidArgument, &["is the root", "pass one"]);
        is(rank.reduce(Src::InPlace, None, ReduceOp::Sum, 0), InvalidArgument, &["in place", "pass one"]);
        is(rank.all_reduce(src, &mut y, &l, ReduceOp::ArgMax), InvalidArgument, &["sum, prod, mean, min or max"]);
        is(rank.all_reduce(Src::Scalar(1f32.into()), &mut y, &l, ReduceOp::Sum), InvalidArgument, &["Src::Storage"]);
        let mut i = host(&[0i32; 4]);
        is(rank.all_reduce(src, &mut i, &l, ReduceOp::Sum), UnsupportedDtype, &["f32 into i32"]);
        is(rank.all_reduce(Src::InPlace, &mut i, &l, ReduceOp::Mean), UnsupportedDtype, &["mean"]);
        let overlapping = Layout::contiguous(1).broadcast_as(4).unwrap();
        is(rank.broadcast(&mut y, &overlapping, 0), InvalidArgument, &["overlaps itself"]);
        works(&rank);
    });
    is(Rank::from_devices(&[]), ErrorKind::InvalidArgument, &["at least one device"]);
}

#[test]
fn a_message_of_another_size_is_an_error_for_its_receiver() {
    ranks(2, |rank| {
        let l = Layout::contiguous(3);
        let (x, mut y) = (host(&[1i16, 2, 3]), host(&[0i16; 4]));
        if rank.rank() == 0 {
            rank.send(&x, &l, 1).unwrap();
            rank.send(&x, &l, 1).unwrap();
        } else {
            let error = rank.recv(&mut y, &Layout::contiguous(4), 0);
            is(error, ErrorKind::InvalidArgument, &["send(to rank 1) of 3 i16", "recv(from rank 0) of 4 i16"]);
            rank.recv(&mut y, &l, 0).unwrap();
            assert_eq!(y.to_vec::<i16>().unwrap(), [1, 2, 3, 0]);
        }
        works(&rank);
    });
}

#[test]
fn a_rank_that_does_not_come_is_named_in_time() {
    ranks(3, |mut rank| {
        rank.set_timeout(Duration::from_millis(200));
        assert_eq!(rank.timeout(), Duration::from_millis(200));
        if rank.rank() == 1 {
            // It never calls, and stays until the others are done.
            return Some(rank);
        }
        let start = Instant::now();
        let (mut x, l) = (host(&[1f32]), Layout::contiguous(1));
        let error = rank.all_reduce(Src::InPlace, &mut x, &l, ReduceOp::Sum);
        is(error, ErrorKind::CommunicatorFailed, &["waited 200ms", "for rank 1", "all_reduce(sum) of 1 f32"]);
        is(rank.barrier(), ErrorKind::CommunicatorFailed, &["for rank 1"]);
        assert!(start.elapsed() < Duration::from_secs(100), "well before the default");
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0]);
        None
    });
    // A receipt and a split time out too.
    let mut ranks = Rank::from_devices(&[CpuDevice; 2]).unwrap();
    ranks[0].set_timeout(Duration::from_millis(10));
    is(ranks[0].split(Some(0), 0), ErrorKind::CommunicatorFailed, &["split for rank 1"]);
    let mut ranks = Rank::from_devices(&[CpuDevice; 2]).unwrap();
    ranks[0].set_timeout(Duration::from_millis(10));
    let (mut x, l) = (host(&[1f32]), Layout::contiguous(1));
    is(ranks[0].recv(&mut x, &l, 1), ErrorKind::CommunicatorFailed, &["for rank 1", "recv(from rank 1)"]);
}

#[test]
fn a_rank_that_leaves_is_an_error_for_those_that_wait() {
    ranks(3, |rank| {
        works(&rank);
        if rank.rank() == 1 {
            return;
        }
        let (mut x, l) = (host(&[1f32]), Layout::contiguous(1));
        let error = rank.all_reduce(Src::InPlace, &mut x, &l, ReduceOp::Sum);
        is(error, ErrorKind::CommunicatorFailed, &["rank 1 left"]);
        is(rank.recv(&mut x, &l, 1), ErrorKind::CommunicatorFailed, &["rank 1 left"]);
        is(rank.send(&x, &l, 1), ErrorKind::CommunicatorFailed, &["rank 1 left"]);
    });
    // A rank that waits already.
    let mut ranks = Rank::from_devices(&[CpuDevice; 2]).unwrap();
    let leaves = ranks.pop().unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| ranks[0].barrier());
        std::thread::sleep(Duration::from_millis(50));
        drop(leaves);
        is(waits.join().unwrap(), ErrorKind::CommunicatorFailed, &["rank 1 left"]);
    });
}

#[test]
fn a_rank_that_aborts_ends_the_call_of_all() {
    ranks(2, |rank| {
        works(&rank);
        if rank.rank() == 0 {
            std::thread::sleep(Duration::from_millis(50));
            rank.abort();
        }
        is(rank.barrier(), ErrorKind::CommunicatorFailed, &["rank 0 aborted"]);
        is(rank.split(None, 0), ErrorKind::CommunicatorFailed, &["rank 0 aborted"]);
    });
}

#[test]
fn a_split_orders_ranks_by_key() {
    ranks(5, |rank| {
        // Rank 4 takes no part; of the others, even and odd ranks go together, in descending order.
        let own = rank.rank();
        let color = (own != 4).then_some(own as u32 % 2);
        let part = rank.split(color, -(own as i64)).unwrap();
        works(&rank);
        let Some(part) = part else {
            assert_eq!(own, 4);
            return;
        };
        assert_eq!((part.size(), part.rank()), (2, 1 - own / 2));
        let (x, l) = (host(&[own as u32]), Layout::contiguous(1));
        let mut y = host(&[0u32; 2]);
        part.all_gather((&x, &l).into(), &mut y, &Layout::contiguous(2)).unwrap();
        assert_eq!(y.to_vec::<u32>().unwrap(), [own as u32 % 2 + 2, own as u32 % 2]);
        // Equal keys keep the order.
        let same = part.split(Some(7), 0).unwrap().unwrap();
        assert_eq!(same.rank(), part.rank());
    });
}

#[test]
fn collectives_are_named_for_people() {
    let shown = [
        Collective::AllReduce(ReduceOp::Sum),
        Collective::Reduce { op: ReduceOp::Max, root: 2 },
        Collective::AllGather,
        Collective::ReduceScatter(ReduceOp::Mean),
        Collective::Broadcast { root: 1 },
        Collective::AllToAll,
        Collective::Send { to: 3 },
        Collective::Recv { from: 4 },
        Collective::Barrier,
    ];
    let names = shown.map(|c| c.to_string());
    let expected = [
        "all_reduce(sum)",
        "reduce(max, root 2)",
        "all_gather",
        "reduce_scatter(mean)",
        "broadcast(root 1)",
        "all_to_all",
        "send(to rank 3)",
        "recv(from rank 4)",
        "barrier",
    ];
    assert_eq!(names, expected);
    assert!(shown.iter().zip(names).all(|(c, name)| name.starts_with(c.name())));
    assert_eq!(Call::<CpuStorage>::barrier().collective(), Collective::Barrier);
}
