//! Every collective, type and operation, by ranks in threads.

use super::gpu::Handle;
use super::run::{bytes, floats, on_cards, threads};
use super::values::TYPES;

/// An element of a rank: the results of all operations are exact in every type, and small enough.
fn element(rank: usize, index: usize, is_signed: bool) -> f64 {
    let magnitude = 1.0 + ((rank * 5 + index * 3) / 2 % 2) as f64;
    if is_signed && (rank + index).is_multiple_of(3) { -magnitude } else { magnitude }
}

fn combined(op: i32, of_ranks: &[f64], is_float: bool) -> f64 {
    let (sum, ranks) = (of_ranks.iter().sum::<f64>(), of_ranks.len() as f64);
    match op {
        0 => sum,
        1 => of_ranks.iter().product(),
        2 => of_ranks.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        3 => of_ranks.iter().copied().fold(f64::INFINITY, f64::min),
        _ if is_float => sum / ranks,
        _ => (sum / ranks).trunc(),
    }
}

#[test]
fn every_type_and_operation() {
    on_cards("testing::collectives::every_type_and_operation", 4, &[], |gpu| {
        const COUNT: usize = 12;
        threads(gpu, 4, |rank| {
            let (nccl, communicator, stream) = (&gpu.nccl, rank.communicator, rank.stream);
            for ty in &TYPES {
                let of = |rank| (0..COUNT).map(|index| element(rank, index, ty.is_signed)).collect::<Vec<_>>();
                let own = ty.encode(&of(rank.rank));
                for op in 0..5 {
                    let of_ranks = |index| (0..4).map(|rank| of(rank)[index]).collect::<Vec<_>>();
                    let expected: Vec<f64> =
                        (0..COUNT).map(|index| combined(op, &of_ranks(index), ty.is_float)).collect();
                    let expected = ty.encode(&expected);
                    let size = COUNT * ty.bytes;
                    let (from, to) = (rank.upload(&own), gpu.alloc(size));
                    let what = format!("type {} operation {op}", ty.number);
                    // SAFETY: the simulator checks the memory.
                    unsafe {
                        gpu.ok((nccl.ncclAllReduce)(from, to, COUNT, ty.number, op, communicator, stream));
                        assert_eq!(rank.download(to, size), expected, "{what}");
                        gpu.ok((nccl.ncclReduce)(from, to, COUNT, ty.number, op, 2, communicator, stream));
                        if rank.rank == 2 {
                            assert_eq!(rank.download(to, size), expected, "{what}, reduced");
                        }
                        gpu.ok((nccl.ncclReduceScatter)(from, to, COUNT / 4, ty.number, op, communicator, stream));
                        let part = size / 4;
                        let own = &expected[rank.rank * part..][..part];
                        assert_eq!(rank.download(to, part), own, "{what}, scattered");
                        gpu.ok((nccl.ncclAllReduce)(from, from, COUNT, ty.number, op, communicator, stream));
                        assert_eq!(rank.download(from, size), expected, "{what}, in place");
                    }
                    gpu.free(from);
                    gpu.free(to);
                }
            }
            rank.destroy();
        });
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn elements_are_moved() {
    on_cards("testing::collectives::elements_are_moved", 3, &[], |gpu| {
        threads(gpu, 3, |rank| {
            let (nccl, communicator, stream) = (&gpu.nccl, rank.communicator, rank.stream);
            let of = |rank: usize| (0..40u8).map(|index| index * 5 + rank as u8).collect::<Vec<_>>();
            for ty in &TYPES {
                let (count, from) = (40 / ty.bytes, rank.upload(&of(rank.rank)));
                let (to, all) = (gpu.alloc(40), gpu.alloc(120));
                let own = Handle(all.0.wrapping_byte_add(rank.rank * 40));
                let everything = [of(0), of(1), of(2)].concat();
                // SAFETY: the simulator checks the memory.
                unsafe {
                    gpu.ok((nccl.ncclBroadcast)(from, to, count, ty.number, 1, communicator, stream));
                    assert_eq!(rank.download(to, 40), of(1));
                    gpu.ok((nccl.ncclAllGather)(from, all, count, ty.number, communicator, stream));
                    assert_eq!(rank.download(all, 120), everything);
                    // In place: each rank's elements are where they belong.
                    gpu.ok((nccl.ncclAllGather)(own, all, count, ty.number, communicator, stream));
                    assert_eq!(rank.download(all, 120), everything);
                    gpu.ok((nccl.ncclBroadcast)(from, from, count, ty.number, 2, communicator, stream));
                    assert_eq!(rank.download(from, 40), of(2));
                }
            }
            rank.destroy();
        });
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn sums_have_the_order_of_a_ring_and_repeat() {
    on_cards("testing::collectives::sums_have_the_order_of_a_ring_and_repeat", 3, &[], |gpu| {
        let of =
            |rank: usize| (0..99).map(|index| 1.0 / (index as f32 + 1.5) * 7f32.powi(rank as i32)).collect::<Vec<_>>();
        let sums = threads(gpu, 3, |rank| {
            let sums = [(); 2].map(|()| rank.all_reduce(&of(rank.rank)));
            rank.destroy();
            sums
        });
        let [first, again] = &sums[0];
        assert!(sums.iter().flatten().all(|sum| sum == first) && first == again, "the sums differ");
        let [a, b, c] = [of(0), of(1), of(2)];
        for index in 0..99 {
            // The ring of a chunk ends with its rank.
            let expected = match index / 33 {
                0 => (b[index] + c[index]) + a[index],
                1 => (c[index] + a[index]) + b[index],
                _ => (a[index] + b[index]) + c[index],
            };
            assert_eq!(first[index], expected, "element {index}");
        }
        let of_ranks: Vec<f32> = (0..99).map(|index| (a[index] + b[index]) + c[index]).collect();
        assert_ne!(*first, of_ranks, "the order of the ranks is not to be relied on");
    });
}

#[test]
fn any_number_of_elements_and_ranks() {
    on_cards("testing::collectives::any_number_of_elements_and_ranks", 8, &[], |gpu| {
        for ranks in [1, 2, 5, 8] {
            threads(gpu, ranks, |rank| {
                for count in [0, 1, 3, 8, 1000] {
                    let numbers = vec![rank.rank as f32 + 1.0; count];
                    let sum = (ranks * (ranks + 1) / 2) as f32;
                    assert_eq!(rank.all_reduce(&numbers), vec![sum; count], "{count} elements, {ranks} ranks");
                }
                let (mut count, mut device, mut own) = (0, -1, -1);
                // SAFETY: out-parameters.
                unsafe {
                    gpu.ok((gpu.nccl.ncclCommCount)(rank.communicator, &mut count));
                    gpu.ok((gpu.nccl.ncclCommCuDevice)(rank.communicator, &mut device));
                    gpu.ok((gpu.nccl.ncclCommUserRank)(rank.communicator, &mut own));
                }
                assert_eq!([count, device, own].map(|number| number as usize), [ranks, rank.rank, rank.rank]);
                rank.destroy();
            });
        }
        assert_eq!(gpu.findings(), []);
    });
}

#[test]
fn integers_wrap_and_small_floats_saturate() {
    on_cards("testing::collectives::integers_wrap_and_small_floats_saturate", 2, &[], |gpu| {
        threads(gpu, 2, |rank| {
            // 100 + 100 in i8, and twice the largest f8e4m3 and f8e5m2.
            for (number, bits, expected) in [(0, 100, 200u8), (10, 0x7e, 0x7e), (11, 0x7b, 0x7b)] {
                let at = rank.upload(&[bits]);
                // SAFETY: the simulator checks the memory.
                gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, number, 0, rank.communicator, rank.stream) });
                assert_eq!(rank.download(at, 1), [expected], "type {number}");
            }
            // The smallest number loses against NaN in no order, and NaN against every number.
            let at = rank.upload(&bytes(&[if rank.rank == 0 { f32::NAN } else { -3.0 }, rank.rank as f32]));
            // SAFETY: the simulator checks the memory.
            gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(at, at, 2, 7, 2, rank.communicator, rank.stream) });
            assert_eq!(floats(&rank.download(at, 8)), [-3.0, 1.0]);
            rank.destroy();
        });
        assert_eq!(gpu.findings(), []);
    });
}
