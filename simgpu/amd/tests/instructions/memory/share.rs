//! Tests of group memory with DS instructions.

use super::{LOCAL, Rig, V, inst};
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand};
use isobit_simgpu_core::check::{Access, Launch, Place};

/// Fills group memory with random bytes and returns them.
pub(super) fn fill(rig: &mut Rig) -> Vec<u8> {
    let launch = Launch::new("fill", &rig.memory, &rig.findings, 1, false);
    let place = Place { group: 0, wave: 0, epoch: rig.wave.epoch };
    let part = (LOCAL / 64) as u32;
    let all = std::array::from_fn(|lane| lane as u32 * part);
    rig.local.check(&place, Access::Store, 0, u64::MAX, &all, part, 1, &launch, &super::Names);
    rig.local.bytes_mut().fill_with(|| rig.random.next() as u8);
    rig.local.bytes().to_vec()
}

fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().unwrap())
}

fn share(name: &'static str, dst: Operand, src: &[Operand], offsets: (i32, i32)) -> Inst {
    let mut inst = inst(name, Encoding::Ds, dst, src);
    (inst.imm, inst.imm1) = offsets;
    inst
}

/// Sets v2 to the address of each lane: its own 16-byte slot.
fn addresses(rig: &mut Rig) -> Vec<usize> {
    let shuffle = rig.random.next() as usize | 1;
    let all: Vec<usize> = (0..64).map(|lane: usize| 16 * (lane.wrapping_mul(shuffle) % 64)).collect();
    for (lane, address) in all.iter().enumerate() {
        rig.wave.v[2].0[lane] = *address as u32;
    }
    all
}

/// The first register after a load, from the first word in memory and the register's old value.
type First = fn(u32, u32) -> u32;

#[test]
fn loads_and_stores_of_every_width() {
    // The number of bytes, and the first register; for a store, the bytes of the registers that go
    // to memory.
    let loads: [(&str, usize, First); 14] = [
        ("ds_load_u8", 1, |m, _| m & 0xff),
        ("ds_load_i8", 1, |m, _| m as i8 as u32),
        ("ds_load_u16", 2, |m, _| m & 0xffff),
        ("ds_load_i16", 2, |m, _| m as i16 as u32),
        ("ds_load_b32", 4, |m, _| m),
        ("ds_load_b64", 8, |m, _| m),
        ("ds_load_b96", 12, |m, _| m),
        ("ds_load_b128", 16, |m, _| m),
        ("ds_load_u8_d16", 1, |m, old| old & 0xffff_0000 | m & 0xff),
        ("ds_load_i8_d16", 1, |m, old| old & 0xffff_0000 | u32::from(m as i8 as u16)),
        ("ds_load_u16_d16", 2, |m, old| old & 0xffff_0000 | m & 0xffff),
        ("ds_load_u8_d16_hi", 1, |m, old| old & 0xffff | (m & 0xff) << 16),
        ("ds_load_i8_d16_hi", 1, |m, old| old & 0xffff | u32::from(m as i8 as u16) << 16),
        ("ds_load_u16_d16_hi", 2, |m, old| old & 0xffff | m << 16),
    ];
    let stores = [
        ("ds_store_b8", 0, 1),
        ("ds_store_b16", 0, 2),
        ("ds_store_b32", 0, 4),
        ("ds_store_b64", 0, 8),
        ("ds_store_b96", 0, 12),
        ("ds_store_b128", 0, 16),
        ("ds_store_b8_d16_hi", 2, 1),
        ("ds_store_b16_d16_hi", 2, 2),
    ];
    Rig::each(|mut rig| {
        for round in 0..4 {
            for (name, size, first) in loads {
                rig.fill();
                let memory = fill(&mut rig);
                let at = addresses(&mut rig);
                let exec = rig.random_exec();
                let offset = 4096 * (round % 2);
                let before = rig.rows::<4>(8);
                rig.run(&share(name, V(8), &[V(2)], (offset as i32, 0)));
                for lane in 0..rig.lanes() {
                    let mut want = before.map(|row| row[lane]);
                    if exec >> lane & 1 == 1 {
                        for (i, want) in want.iter_mut().enumerate().take(size.div_ceil(4)) {
                            let word = word(&memory, at[lane] + offset + 4 * i);
                            *want = if i == 0 { first(word, *want) } else { word };
                        }
                    }
                    assert_eq!(rig.rows::<4>(8).map(|row| row[lane]), want, "{name} lane {lane}");
                }
            }
            for (name, from, size) in stores {
                rig.fill();
                let mut want = fill(&mut rig);
                let at = addresses(&mut rig);
                let exec = rig.random_exec();
                rig.run(&share(name, Operand::None, &[V(2), V(8)], (32, 0)));
                for lane in (0..rig.lanes()).filter(|lane| exec >> lane & 1 == 1) {
                    let data: Vec<u8> = rig.rows::<4>(8).iter().flat_map(|row| row[lane].to_le_bytes()).collect();
                    want[at[lane] + 32..][..size].copy_from_slice(&data[from..from + size]);
                }
                assert!(rig.local.bytes() == want, "{name}");
            }
        }
    });
}

