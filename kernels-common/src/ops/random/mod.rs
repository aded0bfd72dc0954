//! Random numbers, from Isobit's own generator or from the vendor's library.

mod vendor;

use crate::device::GpuDevice;
use crate::key::{Family, Key};
use crate::launch::elementwise::loop_blocks;
use crate::launch::index::{Dim, Index, IndexDims, push};
use crate::launch::{Arg, Launch, sizes};
use crate::manifest::instances::random::{BETWEEN, NORMAL, UNIFORM};
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Numerics, Op, RandNormal, RandUniform, Result, Src};
use std::mem::offset_of;

/// Threads per block; must match random.cu.
const BLOCK: usize = 256;
/// Packs that a thread processes one after the other. Only a hint: the kernels loop.
const EACH: usize = 4;
/// Bytes per pack.
const PACK: usize = 16;

fn kernel(op: usize, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Random, op, &[dtype], variant)
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let ops: &[usize] = if matches!(op, Op::RandUniform(_)) { &[UNIFORM, BETWEEN] } else { &[NORMAL] };
    let variants = [Key::CONTIGUOUS, Key::STRIDED];
    ops.iter().flat_map(|&op| variants.map(|variant| kernel(op, dtypes[0], variant))).collect()
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    _srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    if op.numerics() == Some(Numerics::Vendor) && vendor::draw(op, dst, dst_layout)? {
        return Ok(());
    }
    let dtype = dst.dtype();
    match (op, dtype) {
        (Op::RandUniform(op), DType::F64) => Draw::new(UNIFORM, op.seed, op.offset, f64::interval(op, dtype)),
        (Op::RandUniform(op), _) => Draw::new(UNIFORM, op.seed, op.offset, f32::interval(op, dtype)),
        (Op::RandNormal(op), DType::F64) => Draw::new(NORMAL, op.seed, op.offset, f64::normal(op)),
        (Op::RandNormal(op), _) => Draw::new(NORMAL, op.seed, op.offset, f32::normal(op)),
        _ => unreachable!("not an operation of the family"),
    }
    .run(dst, dst_layout)
}

/// Parameters of a distribution in the form that kernels take: `Uniform` and `Normal` of
/// device_lib/random.cuh, in the type in which numbers are computed.
#[derive(Debug, Clone, Copy)]
enum Distribution {
    Uniform32([f32; 4]),
    Uniform64([f64; 4]),
    Normal32([f32; 2]),
    Normal64([f64; 2]),
}

impl Distribution {
    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Uniform32(x) => Arg::new(x),
            Self::Uniform64(x) => Arg::new(x),
            Self::Normal32(x) => Arg::new(x),
            Self::Normal64(x) => Arg::new(x),
        }
    }
}

/// A type in which random numbers are computed.
trait Compute {
    fn interval(op: &RandUniform, dtype: DType) -> Distribution;
    fn normal(op: &RandNormal) -> Distribution;
}

macro_rules! compute {
    ($($ty:ident $uniform:ident $normal:ident)*) => {$(
        impl Compute for $ty {
            fn interval(op: &RandUniform, dtype: DType) -> Distribution {
                let [first, last] = op.ends(dtype);
                let finite = |x: f64| (x as $ty).clamp($ty::MIN, $ty::MAX);
                Distribution::$uniform([finite(op.lo), finite(op.up), first as $ty, last as $ty])
            }

            fn normal(op: &RandNormal) -> Distribution {
                Distribution::$normal([op.mean as $ty, op.std as $ty])
            }
        }
    )*};
}
compute! {
    f32 Uniform32 Normal32
    f64 Uniform64 Normal64
}

/// The layout of `PhiloxSequence` in device_lib/philox.cuh.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Sequence {
    block: u64,
    key: [[u32; 2]; 10],
}

const _: () = assert!(size_of::<Sequence>() == 88);
const _: () = assert!(offset_of!(Sequence, key) == 8);

