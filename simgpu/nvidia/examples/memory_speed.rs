//! Prints the time that one memory instruction takes per warp, including checks, by its address
//! pattern.

use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::Findings;
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::{Kind as Memories, Memory};
use isobit_simgpu_nvidia::exec::warp::SITE_CACHES;
use isobit_simgpu_nvidia::exec::{Env, LANES, Row, Warp, cross, memory};
use isobit_simgpu_nvidia::lower::Lower;
use isobit_simgpu_nvidia::ptx::ast::{Base, Instruction, Kind, Operand, Register, RegisterId, Type};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

struct Names;

impl Describe for Names {
    fn instruction(&self, site: u32) -> String {
        format!("instruction {site}")
    }
    fn thread(&self, place: &Place, lane: u32) -> String {
        format!("lane {lane} of warp {} of block {}", place.wave, place.group)
    }
}

/// Warps that execute the instruction, each with its own addresses.
const WARPS: usize = 4096;
/// Bytes of global memory.
const BYTES: usize = WARPS * LANES * 16;
/// Number of launches; the best one counts.
const LAUNCHES: usize = 30;
/// The register with the address; the registers before it hold data.
const ADDRESS: u32 = 8;

/// Prints the best time of an instruction; lane `l` of warp `w` accesses byte `address(w, l)`. All
/// other operands are data.
fn time(name: &str, text: &str, base: impl Fn(u64) -> u64, address: impl Fn(usize, usize) -> u64) {
    let registers: Vec<Register> = (0..=ADDRESS)
        .map(|i| Register {
            name: format!("%{i}"),
            ty: Type { kind: Kind::Bits, bits: if i == ADDRESS { 64 } else { 32 } },
        })
        .collect();
    let rows: Vec<u32> = (0..=ADDRESS).collect();
    let locations = HashMap::new();
    let mut lower = Lower::new(0, &registers, &rows, &locations);
    let mut words = text.split('.');
    let opcode = words.next().unwrap_or_default();
    let modifiers: Vec<String> = words.map(str::to_owned).collect();
    let register = |i: u32| Operand::Register(RegisterId(i));
    let count = ["v2", "v4"].iter().position(|v| modifiers.iter().any(|m| m == v)).map_or(1, |at| 2 << at);
    let data = if count == 1 { register(0) } else { Operand::Vector((0..count).map(register).collect()) };
    let at = Operand::Address(Base::Register(RegisterId(ADDRESS)), 0);
    let operands = match opcode {
        "ld" => vec![data, at],
        "st" => vec![at, data],
        "atom" => vec![data, at, register(1)],
        _ => vec![data, register(1), Operand::Integer(1), Operand::Integer(31), Operand::Integer(u32::MAX.into())],
    };
    let inst = Instruction { guard: None, opcode: opcode.to_owned(), modifiers, operands, line: 1, location: None };
    let mut tables = memory::TABLES.iter().chain(cross::TABLES).flat_map(|table| table.iter());
    let lowering = tables.find(|row| row.0 == opcode).expect("a known opcode").1;
    lowering(&mut lower, &inst).expect("an instruction");
    let program = lower.program;

    let device = Memory::new(1 << 30).expect("addresses for an arena");
    let findings = Findings::new();
    let buffer = device.alloc(BYTES, Memories::Device, "").expect("room for a buffer");
    device.set_initialised(buffer, BYTES, true);
    let mut shared = Local::new();
    let (clock, base) = (AtomicU64::new(0), base(buffer));
    let mut warp = Warp { rows: vec![Row::ZERO; 12], active: u32::MAX, live: u32::MAX, pc: 1, ..Warp::default() };
    let mut best = Duration::MAX;
    for _ in 0..LAUNCHES {
        let launch = Launch::new("speed", &device, &findings, program.granules, program.atomics);
        shared.reset(32 << 10, 8);
        let all = std::array::from_fn(|lane| 512 * lane as u32);
        let write = isobit_simgpu_core::check::Access::Store;
        shared.check(&Place::default(), write, 0, u64::MAX, &all, 512, 4, &launch, &Names);
        let mut env = Env {
            program: &program,
            launch: &launch,
            shared: &mut shared,
            caches: &mut [SiteCache::default(); SITE_CACHES],
            describe: &Names,
            block: 0,
            block_at: [0; 3],
            grid: [1; 3],
            threads: [32, 1, 1],
            arguments: &[],
            arguments_at: 0,
            dynamic_shared: 0,
            clock: &clock,
            patience: u32::MAX,
            watched: false,
            coverage: None,
            fault: None,
        };
        let started = Instant::now();
        for at in 0..WARPS {
            // The times include the setup of the addresses, which takes a few nanoseconds.
            let lanes: [u64; LANES] = std::array::from_fn(|lane| base + address(at, lane));
            // SAFETY: the two rows from here are the register's.
            unsafe { *warp.rows.as_mut_ptr().add(ADDRESS as usize).cast() = lanes };
            (warp.number, warp.epoch) = (at as u32 % 8, 1 + at as u32 / 8);
            // SAFETY: the program was lowered for this warp's registers and this processor.
            unsafe { (program.steps[0].exec)(&mut warp, &program.steps[0], &mut env) };
        }
        best = best.min(started.elapsed());
    }
    assert!(findings.is_empty(), "{:?}", findings.take().first());
    println!("{name:<40} {text:<24} {:7.1} ns", best.as_nanos() as f64 / WARPS as f64);
}

