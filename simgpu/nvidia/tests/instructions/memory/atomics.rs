//! Atomics, compared with the PTX ISA: in global and shared memory and by generic address, with and
//! without the old value, with several lanes at one address, and between host threads.

use crate::rig::{Random, Rig, bytes};
use half::{bf16, f16};
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_nvidia::exec::LANES;
use isobit_simgpu_nvidia::exec::memory::SHARED_APERTURE;

/// The new value from the old one and the two operands; only `cas` uses the second.
type Change = fn(u128, u128, u128) -> u128;

fn single(x: u128) -> f32 {
    f32::from_bits(x as u32)
}

fn double(x: u128) -> f64 {
    f64::from_bits(x as u64)
}

/// Adds two halves at a bit position, exactly in double precision, and rounds once.
fn f16_sum(m: u128, x: u128, shift: u32) -> u128 {
    let half = |w: u128| f16::from_bits((w >> shift) as u16).to_f64();
    u128::from(f16::from_f64(half(m) + half(x)).to_bits()) << shift
}

/// See [`f16_sum`].
fn bf16_sum(m: u128, x: u128, shift: u32) -> u128 {
    let half = |w: u128| bf16::from_bits((w >> shift) as u16).to_f64();
    u128::from(bf16::from_f64(half(m) + half(x)).to_bits()) << shift
}

fn signed(x: u128, bytes: usize) -> i64 {
    if bytes == 4 { (x as i32).into() } else { x as i64 }
}

/// Operation and type, bytes, the function. The test truncates results to their size.
const ATOMICS: [(&str, usize, Change); 32] = [
    ("add.u32", 4, |m, x, _| m + x),
    ("add.s32", 4, |m, x, _| m + x),
    ("add.u64", 8, |m, x, _| m + x),
    ("add.f32", 4, |m, x, _| (single(m) + single(x)).to_bits().into()),
    ("add.f64", 8, |m, x, _| (double(m) + double(x)).to_bits().into()),
    ("add.noftz.f16", 2, |m, x, _| f16_sum(m, x, 0)),
    ("add.noftz.bf16", 2, |m, x, _| bf16_sum(m, x, 0)),
    ("add.noftz.f16x2", 4, |m, x, _| f16_sum(m, x, 0) | f16_sum(m, x, 16)),
    ("add.noftz.bf16x2", 4, |m, x, _| bf16_sum(m, x, 0) | bf16_sum(m, x, 16)),
    ("inc.u32", 4, |m, x, _| if m >= x { 0 } else { m + 1 }),
    ("dec.u32", 4, |m, x, _| if m == 0 || m > x { x } else { m - 1 }),
    ("min.u32", 4, |m, x, _| if m < x { m } else { x }),
    ("min.s32", 4, |m, x, _| if signed(m, 4) < signed(x, 4) { m } else { x }),
    ("min.u64", 8, |m, x, _| if m < x { m } else { x }),
    ("min.s64", 8, |m, x, _| if signed(m, 8) < signed(x, 8) { m } else { x }),
    ("max.u32", 4, |m, x, _| if m > x { m } else { x }),
    ("max.s32", 4, |m, x, _| if signed(m, 4) > signed(x, 4) { m } else { x }),
    ("max.u64", 8, |m, x, _| if m > x { m } else { x }),
    ("max.s64", 8, |m, x, _| if signed(m, 8) > signed(x, 8) { m } else { x }),
    ("and.b32", 4, |m, x, _| m & x),
    ("and.b64", 8, |m, x, _| m & x),
    ("or.b32", 4, |m, x, _| m | x),
    ("or.b64", 8, |m, x, _| m | x),
    ("xor.b32", 4, |m, x, _| m ^ x),
    ("xor.b64", 8, |m, x, _| m ^ x),
    ("exch.b32", 4, |_, x, _| x),
    ("exch.b64", 8, |_, x, _| x),
    ("exch.b128", 16, |_, x, _| x),
    ("cas.b16", 2, |m, compare, x| if m == compare { x } else { m }),
    ("cas.b32", 4, |m, compare, x| if m == compare { x } else { m }),
    ("cas.b64", 8, |m, compare, x| if m == compare { x } else { m }),
    ("cas.b128", 16, |m, compare, x| if m == compare { x } else { m }),
];

