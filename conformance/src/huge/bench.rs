//! The tools of the cases: repeat a tile in a huge storage, and compare a huge storage with a
//! repeated tile, both on the device in chunks.
//!
//! Because both use the device's own copies and comparisons, some windows of each huge storage are
//! also read by the driver's copy to the host and compared there.

use super::{Done, Sizes, Stop};
use crate::compare::{Comparison, compare_bits};
use crate::runtime_tests::case::Failed;
use crate::schema::Class;
use isobit_hal::{
    BackendDevice, BackendStorage, CmpOp, DType, Dims, ErrorKind, Layout, Op, Reduce, ReduceOp, Shape, Src,
};

/// The elements of a window that is read back.
const WINDOW: usize = 64;

/// How a tile repeats: the elements of a buffer are `outer` times `tiles` times `inner`, and the
/// tile's are `outer` times `inner`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeat {
    pub outer: usize,
    pub tiles: usize,
    pub inner: usize,
}

/// A part of a repetition that is contiguous in the huge buffer.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// The first index and the number of indices along `outer`, and the number along `tiles`.
    outer: usize,
    outers: usize,
    tile: usize,
    tiles: usize,
}

impl Repeat {
    /// Returns the repetition of a buffer along an axis.
    pub fn of(dims: &[usize], axis: usize, tiles: usize) -> Self {
        Self { outer: dims[..axis].iter().product(), tiles, inner: dims[axis..].iter().product() }
    }

    /// Returns the repetition of a whole buffer.
    pub fn whole(inner: usize, tiles: usize) -> Self {
        Self { outer: 1, tiles, inner }
    }

    /// Returns the number of elements of the huge buffer.
    pub fn len(self) -> usize {
        self.outer * self.tiles * self.inner
    }

    /// Returns the tile's index of an element of the huge buffer.
    fn of_tile(self, at: usize) -> usize {
        at / (self.tiles * self.inner) * self.inner + at % self.inner
    }

    /// Cuts the huge buffer into parts of about `chunk` elements.
    fn parts(self, chunk: usize) -> Vec<Part> {
        let row = self.tiles * self.inner;
        let mut parts = Vec::new();
        if row <= chunk {
            let step = (chunk / row.max(1)).max(1);
            for outer in (0..self.outer).step_by(step) {
                parts.push(Part { outer, outers: step.min(self.outer - outer), tile: 0, tiles: self.tiles });
            }
            return parts;
        }
        let step = (chunk / self.inner).max(1);
        for outer in 0..self.outer {
            for tile in (0..self.tiles).step_by(step) {
                parts.push(Part { outer, outers: 1, tile, tiles: step.min(self.tiles - tile) });
            }
        }
        parts
    }

    /// Returns the layout of a part in the huge buffer, and that of the same elements in the tile.
    fn layouts(self, part: Part, at: usize) -> Result<[Layout; 2], isobit_hal::Error> {
        let shape = [part.outers, part.tiles, self.inner];
        let start = at + (part.outer * self.tiles + part.tile) * self.inner;
        let strides = Dims::from_slice(&[self.inner, 0, 1]);
        Ok([Layout::contiguous_with_offset(shape, start), Layout::new(shape, strides, part.outer * self.inner)?])
    }
}

/// A device with the sizes of the cases.
pub(super) struct Bench<'a, D: BackendDevice> {
    pub device: &'a D,
    pub sizes: Sizes,
}

impl<'a, D: BackendDevice> Bench<'a, D> {
    pub fn new(device: &'a D, sizes: Sizes) -> Self {
        Self { device, sizes }
    }

    /// Refuses a case that needs more bytes than the device has free.
    pub fn admit(&self, bytes: u64) -> Done {
        // The mask of a comparison, and what an operation needs besides its operands.
        let bytes = bytes + bytes / 16 + 4 * self.sizes.chunk() as u64;
        let free = self.device.info()?.memory_free;
        if free == 0 || bytes <= free {
            return Ok(());
        }
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        Err(Stop::Lacks(format!("{:.0} GiB, and {:.0} GiB are free", gib(bytes).ceil(), gib(free))))
    }

    /// Allocates a storage that the caller fills before anything reads it.
    pub fn storage(&self, len: usize, dtype: DType) -> Done<D::Storage> {
        // SAFETY: every caller writes all elements by an operation or by repeating a tile, before
        // the storage is read.
        Ok(unsafe { self.device.alloc_uninit(&Shape::from(len), dtype)? })
    }

    /// Returns a storage that repeats a tile, given by its bytes.
    pub fn repeated(&self, dtype: DType, tile: &[u8], repeat: Repeat) -> Done<D::Storage> {
        let small = self.device.storage_from_bytes(dtype, tile)?;
        if repeat.tiles == 1 {
            return Ok(small);
        }
        let mut huge = self.storage(repeat.len(), dtype)?;
        for part in repeat.parts(self.sizes.chunk()) {
            let [to, from] = repeat.layouts(part, 0)?;
            D::Storage::apply_into(&Op::Copy, &[Src::Storage(&small, &from)], &mut huge, &to)?;
        }
        self.windows("an operand, as it was filled", Class::Moved, &huge, 0, tile, repeat)?;
        Ok(huge)
    }

