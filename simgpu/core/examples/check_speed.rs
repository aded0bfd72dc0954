//! Prints the cost of checking one instruction of a wave, for several address patterns.

use isobit_simgpu_core::check::{Access, Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::Findings;
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::{Kind, Memory};
use std::hint::black_box;
use std::time::{Duration, Instant};

struct Names;

impl Describe for Names {
    fn instruction(&self, site: u32) -> String {
        format!("instruction {site}")
    }
    fn thread(&self, place: &Place, lane: u32) -> String {
        format!("lane {lane} of wave {} of group {}", place.wave, place.group)
    }
}

/// Size of a buffer in bytes.
const BUFFER: u64 = 4 << 20;
/// Waves per group.
const WAVES: u32 = 4;
/// Number of launches; the best time counts.
const LAUNCHES: usize = 20;

/// Prints the best time of a check over the launches. Lane `l` of wave `w` accesses byte
/// `address(w, l)` of a buffer.
fn time(clock: Duration, name: &str, access: Access, bytes: u32, waves: u64, address: impl Fn(u64, u64) -> u64) {
    let memory = Memory::new(1 << 30).expect("addresses for an arena");
    let findings = Findings::new();
    let buffer = memory.alloc(BUFFER as usize, Kind::Device, "").expect("room for a buffer");
    memory.set_initialised(buffer, BUFFER as usize, true);
    let mut best = Duration::MAX;
    let mut spent = 0;
    for _ in 0..LAUNCHES {
        let launch = Launch::new("speed", &memory, &findings, bytes.min(4), false);
        let mut cache = SiteCache::default();
        let mut total = Duration::ZERO;
        for wave in 0..waves {
            let place =
                Place { group: (wave / u64::from(WAVES)) as u32, wave: (wave % u64::from(WAVES)) as u32, epoch: 0 };
            let addresses: [u64; 64] = std::array::from_fn(|lane| buffer + address(wave, lane as u64));
            let started = Instant::now();
            let checked = launch.check(
                &place,
                access,
                0,
                u64::MAX,
                black_box(&addresses),
                bytes,
                bytes.min(4),
                &mut cache,
                &Names,
            );
            total += started.elapsed().saturating_sub(clock);
            spent |= !black_box(checked).lanes;
        }
        best = best.min(total);
    }
    assert!(spent == 0 && findings.is_empty(), "{:?}", findings.take().first());
    println!("{name:<44} {:7.1} ns", best.as_nanos() as f64 / waves as f64);
}

fn time_local(name: &str, access: Access, bytes: u32, waves: u32, address: impl Fn(u32) -> u32) {
    let memory = Memory::new(1 << 30).expect("addresses for an arena");
    let findings = Findings::new();
    let launch = Launch::new("speed", &memory, &findings, bytes.min(4), false);
    let addresses: [u32; 64] = std::array::from_fn(|lane| address(lane as u32));
    let mut local = Local::new();
    let mut best = Duration::MAX;
    for _ in 0..LAUNCHES {
        local.reset(8192, waves);
        let all: [u32; 64] = std::array::from_fn(|lane| 128 * lane as u32);
        local.check(&Place::default(), Access::Store, 0, u64::MAX, &all, 128, 4, &launch, &Names);
        let started = Instant::now();
        for epoch in 1..1000 {
            let place = Place { epoch, ..Place::default() };
            black_box(local.check(
                &place,
                access,
                0,
                u64::MAX,
                black_box(&addresses),
                bytes,
                bytes.min(4),
                &launch,
                &Names,
            ));
        }
        best = best.min(started.elapsed());
    }
    assert!(findings.is_empty(), "{:?}", findings.take().first());
    println!("{name:<44} {:7.1} ns", best.as_nanos() as f64 / 999.0);
}

fn main() {
    // The time that reading the clock adds to each measurement.
    let clock = (0..10_000).map(|_| black_box(Instant::now()).elapsed()).min().unwrap_or_default();
    for (what, access) in [("load", Access::Load), ("store", Access::Store)] {
        time(clock, &format!("{what} 64 x 16, contiguous"), access, 16, BUFFER / 1024, |w, l| w * 1024 + l * 16);
        time(clock, &format!("{what} 64 x 4, contiguous"), access, 4, BUFFER / 256, |w, l| w * 256 + l * 4);
        time(clock, &format!("{what} 64 x 4, contiguous, 4 bytes off"), access, 4, BUFFER / 256 - 1, |w, l| {
            w * 256 + l * 4 + 4
        });
        time(clock, &format!("{what} 64 x 1, contiguous"), access, 1, BUFFER / 64, |w, l| w * 64 + l);
        time(clock, &format!("{what} 64 x 4, every other"), access, 4, BUFFER / 512, |w, l| w * 512 + l * 8);
    }
    time(clock, "load 64 x 4, all the same", Access::Load, 4, BUFFER / 256, |w, _| w % 64 * 4);
    time(clock, "load 64 x 4, four rows of sixteen", Access::Load, 4, BUFFER / 4096, |w, l| {
        w * 64 + l / 16 * 65536 + l % 16 * 4
    });
    for (group, waves) in [("one wave", 1), ("several waves", 4)] {
        time_local(&format!("local load 64 x 4, contiguous, {group}"), Access::Load, 4, waves, |l| 4 * l);
        time_local(&format!("local load 64 x 16, contiguous, {group}"), Access::Load, 16, waves, |l| 16 * l);
        time_local(&format!("local load 64 x 4, strided, {group}"), Access::Load, 4, waves, |l| 68 * l);
        time_local(&format!("local load 64 x 4, all the same, {group}"), Access::Load, 4, waves, |_| 64);
        time_local(&format!("local store 64 x 4, contiguous, {group}"), Access::Store, 4, waves, |l| 4 * l);
    }
}