/// Finite and infinite singles of both signs. Subnormal ones are absent, because only one of the
/// two memories flushes them.
const F32: [u32; 6] = [0x3f80_0000, 0xbf80_0000, 0x4049_0fdb, 0x7f80_0000, 0x7f7f_ffff, 0x3300_0000];
/// Pairs of halves, including subnormal ones; their sums are finite.
const HALVES: [u32; 4] = [0x3c00_3e01, 0xbc00_0003, 0x4248_3c00, 0x0001_8001];

fn cut(value: u128, bytes: usize) -> u128 {
    value & u128::MAX >> (128 - 8 * bytes)
}

fn value(random: &mut Random, name: &str, bytes: usize) -> u128 {
    if name.contains("noftz") {
        return cut(random.pick(&HALVES).into(), bytes);
    }
    if name.ends_with("f32") {
        return random.pick(&F32).into();
    }
    if name.ends_with("f64") {
        return f64::from(f32::from_bits(random.pick(&F32))).to_bits().into();
    }
    // Includes small numbers, so that comparisons go both ways.
    let some = u128::from(random.next()) << 64 | u128::from(random.next());
    let value = match some % 3 {
        0 => some >> 8 & 3,
        1 => !(some >> 8 & 3),
        _ => some >> 5,
    };
    cut(value, bytes)
}

/// Applies an atomic of all active lanes to eight words of a memory, and checks the words and the
/// results of the lanes.
fn expect(rig: &mut Rig, space: &str, name: &str, size: usize, change: Change, returns: bool) {
    let base = rig.buffer(128);
    let mut words: Vec<u128> = (0..8).map(|_| value(&mut rig.random, name, size)).collect();
    if space.contains("shared") {
        rig.fill_shared();
    }
    for (i, word) in words.iter().enumerate() {
        let word = &word.to_le_bytes()[..size];
        rig.shared.bytes_mut()[i * size..][..size].copy_from_slice(word);
        // SAFETY: within the buffer allocated above.
        unsafe { ((base + (i * size) as u64) as *mut u8).copy_from_nonoverlapping(word.as_ptr(), size) };
    }
    let register = match size {
        2 => "s",
        4 => "r",
        8 => "d",
        _ => "q",
    };
    rig.fill();
    let at: Vec<usize> = (0..LANES).map(|_| rig.random.next() as usize % 8).collect();
    let first: Vec<u128> = (0..LANES)
        .map(|lane| match name.starts_with("cas") && lane % 2 == 0 {
            true => words[at[lane]],
            false => value(&mut rig.random, name, size),
        })
        .collect();
    let second: Vec<u128> = (0..LANES).map(|_| value(&mut rig.random, name, size)).collect();
    rig.set(&format!("%{register}1"), |lane| first[lane]);
    rig.set(&format!("%{register}2"), |lane| second[lane]);
    let start = match space {
        ".global" | "" => base,
        ".shared" => 0,
        _ => SHARED_APERTURE,
    };
    rig.set("%d9", |lane| u128::from(start + (at[lane] * size) as u64));
    let active = rig.random_active();
    let dst = format!("%{register}0");
    let before = rig.get(&dst);
    let operands =
        if name.starts_with("cas") { format!("%{register}1, %{register}2") } else { format!("%{register}1") };
    let dotted = if space == "generic shared" { "" } else { space };
    let text = match returns {
        true => format!("atom.relaxed.gpu{dotted}.{name} {dst}, [%d9], {operands}"),
        false => format!("red{dotted}.{name} [%d9], {operands}"),
    };
    rig.run(&text);
    let after = rig.get(&dst);
    for lane in 0..LANES {
        if active >> lane & 1 == 0 {
            assert_eq!(after[lane], before[lane], "{text}");
            continue;
        }
        let old = words[at[lane]];
        words[at[lane]] = cut(change(old, first[lane], second[lane]), size);
        assert_eq!(after[lane], if returns { old } else { before[lane] }, "{text}, lane {lane}");
    }
    let want: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()[..size].to_vec()).collect();
    let have = match space.contains("shared") {
        true => rig.shared.bytes()[..8 * size].to_vec(),
        false => bytes(base, 8 * size),
    };
    assert_eq!(have, want, "{text}");
    rig.memory.free(base).unwrap();
}

