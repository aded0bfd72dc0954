//! Loads and stores: every size in every space, with extension and truncation, scalars and vectors,
//! by lanes at consecutive addresses, at the same address, or anywhere.

use crate::rig::{BYTES, Rig, bytes};
use isobit_simgpu_nvidia::exec::LANES;
use isobit_simgpu_nvidia::exec::memory::{LOCAL_APERTURE, SHARED_APERTURE};
use isobit_simgpu_nvidia::lower::Location;

/// Returns the registers that a type supports: of the same width or wider.
fn registers(bits: u32) -> &'static [(&'static str, u32)] {
    match bits {
        8 => &[("b", 16), ("s", 16), ("r", 32), ("d", 64)],
        16 => &[("s", 16), ("r", 32), ("d", 64)],
        32 => &[("r", 32), ("d", 64)],
        64 => &[("d", 64)],
        _ => &[("q", 128)],
    }
}

const TYPES: [(&str, u32); 14] = [
    ("u8", 8),
    ("s8", 8),
    ("b8", 8),
    ("u16", 16),
    ("s16", 16),
    ("b16", 16),
    ("u32", 32),
    ("s32", 32),
    ("b32", 32),
    ("f32", 32),
    ("u64", 64),
    ("s64", 64),
    ("f64", 64),
    ("b128", 128),
];

/// Returns the contents of a register of `width` bits after a load of these bytes.
fn extended(element: &[u8], signed: bool, width: u32) -> u128 {
    let fill = if signed && element[element.len() - 1] >> 7 == 1 { 0xff } else { 0 };
    let mut value = [fill; 16];
    value[..element.len()].copy_from_slice(element);
    u128::from_le_bytes(value) & (u128::MAX >> (128 - width))
}

/// Returns the lanes' offsets in a memory of `bytes` bytes: consecutive, all equal, or anywhere
/// without overlap.
fn offsets(rig: &mut Rig, size: usize, bytes: usize) -> [u64; LANES] {
    let slots = bytes / size;
    let start = rig.random.next() as usize % (slots - LANES);
    let step = (2 * (rig.random.next() as usize % slots) + 1) % slots;
    match rig.random.next() % 4 {
        0 | 1 => std::array::from_fn(|lane| ((start + lane) * size) as u64),
        2 => [(start * size) as u64; LANES],
        // The number of slots is a power of two, so an odd step reaches all of them.
        _ => std::array::from_fn(|lane| ((start + lane * step) % slots * size) as u64),
    }
}

/// The address of an instruction's access, how its address register is set, and the bytes at that
/// address.
struct Place {
    space: &'static str,
    base: u64,
    image: Vec<u8>,
}

const SPACES: [&str; 6] = ["global", "shared", "local", "generic", "generic shared", "generic local"];

/// Fills a space with random bytes.
fn place(rig: &mut Rig, space: &'static str) -> Place {
    let (base, image) = match space {
        "global" | "generic" => {
            let base = rig.buffer(BYTES);
            (base, bytes(base, BYTES))
        }
        "shared" | "generic shared" => {
            rig.fill_shared();
            (if space == "shared" { 0 } else { SHARED_APERTURE }, rig.shared.bytes().to_vec())
        }
        _ => {
            // Fills each thread's memory with stores of the same bytes.
            let image: Vec<u8> = (0..BYTES).map(|_| rig.random.next() as u8).collect();
            rig.warp.active = u32::MAX;
            for (at, word) in image.chunks(8).enumerate() {
                let word = u64::from_le_bytes(word.try_into().unwrap());
                rig.set("%d9", |_| word.into());
                rig.run(&format!("st.local.u64 [{}], %d9", 8 * at));
            }
            (if space == "local" { 0 } else { LOCAL_APERTURE }, image)
        }
    };
    Place { space, base, image }
}

fn dotted(space: &str) -> String {
    if space.starts_with("generic") { String::new() } else { format!(".{space}") }
}

