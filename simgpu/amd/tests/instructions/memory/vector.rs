//! Tests of loads and stores of every width, in every space that vector instructions address.

use super::{LOCAL, PRIVATE, Rig, S, SHARED, V, bytes, inst};
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand};
use isobit_simgpu_core::check::{Access, Place};

/// The contents of the registers after a load of these bytes, with the first register's old value:
/// as the ISA documents describe the instructions.
pub(super) type Loaded = fn(&[u8], u32) -> Vec<u32>;

pub(super) fn le(b: &[u8]) -> Vec<u32> {
    b.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
}

fn half(b: &[u8]) -> u32 {
    u32::from(b[0]) + 256 * u32::from(b[1])
}

pub(super) const LOADS: [(&str, usize, Loaded); 14] = [
    ("load_u8", 1, |b, _| vec![u32::from(b[0])]),
    ("load_i8", 1, |b, _| vec![i32::from(b[0] as i8) as u32]),
    ("load_u16", 2, |b, _| vec![half(b)]),
    ("load_i16", 2, |b, _| vec![i32::from(half(b) as u16 as i16) as u32]),
    ("load_b32", 4, |b, _| le(b)),
    ("load_b64", 8, |b, _| le(b)),
    ("load_b96", 12, |b, _| le(b)),
    ("load_b128", 16, |b, _| le(b)),
    ("load_d16_u8", 1, |b, old| vec![old / 65536 * 65536 + u32::from(b[0])]),
    ("load_d16_i8", 1, |b, old| vec![old / 65536 * 65536 + u32::from(i16::from(b[0] as i8) as u16)]),
    ("load_d16_b16", 2, |b, old| vec![old / 65536 * 65536 + half(b)]),
    ("load_d16_hi_u8", 1, |b, old| vec![old % 65536 + 65536 * u32::from(b[0])]),
    ("load_d16_hi_i8", 1, |b, old| vec![old % 65536 + 65536 * u32::from(i16::from(b[0] as i8) as u16)]),
    ("load_d16_hi_b16", 2, |b, old| vec![old % 65536 + 65536 * half(b)]),
];

/// The bytes that a store writes to memory, as a range of its registers' bytes: the start and the
/// number.
pub(super) const STORES: [(&str, usize, usize); 8] = [
    ("store_b8", 0, 1),
    ("store_b16", 0, 2),
    ("store_b32", 0, 4),
    ("store_b64", 0, 8),
    ("store_b96", 0, 12),
    ("store_b128", 0, 16),
    ("store_d16_hi_b8", 2, 1),
    ("store_d16_hi_b16", 2, 2),
];

/// A way of addressing: how a lane's offset in a memory is expressed in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Global,
    GlobalBase,
    Flat,
    FlatShared,
    FlatPrivate,
    Scratch,
    ScratchBase,
    Swizzled,
    Raw,
}

pub(super) const WAYS: [Way; 9] = [
    Way::Global,
    Way::GlobalBase,
    Way::Flat,
    Way::FlatShared,
    Way::FlatPrivate,
    Way::Scratch,
    Way::ScratchBase,
    Way::Swizzled,
    Way::Raw,
];

const ADDRESS: u16 = 2;
pub(super) const DATA: u16 = 8;
const BASE: u8 = 20;
const RESOURCE: u8 = 40;

/// Leaks a name, because instructions have static names.
fn name(prefix: &str, rest: &str) -> &'static str {
    format!("{prefix}{rest}").leak()
}

impl Way {
    fn prefix(self) -> (&'static str, Encoding) {
        match self {
            Self::Global | Self::GlobalBase => ("global_", Encoding::Global),
            Self::Flat | Self::FlatShared | Self::FlatPrivate => ("flat_", Encoding::Flat),
            Self::Scratch | Self::ScratchBase => ("scratch_", Encoding::Scratch),
            Self::Swizzled | Self::Raw => ("buffer_", Encoding::Mubuf),
        }
    }

    pub(super) fn private(self) -> bool {
        matches!(self, Self::FlatPrivate | Self::Scratch | Self::ScratchBase | Self::Swizzled)
    }