impl Sequence {
    fn new(seed: u64, block: u64) -> Self {
        let [low, high] = [seed as u32, (seed >> 32) as u32];
        let round = |i: u32, key: u32, step: u32| key.wrapping_add(step.wrapping_mul(i));
        let key = std::array::from_fn(|i| {
            let i = i as u32;
            [round(i, low, 0x9e37_79b9), round(i, high, 0xbb67_ae85)]
        });
        Self { block, key }
    }
}

/// The layout of `RandomPlaces` in random.cu.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Places {
    n: u64,
    skip: u32,
    is_long: u32,
    index: Index<1>,
}

const _: () = assert!(size_of::<Places>() == 184);
const _: () = assert!(offset_of!(Places, skip) == 8 && offset_of!(Places, index) == 16);

/// A draw from Isobit's own generator.
struct Draw {
    op: usize,
    seed: u64,
    offset: u64,
    distribution: Distribution,
}

impl Draw {
    fn new(op: usize, seed: u64, offset: u64, distribution: Distribution) -> Self {
        Self { op, seed, offset, distribution }
    }

    fn run<R: GpuRuntime>(&self, dst: &mut GpuStorage<R>, layout: &Layout) -> Result<()> {
        let (device, dtype) = (dst.device(), dst.dtype());
        let n = layout.elem_count();
        // Numbers per block of the generator.
        let per_block = if dtype == DType::F64 { 2 } else { 4 };
        let skip = self.offset % per_block;
        let sequence = Sequence::new(self.seed, self.offset / per_block);
        let ptr = dst.ptr().at(dtype, layout.start_offset());
        let mut dims = IndexDims::<1>::new();
        for (&size, &stride) in layout.dims().iter().zip(layout.stride()) {
            push(&mut dims, Dim { size, stride: [stride] });
        }
        let dense = matches!(dims[..], [] | [Dim { stride: [1], .. }]);
        if dense && skip == 0 && ptr.0.is_multiple_of(PACK as u64) {
            let packs = n.div_ceil(PACK / dtype.size_in_bytes());
            let launch = self.launch(device, dtype, Key::CONTIGUOUS, packs);
            let n = n as u64;
            let args = [Arg::new(&ptr), Arg::new(&n), Arg::new(&sequence), self.distribution.arg()];
            // SAFETY: the layout was validated against the buffer and is contiguous; the parameters
            // match the kernels.
            return unsafe { launch.on(device, &args) };
        }
        if sizes::RANDOM_RANK.is_exceeded(dims.len()) {
            // An index cannot have this many dimensions, but a copy can.
            let straight = Layout::contiguous(layout.shape());
            let mut numbers = device.alloc(n, dtype)?;
            self.run(&mut numbers, &straight)?;
            return copy::apply_into(&Op::Copy, &[Src::Storage(&numbers, &straight)], dst, layout);
        }
        let is_long = u32::from(sizes::RANDOM_WIDE.is_reached(n));
        let places = Places { n: n as u64, skip: skip as u32, is_long, index: Index::new(&dims) };
        let launch = self.launch(device, dtype, Key::STRIDED, (n + skip as usize).div_ceil(per_block as usize));
        // SAFETY: the layout was validated against the buffer; the parameters match the kernels.
        unsafe { launch.on(device, &[Arg::new(&ptr), Arg::new(&places), Arg::new(&sequence), self.distribution.arg()]) }
    }

    /// Returns a launch for `units` units of work.
    fn launch<R: GpuRuntime>(&self, device: &GpuDevice<R>, dtype: DType, variant: u8, units: usize) -> Launch {
        let limits = device.runtime().limits();
        let blocks = loop_blocks(limits, units.div_ceil(BLOCK * EACH) as u64, BLOCK as u32) as u32;
        Launch::linear(kernel(self.op, dtype, variant), blocks, BLOCK as u32)
    }
}