#[test]
fn loads_of_every_type_from_every_space() {
    Rig::each(|mut rig| {
        for space in SPACES {
            let place = place(&mut rig, space);
            for (ty, bits) in TYPES {
                for &(register, width) in registers(bits) {
                    for count in [1, 2, 4, 8] {
                        let element = bits as usize / 8;
                        let wide = element * count == 32 && space.starts_with("g") && (count == 8 || bits == 64);
                        if count > 1 && (bits == 128 || element * count > 16 || count == 8) && !wide {
                            continue;
                        }
                        load(&mut rig, &place, ty, element, (register, width), count);
                    }
                }
            }
        }
    });
}

fn load(rig: &mut Rig, place: &Place, ty: &str, element: usize, (register, width): (&str, u32), count: usize) {
    let size = element * count;
    for _ in 0..5 {
        let offsets = offsets(rig, size, BYTES);
        rig.fill();
        let names: Vec<String> = (0..count).map(|i| format!("%{register}{i}")).collect();
        rig.set("%d11", |lane| (place.base + offsets[lane]).wrapping_sub(size as u64).into());
        let before: Vec<_> = names.iter().map(|name| rig.get(name)).collect();
        let active = rig.random_active();
        let (vector, list) = match count {
            1 => (String::new(), names[0].clone()),
            _ => (format!(".v{count}"), format!("{{{}}}", names.join(", "))),
        };
        let text = format!("ld{}{vector}.{ty} {list}, [%d11+{size}]", dotted(place.space));
        rig.run(&text);
        for (i, name) in names.iter().enumerate() {
            let mut want = before[i];
            for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                let at = offsets[lane] as usize + i * element;
                want[lane] = extended(&place.image[at..at + element], ty.starts_with('s'), width);
            }
            assert_eq!(rig.get(name), want, "{text} on {} with {active:#x}", place.space);
        }
    }
}

#[test]
fn stores_of_every_type_to_every_space() {
    Rig::each(|mut rig| {
        for space in SPACES {
            for (ty, bits) in TYPES {
                for &(register, _) in registers(bits) {
                    for count in [1, 2, 4, 8] {
                        let element = bits as usize / 8;
                        let wide = element * count == 32 && space.starts_with("g") && (count == 8 || bits == 64);
                        if count > 1 && (bits == 128 || element * count > 16 || count == 8) && !wide {
                            continue;
                        }
                        store(&mut rig, space, ty, element, register, count);
                    }
                }
            }
        }
    });
}

/// Stores and checks the memory directly; local memory is checked with byte loads.
fn store(rig: &mut Rig, space: &'static str, ty: &str, element: usize, register: &str, count: usize) {
    let size = element * count;
    let place = if space.ends_with("local") {
        Place { space, base: if space == "local" { 0 } else { LOCAL_APERTURE }, image: Vec::new() }
    } else {
        place(rig, space)
    };
    let mut offsets = offsets(rig, size, BYTES);
    rig.fill();
    let active = rig.random_active();
    if offsets[0] == offsets[1] && !space.ends_with("local") {
        // Several lanes at one address would race.
        offsets = std::array::from_fn(|lane| (lane * size) as u64);
    }
    let names: Vec<String> = (0..count).map(|i| format!("%{register}{i}")).collect();
    rig.set("%d11", |lane| (place.base + offsets[lane]).into());
    let (vector, list) = match count {
        1 => (String::new(), names[0].clone()),
        _ => (format!(".v{count}"), format!("{{{}}}", names.join(", "))),
    };
    let text = format!("st{}{vector}.{ty} [%d11], {list}", dotted(space));
    rig.run(&text);
    let values: Vec<_> = names.iter().map(|name| rig.get(name)).collect();
    let mut image = place.image;
    for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
        for (i, value) in values.iter().enumerate() {
            let stored = &value[lane].to_le_bytes()[..element];
            let at = offsets[lane] as usize + i * element;
            if space.ends_with("local") {
                rig.warp.active = 1 << lane;
                for (byte, want) in stored.iter().enumerate() {
                    rig.run(&format!("ld.local.u8 %r23, [{}]", at + byte));
                    assert_eq!(rig.get("%r23")[lane], u128::from(*want), "{text}");
                }
            } else {
                image[at..at + element].copy_from_slice(stored);
            }
        }
    }
    match space {
        "global" | "generic" => {
            assert_eq!(bytes(place.base, BYTES), image, "{text}");
            rig.memory.free(place.base).unwrap();
        }
        "shared" | "generic shared" => assert_eq!(rig.shared.bytes(), image, "{text}"),
        _ => {}
    }
}

