//! Debian's unmodified `librocrand.so.1`, which is built from AMD's own sources for real cards,
//! runs on the simulated GPU and produces the numbers of the published generators. The stand-in
//! must produce the same numbers, so that the two are interchangeable.

#[path = "../../../testing/debian.rs"]
mod debian;
mod library;
mod statistics;

use isobit_simgpu_install::{inside, rocm};
use isobit_simgpu_math::random::{Distribution, Sequence, Settings};
use isobit_simgpu_rocrand::distribution;
use isobit_simgpu_rocrand::ordering::{Kind, Lanes, Start};
use library::Library;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const KINDS: [Kind; 3] = [Kind::Philox, Kind::Xorwow, Kind::Mrg32k3a];

/// Runs a test's body on the simulator in a separate process, with the given library or, without
/// one, the stand-in.
fn on_the_simulator(test: &str, library: Option<&Path>, body: fn(&Library)) {
    if inside() {
        let library = Library::open();
        body(&library);
        library.check_findings();
        return;
    }
    let installed = rocm().expect("the simulator is built");
    let mut child = installed.child(test).expect("this program starts again");
    match library {
        Some(file) => child.env("ISOBIT_ROCRAND_LIBRARY", file),
        None => child.env_remove("ISOBIT_ROCRAND_LIBRARY"),
    };
    let status = child.env("ISOBIT_SIM_ROCM", "gfx90a").status().expect("this program starts again");
    assert!(status.success(), "the test failed in its own process: {status}");
}

/// Returns Debian's library, if it is available.
fn librocrand() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = || debian::file("librocrand1", "usr/lib/x86_64-linux-gnu/librocrand.so.1");
    FOUND.get_or_init(file).as_deref()
}

/// Like [`on_the_simulator`], with Debian's library if it is available.
fn with_the_real_library(test: &str, body: fn(&Library)) {
    // The process with the simulator already has the library.
    if inside() {
        on_the_simulator(test, None, body);
    } else if let Some(library) = librocrand() {
        on_the_simulator(test, Some(library), body);
    }
}

#[test]
fn the_real_library_gives_the_published_numbers() {
    with_the_real_library("the_real_library_gives_the_published_numbers", numbers_are_the_published_ones);
}

#[test]
fn the_real_library_gives_normal_numbers() {
    with_the_real_library("the_real_library_gives_normal_numbers", normal_numbers_are_normal);
}

#[test]
fn the_stand_in_gives_the_published_numbers() {
    on_the_simulator("the_stand_in_gives_the_published_numbers", None, numbers_are_the_published_ones);
}

#[test]
fn the_stand_in_gives_normal_numbers() {
    on_the_simulator("the_stand_in_gives_normal_numbers", None, normal_numbers_are_normal);
}

/// Returns the next numbers of a sequence.
fn published<T: Copy + Default>(sequence: &mut Sequence<Lanes>, distribution: Distribution<T>, count: usize) -> Vec<T> {
    let mut numbers = Vec::with_capacity(count);
    sequence.take(count, distribution).run(|number| numbers.push(number));
    numbers
}

fn assert_same(what: &str, found: &[impl Into<f64> + Copy], expected: &[impl Into<f64> + Copy]) {
    assert_eq!(found.len(), expected.len());
    // Every value of f32 and u32 is also a value of f64, and no zeros occur whose sign could
    // differ.
    let differs = |(a, b): &(f64, f64)| a.to_bits() != b.to_bits();
    let pairs = found.iter().zip(expected).map(|(&a, &b)| (a.into(), b.into()));
    if let Some((at, (a, b))) = pairs.enumerate().find(|(_, pair)| differs(pair)) {
        panic!("{what}: number {at} is {a:e}, and {b:e} is published");
    }
}

/// More than the number of generators that take turns, and not a multiple of that number.
const COUNT: usize = 150_001;

fn numbers_are_the_published_ones(library: &Library) {
    // Offsets of zero, within the first turn and across turns; seeds of one word and of two.
    for (seed, offset) in [(0, 0), (0x9e37_79b9, 7), (0x0123_4567_89ab_cdef, 300_005)] {
        for kind in KINDS {
            let what = |name: &str| format!("{kind:?}, seed {seed:#x}, offset {offset}, {name}");
            let generator = library.generator(kind, seed, offset);
            let mut sequence = Start { kind, seed, offset }.start();
            // The draws are consecutive: each begins at the end of the previous one.
            let expected = published(&mut sequence, distribution::uniform(kind), COUNT);
            assert_same(&what("uniform"), &generator.uniform(COUNT), &expected);
            let expected = published(&mut sequence, distribution::uniform_double(kind), COUNT);
            assert_same(&what("uniform in double precision"), &generator.uniform_double(COUNT), &expected);
            let expected = published(&mut sequence, distribution::bits(kind), 1001);
            assert_same(&what("bits"), &generator.bits(1001), &expected);
        }
    }
}

fn normal_numbers_are_normal(library: &Library) {
    let count = 200_000;
    let (mean, deviation) = (-3.0, 0.25);
    for kind in KINDS {
        let generator = library.generator(kind, 2024, 0);
        let mut sequence = Start { kind, seed: 2024, offset: 0 }.start();
        let single = generator.normal(count, mean as f32, deviation as f32);
        let double = generator.normal_double(count, mean, deviation);
        let single: Vec<f64> = single.into_iter().map(f64::from).collect();
        for (numbers, name) in [(&single, "single"), (&double, "double")] {
            let standard: Vec<f64> = numbers.iter().map(|x| (x - mean) / deviation).collect();
            statistics::assert_standard_normal(&format!("{kind:?} in {name} precision"), &standard);
        }
        // The result is the documented transform of the published numbers, except for the precision
        // of a card's logarithm and sine.
        let expected = published(&mut sequence, distribution::normal(kind, mean as f32, deviation as f32), count);
        let expected: Vec<f64> = expected.into_iter().map(f64::from).collect();
        assert_close(&format!("{kind:?} in single precision"), &single, &expected, 4e-6);
        let expected = published(&mut sequence, distribution::normal_double(kind, mean, deviation), count);
        assert_close(&format!("{kind:?} in double precision"), &double, &expected, 1e-14);
    }
}

fn assert_close(what: &str, found: &[f64], expected: &[f64], bound: f64) {
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    eprintln!("{what}: at most {worst:e} from the transform of the published numbers");
    assert!(worst <= bound, "{what}: {worst:e} from the transform of the published numbers");
}
