//! cuRAND on the simulated GPU, as a program uses it through the bindings: the real library's
//! numbers in device memory, in stream order, and findings about that memory.

#[path = "../../cublas/tests/device/mod.rs"]
mod device;
mod program;
mod recorded;

use device::{Device, on_the_simulator};
use program::Generator;
use recorded::CASES;

#[test]
fn device_memory_gets_the_real_librarys_numbers() {
    on_the_simulator("device_memory_gets_the_real_librarys_numbers", |device| {
        for case in &CASES {
            let generator = Generator::new(device, case);
            assert_eq!(recorded::digests(|call, count| generator.draw(device, call, count)), case.digests, "{case:?}");
        }
        assert_eq!(device.findings(), []);
    });
}

#[test]
fn memory_that_is_too_small_is_found_and_left() {
    on_the_simulator("memory_that_is_too_small_is_found_and_left", |device: &Device| {
        let generator = Generator::new(device, &CASES[0]);
        let out = device.upload(&[7f32; 3]);
        generator.uniform(out, 4);
        assert_eq!(device.download(out, 3), [7.0; 3]);
        let found = device.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == "out_of_bounds" && found[0].1.contains("curandGenerateUniform"), "{found:?}");
    });
}