#[test]
fn generic_addresses_of_one_warp_reach_all_memories() {
    Rig::each(|mut rig| {
        let base = rig.buffer(BYTES);
        rig.fill_shared();
        rig.fill();
        let values = rig.get("%r1");
        rig.set("%d2", |lane| {
            let start = [base, SHARED_APERTURE, LOCAL_APERTURE][lane % 3];
            u128::from(start + 4 * lane as u64)
        });
        rig.run("st.u32 [%d2], %r1; ld.u32 %r2, [%d2]");
        assert_eq!(rig.get("%r2"), values);
        for (lane, value) in values.into_iter().enumerate() {
            let word = &(value as u32).to_le_bytes();
            assert_eq!(bytes(base, BYTES)[4 * lane..4 * lane + 4] == *word, lane % 3 == 0);
            assert_eq!(rig.shared.bytes()[4 * lane..4 * lane + 4] == *word, lane % 3 == 1);
        }
    });
}

#[test]
fn addresses_of_symbols_numbers_and_narrow_registers() {
    Rig::each(|mut rig| {
        let base = rig.buffer(256);
        let locations = [
            ("g", Location::Memory(base)),
            ("s", Location::Shared(64)),
            ("l", Location::Local(128)),
            ("p", Location::Argument(16)),
            ("q", Location::Local(256)),
        ];
        rig.locations = locations.map(|(name, at)| (name.to_owned(), at)).into();
        let word = |bytes: &[u8]| u128::from(u32::from_le_bytes(bytes.try_into().unwrap()));
        rig.fill();
        let value = rig.get("%r1");
        rig.run("ld.global.u32 %r0, [g+8]");
        assert_eq!(rig.get("%r0"), [word(&bytes(base + 8, 4)); LANES]);
        rig.run("ld.const.u32 %r0, [g+12]");
        assert_eq!(rig.get("%r0"), [word(&bytes(base + 12, 4)); LANES]);
        rig.run("ld.param.u32 %r0, [p+4]");
        assert_eq!(rig.get("%r0"), [word(&rig.arguments[20..24]); LANES]);
        rig.run("mov.b64 %d0, p+4; ld.param.u32 %r0, [%d0+4]; cvta.param.u64 %d1, %d0; ld.u32 %r2, [%d1+4]");
        assert_eq!(rig.get("%r0"), [word(&rig.arguments[24..28]); LANES]);
        assert_eq!(rig.get("%r2"), rig.get("%r0"));
        rig.run("mov.b32 %r3, p; ld.param.u32 %r0, [%r3+4]");
        assert_eq!(rig.get("%r0"), [word(&rig.arguments[20..24]); LANES]);
        rig.run("st.local.u32 [l+4], %r1; mov.u32 %r3, l; ld.local.u32 %r0, [%r3+4]");
        assert_eq!(rig.get("%r0"), value);
        rig.run("mov.u64 %d0, l; cvta.local.u64 %d0, %d0; ld.u32 %r2, [%d0+4]; cvta.to.local.u64 %d0, %d0");
        assert_eq!((rig.get("%r2"), rig.get("%d0")), (value, [128; LANES]));
        rig.run("st.param.b32 [q+0], %r1; ld.param.b32 %r2, [q]");
        assert_eq!(rig.get("%r2"), value);
        rig.warp.active = 1;
        rig.run("st.shared.u32 [s+4], %r1; mov.u32 %r3, s; ld.shared.u32 %r4, [%r3+4]; ld.shared.u32 %r5, [68]");
        assert_eq!([rig.get("%r4")[0], rig.get("%r5")[0]], [value[0]; 2]);
        rig.run("cvta.shared.u64 %d0, s+4; ld.u32 %r6, [%d0]; isspacep.shared %p0, %d0; isspacep.global %p1, %d0");
        assert_eq!((rig.get("%r6")[0], *rig.predicate("%p0") & 1, *rig.predicate("%p1") & 1), (value[0], 1, 0));
        rig.run("mov.u64 %d0, g; isspacep.global %p0, %d0; isspacep.local %p1, %d0; cvta.to.global.u64 %d1, %d0");
        assert_eq!((*rig.predicate("%p0") & 1, *rig.predicate("%p1") & 1, rig.get("%d1")[0]), (1, 0, base.into()));
    });
}

