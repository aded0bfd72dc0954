//! Random numbers, from Isobit's own generator or from the vendor's library.

mod vendor;

use crate::device::GpuDevice;
use crate::key::{Family, Key};
use crate::launch::elementwise::{carrier, loop_blocks};
use crate::launch::index::{Dim, Index, IndexDims, count, push};
use crate::launch::{Arg, Launch, sizes};
use crate::manifest::instances::random::{BETWEEN, DROPOUT, MARKS, NORMAL, PROBS, UNIFORM};
use crate::ops::copy;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{
    BackendStorage, Bernoulli, DType, Dropout, Layout, Numerics, Op, RandNormal, RandUniform, Result, Scalar, Src,
};
use smallvec::SmallVec;
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
    let (ops, dtype): (&[usize], _) = match op {
        Op::RandUniform(_) => (&[UNIFORM, BETWEEN], dtypes[0]),
        Op::RandNormal(_) => (&[NORMAL], dtypes[0]),
        Op::Bernoulli(_) => (&[MARKS], carrier(dtypes[0])),
        Op::BernoulliProbs(_) => (&[PROBS], dtypes[0]),
        _ => (&[DROPOUT], dtypes[0]),
    };
    let variants = [Key::CONTIGUOUS, Key::STRIDED];
    ops.iter().flat_map(|&op| variants.map(|variant| kernel(op, dtype, variant))).collect()
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
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
    let draw = match (op, dtype) {
        (Op::RandUniform(op), DType::F64) => Draw::new(UNIFORM, op.seed, op.offset, f64::interval(op, dtype)),
        (Op::RandUniform(op), _) => Draw::new(UNIFORM, op.seed, op.offset, f32::interval(op, dtype)),
        (Op::RandNormal(op), DType::F64) => Draw::new(NORMAL, op.seed, op.offset, f64::normal(op)),
        (Op::RandNormal(op), _) => Draw::new(NORMAL, op.seed, op.offset, f32::normal(op)),
        (Op::Bernoulli(op), _) => {
            let one = Scalar::from_f64(dtype, 1.0).to_bits();
            Draw::new(MARKS, op.seed, op.offset, Distribution::marks(op, one))
        }
        (Op::BernoulliProbs(op), _) => Draw::new(PROBS, op.seed, op.offset, Distribution::Words),
        (Op::Dropout(op), DType::F64) => Draw::new(DROPOUT, op.seed, op.offset, f64::kept(op)),
        (Op::Dropout(op), _) => Draw::new(DROPOUT, op.seed, op.offset, f32::kept(op)),
        _ => unreachable!("not an operation of the family"),
    };
    draw.run(srcs.first().copied(), dst, dst_layout)
}

/// Parameters of a distribution in the form that kernels take: `Uniform`, `Normal` and `Marks` of
/// device_lib/random.cuh. Numbers, and the factor of elements that a mark keeps, are of the compute
/// type.
#[derive(Debug, Clone, Copy)]
enum Distribution {
    Uniform32([f32; 4]),
    Uniform64([f64; 4]),
    Normal32([f32; 2]),
    Normal64([f64; 2]),
    Marks([u64; 2]),
    Kept32([u64; 2], f32),
    Kept64([u64; 2], f64),
    Words,
}

impl Distribution {
    /// Returns ones and zeros, of which `one` are the bits of a 1.
    fn marks(op: &Bernoulli, one: u64) -> Self {
        Self::Marks([op.threshold(), one])
    }

    fn args(&self) -> SmallVec<[Arg<'_>; 2]> {
        match self {
            Self::Uniform32(x) => [Arg::new(x)].into_iter().collect(),
            Self::Uniform64(x) => [Arg::new(x)].into_iter().collect(),
            Self::Normal32(x) => [Arg::new(x)].into_iter().collect(),
            Self::Normal64(x) => [Arg::new(x)].into_iter().collect(),
            Self::Marks(x) => [Arg::new(x)].into_iter().collect(),
            Self::Kept32(x, scale) => [Arg::new(x), Arg::new(scale)].into_iter().collect(),
            Self::Kept64(x, scale) => [Arg::new(x), Arg::new(scale)].into_iter().collect(),
            Self::Words => SmallVec::new(),
        }
    }
}

/// A type in which random numbers are computed.
trait Compute {
    fn interval(op: &RandUniform, dtype: DType) -> Distribution;
    fn normal(op: &RandNormal) -> Distribution;
    fn kept(op: &Dropout) -> Distribution;
}

