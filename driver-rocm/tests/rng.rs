//! rocRAND's generators through the driver, on a real or simulated card. Other tests compare the
//! numbers with the published generators; these test what the driver adds. Without an AMD GPU or
//! rocRAND, each test reports that it was skipped, and runs on simulated cards.

mod simulated;

use isobit_hal::{BackendDevice, BackendStorage, DType, Error, ErrorKind};
use isobit_rocm::{Rng, RngAlgorithm, RocmDevice, RocmStorage};

const ALGORITHMS: [RngAlgorithm; 3] = [RngAlgorithm::Philox4x32, RngAlgorithm::Xorwow, RngAlgorithm::Mrg32k3a];

fn skipped(why: impl std::fmt::Debug) {
    eprintln!("skipped: this test needs an AMD GPU and rocRAND ({why:?})");
}

fn device() -> Option<RocmDevice> {
    match isobit_rocm::device_count() {
        Ok(n) if n > 0 => Some(RocmDevice::new(0).expect("a device that is counted opens")),
        found => {
            skipped(found);
            None
        }
    }
}

fn rng(device: &RocmDevice, algorithm: RngAlgorithm, seed: u64) -> Option<Rng> {
    match Rng::new(device, algorithm, seed) {
        Err(e) if e.kind() == ErrorKind::LibraryUnavailable => {
            skipped(e);
            None
        }
        made => Some(made.expect("rocRAND makes a generator")),
    }
}

fn zeros(device: &RocmDevice, n: usize, dtype: DType) -> RocmStorage {
    device.zeros(&n.into(), dtype).unwrap()
}

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}

#[test]
fn a_seed_repeats_and_uniform_numbers_are_in_their_interval() {
    let Some(device) = device() else { return };
    for algorithm in ALGORITHMS {
        let Some(rng) = rng(&device, algorithm, 42) else { return };
        let draw = |seed| {
            rng.set_seed(seed).unwrap();
            let mut dst = zeros(&device, 1001, DType::F32);
            rng.uniform(&mut dst).unwrap();
            dst.to_vec::<f32>().unwrap()
        };
        let (first, again, other) = (draw(1), draw(1), draw(2));
        assert_eq!(first, again, "{algorithm:?}");
        assert_ne!(first, other, "{algorithm:?}");
        assert!(first.iter().all(|&x| x > 0.0 && x <= 1.0), "{algorithm:?}");
        let mean = first.iter().map(|&x| f64::from(x)).sum::<f64>() / 1001.0;
        // Six standard deviations of the mean of 1001 uniform numbers.
        assert!((mean - 0.5).abs() < 6.0 * (1.0f64 / 12.0 / 1001.0).sqrt(), "{algorithm:?}: {mean}");
    }
}

#[test]
fn an_odd_number_of_normals_is_the_beginning_of_an_even_one() {
    let Some(device) = device() else { return };
    let Some(rng) = rng(&device, RngAlgorithm::Philox4x32, 7) else { return };
    for dtype in [DType::F32, DType::F64] {
        let draw = |n| {
            rng.set_seed(7).unwrap();
            let mut dst = zeros(&device, n, dtype);
            rng.normal(&mut dst, 3.0, 2.0).unwrap();
            match dtype {
                DType::F64 => dst.to_vec::<f64>().unwrap(),
                _ => dst.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect(),
            }
        };
        let (odd, even) = (draw(4001), draw(4002));
        assert_eq!(odd, even[..4001]);
        let mean = even.iter().sum::<f64>() / 4002.0;
        let variance = even.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4001.0;
        // Six standard deviations of the estimates from 4002 numbers.
        assert!((mean - 3.0).abs() < 6.0 * 2.0 / 4002f64.sqrt(), "{mean}");
        assert!((variance - 4.0).abs() < 6.0 * 4.0 * (2.0f64 / 4001.0).sqrt(), "{variance}");
    }
}

#[test]
fn an_offset_goes_forward_in_the_sequence() {
    let Some(device) = device() else { return };
    let Some(rng) = rng(&device, RngAlgorithm::Philox4x32, 5) else { return };
    let draw = |offset, n| {
        rng.set_seed(5).unwrap();
        rng.set_offset(offset).unwrap();
        rng.initialize().unwrap();
        let mut dst = zeros(&device, n, DType::U32);
        rng.bits(&mut dst).unwrap();
        dst.to_vec::<u32>().unwrap()
    };
    assert_eq!(draw(0, 512)[100..], draw(100, 412));
}

#[test]
fn bad_targets_are_errors_of_their_kind() {
    let Some(device) = device() else { return };
    let Some(rng) = rng(&device, RngAlgorithm::Xorwow, 1) else { return };
    let kind = |result: Result<(), Error>| result.expect_err("this call is wrong").kind();
    let mut ints = zeros(&device, 8, DType::I64);
    assert_eq!(kind(rng.bits(&mut ints)), ErrorKind::UnsupportedDtype);
    assert_eq!(kind(rng.uniform(&mut ints)), ErrorKind::UnsupportedDtype);
    assert_eq!(kind(rng.normal(&mut ints, 0.0, 1.0)), ErrorKind::UnsupportedDtype);
    let mut elsewhere = zeros(&RocmDevice::new(0).unwrap(), 8, DType::F32);
    assert_eq!(kind(rng.uniform(&mut elsewhere)), ErrorKind::DeviceMismatch);
    let mut nothing = zeros(&device, 0, DType::F32);
    rng.uniform(&mut nothing).unwrap();
    rng.normal(&mut nothing, 0.0, 1.0).unwrap();
}
