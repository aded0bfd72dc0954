//! `hipDeviceProp_t`. The ABI has two versions of it: one before HIP 6 ("R0000") and one since HIP
//! 6 ("R0600"). A field is identified by its offset in each.

use crate::Code;
use crate::attribute::{MAX_GRID, REGISTERS, threads_per_multiprocessor};
use crate::card::{LOCAL_BYTES_PER_GROUP, MAX_THREADS};
use crate::device::pci_bus;
use crate::error::{Result, bail, call};
use crate::process::process;
use std::ffi::{c_int, c_void};

/// The size of the structure in the old layout.
const R0000_BYTES: usize = 792;
const R0600_BYTES: usize = 1472;

/// Which of the two offsets of a field is used.
#[derive(Clone, Copy)]
enum Layout {
    R0000,
    R0600,
}

/// The offset of a field in R0000 and in R0600. `None` if the layout does not have the field; it is
/// then not written.
type Place = [Option<usize>; 2];

struct Writer {
    layout: Layout,
    bytes: Vec<u8>,
}

impl Writer {
    fn put(&mut self, place: Place, value: &[u8]) {
        if let Some(at) = place[self.layout as usize] {
            self.bytes[at..at + value.len()].copy_from_slice(value);
        }
    }

    fn int(&mut self, r0000: Option<usize>, r0600: Option<usize>, value: c_int) {
        self.put([r0000, r0600], &value.to_le_bytes());
    }

    fn size(&mut self, r0000: Option<usize>, r0600: Option<usize>, value: usize) {
        self.put([r0000, r0600], &value.to_le_bytes());
    }
}

fn write(layout: Layout, device: usize) -> Result<Vec<u8>> {
    let process = process()?;
    let card = process.cards[device].card;
    let memory = process.machine.memory.usage().capacity as usize;
    let bytes = match layout {
        Layout::R0000 => R0000_BYTES,
        Layout::R0600 => R0600_BYTES,
    };
    let mut to = Writer { layout, bytes: vec![0; bytes] };
    let local = LOCAL_BYTES_PER_GROUP as usize;
    to.put([Some(0), Some(0)], card.name.as_bytes());
    to.put([None, Some(256)], format!("simulated-gpu-{device:02}").as_bytes());
    to.size(Some(256), Some(288), memory); // totalGlobalMem
    to.size(Some(264), Some(296), local); // sharedMemPerBlock
    to.int(Some(272), Some(304), REGISTERS); // regsPerBlock
    to.int(Some(276), Some(308), card.arch.wave_size() as c_int); // warpSize
    to.int(Some(280), Some(320), MAX_THREADS as c_int); // maxThreadsPerBlock
    for (axis, grid) in MAX_GRID.into_iter().enumerate() {
        to.int(Some(284 + 4 * axis), Some(324 + 4 * axis), MAX_THREADS as c_int); // maxThreadsDim
        to.int(Some(296 + 4 * axis), Some(336 + 4 * axis), grid); // maxGridSize
    }
    to.int(Some(308), Some(348), card.clock_khz); // clockRate
    to.int(Some(312), Some(608), card.memory_clock_khz); // memoryClockRate
    to.int(Some(316), Some(612), card.memory_bus); // memoryBusWidth
    to.size(Some(320), Some(352), memory.min(c_int::MAX as usize)); // totalConstMem
    to.int(Some(328), Some(360), card.major);
    to.int(Some(332), Some(364), card.minor);
    to.int(Some(336), Some(388), card.units.count as c_int); // multiProcessorCount
    to.int(Some(340), Some(616), card.l2_bytes); // l2CacheSize
    to.int(Some(344), Some(624), threads_per_multiprocessor(card)); // maxThreadsPerMultiProcessor
    to.int(Some(352), Some(1424), card.wall_clock_khz); // clockInstructionRate
    to.put([Some(356), Some(1428)], &ARCH_FEATURES.to_le_bytes()); // arch
    to.int(Some(360), Some(576), 1); // concurrentKernels
    to.int(Some(368), Some(584), pci_bus(device)); // pciBusID
    // maxSharedMemoryPerMultiProcessor
    to.size(Some(376), Some(1416), card.units.local_bytes as usize);
    to.int(Some(388), Some(400), 1); // canMapHostMemory
    to.put([Some(396), Some(1160)], card.gcn_arch_name.as_bytes());
    to.size(Some(712), Some(312), c_int::MAX as usize); // memPitch
    to.int(Some(740), Some(580), c_int::from(card.ecc)); // ECCEnabled
    to.int(Some(764), Some(1464), 1); // isLargeBar
    to.int(None, Some(384), 1); // deviceOverlap
    to.int(None, Some(600), 2); // asyncEngineCount
    to.int(None, Some(604), 1); // unifiedAddressing
    to.int(None, Some(628), 1); // streamPrioritiesSupported
    to.size(None, Some(640), card.units.local_bytes as usize); // sharedMemPerMultiprocessor
    to.int(None, Some(648), REGISTERS); // regsPerMultiprocessor
    // maxBlocksPerMultiProcessor
    to.int(None, Some(712), threads_per_multiprocessor(card) / MAX_THREADS as c_int);
    Ok(to.bytes)
}

/// The bits of `hipDeviceArch_t`: 32-bit and 64-bit atomics in global and local memory, float
/// exchange and addition, doubles, votes, ballots, shuffles, system fences, three-dimensional
/// grids. Not included: funnel shifts, counting barriers, surfaces, dynamic parallelism.
const ARCH_FEATURES: u32 = 0x97ff;

fn give(name: &str, layout: Layout, to: *mut c_void, device: c_int) -> Code {
    call(name, || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the properties is null");
        }
        let bytes = write(layout, process()?.device(device)?)?;
        // SAFETY: the pointer is not null, and the caller has a structure of this layout there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
        Ok(())
    })
}

/// Writes the properties of a card in the layout from before HIP 6. Programs built with those
/// headers call this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceProperties(properties: *mut c_void, device: c_int) -> Code {
    give("hipGetDeviceProperties", Layout::R0000, properties, device)
}

/// As [`hipGetDeviceProperties`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0000(properties: *mut c_void, device: c_int) -> Code {
    give("hipGetDevicePropertiesR0000", Layout::R0000, properties, device)
}

/// Writes the properties of a card in the layout of HIP 6.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0600(properties: *mut c_void, device: c_int) -> Code {
    give("hipGetDevicePropertiesR0600", Layout::R0600, properties, device)
}