macro_rules! compute {
    ($($ty:ident $uniform:ident $normal:ident $kept:ident)*) => {$(
        impl Compute for $ty {
            fn interval(op: &RandUniform, dtype: DType) -> Distribution {
                let [first, last] = op.ends(dtype);
                let finite = |x: f64| (x as $ty).clamp($ty::MIN, $ty::MAX);
                Distribution::$uniform([finite(op.lo), finite(op.up), first as $ty, last as $ty])
            }

            fn normal(op: &RandNormal) -> Distribution {
                Distribution::$normal([op.mean as $ty, op.std as $ty])
            }

            fn kept(op: &Dropout) -> Distribution {
                Distribution::$kept([op.mask().threshold(), 1], op.scale() as $ty)
            }
        }
    )*};
}
compute! {
    f32 Uniform32 Normal32 Kept32
    f64 Uniform64 Normal64 Kept64
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
struct Places<const OPERANDS: usize> {
    n: u64,
    skip: u32,
    is_long: u32,
    index: Index<OPERANDS>,
}

const _: () = assert!(size_of::<Places<1>>() == 184 && size_of::<Places<2>>() == 248);
const _: () = assert!(offset_of!(Places<1>, skip) == 8 && offset_of!(Places<1>, index) == 16);

impl<const OPERANDS: usize> Places<OPERANDS> {
    /// Creates the places of elements in as many operands of the dimensions, destination first.
    fn new(dims: &[Dim<2>], skip: u64) -> Self {
        let n = count(dims);
        let of = |d: &Dim<2>| Dim { size: d.size, stride: std::array::from_fn(|operand| d.stride[operand]) };
        let dims: IndexDims<OPERANDS> = dims.iter().map(of).collect();
        let is_long = u32::from(sizes::RANDOM_WIDE.is_reached(n));
        Self { n: n as u64, skip: skip as u32, is_long, index: Index::new(&dims) }
    }
}

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

    /// Returns the numbers per block of the generator.
    fn per_block(&self, dtype: DType) -> u64 {
        if matches!(self.op, UNIFORM | NORMAL) && dtype == DType::F64 { 2 } else { 4 }
    }

    /// Whether the kernel takes a source.
    fn reads(&self) -> bool {
        matches!(self.op, DROPOUT | PROBS)
    }

    fn run<R: GpuRuntime>(
        &self,
        src: Option<Src<'_, GpuStorage<R>>>,
        dst: &mut GpuStorage<R>,
        layout: &Layout,
    ) -> Result<()> {
        let (device, dtype) = (dst.device(), dst.dtype());
        let n = layout.elem_count();
        let per_block = self.per_block(dtype);
        let skip = self.offset % per_block;
        let ptr = dst.ptr().at(dtype, layout.start_offset());
        let (from, from_layout) = match src.and_then(|src| src.storage()) {
            Some((src, layout)) => (src.ptr().at(dtype, layout.start_offset()), layout),
            None => (ptr, layout),
        };
        let mut dims = IndexDims::<2>::new();
        for (d, &size) in layout.dims().iter().enumerate() {
            push(&mut dims, Dim { size, stride: [layout.stride()[d], from_layout.stride()[d]] });
        }
        let dense = matches!(dims[..], [] | [Dim { stride: [1, 1], .. }]);
        if dense && skip == 0 && (ptr.0 | from.0).is_multiple_of(PACK as u64) {
            let each = (PACK / dtype.size_in_bytes()).max(per_block as usize);
            // SAFETY: the layouts were validated against their buffers and are contiguous.
            return unsafe { self.launch(device, dtype, Key::CONTIGUOUS, n.div_ceil(each), [ptr, from], &(n as u64)) };
        }
        if sizes::RANDOM_RANK.is_exceeded(dims.len()) {
            // An index cannot have this many dimensions, but a copy can.
            let straight = Layout::contiguous(layout.shape());
            let mut numbers = device.alloc(n, dtype)?;
            if let Some(src) = src {
                let src = if let Src::InPlace = src { Src::Storage(&*dst, layout) } else { src };
                copy::apply_into(&Op::Copy, &[src], &mut numbers, &straight)?;
            }
            self.run(src.map(|_| Src::InPlace), &mut numbers, &straight)?;
            return copy::apply_into(&Op::Copy, &[Src::Storage(&numbers, &straight)], dst, layout);
        }
        let blocks = (n + skip as usize).div_ceil(per_block as usize);
        // SAFETY: the layouts were validated against their buffers.
        unsafe {
            if self.reads() {
                let places = Places::<2>::new(&dims, skip);
                self.launch(device, dtype, Key::STRIDED, blocks, [ptr, from], &places)
            } else {
                let places = Places::<1>::new(&dims, skip);
                self.launch(device, dtype, Key::STRIDED, blocks, [ptr, from], &places)
            }
        }
    }

    /// Launches a kernel for `units` units of work at the places of destination and source.
    ///
    /// # Safety
    /// The elements of these places must be allocated, and those of the destination must not
    /// overlap each other. `places` must be what the variant of the kernel takes.
    unsafe fn launch<R: GpuRuntime, P: Copy>(
        &self,
        device: &GpuDevice<R>,
        dtype: DType,
        variant: u8,
        units: usize,
        [dst, src]: [DevicePtr; 2],
        places: &P,
    ) -> Result<()> {
        let limits = device.runtime().limits();
        let blocks = loop_blocks(limits, units.div_ceil(BLOCK * EACH) as u64, BLOCK as u32) as u32;
        let of = if self.op == MARKS { carrier(dtype) } else { dtype };
        let sequence = Sequence::new(self.seed, self.offset / self.per_block(dtype));
        let mut args: SmallVec<[Arg<'_>; 6]> = SmallVec::new();
        args.push(Arg::new(&dst));
        if self.reads() {
            args.push(Arg::new(&src));
        }
        args.extend([Arg::new(places), Arg::new(&sequence)]);
        args.extend(self.distribution.args());
        // SAFETY: the caller promises valid places; the other parameters match the kernels.
        unsafe { Launch::linear(kernel(self.op, of, variant), blocks, BLOCK as u32).on(device, &args) }
    }
}
