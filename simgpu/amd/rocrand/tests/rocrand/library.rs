//! Uses rocRAND as a program does, through the bindings: generators fill device memory, which is
//! then copied to the host.

use hip_sys::{Hip, hipMemcpyKind};
use isobit_simgpu_rocrand::ordering::Kind;
use rocrand_sys::{Rocrand, rocrand_generator, rocrand_status};
use std::ptr::null_mut;

/// rocRAND and HIP, as loaded by this process.
pub struct Library {
    hip: &'static Hip,
    rocrand: &'static Rocrand,
}

impl Library {
    pub fn open() -> Self {
        let library = Self { hip: Hip::get().expect("HIP"), rocrand: Rocrand::get().expect("rocRAND") };
        eprintln!("rocRAND is {}", library.rocrand.file().display());
        library
    }

    pub fn generator(&self, kind: Kind, seed: u64, offset: u64) -> Generator<'_> {
        let algorithm = match kind {
            Kind::Xorwow => rocrand_sys::ROCRAND_RNG_PSEUDO_XORWOW,
            Kind::Mrg32k3a => rocrand_sys::ROCRAND_RNG_PSEUDO_MRG32K3A,
            Kind::Philox => rocrand_sys::ROCRAND_RNG_PSEUDO_PHILOX4_32_10,
        };
        let mut handle: rocrand_generator = null_mut();
        // SAFETY: the pointer is an out-parameter, and then the generator that it received.
        unsafe {
            check((self.rocrand.rocrand_create_generator)(&mut handle, algorithm));
            check((self.rocrand.rocrand_set_seed)(handle, seed));
            check((self.rocrand.rocrand_set_offset)(handle, offset));
        }
        Generator { library: self, handle }
    }

    /// Checks that the simulator has no findings so far.
    ///
    /// # Panics
    /// If there are findings; the message contains the simulator's report.
    pub fn check_findings(&self) {
        let text = isobit_simgpu_library_common::report::take(self.hip.file()).expect("the simulator's HIP library");
        let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
        let instructions = report["instructions"].as_u64().expect("a number of instructions");
        eprintln!("{instructions} instructions of lanes");
        assert_eq!(report["findings"].as_array().map(Vec::len), Some(0), "{text}");
    }
}

fn check(status: rocrand_status) {
    assert_eq!(status, rocrand_sys::ROCRAND_STATUS_SUCCESS, "rocRAND's status");
}

/// A generator on the default stream.
pub struct Generator<'a> {
    library: &'a Library,
    handle: rocrand_generator,
}

impl Generator<'_> {
    pub fn bits(&self, count: usize) -> Vec<u32> {
        // SAFETY: `out` has room for `count` numbers.
        self.draw(count, |out| unsafe { (self.library.rocrand.rocrand_generate)(self.handle, out, count) })
    }

    pub fn uniform(&self, count: usize) -> Vec<f32> {
        // SAFETY: as above.
        self.draw(count, |out| unsafe { (self.library.rocrand.rocrand_generate_uniform)(self.handle, out, count) })
    }

    pub fn uniform_double(&self, count: usize) -> Vec<f64> {
        let generate = self.library.rocrand.rocrand_generate_uniform_double;
        // SAFETY: as above.
        self.draw(count, |out| unsafe { generate(self.handle, out, count) })
    }

    pub fn normal(&self, count: usize, mean: f32, deviation: f32) -> Vec<f32> {
        let generate = self.library.rocrand.rocrand_generate_normal;
        // SAFETY: as above.
        self.draw(count, |out| unsafe { generate(self.handle, out, count, mean, deviation) })
    }

    pub fn normal_double(&self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let generate = self.library.rocrand.rocrand_generate_normal_double;
        // SAFETY: as above.
        self.draw(count, |out| unsafe { generate(self.handle, out, count, mean, deviation) })
    }

    fn draw<T: Copy + Default>(&self, count: usize, generate: impl FnOnce(*mut T) -> rocrand_status) -> Vec<T> {
        let hip = self.library.hip;
        let bytes = count * size_of::<T>();
        let (mut device, mut host) = (null_mut(), vec![T::default(); count]);
        let copied: hipMemcpyKind = hip_sys::hipMemcpyDeviceToHost;
        // SAFETY: the pointer is an out-parameter, and then memory of `bytes` bytes; the host
        // memory has the same size and outlives the copy.
        unsafe {
            assert_eq!((hip.hipMalloc)(&mut device, bytes), 0);
            check(generate(device.cast()));
            assert_eq!((hip.hipMemcpyAsync)(host.as_mut_ptr().cast(), device, bytes, copied, null_mut()), 0);
            assert_eq!((hip.hipStreamSynchronize)(null_mut()), 0, "the kernel ran");
            assert_eq!((hip.hipFree)(device), 0);
        }
        host
    }
}

impl Drop for Generator<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle was created in `generator` and is destroyed once.
        check(unsafe { (self.library.rocrand.rocrand_destroy_generator)(self.handle) });
    }
}
