//! Accesses that lie only partly in memory: the bytes inside are accessed as any others, the bytes
//! outside read as zero and are not stored.

use super::vector::{DATA, LOADS, STORES, WAYS, Way, le};
use super::{Rig, S, V, bytes, inst};
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand};
use isobit_simgpu_core::check::{Access, Launch, Place};
use isobit_simgpu_core::finding::FindingKind::{self, Misaligned, OutOfBounds, OverRead, Race};

/// Bytes of global and group memory. It is no multiple of the units in which they are allocated.
const SIZE: usize = 198;
/// Bytes of private memory, which always has whole words of eight bytes.
const PRIVATE_SIZE: usize = 200;

/// Fills group memory of [`SIZE`] bytes with random bytes and returns them.
fn group(rig: &mut Rig) -> Vec<u8> {
    rig.local.reset(SIZE, 4);
    let launch = Launch::new("fill", &rig.memory, &rig.findings, 1, false);
    let place = Place { group: 0, wave: 0, epoch: rig.wave.epoch };
    rig.local.check(&place, Access::Store, 0, 1, &[0; 64], SIZE as u32, 1, &launch, &super::Names);
    rig.local.bytes_mut().fill_with(|| rig.random.next() as u8);
    rig.local.bytes().to_vec()
}

/// Makes a memory with random contents. Returns its address and contents, which for private memory
/// are the same for all lanes.
fn fill(rig: &mut Rig, way: Way) -> (u64, Vec<u8>) {
    if way == Way::FlatShared {
        return (0, group(rig));
    }
    let size = if way.private() { PRIVATE_SIZE } else { SIZE };
    let base = rig.buffer(size);
    let contents = bytes(base, size);
    if way.private() {
        rig.wave.private.reset(PRIVATE_SIZE as u32, rig.wave.width);
        rig.wave.private.fill(&contents.repeat(rig.wave.width));
    }
    (base, contents)
}

/// The first lanes' offsets for which a way is tried: lanes around the end of the memory; and lanes
/// around its start, where the way has addresses before it. Both also misaligned.
fn starts(way: Way) -> &'static [i64] {
    match way {
        Way::GlobalBase | Way::Raw | Way::FlatShared | Way::FlatPrivate => &[140, 141],
        _ => &[140, 141, -16, -17],
    }
}

/// Whether the access of `count` bytes at an offset has bytes in a memory.
fn reaches(size: usize, at: i64, count: usize) -> bool {
    at < size as i64 && at + count as i64 > 0
}

/// Returns the bytes from an offset on, with zeros for those outside of the memory.
fn clipped(memory: &[u8], at: i64, count: usize) -> Vec<u8> {
    let byte = |i: usize| usize::try_from(at + i as i64).ok().and_then(|at| memory.get(at).copied());
    (0..count).map(|i| byte(i).unwrap_or(0)).collect()
}

/// Returns the kinds of findings of loads (or stores) at these offsets, in order, for a memory in
/// whose unit of allocation all of them end.
fn expected(size: usize, at: &[i64], count: usize, load: bool) -> Vec<FindingKind> {
    let whole = |at: i64| at >= 0 && at as usize + count <= size;
    let over = |at: i64| load && !whole(at) && (0..size as i64).contains(&at);
    let align = count.min(4) as i64;
    let mut kinds = Vec::new();
    kinds.extend(at.iter().any(|at| !whole(*at) && !over(*at)).then_some(OutOfBounds));
    kinds.extend(at.iter().any(|at| over(*at)).then_some(OverRead));
    kinds.extend(at.iter().any(|at| reaches(size, *at, count) && at % align != 0).then_some(Misaligned));
    kinds
}

/// Checks the findings of a way. Private memory has no rounding, accepts any address, and reports
/// the first lane only.
fn check(way: Way, have: &[FindingKind], size: usize, at: &[i64], count: usize, load: bool) {
    let outside = |at: &i64| *at < 0 || *at as usize + count > size;
    let want = match way.private() {
        true => Vec::from_iter(at.iter().any(outside).then_some(OutOfBounds)),
        false => expected(size, at, count, load),
    };
    assert_eq!(have, want, "{way:?}");
}

fn kinds(rig: &mut Rig, inst: &Inst) -> Vec<FindingKind> {
    rig.findings(inst).into_iter().map(|found| found.kind).collect()
}