#[test]
fn each_atomic_in_each_memory() {
    Rig::each(|mut rig| {
        for (name, size, change) in ATOMICS {
            for space in [".global", ".shared", "", "generic shared"] {
                for returns in [true, false] {
                    if returns || !name.starts_with("exch") && !name.starts_with("cas") {
                        (0..3).for_each(|_| expect(&mut rig, space, name, size, change, returns));
                    }
                }
            }
        }
    });
}

/// Adds singles in global and in shared memory, and returns both sums.
fn sums(old: u32, x: u32) -> [u32; 2] {
    let mut rig = Rig::new(false);
    let base = rig.buffer(4);
    rig.fill_shared();
    // SAFETY: the buffer holds a word.
    unsafe { (base as *mut u32).write(old) };
    rig.shared.bytes_mut()[..4].copy_from_slice(&old.to_le_bytes());
    rig.warp.active = 1;
    rig.set("%d1", |_| base.into());
    rig.set("%r1", |_| x.into());
    rig.run("red.global.add.f32 [%d1], %r1; red.shared.add.f32 [0], %r1");
    [bytes(base, 4), rig.shared.bytes()[..4].to_vec()].map(|word| u32::from_le_bytes(word.try_into().unwrap()))
}

#[test]
fn subnormal_singles_are_zeros_in_global_memory_only() {
    assert_eq!(sums(3, 5), [0, 8]);
    assert_eq!(sums(0x8000_0003, 0x8000_0005), [0x8000_0000, 0x8000_0008]);
    // The difference is subnormal, though the two numbers are not.
    assert_eq!(sums(0x0080_0001, 0x8080_0000), [0, 1]);
    assert_eq!(sums(0x7fc0_1234, 0x3f80_0000), [0x7fff_ffff; 2]);
    assert_eq!(sums(0x7f80_0000, 0xff80_0000), [0x7fff_ffff; 2]);
}

#[test]
fn threads_lose_no_update() {
    let base = Rig::new(false);
    let memory = &base.memory;
    let at = memory.alloc(32, Kind::Pinned, "").unwrap();
    // SAFETY: the buffer holds 32 bytes, and no thread runs yet.
    unsafe { (at as *mut u8).write_bytes(0, 32) };
    let word = |offset: u64| u64::from_le_bytes(bytes(at + offset, 8).try_into().unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut rig = Rig::new(false);
                // To this rig, the buffer of the other rig is an unknown address, and its checks
                // would reject the access: call the functions directly.
                rig.set("%d1", |_| 1);
                rig.set("%q1", |_| (1 << 64) + 1);
                for _ in 0..200 {
                    rig.perform("atom.global.add.u64 %d0, [%d1], %d1", at);
                    // Sixteen bytes change at once: both halves are always the same.
                    for lane in 0..LANES {
                        rig.warp.active = 1 << lane;
                        loop {
                            let guess = rig.get("%q3")[lane];
                            rig.set("%q4", |_| guess + (1 << 64) + 1);
                            rig.perform("atom.global.cas.b128 %q2, [%d1], %q3, %q4", at + 16);
                            let old = rig.get("%q2")[lane];
                            assert_eq!(old as u64, (old >> 64) as u64);
                            rig.set("%q3", |_| old);
                            if old == guess {
                                break;
                            }
                        }
                    }
                    rig.warp.active = u32::MAX;
                }
            });
        }
    });
    assert_eq!([word(0), word(16), word(24)], [4 * 200 * 32; 3]);
}
