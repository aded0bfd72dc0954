//! Tests of atomics: each against its description in the ISA documents, in every space, with and
//! without return of the old value, and between threads.

use super::{Rig, S, SHARED, V, bytes, inst};
use half::{bf16, f16};
use isobit_simgpu_amd::exec::lower::Lower;
use isobit_simgpu_amd::exec::memory::atomic::{AddF32, AddU32, Atomic};
use isobit_simgpu_amd::exec::memory::operation::{DATA, NO_ROW, Operation};
use isobit_simgpu_amd::exec::program::Source;
use isobit_simgpu_amd::exec::{Flow, Wave};
use isobit_simgpu_amd::isa::{Arch, Encoding, Operand};
use isobit_simgpu_core::memory::Kind;

/// The new value from the old one and two operands; `compare` is the value to compare with, if
/// there is one.
type Change = fn(u64, u64, u64) -> u64;

fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

fn bits(x: f32) -> u64 {
    x.to_bits().into()
}

/// Name, bytes, and the function. The test masks values to their size.
const ATOMICS: [(&str, usize, Change); 36] = [
    ("add_u32", 4, |m, x, _| m.wrapping_add(x)),
    ("add_u64", 8, |m, x, _| m.wrapping_add(x)),
    ("sub_u32", 4, |m, x, _| m.wrapping_sub(x)),
    ("sub_u64", 8, |m, x, _| m.wrapping_sub(x)),
    ("csub_u32", 4, |m, x, _| m.saturating_sub(x)),
    ("inc_u32", 4, |m, x, _| if m >= x { 0 } else { m + 1 }),
    ("inc_u64", 8, |m, x, _| if m >= x { 0 } else { m + 1 }),
    ("dec_u32", 4, |m, x, _| if m == 0 || m > x { x } else { m - 1 }),
    ("dec_u64", 8, |m, x, _| if m == 0 || m > x { x } else { m - 1 }),
    ("min_i32", 4, |m, x, _| if (m as i32) < x as i32 { m } else { x }),
    ("min_i64", 8, |m, x, _| if (m as i64) < x as i64 { m } else { x }),
    ("max_i32", 4, |m, x, _| if m as i32 > x as i32 { m } else { x }),
    ("max_i64", 8, |m, x, _| if m as i64 > x as i64 { m } else { x }),
    ("min_u32", 4, |m, x, _| if m < x { m } else { x }),
    ("min_u64", 8, |m, x, _| if m < x { m } else { x }),
    ("max_u32", 4, |m, x, _| if m > x { m } else { x }),
    ("max_u64", 8, |m, x, _| if m > x { m } else { x }),
    ("and_b32", 4, |m, x, _| m & x),
    ("and_b64", 8, |m, x, _| m & x),
    ("or_b32", 4, |m, x, _| m | x),
    ("or_b64", 8, |m, x, _| m | x),
    ("xor_b32", 4, |m, x, _| m ^ x),
    ("xor_b64", 8, |m, x, _| m ^ x),
    ("swap_b32", 4, |_, x, _| x),
    ("swap_b64", 8, |_, x, _| x),
    ("cmpswap_b32", 4, |m, x, compare| if m == compare { x } else { m }),
    ("cmpswap_b64", 8, |m, x, compare| if m == compare { x } else { m }),
    ("cmpswap_f32", 4, |m, x, compare| if f(m) == f(compare) { x } else { m }),
    ("add_f32", 4, |m, x, _| bits(f(m) + f(x))),
    ("add_f64", 8, |m, x, _| (d(m) + d(x)).to_bits()),
    ("min_f32", 4, |m, x, _| bits(f(m).min(f(x)))),
    ("min_f64", 8, |m, x, _| d(m).min(d(x)).to_bits()),
    ("max_f32", 4, |m, x, _| bits(f(m).max(f(x)))),
    ("max_f64", 8, |m, x, _| d(m).max(d(x)).to_bits()),
    ("pk_add_f16", 4, |m, x, _| {
        let sum = |shift: u32| {
            let half = |w: u64| f16::from_bits((w >> shift) as u16).to_f64();
            u64::from(f16::from_f64(half(m) + half(x)).to_bits()) << shift
        };
        sum(0) | sum(16)
    }),
    ("pk_add_bf16", 4, |m, x, _| {
        let sum = |shift: u32| {
            let half = |w: u64| bf16::from_bits((w >> shift) as u16).to_f64();
            u64::from(bf16::from_f64(half(m) + half(x)).to_bits()) << shift
        };
        sum(0) | sum(16)
    }),
];

