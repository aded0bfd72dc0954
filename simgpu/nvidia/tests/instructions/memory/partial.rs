//! Accesses that lie only partly in memory: the bytes inside are accessed as any others, the bytes
//! outside read as zero and are not stored.

use crate::rig::{Rig, bytes};
use isobit_simgpu_core::finding::FindingKind::{self, Misaligned, OutOfBounds, OverRead, Race};
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_nvidia::exec::LANES;
use isobit_simgpu_nvidia::exec::memory::{LOCAL_APERTURE, SHARED_APERTURE};

/// A type, its number of elements, and the bytes of an element.
const MOVES: [(&str, usize, usize); 11] = [
    ("u16", 1, 2),
    ("u32", 1, 4),
    ("u64", 1, 8),
    ("b128", 1, 16),
    ("v2.u16", 2, 2),
    ("v2.u32", 2, 4),
    ("v2.u64", 2, 8),
    ("v4.u16", 4, 2),
    ("v4.u32", 4, 4),
    ("v4.u64", 4, 8),
    ("v8.u32", 8, 4),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    Global,
    Constant,
    Shared,
    Local,
    Arguments,
}

/// The start of an instruction, the memory, and the base of its addresses in 64 bits; `None` for
/// addresses of 32 bits.
const LOADS: [(&str, Memory, Option<u64>); 15] = [
    ("ld.global", Memory::Global, Some(0)),
    ("ld.global.nc", Memory::Global, Some(0)),
    ("ldu.global", Memory::Global, Some(0)),
    ("ld.volatile.global", Memory::Global, Some(0)),
    ("ld.relaxed.gpu.global", Memory::Global, Some(0)),
    ("ld", Memory::Global, Some(0)),
    ("ld.const", Memory::Constant, Some(0)),
    ("ld.shared", Memory::Shared, None),
    ("ld.shared", Memory::Shared, Some(0)),
    ("ld.volatile.shared", Memory::Shared, None),
    ("ld", Memory::Shared, Some(SHARED_APERTURE)),
    ("ld.local", Memory::Local, None),
    ("ld.local", Memory::Local, Some(0)),
    ("ld", Memory::Local, Some(LOCAL_APERTURE)),
    ("ld.param", Memory::Arguments, None),
];

const STORES: [(&str, Memory, Option<u64>); 8] = [
    ("st.global", Memory::Global, Some(0)),
    ("st.relaxed.gpu.global", Memory::Global, Some(0)),
    ("st", Memory::Global, Some(0)),
    ("st.shared", Memory::Shared, None),
    ("st.volatile.shared", Memory::Shared, None),
    ("st", Memory::Shared, Some(SHARED_APERTURE)),
    ("st.local", Memory::Local, None),
    ("st", Memory::Local, Some(LOCAL_APERTURE)),
];

/// Returns the names of the registers of a vector, and the operand.
fn registers(count: usize, size: usize) -> (Vec<String>, String) {
    let kind = match size {
        2 => 's',
        4 => 'r',
        8 => 'd',
        _ => 'q',
    };
    let names: Vec<String> = (0..count).map(|i| format!("%{kind}{i}")).collect();
    let all = names.join(", ");
    (names, if count == 1 { all } else { format!("{{{all}}}") })
}

/// Returns the bytes of a lane in registers.
fn held(rig: &Rig, names: &[String], size: usize, lane: usize) -> Vec<u8> {
    names.iter().flat_map(|name| rig.get(name)[lane].to_le_bytes().into_iter().take(size)).collect()
}