#[test]
fn loads_read_what_lies_inside() {
    Rig::each(|mut rig| {
        for way in WAYS {
            for (rest, count, loaded) in LOADS {
                for start in starts(way) {
                    let (base, contents) = fill(&mut rig, way);
                    let at: Vec<i64> = (0..rig.lanes() as i64).map(|lane| start + 4 * lane).collect();
                    rig.fill();
                    rig.wave.set_exec(rig.wave.live);
                    let offsets: Vec<u64> = at.iter().map(|at| *at as u64).collect();
                    let inst = way.access(&mut rig, base, rest, true, &offsets);
                    let before = rig.rows::<32>(0);
                    let found = kinds(&mut rig, &inst);
                    check(way, &found, contents.len(), &at, count, true);
                    let after = rig.rows::<32>(0);
                    for (lane, at) in at.into_iter().enumerate() {
                        let mut want = before.map(|row| row[lane]);
                        let first = usize::from(DATA);
                        let words = loaded(&clipped(&contents, at, count), want[first]);
                        want[first..first + words.len()].copy_from_slice(&words);
                        assert_eq!(after.map(|row| row[lane]), want, "{way:?} {rest} at {at}");
                    }
                }
            }
        }
    });
}

#[test]
fn stores_write_what_lies_inside() {
    Rig::each(|mut rig| {
        for way in WAYS {
            for (rest, from, count) in STORES {
                for (start, phase) in starts(way).iter().flat_map(|start| (0..4).map(move |phase| (start, phase))) {
                    let (base, contents) = fill(&mut rig, way);
                    let all: Vec<i64> = (0..rig.lanes() as i64).map(|lane| start + 4 * lane).collect();
                    rig.fill();
                    // Every fourth lane, so that lanes do not overlap.
                    rig.wave.set_exec(rig.wave.live & 0x1111_1111_1111_1111 << phase);
                    let lanes = || all.iter().enumerate().skip(phase).step_by(4).map(|(lane, at)| (lane, *at));
                    let offsets: Vec<u64> = all.iter().map(|at| *at as u64).collect();
                    let inst = way.access(&mut rig, base, rest, false, &offsets);
                    let registers = rig.rows::<4>(DATA.into());
                    let found = kinds(&mut rig, &inst);
                    let at: Vec<i64> = lanes().map(|(_, at)| at).collect();
                    check(way, &found, contents.len(), &at, count, false);
                    let mut want = vec![contents; if way.private() { rig.lanes() } else { 1 }];
                    for (lane, at) in lanes() {
                        let value: Vec<u8> = registers.iter().flat_map(|row| row[lane].to_le_bytes()).collect();
                        let seen = if way.private() { lane } else { 0 };
                        for (i, byte) in value[from..from + count].iter().enumerate() {
                            let to = usize::try_from(at + i as i64).ok();
                            if let Some(to) = to.and_then(|to| want[seen].get_mut(to)) {
                                *to = *byte;
                            }
                        }
                    }
                    let have = match way {
                        Way::FlatShared => rig.local.bytes().to_vec(),
                        _ if way.private() => rig.wave.private.bytes_mut().to_vec(),
                        _ => bytes(base, SIZE),
                    };
                    assert!(have == want.concat(), "{way:?} {rest} from {start}, phase {phase}");
                }
            }
        }
    });
}

/// Name, number of bytes of each access, and the offsets of the accesses in units of these bytes.
const GROUP: [(&str, usize, &[i32]); 8] = [
    ("ds_load_u16", 2, &[0]),
    ("ds_load_b32", 4, &[0]),
    ("ds_load_b64", 8, &[0]),
    ("ds_load_b96", 12, &[0]),
    ("ds_load_b128", 16, &[0]),
    ("ds_load_2addr_b32", 4, &[0, 3]),
    ("ds_load_2addr_b64", 8, &[1, 0]),
    ("ds_load_2addr_stride64_b32", 4, &[0, 64]),
];

/// Sets v2 to the addresses of all lanes, and returns them.
fn addresses(rig: &mut Rig, start: i64) -> Vec<i64> {
    let at: Vec<i64> = (0..rig.lanes() as i64).map(|lane| start + 4 * lane).collect();
    for (lane, at) in at.iter().enumerate() {
        rig.wave.v[2].0[lane] = *at as u32;
    }
    at
}