    /// Returns the instruction, and sets registers so that lane `l` accesses byte `offsets[l]` of
    /// its memory.
    pub(super) fn access(self, rig: &mut Rig, base: u64, rest: &str, load: bool, offsets: &[u64]) -> Inst {
        let (prefix, encoding) = self.prefix();
        let address = V(ADDRESS);
        let scalar = match self {
            Self::GlobalBase | Self::ScratchBase => S(BASE),
            _ => Operand::None,
        };
        let (dst, src) = match (encoding, load) {
            (Encoding::Mubuf, true) => (V(DATA), vec![address, Operand::None, S(RESOURCE), S(BASE)]),
            (Encoding::Mubuf, false) => (Operand::None, vec![address, V(DATA), S(RESOURCE), S(BASE)]),
            (Encoding::Flat, true) => (V(DATA), vec![address]),
            (Encoding::Flat, false) => (Operand::None, vec![address, V(DATA)]),
            (_, true) => (V(DATA), vec![address, scalar]),
            (_, false) => (Operand::None, vec![address, V(DATA), scalar]),
        };
        let mut inst = inst(name(prefix, rest), encoding, dst, &src);
        inst.imm = if matches!(encoding, Encoding::Flat | Encoding::Mubuf) { 24 } else { -24 };
        inst.offen = encoding == Encoding::Mubuf;
        let imm = i64::from(inst.imm);
        let wave_size = rig.lanes() as u32;
        match self {
            Self::Swizzled => {
                rig.wave.s[usize::from(RESOURCE) + 1] = 1 << 31;
                rig.wave.set_word(BASE, 64 * wave_size);
            }
            Self::Raw => {
                rig.set_scalar_pair(RESOURCE, base);
                rig.wave.set_word(RESOURCE + 2, LOCAL as u32);
                rig.wave.set_word(BASE, 64);
            }
            Self::ScratchBase => rig.wave.set_word(BASE, 64),
            Self::GlobalBase => rig.set_scalar_pair(BASE, base + 64),
            _ => {}
        }
        for (lane, offset) in offsets.iter().enumerate() {
            let offset = offset.wrapping_add_signed(-imm);
            let register = usize::from(ADDRESS);
            match self {
                Self::Global | Self::Flat => rig.set_pair(register, lane, base.wrapping_add(offset)),
                Self::FlatShared => rig.set_pair(register, lane, (u64::from(SHARED) << 32).wrapping_add(offset)),
                Self::FlatPrivate => rig.set_pair(register, lane, (u64::from(PRIVATE) << 32).wrapping_add(offset)),
                Self::Scratch => rig.wave.v[register].0[lane] = offset as u32,
                _ => rig.wave.v[register].0[lane] = (offset as u32).wrapping_sub(64),
            }
        }
        inst
    }
}

/// Fills the memory of a way of addressing with random bytes; returns the address of the first.
fn fill(rig: &mut Rig, way: Way) -> u64 {
    let base = rig.buffer(LOCAL);
    let contents = bytes(base, LOCAL);
    if way == Way::FlatShared {
        let launch_findings = &rig.findings;
        let launch = isobit_simgpu_core::check::Launch::new("fill", &rig.memory, launch_findings, 1, false);
        let place = Place { group: 0, wave: 0, epoch: rig.wave.epoch };
        let all = std::array::from_fn(|lane| (lane * LOCAL / 64) as u32);
        let part = (LOCAL / 64) as u32;
        rig.local.check(&place, Access::Store, 0, u64::MAX, &all, part, 1, &launch, &super::Names);
        rig.local.bytes_mut().copy_from_slice(&contents);
    }
    if way.private() {
        rig.wave.private.fill(&contents.repeat(rig.wave.width));
    }
    base
}

/// Returns the bytes that a lane sees after all accesses.
fn memory(rig: &mut Rig, way: Way, base: u64, lane: usize) -> Vec<u8> {
    match way {
        Way::FlatShared => rig.local.bytes().to_vec(),
        _ if way.private() => rig.wave.private.bytes_mut()[lane * LOCAL..][..LOCAL].to_vec(),
        _ => bytes(base, LOCAL),
    }
}

/// Returns the offsets of the lanes: consecutive from some start, all in the same place, or each
/// apart from the others.
fn offsets(rig: &mut Rig, size: usize, load: bool) -> Vec<u64> {
    let size = size as u64;
    let unit = if size >= 4 { 4 } else { size };
    let start = 128 + rig.random.next() % 64 * unit;
    let kind = rig.random.next() % if load { 4 } else { 3 };
    let shuffle = rig.random.next() | 1;
    (0..64)
        .map(|lane| match kind {
            0 => start + lane * size,
            1 => start + lane * (size + 2 * unit),
            // Odd multiples permute the lanes.
            2 => start + lane.wrapping_mul(shuffle) % 64 * size,
            _ => start + lane / 16 * 64,
        })
        .collect()
}