/// Makes a memory of this size with random contents. Returns its start and each lane's view of it.
fn filled(rig: &mut Rig, memory: Memory, size: usize) -> (u64, Vec<Vec<u8>>) {
    match memory {
        Memory::Global => {
            let base = rig.buffer(size);
            (base, vec![bytes(base, size); LANES])
        }
        Memory::Constant => {
            let base = rig.memory.alloc(size, Kind::Constant, "").unwrap();
            let contents: Vec<u8> = (0..size).map(|_| rig.random.next() as u8).collect();
            // SAFETY: just allocated with this size.
            unsafe { (base as *mut u8).copy_from_nonoverlapping(contents.as_ptr(), size) };
            (base, vec![contents; LANES])
        }
        Memory::Shared => {
            rig.shared.reset(size, 4);
            rig.fill_shared();
            (0, vec![rig.shared.bytes().to_vec(); LANES])
        }
        Memory::Local => {
            rig.warp.private.reset(size as u32);
            rig.fill();
            let stores: Vec<String> = (0..size).map(|at| format!("st.local.u8 [{at}], %s{}", at % 8)).collect();
            rig.run(&stores.join(";"));
            let byte = |lane: usize, at: usize| rig.get(&format!("%s{}", at % 8))[lane] as u8;
            (0, (0..LANES).map(|lane| (0..size).map(|at| byte(lane, at)).collect()).collect())
        }
        Memory::Arguments => {
            rig.arguments = (0..size).map(|_| rig.random.next() as u8).collect();
            (0, vec![rig.arguments.clone(); LANES])
        }
    }
}

/// Sets the addresses of all lanes, and returns the operand.
fn point(rig: &mut Rig, base: Option<u64>, at: impl Fn(usize) -> u64) -> &'static str {
    match base {
        Some(base) => {
            rig.set("%d9", |lane| base.wrapping_add(at(lane)).into());
            "[%d9]"
        }
        None => {
            rig.set("%r9", |lane| u128::from(at(lane) as u32));
            "[%r9]"
        }
    }
}

/// Returns the bytes from `at` on, with zeros for those outside of the memory.
fn clipped(memory: &[u8], at: i64, count: usize) -> Vec<u8> {
    let byte = |i: usize| usize::try_from(at + i as i64).ok().and_then(|at| memory.get(at).copied());
    (0..count).map(|i| byte(i).unwrap_or(0)).collect()
}

/// The numbers of bytes of an access that are tried inside.
fn insides(all: usize) -> Vec<usize> {
    let mut insides = vec![1, all / 2, all - all / 4, all - 1];
    insides.dedup();
    insides.retain(|inside| (1..all).contains(inside));
    insides
}

/// The findings of loads of which the third reaches past the end, and the others follow it. Local
/// memory and the arguments report the first lane only.
fn expected(memory: Memory, whole_row: bool) -> Vec<FindingKind> {
    match memory {
        Memory::Local => vec![OutOfBounds],
        Memory::Arguments => vec![OverRead],
        _ if whole_row => vec![OutOfBounds, OverRead],
        _ => vec![OverRead],
    }
}