#[test]
fn group_memory_is_read_and_written_inside() {
    Rig::each(|mut rig| {
        for (name, count, places) in GROUP {
            for start in [140, 141, -16, -17] {
                let contents = group(&mut rig);
                rig.fill();
                rig.wave.set_exec(rig.wave.live);
                let at = addresses(&mut rig, start);
                let mut load = inst(name, Encoding::Ds, V(8), &[V(2)]);
                let units = if name.contains("stride64") { 64 } else { 1 };
                (load.imm, load.imm1) = (places[0] / units, places.last().unwrap() / units);
                let of =
                    |place: &i32| -> Vec<i64> { at.iter().map(|at| at + i64::from(place * count as i32)).collect() };
                let want: Vec<_> = places.iter().flat_map(|place| expected(SIZE, &of(place), count, true)).collect();
                assert_eq!(kinds(&mut rig, &load), want, "{name} from {start}");
                for lane in 0..rig.lanes() {
                    let seen = places.iter().flat_map(|place| clipped(&contents, of(place)[lane], count));
                    let seen: Vec<u8> = seen.chain(std::iter::repeat_n(0, count % 4)).collect();
                    let words = seen.len() / 4;
                    let have: Vec<u32> = rig.rows::<4>(8).iter().take(words).map(|row| row[lane]).collect();
                    assert_eq!(have, le(&seen), "{name} from {start}, lane {lane}");
                }
            }
        }
        // A store to two places of which one lies partly outside.
        let mut want = group(&mut rig);
        rig.fill();
        rig.wave.set_exec(1);
        rig.wave.v[2].0[0] = SIZE as u32 - 14;
        let mut store = inst("ds_store_2addr_b64", Encoding::Ds, Operand::None, &[V(2), V(8), V(12)]);
        (store.imm, store.imm1) = (0, 1);
        assert_eq!(kinds(&mut rig, &store), [OutOfBounds]);
        let stored: Vec<u8> = [8, 9, 12, 13].iter().flat_map(|row| rig.wave.v[*row].0[0].to_le_bytes()).collect();
        want[SIZE - 14..].copy_from_slice(&stored[..14]);
        assert_eq!(rig.local.bytes(), want);
    });
}

#[test]
fn scalar_loads_read_what_lies_inside() {
    Rig::each(|mut rig| {
        let base = rig.buffer(70);
        let contents = bytes(base, 70);
        for (name, resource, count) in [
            ("s_load_b32", "s_buffer_load_b32", 1usize),
            ("s_load_b64", "s_buffer_load_b64", 2),
            ("s_load_b128", "s_buffer_load_b128", 4),
            ("s_load_b256", "s_buffer_load_b256", 8),
            ("s_load_b512", "s_buffer_load_b512", 16),
        ] {
            for at in (-64..=72).step_by(4) {
                let want = le(&clipped(&contents, at, 4 * count));
                let found = expected(70, &[at], 4 * count, true);
                // Scalar addresses are used without their low bits, so that nothing is misaligned.
                rig.wave.s[..100].fill(0xdead);
                rig.set_scalar_pair(60, base);
                let mut load = inst(name, Encoding::Smem, S(20), &[S(60), Operand::None]);
                load.imm = at as i32;
                assert_eq!(kinds(&mut rig, &load), found, "{name} at {at}");
                assert_eq!(rig.wave.s[20..20 + count], want, "{name} at {at}");
                if at < 0 {
                    continue;
                }
                // The resource is larger than the allocation.
                rig.wave.set_word(62, 1000);
                let mut load = inst(resource, Encoding::Smem, S(20), &[S(60), Operand::None]);
                load.imm = at as i32;
                assert_eq!(kinds(&mut rig, &load), found, "{resource} at {at}");
                assert_eq!(rig.wave.s[20..20 + count], want, "{resource} at {at}");
            }
        }
    });
}