#[test]
fn constants_are_stored() {
    Rig::each(|mut rig| {
        let base = rig.buffer(64);
        rig.locations.insert("g".into(), Location::Memory(base));
        rig.warp.active = 4;
        rig.run("st.global.u8 [g], -2; st.global.v2.f32 [g+8], {0f3f800000, 0fc0000000}; st.global.u64 [g+16], -3");
        assert_eq!(bytes(base, 1), [0xfe]);
        assert_eq!(bytes(base + 8, 8), [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!(bytes(base + 16, 8), (-3i64).to_le_bytes());
    });
}

#[test]
fn what_has_no_meaning_is_refused() {
    let mut rig = Rig::new(false);
    rig.locations.insert("s".into(), Location::Shared(0));
    rig.locations.insert("p".into(), Location::Argument(0));
    for (text, why) in [
        ("ld.global.f16 %s0, [%d0]", "with this type"),
        ("ld.global.u32 %s0, [%d0]", "too narrow"),
        ("ld.global.u16 %p0, [%d0]", "too narrow"),
        ("ld.global.u32 %r0, [%r1]", "the address has 64"),
        ("ld.global.v2.u32 {%r0, %d1}, [%d0]", "the same width"),
        ("ld.global.v2.u32 {%r0}, [%d0]", "but 2 are expected"),
        ("ld.global.v4.u32 %r0, [%d0]", "not a vector"),
        ("ld.shared.v4.u64 {%d0, %d1, %d2, %d3}, [%d4]", "global memory only"),
        ("ld.global.v8.u16 {%s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7}, [%d4]", "bits do not exist"),
        ("ld.global.sparse.u32 %r0, [%d0]", ".sparse"),
        ("ld.global.u32 %r0, [s]", "another state space"),
        ("ld.global.u32 %r0, [t]", "not a variable"),
        ("st.const.u32 [%d0], %r0", "cannot be written"),
        ("st.param.u32 [p], %r0", "cannot be written"),
        ("st.global.b128 [%d0], 0", "not a source"),
        ("mov.u16 %s0, s", "not a Type"),
        ("cvta.shared.u32 %r0, %r1", "64 bits"),
        ("atom.local.add.u32 %r0, [%d0], 1", "global and shared"),
        ("atom.global.add.f16 %s0, [%d0], %s1", ".noftz"),
        ("atom.global.add.v2.f32 %r0, [%d0], %r1", ".v2"),
        ("red.global.exch.b32 [%d0], %r1", "reduction"),
        ("fence.proxy.tensormap::generic.acquire.gpu", "proxy"),
        ("cp.async.bulk.shared.global [%d0], [%d1], 16", "this kind of copy is not simulated"),
    ] {
        let refused = rig.refused(text);
        assert!(refused.contains(why), "{text}: {refused}");
    }
}