#[test]
fn two_places_at_once() {
    let forms: [(&str, &str, usize, usize); 4] = [
        ("ds_load_2addr_b32", "ds_store_2addr_b32", 1, 4),
        ("ds_load_2addr_b64", "ds_store_2addr_b64", 2, 8),
        ("ds_load_2addr_stride64_b32", "ds_store_2addr_stride64_b32", 1, 256),
        ("ds_load_2addr_stride64_b64", "ds_store_2addr_stride64_b64", 2, 512),
    ];
    Rig::each(|mut rig| {
        for (load, store, words, unit) in forms {
            rig.fill();
            let memory = fill(&mut rig);
            let at = addresses(&mut rig);
            let exec = rig.random_exec();
            let offsets = (3usize, 7usize);
            // The first register of the result is also the address.
            let before = rig.rows::<8>(2);
            let inst = share(load, V(2), &[V(2)], (offsets.0 as i32, offsets.1 as i32));
            rig.run(&inst);
            for lane in 0..rig.lanes() {
                let mut want = before.map(|row| row[lane]);
                if exec >> lane & 1 == 1 {
                    for i in 0..words {
                        want[i] = word(&memory, at[lane] + offsets.0 * unit + 4 * i);
                        want[words + i] = word(&memory, at[lane] + offsets.1 * unit + 4 * i);
                    }
                }
                assert_eq!(rig.rows::<8>(2).map(|row| row[lane]), want, "{load} lane {lane}");
            }

            rig.fill();
            let mut want = fill(&mut rig);
            let at = addresses(&mut rig);
            // Each lane has two places of its own: slots of 16 bytes, and the second place is 2048
            // bytes or a suitable multiple after the first.
            let second = if unit >= 256 { 2048 / unit } else { 8 / unit };
            let inst = share(store, Operand::None, &[V(2), V(8), V(12)], (0, second as i32));
            rig.run(&inst);
            for lane in (0..rig.lanes()).filter(|lane| exec >> lane & 1 == 1) {
                for (first, offset) in [(8, 0), (12, second * unit)] {
                    for i in 0..words {
                        let data = rig.wave.v[first + i].0[lane].to_le_bytes();
                        want[at[lane] + offset + 4 * i..][..4].copy_from_slice(&data);
                    }
                }
            }
            assert!(rig.local.bytes() == want, "{store}");
        }
    });
}

#[test]
fn an_exchange_in_two_places_gives_both_old_values() {
    Rig::each(|mut rig| {
        rig.fill();
        let memory = fill(&mut rig);
        let at = addresses(&mut rig);
        let inst = share("ds_storexchg_2addr_rtn_b32", V(20), &[V(2), V(8), V(12)], (1, 2));
        rig.run(&inst);
        for (lane, at) in at.into_iter().enumerate().take(rig.lanes()) {
            for (i, data) in [(1, 8), (2, 12)] {
                assert_eq!(rig.wave.v[19 + i].0[lane], word(&memory, at + 4 * i));
                assert_eq!(word(rig.local.bytes(), at + 4 * i), rig.wave.v[data].0[lane]);
            }
        }
    });
}