#[test]
fn loads() {
    Rig::each(|mut rig| {
        for way in WAYS {
            for (rest, size, expected) in LOADS {
                for _ in 0..8 {
                    rig.fill();
                    let base = fill(&mut rig, way);
                    let offsets = offsets(&mut rig, size, true);
                    let exec = rig.random_exec();
                    let inst = way.access(&mut rig, base, rest, true, &offsets);
                    let before = rig.rows::<32>(0);
                    rig.run(&inst);
                    let after = rig.rows::<32>(0);
                    for lane in 0..rig.lanes() {
                        let mut want = before.map(|row| row[lane]);
                        if exec >> lane & 1 == 1 {
                            let at = offsets[lane] as usize;
                            let seen = &memory(&mut rig, way, base, lane)[at..at + size];
                            let first = usize::from(DATA);
                            for (i, word) in expected(seen, want[first]).into_iter().enumerate() {
                                want[first + i] = word;
                            }
                        }
                        assert_eq!(after.map(|row| row[lane]), want, "{way:?} {rest} lane {lane}");
                    }
                    rig.memory.free(base).unwrap();
                }
            }
        }
    });
}

#[test]
fn stores() {
    Rig::each(|mut rig| {
        for way in WAYS {
            for (rest, from, size) in STORES {
                for _ in 0..4 {
                    rig.fill();
                    let base = fill(&mut rig, way);
                    let offsets = offsets(&mut rig, size, false);
                    let exec = rig.random_exec();
                    let inst = way.access(&mut rig, base, rest, false, &offsets);
                    let before = rig.rows::<32>(0);
                    let mut want: Vec<Vec<u8>> = (0..64)
                        .map(|lane| if lane < rig.lanes() { memory(&mut rig, way, base, lane) } else { vec![] })
                        .collect();
                    rig.run(&inst);
                    assert_eq!(rig.rows::<32>(0), before);
                    for lane in (0..rig.lanes()).filter(|lane| exec >> lane & 1 == 1) {
                        let registers: Vec<u8> =
                            (0..4).flat_map(|i| before[usize::from(DATA) + i][lane].to_le_bytes()).collect();
                        let at = offsets[lane] as usize;
                        let seen_by = if way.private() { lane..lane + 1 } else { 0..1 };
                        for seen in seen_by {
                            want[seen][at..at + size].copy_from_slice(&registers[from..from + size]);
                        }
                    }
                    let seen_by = if way.private() { 0..rig.lanes() } else { 0..1 };
                    for lane in seen_by {
                        assert!(memory(&mut rig, way, base, lane) == want[lane], "{way:?} {rest} lane {lane}");
                    }
                    rig.memory.free(base).unwrap();
                }
            }
        }
    });
}

#[test]
fn a_generic_access_divides_its_lanes_among_the_memories() {
    Rig::each(|mut rig| {
        let base = fill(&mut rig, Way::FlatShared);
        let contents = bytes(base, LOCAL);
        rig.wave.private.fill(&contents.repeat(rig.wave.width));
        // The three memories hold the same bytes at different addresses.
        let spaces = [base, u64::from(SHARED) << 32, u64::from(PRIVATE) << 32];
        for lane in 0..rig.lanes() {
            rig.set_pair(2, lane, spaces[lane % 3] + 12 * lane as u64);
        }
        rig.run(&inst("flat_load_b64", Encoding::Flat, V(8), &[V(2)]));
        for lane in 0..rig.lanes() {
            let at = 12 * lane;
            assert_eq!(rig.rows::<2>(8).map(|row| row[lane]).to_vec(), le(&contents[at..at + 8]), "lane {lane}");
        }
    });
}

#[test]
fn what_lies_outside_of_a_resource_reads_zero() {
    Rig::each(|mut rig| {
        let base = rig.buffer(256);
        rig.set_scalar_pair(40, base);
        rig.wave.set_word(42, 128);
        for lane in 0..rig.lanes() {
            rig.wave.v[2].0[lane] = 8 * lane as u32;
            rig.wave.v[8].0[lane] = 1;
        }
        let mut load =
            inst("buffer_load_b32", Encoding::Mubuf, V(8), &[V(2), Operand::None, S(40), Operand::Inline(128)]);
        load.offen = true;
        rig.run(&load);
        for lane in 0..rig.lanes() {
            let want = if lane < 16 { le(&bytes(base + 8 * lane as u64, 4))[0] } else { 0 };
            assert_eq!(rig.wave.v[8].0[lane], want, "lane {lane}");
        }
        let before = bytes(base, 256);
        let mut store =
            inst("buffer_store_b32", Encoding::Mubuf, Operand::None, &[V(2), V(2), S(40), Operand::Inline(128)]);
        store.offen = true;
        rig.run(&store);
        assert_eq!(bytes(base + 128, 128), before[128..]);
        assert_eq!(le(&bytes(base + 8, 4)), [8]);

        rig.wave.set_word(41, rig.wave.word(41) | 16 << 16);
        let (flow, why) = rig.try_run(&store);
        assert_eq!(flow, isobit_simgpu_amd::exec::Flow::Fault);
        assert!(why.unwrap().contains("elements of 16 bytes"));
    });
}