/// Float values: ordinary, of both signs, infinite, subnormal. There are no zeros of different
/// signs and no NaN, for which host functions do not specify the result.
const F32: [u32; 8] =
    [0x3f80_0000, 0xbf80_0000, 0x4049_0fdb, 0x7f80_0000, 0x0000_0003, 0x8000_0001, 0x7f7f_ffff, 0x3300_0000];
/// The same as halves; their sums are finite.
const HALVES: [u32; 4] = [0x3c00_3e01, 0xbc00_0003, 0x4248_3c00, 0x0001_8001];

fn value(rig: &mut Rig, name: &str, size: usize) -> u64 {
    if name.contains("pk_add") {
        return rig.random.pick(&HALVES).into();
    }
    if name.ends_with("f32") {
        return rig.random.pick(&F32).into();
    }
    if name.ends_with("f64") {
        return f64::from(f32::from_bits(rig.random.pick(&F32))).to_bits();
    }
    // Also use small numbers, so that comparisons have both results.
    match rig.random.next() % 3 {
        0 => rig.random.next() % 4,
        1 => (rig.random.next() % 4).wrapping_neg() & if size == 4 { 0xffff_ffff } else { u64::MAX },
        _ => rig.random.next() >> if size == 4 { 32 } else { 0 },
    }
}

/// Applies an atomic of all lanes to words of `memory`, and checks the results.
fn expect(rig: &mut Rig, space: &str, rest: &str, size: usize, change: Change, returns: bool) {
    let local = space != "global";
    let base = rig.buffer(256);
    let mut memory: Vec<u64> = (0..8).map(|_| value(rig, rest, size)).collect();
    let words = size / 4;
    let (data, compare) = (8usize, 8 + words);
    rig.fill();
    for (i, word) in memory.iter().enumerate() {
        let bytes = word.to_le_bytes();
        if local {
            super::share::fill(rig);
        }
        // SAFETY: the range is inside the buffer allocated above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (base + (i * size) as u64) as *mut u8, size) };
    }
    if local {
        rig.local.bytes_mut()[..8 * size].copy_from_slice(&bytes(base, 8 * size));
    }
    let exec = rig.random_exec();
    let mut lanes = Vec::new();
    for lane in 0..rig.lanes() {
        let at = rig.random.next() as usize % 8;
        let (x, c) = (value(rig, rest, size), memory[rig.random.next() as usize % 8]);
        for (register, value) in [(data, x), (compare, c)] {
            rig.wave.v[register].0[lane] = value as u32;
            if words == 2 {
                rig.wave.v[register + 1].0[lane] = (value >> 32) as u32;
            }
        }
        let offset = (at * size) as u64;
        match space {
            "global" => rig.set_pair(2, lane, base + offset),
            "flat" => rig.set_pair(2, lane, (u64::from(SHARED) << 32) + offset),
            _ => rig.wave.v[2].0[lane] = offset as u32,
        }
        lanes.push((at, x, c));
    }
    let dst = if returns { V(20) } else { Operand::None };
    let inst = match space {
        "ds" => {
            // GFX11's names of two forms; GFX9's have the operands swapped.
            let gfx9 = rig.arch.is_gfx9();
            let parts = rest.rsplit_once('_').unwrap();
            let stem = match parts.0 {
                "swap" => "storexchg",
                "cmpswap" if gfx9 => "cmpst",
                "cmpswap" => "cmpstore",
                other => other,
            };
            let rtn = if returns { "rtn_" } else { "" };
            let name = format!("ds_{stem}_{rtn}{}", parts.1).leak();
            let (first, second) = if stem == "cmpst" { (compare, data) } else { (data, compare) };
            inst(name, Encoding::Ds, dst, &[V(2), V(first as u16), V(second as u16)])
        }
        _ => {
            let encoding = if space == "global" { Encoding::Global } else { Encoding::Flat };
            inst(format!("{space}_atomic_{rest}").leak(), encoding, dst, &[V(2), V(data as u16), Operand::None])
        }
    };
    let before = rig.rows::<2>(20);
    rig.run(&inst);
    let mask = if size == 4 { 0xffff_ffff } else { u64::MAX };
    for (lane, (at, x, compare)) in lanes.into_iter().enumerate() {
        let mut want = before.map(|row| row[lane]);
        if exec >> lane & 1 == 1 {
            let old = memory[at];
            memory[at] = change(old, x, compare) & mask;
            if returns {
                want[0] = old as u32;
                if words == 2 {
                    want[1] = (old >> 32) as u32;
                }
            }
        }
        assert_eq!(rig.rows::<2>(20).map(|row| row[lane]), want, "{} lane {lane}", inst.name);
    }
    let want: Vec<u8> = memory.iter().flat_map(|word| word.to_le_bytes()[..size].to_vec()).collect();
    let have = if local { rig.local.bytes()[..8 * size].to_vec() } else { bytes(base, 8 * size) };
    assert_eq!(have, want, "{}", inst.name);
    rig.memory.free(base).unwrap();
}