    /// Compares the elements of a storage from `at` on with a repeated tile, given by its bytes;
    /// `what` names the storage.
    pub fn compare(&self, what: &str, class: Class, huge: &D::Storage, at: usize, tile: &[u8], repeat: Repeat) -> Done {
        self.windows(what, class, huge, at, tile, repeat)?;
        let small = self.device.storage_from_bytes(huge.dtype(), tile)?;
        self.compare_stored(what, class, huge, at, &small, repeat)
    }

    /// As [`compare`](Self::compare), with the tile on the device and without the windows.
    pub fn compare_stored(
        &self,
        what: &str,
        class: Class,
        huge: &D::Storage,
        at: usize,
        small: &D::Storage,
        repeat: Repeat,
    ) -> Done {
        let dtype = huge.dtype();
        // SAFETY: both storages outlive the views, nothing writes to them meanwhile, and all work
        // goes to the current stream of this thread.
        let views = unsafe { (self.bits_of(huge)?, self.bits_of(small)?) };
        for part in repeat.parts(self.sizes.chunk()) {
            let [left, right] = repeat.layouts(part, at)?;
            if let (Some(huge), Some(small)) = &views
                && !self.differ(huge, &left, small, &right)?
            {
                continue;
            }
            // On a device without addresses, or where bits differ: NaNs may, in some classes.
            let size = dtype.size_in_bytes();
            let mut got = vec![0; left.elem_count() * size];
            huge.read_bytes(left.start_offset() * size, &mut got)?;
            let tile = small.to_cpu_storage()?;
            let start = left.start_offset() - at;
            let (row, rows) = (repeat.inner * size, part.outer..part.outer + part.outers);
            let expected: Vec<u8> =
                rows.flat_map(|outer| tile.as_bytes()[outer * row..][..row].repeat(part.tiles)).collect();
            agree(what, start, &compare_bits(class, dtype, &expected, &got))?;
        }
        Ok(())
    }

    /// Returns a view of a storage's bits as integers, or `None` if the device has no addresses.
    ///
    /// # Safety
    /// The storage must outlive the view, and nothing may write to it meanwhile.
    unsafe fn bits_of(&self, storage: &D::Storage) -> Done<Option<D::Storage>> {
        let dtype = match storage.dtype().size_in_bytes() {
            1 => DType::U8,
            2 => DType::I16,
            4 => DType::I32,
            _ => DType::I64,
        };
        let view = storage.device_ptr().and_then(|ptr| {
            // SAFETY: the address is that of the storage's elements, which are as wide as those of
            // the view; the caller promises the rest.
            unsafe { self.device.storage_from_raw(ptr, storage.len(), dtype) }
        });
        match view {
            Ok(view) => Ok(Some(view)),
            Err(e) if e.kind() == ErrorKind::UnsupportedOp => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether elements of two storages differ, computed on the device.
    fn differ(&self, a: &D::Storage, a_layout: &Layout, b: &D::Storage, b_layout: &Layout) -> Done<bool> {
        let count = a_layout.elem_count();
        let mut mask = self.storage(count, DType::U8)?;
        let place = Layout::contiguous(a_layout.shape());
        let inputs = [Src::Storage(a, a_layout), Src::Storage(b, b_layout)];
        D::Storage::apply_into(&Op::Cmp(CmpOp::Ne), &inputs, &mut mask, &place)?;
        let any = Op::Reduce(Reduce::new(ReduceOp::Max, &[0]));
        let any = D::Storage::apply(&any, &[(&mask, &Layout::contiguous(count))])?;
        Ok(any.to_vec::<u8>()? != [0])
    }

    /// Reads windows at the ends, around the limits and at some other places, and compares them
    /// with the tile.
    fn windows(&self, what: &str, class: Class, huge: &D::Storage, at: usize, tile: &[u8], repeat: Repeat) -> Done {
        let (len, dtype) = (repeat.len(), huge.dtype());
        let size = dtype.size_in_bytes();
        let limit = self.sizes.limit();
        // Around 2^31 and 2^32, in elements and in bytes, and their multiples.
        let limits = (1..=16).map(|i| i * (limit / 2)).flat_map(|l| [l, l / size]);
        let spread = (0..8).map(|i| len / 8 * i + 7919 * i);
        let mut got = vec![0; WINDOW * size];
        for middle in limits.chain(spread).chain([0, len]) {
            let start = middle.saturating_sub(WINDOW / 2).min(len.saturating_sub(WINDOW));
            if middle > len {
                continue;
            }
            let got = &mut got[..WINDOW.min(len) * size];
            huge.read_bytes((at + start) * size, got)?;
            let expected: Vec<u8> = (start..start + got.len() / size)
                .flat_map(|i| tile[repeat.of_tile(i) * size..][..size].to_vec())
                .collect();
            agree(what, start, &compare_bits(class, dtype, &expected, got))?;
        }
        Ok(())
    }
}

/// Fails with the first difference of a comparison, whose first element has the index `start`.
pub(super) fn agree(what: &str, start: usize, found: &Comparison) -> Done {
    let Some(first) = &found.first else { return Ok(()) };
    Err(Failed::new(format!(
        "{what}, element {} of the buffer: expected {}, got {} ({} differ in its part)",
        start + first.index,
        first.expected,
        first.got,
        found.differing
    ))
    .into())
}
