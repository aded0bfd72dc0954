//! A program that generates random numbers in device memory with the cuRAND that the loader finds.

use crate::device::Device;
use crate::recorded::{Call, Case};
use cudarc::curand::sys::{self, curandGenerator_t, curandOrdering, curandRngType, curandStatus};
use std::ptr::null_mut;

/// A generator on the device's stream.
pub struct Generator(curandGenerator_t);

fn check(status: curandStatus) {
    assert_eq!(status, curandStatus::CURAND_STATUS_SUCCESS);
}

impl Generator {
    pub fn new(device: &Device, case: &Case) -> Self {
        let kind = match case.kind {
            101 => curandRngType::CURAND_RNG_PSEUDO_XORWOW,
            121 => curandRngType::CURAND_RNG_PSEUDO_MRG32K3A,
            161 => curandRngType::CURAND_RNG_PSEUDO_PHILOX4_32_10,
            other => panic!("no such kind: {other}"),
        };
        let ordering = match case.ordering {
            101 => curandOrdering::CURAND_ORDERING_PSEUDO_DEFAULT,
            102 => curandOrdering::CURAND_ORDERING_PSEUDO_SEEDED,
            103 => curandOrdering::CURAND_ORDERING_PSEUDO_LEGACY,
            other => panic!("no such order: {other}"),
        };
        let mut generator = null_mut();
        // SAFETY: the call writes the out-parameter, and the next call gets what it received.
        unsafe {
            check(sys::curandCreateGenerator(&mut generator, kind));
            check(sys::curandSetStream(generator, device.stream.cast()));
            check(sys::curandSetGeneratorOrdering(generator, ordering));
            check(sys::curandSetPseudoRandomGeneratorSeed(generator, case.seed));
            check(sys::curandSetGeneratorOffset(generator, case.offset));
        }
        Self(generator)
    }

    /// Returns the bytes of the numbers that a call generates.
    pub fn draw(&self, device: &Device, call: Call, count: usize) -> Vec<u8> {
        let bytes = match call {
            Call::UniformDouble | Call::NormalDouble => count * 8,
            _ => count * 4,
        };
        let out = device.alloc::<u8>(bytes);
        // SAFETY: `out` has room for this number of elements.
        check(unsafe {
            match call {
                Call::Bits => sys::curandGenerate(self.0, out.cast(), count),
                Call::Uniform => sys::curandGenerateUniform(self.0, out.cast(), count),
                Call::UniformDouble => sys::curandGenerateUniformDouble(self.0, out.cast(), count),
                Call::Normal => sys::curandGenerateNormal(self.0, out.cast(), count, -3.0, 0.25),
                Call::NormalDouble => sys::curandGenerateNormalDouble(self.0, out.cast(), count, -3.0, 0.25),
            }
        });
        device.download(out, bytes)
    }

    /// Generates uniform numbers at an address that may be invalid, so that the simulator can
    /// report it.
    pub fn uniform(&self, out: *mut f32, count: usize) {
        // SAFETY: the simulator checks the memory.
        check(unsafe { sys::curandGenerateUniform(self.0, out, count) });
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: created in `new`, and destroyed once.
        check(unsafe { sys::curandDestroyGenerator(self.0) });
    }
}