#[test]
fn loads_read_what_lies_inside() {
    Rig::each(|mut rig| {
        for (load, memory, base) in LOADS {
            for (ty, count, size) in MOVES {
                let all = count * size;
                if all > 16 && memory != Memory::Global {
                    continue;
                }
                for inside in insides(all) {
                    let (start, contents) = filled(&mut rig, memory, 64 + inside);
                    let (names, list) = registers(count, size);
                    // The third lane of the row reaches past the end. Then that lane alone.
                    for active in [u32::MAX, 1 << 2] {
                        rig.fill();
                        let offset = |lane: usize| 64 + (lane as i64 - 2) * all as i64;
                        let operand = point(&mut rig, base, |lane| start + offset(lane) as u64);
                        let before: Vec<_> = (0..LANES).map(|lane| held(&rig, &names, size, lane)).collect();
                        rig.warp.active = active;
                        let text = format!("{load}.{ty} {list}, {operand}");
                        let context = format!("{text}, {inside} bytes inside, active {active:#x}");
                        assert_eq!(rig.kinds(&text), expected(memory, active == u32::MAX), "{context}");
                        rig.warp.active = u32::MAX;
                        for lane in 0..LANES {
                            let want = match active >> lane & 1 {
                                1 => clipped(&contents[lane], offset(lane), all),
                                _ => before[lane].clone(),
                            };
                            assert_eq!(held(&rig, &names, size, lane), want, "{context}, lane {lane}");
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn stores_write_what_lies_inside() {
    Rig::each(|mut rig| {
        for (store, memory, base) in STORES {
            for (ty, count, size) in MOVES {
                let all = count * size;
                if all > 16 && memory != Memory::Global {
                    continue;
                }
                for inside in insides(all) {
                    let bytes_there = 64 + inside;
                    let (start, mut contents) = filled(&mut rig, memory, bytes_there);
                    let (names, list) = registers(count, size);
                    rig.fill();
                    let offset = |lane: usize| 64 + (lane as i64 - 2) * all as i64;
                    let operand = point(&mut rig, base, |lane| start + offset(lane) as u64);
                    // Between two allocations lies memory of the process that is in none of them.
                    let behind = || match memory {
                        Memory::Global => bytes(start + bytes_there as u64, 32 * LANES - 64),
                        _ => Vec::new(),
                    };
                    let text = format!("{store}.{ty} {operand}, {list}");
                    let before = behind();
                    assert_eq!(rig.kinds(&text), [OutOfBounds], "{text}");
                    assert_eq!(behind(), before, "{text}");
                    for lane in 0..LANES {
                        let value = held(&rig, &names, size, lane);
                        let seen_by = if memory == Memory::Local { lane..lane + 1 } else { 0..LANES };
                        for (i, byte) in value.into_iter().enumerate() {
                            let at = offset(lane) as usize + i;
                            contents[seen_by.clone()].iter_mut().filter_map(|c| c.get_mut(at)).for_each(|c| *c = byte);
                        }
                    }
                    match memory {
                        Memory::Global => assert_eq!(bytes(start, bytes_there), contents[0], "{text}"),
                        Memory::Shared => assert_eq!(rig.shared.bytes(), contents[0], "{text}"),
                        _ => {
                            for at in 0..bytes_there {
                                rig.run(&format!("ld.local.u8 %r20, [{at}]"));
                                let want: Vec<u128> = contents.iter().map(|lane| lane[at].into()).collect();
                                assert_eq!(rig.get("%r20"), *want, "{text}, byte {at}");
                            }
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn accesses_may_start_before_the_first_byte() {
    Rig::each(|mut rig| {
        let places = LOADS.into_iter().filter(|(load, memory, base)| {
            !matches!(memory, Memory::Arguments)
                && !load.contains("volatile")
                && !load.contains("relaxed")
                && base.is_none_or(|base| base == 0)
        });
        for (load, memory, base) in places {
            let (start, contents) = filled(&mut rig, memory, 64);
            rig.warp.active = 0b100;
            let operand = point(&mut rig, base, |_| start.wrapping_sub(6));
            let (names, list) = registers(4, 4);
            let kinds = rig.kinds(&format!("{load}.v4.u32 {list}, {operand}"));
            // Six is no multiple of the alignment, and no multiple of it reaches inside.
            let want = if memory == Memory::Local { vec![OutOfBounds] } else { vec![OutOfBounds, Misaligned] };
            assert_eq!(kinds, want, "{load}");
            assert_eq!(held(&rig, &names, 4, 2), clipped(&contents[2], -6, 16), "{load}");
            rig.warp.active = u32::MAX;
        }
    });
}

#[test]
fn every_byte_inside_counts() {
    Rig::each(|mut rig| {
        let base = rig.buffer(30);
        let contents = bytes(base, 30);
        rig.warp.active = 1;
        rig.set("%d1", |_| u128::from(base + 28));
        assert_eq!(rig.kinds("ld.global.u32 %r1, [%d1]"), [OverRead]);
        assert_eq!(rig.get("%r1")[0], u16::from_le_bytes([contents[28], contents[29]]).into());
        // The wider register gets the value that memory gives, also its sign.
        rig.set("%r2", |_| 0xffff_ffff);
        rig.run("st.global.u16 [%d1], %r2");
        rig.kinds("ld.global.s32 %d2, [%d1]");
        assert_eq!(rig.get("%d2")[0], 0xffff);
        rig.set("%d1", |_| u128::from(base - 2));
        rig.run("st.global.u16 [%d1+2], %r2");
        rig.kinds("ld.global.s32 %d2, [%d1]");
        assert_eq!(rig.get("%d2")[0], 0xffff_ffff_ffff_0000);
    });
}

#[test]
fn rows_of_matrices_end_with_the_memory() {
    Rig::each(|mut rig| {
        rig.shared.reset(1000, 4);
        rig.fill_shared();
        let contents = rig.shared.bytes().to_vec();
        rig.fill();
        // The eighth row has 8 of its 16 bytes.
        rig.set("%r9", |lane| 880 + 16 * lane as u128);
        assert_eq!(rig.kinds("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r9]"), [OverRead]);
        for (lane, word) in rig.get("%r0").into_iter().enumerate() {
            let want = clipped(&contents, 880 + 4 * lane as i64, 4);
            assert_eq!(word, u32::from_le_bytes(want.try_into().unwrap()).into(), "lane {lane}");
        }
        rig.fill();
        rig.set("%r9", |lane| 880 + 16 * lane as u128);
        assert_eq!(rig.kinds("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {%r0}"), [OutOfBounds]);
        let stored: Vec<u8> = rig.get("%r0").iter().flat_map(|word| (*word as u32).to_le_bytes()).collect();
        assert_eq!(rig.shared.bytes()[880..], stored[..120]);
        assert_eq!(rig.shared.bytes()[..880], contents[..880]);
    });
}

#[test]
fn copies_read_and_write_what_lies_inside() {
    Rig::each(|mut rig| {
        let base = rig.buffer(16 * LANES - 4);
        let source = bytes(base, 16 * LANES - 4);
        rig.set("%d1", |lane| u128::from(base + 16 * lane as u64));
        rig.set("%r1", |lane| 16 * lane as u128);
        let found = rig.found("cp.async.cg.shared.global [%r1], [%d1], 16");
        assert_eq!((found.len(), found[0].kind, found[0].offset), (1, OverRead, 16 * 31));
        // What lay outside was read as zero, so that it is not uninitialised.
        rig.run("cp.async.wait_all; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1]");
        assert_eq!(rig.shared.bytes()[..16 * LANES - 4], source);
        assert_eq!(rig.get("%r5")[31], 0);

        // The destination of the last lane has room for 8, 1 and 15 bytes.
        for room in [8, 1, 15] {
            rig.shared.reset(16 * 31 + room, 4);
            rig.fill_shared();
            rig.set("%d1", |_| base.into());
            let found = rig.found("cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.commit_group");
            assert_eq!((found.len(), found[0].kind), (1, OutOfBounds), "{room}");
            assert_eq!(rig.kinds(&format!("ld.shared.u8 %r2, [{}]", 16 * 31)), [FindingKind::UninitialisedRead]);
            // The wait reports nothing a second time.
            rig.run(&format!("cp.async.wait_group 0; ld.shared.u8 %r2, [{}]", 16 * 31 + room - 1));
            let want: Vec<u8> = source[..16].iter().copied().cycle().take(16 * 31 + room).collect();
            assert_eq!(rig.shared.bytes(), want, "{room}");
        }
    });
}

#[test]
fn lanes_may_disagree_about_what_lies_outside() {
    Rig::each(|mut rig| {
        let base = rig.buffer(28);
        rig.shared.reset(28, 4);
        rig.set("%r2", |_| 5);
        rig.set("%r3", |lane| lane as u128);
        for (space, address) in [("global", base), ("shared", 0)] {
            rig.set("%d1", |_| u128::from(address + 24));
            let store = |first: &str| format!("st.{space}.v2.u32 [%d1], {{{first}, %r3}}");
            assert_eq!(rig.kinds(&store("%r2")), [OutOfBounds], "{space}");
            assert_eq!(rig.kinds(&store("%r3")), [OutOfBounds, Race], "{space}");
        }
    });
}

#[test]
fn atomics_are_not_made_in_part() {
    Rig::each(|mut rig| {
        let base = rig.buffer(28);
        rig.shared.reset(28, 4);
        rig.fill_shared();
        let before = (bytes(base, 28), rig.shared.bytes().to_vec());
        rig.warp.active = 1;
        rig.set("%d0", |_| 77);
        for (space, address) in [("global", base), ("shared", 0)] {
            rig.set("%d1", |_| u128::from(address + 24));
            assert_eq!(rig.kinds(&format!("atom.{space}.add.u64 %d0, [%d1], 1")), [OutOfBounds], "{space}");
            assert_eq!(rig.get("%d0")[0], 77, "{space}");
        }
        assert_eq!((bytes(base, 28), rig.shared.bytes().to_vec()), before);
    });
}
