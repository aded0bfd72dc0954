//! Compares host generators with the real library's, number by number.

mod recorded;

use isobit_simgpu_curand::api::*;
use isobit_simgpu_curand::generate_api::*;
use recorded::{CASES, Call, Case};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

fn generator(kind: u32, ordering: u32, seed: u64, offset: u64) -> *mut c_void {
    let mut generator = null_mut();
    // SAFETY: an out-parameter.
    assert_eq!(unsafe { curandCreateGeneratorHost(&mut generator, kind as c_int) }, SUCCESS);
    assert_eq!(curandSetGeneratorOrdering(generator, ordering as c_int), SUCCESS);
    assert_eq!(curandSetPseudoRandomGeneratorSeed(generator, seed), SUCCESS);
    assert_eq!(curandSetGeneratorOffset(generator, offset), SUCCESS);
    generator
}

fn draw<T: Copy + Default>(count: usize, generate: impl FnOnce(*mut T) -> Status) -> Vec<T> {
    let mut numbers = vec![T::default(); count];
    assert_eq!(generate(numbers.as_mut_ptr()), SUCCESS);
    numbers
}

fn bytes<T: Copy, const N: usize>(numbers: Vec<T>, bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.into_iter().flat_map(bytes).collect()
}

#[test]
fn every_bit_is_the_real_librarys() {
    for case in &CASES {
        let Case { kind, ordering, seed, offset, digests } = *case;
        let g = generator(kind, ordering, seed, offset);
        // SAFETY: each buffer holds the number of elements that the call requests.
        let found = recorded::digests(|call, n| unsafe {
            match call {
                Call::Bits => bytes(draw(n, |out| curandGenerate(g, out, n)), u32::to_le_bytes),
                Call::Uniform => bytes(draw(n, |out| curandGenerateUniform(g, out, n)), f32::to_le_bytes),
                Call::UniformDouble => bytes(draw(n, |out| curandGenerateUniformDouble(g, out, n)), f64::to_le_bytes),
                Call::Normal => bytes(draw(n, |out| curandGenerateNormal(g, out, n, -3.0, 0.25)), f32::to_le_bytes),
                Call::NormalDouble => {
                    bytes(draw(n, |out| curandGenerateNormalDouble(g, out, n, -3.0, 0.25)), f64::to_le_bytes)
                }
            }
        });
        assert_eq!(found, digests, "{case:?}");
        assert_eq!(curandDestroyGenerator(g), SUCCESS);
    }
}

/// The numbers of seed 0 from consecutive calls of the real library; the last bits may differ,
/// because the functions in the transform do.
#[test]
fn normal_numbers_are_the_real_librarys() {
    for (kind, single, double, log_single, log_double) in [
        (
            161,
            [-0.9246624112129211, 0.9911377429962158, -0.4820687472820282, -0.6176088452339172],
            [-0.03432813230409506, -0.3511417396356235, 0.25072523925838147, -0.5104194734649224],
            [0.07108735293149948, 0.5340700745582581],
            [2.4732301349253767, 0.16796447131041664],
        ),
        (
            101,
            [0.2925366461277008, -0.7183590531349182, 0.09999693185091019, -0.39319783449172974],
            [-0.3893830994647197, 1.618410515635752, -0.45587547879624213, -1.095266237256933],
            [1.1376662254333496, 1.4518013000488281],
            [0.8668463498288775, 4.334273321583576],
        ),
        (
            121,
            [1.846072793006897, -0.847925066947937, 0.27734795212745667, -2.2337450981140137],
            [-0.3669977574896638, -1.595073938921115, 1.009405092146662, 0.5954726394731824],
            [1.4100227355957031, 0.9681262969970703],
            [2.3888911255936964, 1.2282485191413743],
        ),
    ] {
        let g = generator(kind, 101, 0, 0);
        let close = |found: Vec<f64>, expected: &[f64], bound: f64| {
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= bound * b.abs().max(1.0);
            assert!(found.iter().zip(expected).all(near), "{kind}: {found:?} is not {expected:?}");
        };
        let widen = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect();
        // SAFETY: each buffer holds the number of elements that the call requests.
        unsafe {
            close(widen(draw(4, |out| curandGenerateNormal(g, out, 4, 0.0, 1.0))), &single, 4e-6);
            close(draw(4, |out| curandGenerateNormalDouble(g, out, 4, 0.0, 1.0)), &double, 1e-14);
            close(widen(draw(2, |out| curandGenerateLogNormal(g, out, 2, 0.0, 1.0))), &log_single, 4e-6);
            close(draw(2, |out| curandGenerateLogNormalDouble(g, out, 2, 0.0, 1.0)), &log_double, 1e-14);
        }
    }
}

#[test]
fn normal_numbers_come_in_pairs_and_there_are_no_long_integers() {
    for kind in [101, 121, 161] {
        let g = generator(kind, 101, 0, 0);
        let (mut single, mut double) = ([7f32; 3], [7f64; 3]);
        // SAFETY: the buffers hold three numbers.
        unsafe {
            assert_eq!(curandGenerateNormal(g, single.as_mut_ptr(), 3, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
            assert_eq!(curandGenerateLogNormal(g, single.as_mut_ptr(), 1, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
            assert_eq!(curandGenerateNormalDouble(g, double.as_mut_ptr(), 3, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
            assert_eq!(curandGenerateLogNormalDouble(g, double.as_mut_ptr(), 1, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
            assert_eq!(curandGenerateNormal(g, null_mut(), 0, 0.0, 1.0), SUCCESS);
            assert_eq!(curandGenerate(g, null_mut(), 0), SUCCESS);
            assert_eq!(curandGenerate(null_mut(), null_mut(), 0), NOT_INITIALIZED);
        }
        assert_eq!((single, double), ([7.0; 3], [7.0; 3]));
        assert_eq!(curandGenerateLongLong(g, null_mut(), 2), TYPE_ERROR);
    }
}

#[test]
fn a_seed_or_an_offset_starts_again() {
    for kind in [101, 121, 161] {
        let first = |g| {
            // SAFETY: the buffer holds five numbers.
            draw(5, |out| unsafe { curandGenerate(g, out, 5) })
        };
        let g = generator(kind, 101, 9, 3);
        let begin = first(g);
        let next = first(g);
        assert_ne!(begin, next);
        assert_eq!(curandSetGeneratorOffset(g, 8), SUCCESS);
        assert_eq!(first(g), next);
        assert_eq!(curandSetGeneratorOffset(g, 3), SUCCESS);
        assert_eq!(curandSetPseudoRandomGeneratorSeed(g, 10), SUCCESS);
        assert_ne!(first(g), begin);
        assert_eq!(curandSetPseudoRandomGeneratorSeed(g, 9), SUCCESS);
        assert_eq!(first(g), begin);
    }
}