fn main() {
    let row = |size: usize| move |warp: usize, lane: usize| ((warp * LANES + lane) * size) as u64;
    let shared_row = |size: usize| move |warp: usize, lane: usize| ((warp % 8 * LANES + lane) * size) as u64;
    for (text, size) in [
        ("ld.global.u32", 4),
        ("ld.global.v4.u32", 16),
        ("ld.global.v2.u32", 8),
        ("ld.global.u8", 1),
        ("ld.u32", 4),
        ("st.global.u32", 4),
        ("st.global.v4.u32", 16),
        ("st.global.u8", 1),
    ] {
        time("row", text, |buffer| buffer, row(size));
    }
    time("all lanes at one place", "ld.global.u32", |buffer| buffer, |warp, _| (warp * 4) as u64);
    time(
        "four rows",
        "ld.global.u32",
        |buffer| buffer,
        |warp, lane| (warp * 32 + lane / 8 * 65536 + lane % 8 * 4) as u64,
    );
    time("every other word", "ld.global.u32", |buffer| buffer, |warp, lane| ((warp * 32 + lane) * 8) as u64);
    time("anywhere", "ld.global.u32", |buffer| buffer, |warp, lane| ((warp * 77 + lane * 1237) % 8192 * 4) as u64);
    for (text, size) in [("ld.shared.u32", 4), ("ld.shared.v4.u32", 16), ("st.shared.u32", 4), ("st.shared.v4.u32", 16)]
    {
        time("row", text, |_| 0, shared_row(size));
    }
    time("all lanes at one place", "ld.shared.u32", |_| 0, |warp, _| (warp % 512 * 4) as u64);
    time("a column", "ld.shared.u32", |_| 0, |warp, lane| (warp % 8 * 4 + lane * 132) as u64);
    time("a column", "st.shared.u32", |_| 0, |warp, lane| (warp % 8 * 4 + lane * 132) as u64);
    time("row", "ld.u32", |_| memory::SHARED_APERTURE, shared_row(4));
    time("lanes of their own", "atom.global.add.u32", |buffer| buffer, |_, lane| 4 * lane as u64);
    time("lanes of their own", "atom.shared.add.u32", |_| 0, |_, lane| 4 * lane as u64);
    time("", "shfl.sync.down.b32", |_| 0, |_, _| 0);
}