#[test]
fn a_resource_ends_between_the_words_of_a_lane() {
    Rig::each(|mut rig| {
        let access = |name, load: bool| {
            let operands = [V(2), if load { Operand::None } else { V(8) }, S(40), Operand::Inline(128)];
            let mut access = inst(name, Encoding::Mubuf, if load { V(8) } else { Operand::None }, &operands);
            access.offen = true;
            access
        };
        let (loads, stores) = (
            [("buffer_load_b64", 2), ("buffer_load_b96", 3), ("buffer_load_b128", 4)],
            [("buffer_store_b64", 2), ("buffer_store_b96", 3), ("buffer_store_b128", 4)],
        );
        // The resource ends after 54 bytes, so that its last two are in no whole word.
        for (allocated, found) in [(256, vec![]), (42, vec![OutOfBounds, OverRead])] {
            let end = allocated.min(52);
            for (name, words) in loads {
                let base = rig.buffer(allocated);
                let contents = bytes(base, allocated);
                rig.set_scalar_pair(40, base);
                rig.wave.set_word(42, 54);
                rig.fill();
                rig.wave.set_exec(rig.wave.live);
                let at = addresses(&mut rig, 0);
                let have = kinds(&mut rig, &access(name, true));
                for kind in [OutOfBounds, OverRead] {
                    assert_eq!(have.contains(&kind), found.contains(&kind), "{name}: {have:?}");
                }
                for (lane, at) in at.into_iter().enumerate() {
                    let have: Vec<u32> = rig.rows::<4>(8).iter().take(words).map(|row| row[lane]).collect();
                    assert_eq!(have, le(&clipped(&contents[..end], at, 4 * words)), "{name} at {at}");
                }
            }
            for (name, words) in stores {
                let base = rig.buffer(allocated);
                let mut want = bytes(base, allocated);
                rig.set_scalar_pair(40, base);
                rig.wave.set_word(42, 54);
                rig.fill();
                // Lanes that do not overlap, and that end after the resource.
                rig.wave.set_exec(rig.wave.live & 0x1111);
                let at = addresses(&mut rig, 8);
                let wrong: Vec<_> = found.iter().take(1).copied().collect();
                assert_eq!(kinds(&mut rig, &access(name, false)), wrong, "{name}");
                for lane in [0, 4, 8, 12] {
                    let value = rig.rows::<4>(8).map(|row| row[lane].to_le_bytes()).concat();
                    for (i, byte) in value[..4 * words].iter().enumerate() {
                        if let Some(to) = want[..end].get_mut(at[lane] as usize + i) {
                            *to = *byte;
                        }
                    }
                }
                assert_eq!(bytes(base, allocated), want, "{name}");
            }
        }
    });
}

#[test]
fn lanes_may_disagree_about_what_lies_outside() {
    Rig::each(|mut rig| {
        let base = rig.buffer(28);
        rig.local.reset(28, 4);
        rig.set_scalar_pair(20, base);
        rig.wave.v[2].0.fill(24);
        rig.wave.v[9].0 = std::array::from_fn(|lane| lane as u32);
        let group = inst("ds_store_b64", Encoding::Ds, Operand::None, &[V(2), V(8)]);
        for store in [inst("global_store_b64", Encoding::Global, Operand::None, &[V(2), V(8), S(20)]), group] {
            rig.wave.v[8].0.fill(5);
            assert_eq!(kinds(&mut rig, &store), [OutOfBounds], "{}", store.name);
            rig.wave.v[8].0[3] = 6;
            assert_eq!(kinds(&mut rig, &store), [OutOfBounds, Race], "{}", store.name);
        }
    });
}

#[test]
fn atomics_are_not_made_in_part() {
    Rig::each(|mut rig| {
        let base = rig.buffer(28);
        let before = bytes(base, 28);
        rig.set_scalar_pair(20, base);
        rig.wave.set_exec(1);
        rig.wave.v[2].0[0] = 24;
        rig.wave.v[20].0[0] = 77;
        let add = inst("global_atomic_add_u64", Encoding::Global, V(20), &[V(2), V(8), S(20)]);
        assert_eq!(kinds(&mut rig, &add), [OutOfBounds]);
        assert_eq!((bytes(base, 28), rig.wave.v[20].0[0]), (before, 77));
        let group = group(&mut rig);
        rig.wave.v[2].0[0] = SIZE as u32 - 6;
        assert_eq!(kinds(&mut rig, &inst("ds_add_u64", Encoding::Ds, Operand::None, &[V(2), V(8)])), [OutOfBounds]);
        assert_eq!(rig.local.bytes(), group);
    });
}