#[test]
fn each_atomic_in_each_space() {
    Rig::each(|mut rig| {
        for (rest, size, change) in ATOMICS {
            for returns in [true, false] {
                for _ in 0..3 {
                    expect(&mut rig, "global", rest, size, change, returns);
                    expect(&mut rig, "flat", rest, size, change, returns);
                    // An exchange without return of the old value is a store, and csub does not
                    // have that form.
                    if rest != "csub_u32" && (returns || !rest.starts_with("swap")) {
                        expect(&mut rig, "ds", rest, size, change, returns);
                    }
                }
            }
        }
    });
}

#[test]
fn atomics_that_only_group_memory_has() {
    let table: [(&'static str, usize, Change); 5] = [
        ("rsub_u32", 4, |m, x, _| x.wrapping_sub(m)),
        ("rsub_u64", 8, |m, x, _| x.wrapping_sub(m)),
        ("mskor_b32", 4, |m, mask, x| m & !mask | x),
        ("mskor_b64", 8, |m, mask, x| m & !mask | x),
        ("wrap_b32", 4, |m, x, y| if m >= x { m - x } else { m.wrapping_add(y) }),
    ];
    Rig::each(|mut rig| {
        for (rest, size, change) in table {
            for _ in 0..3 {
                expect(&mut rig, "ds", rest, size, change, true);
            }
        }
        for _ in 0..3 {
            let compare: Change = |m, x, compare| if d(m) == d(compare) { x } else { m };
            expect(&mut rig, "ds", "cmpswap_f64", 8, compare, true);
        }
    });
}

#[test]
fn minimum_and_maximum_of_nan_and_zeros() {
    let nan = f32::NAN.to_bits();
    let cases = [
        ("global_atomic_min_f32", nan, 0x3f80_0000, 0x3f80_0000),
        ("global_atomic_min_f32", 0x3f80_0000, nan, 0x3f80_0000),
        ("global_atomic_max_f32", nan, 0xbf80_0000, 0xbf80_0000),
        ("global_atomic_min_f32", 0, 0x8000_0000, 0x8000_0000),
        ("global_atomic_min_f32", 0x8000_0000, 0, 0x8000_0000),
        ("global_atomic_max_f32", 0, 0x8000_0000, 0),
        ("global_atomic_max_f32", 0x8000_0000, 0, 0),
    ];
    Rig::each(|mut rig| {
        let base = rig.buffer(4);
        rig.wave.set_exec(1);
        for (name, memory, data, want) in cases {
            // SAFETY: the buffer holds a word.
            unsafe { (base as *mut u32).write(memory) };
            rig.wave.v[8].0[0] = data;
            rig.set_scalar_pair(20, base - 4);
            rig.wave.v[2].0[0] = 4;
            rig.run(&inst(name, Encoding::Global, Operand::None, &[V(2), V(8), S(20)]));
            assert_eq!(bytes(base, 4), u32::to_le_bytes(want), "{name} {memory:#x} {data:#x}");
        }
    });
}

#[test]
fn threads_lose_no_update() {
    let rig = Rig::new(Arch::Gfx90a, false);
    let base = rig.memory.alloc(8, Kind::Pinned, "").unwrap();
    // SAFETY: the buffer holds eight bytes, and no other thread is running yet.
    unsafe { (base as *mut u64).write(0) };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut wave = Wave::new();
                let mut step = Lower::new(Arch::Gfx90a, 0, false).step(|_, _, _| Flow::Next);
                (step.dst, step.rows[DATA]) = (NO_ROW, Source::Row(8));
                for _ in 0..1000 {
                    wave.v[8].0.fill(1);
                    // SAFETY: these are the two words of the buffer, which all threads update with
                    // atomics.
                    unsafe {
                        (Atomic::<AddU32>::FORM.lanes)(&mut wave, &step, u64::MAX, &[base as *mut u8; 64]);
                        wave.v[8].0.fill(1.0f32.to_bits());
                        (Atomic::<AddF32>::FORM.lanes)(&mut wave, &step, 0xff, &[(base + 4) as *mut u8; 64]);
                    }
                }
            });
        }
    });
    let words: Vec<u32> = bytes(base, 8).chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(words, [4 * 1000 * 64, (4.0f32 * 1000.0 * 8.0).to_bits()]);
}
