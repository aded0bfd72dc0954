//! Parameters of sampling images at positions that a tensor has.

/// How a value between elements follows from those around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interpolation {
    /// The nearest element.
    Nearest,
    /// A line between the two elements around the position, in each dimension: PyTorch's
    /// `bilinear`, which it also calls so in three dimensions.
    #[default]
    Linear,
    /// A cubic polynomial through four elements, in each dimension: the kernel of Keys (1981,
    /// *Cubic convolution interpolation for digital image processing*, IEEE Transactions on
    /// Acoustics, Speech, and Signal Processing 29) with the parameter -3/4, PyTorch's `bicubic`.
    Cubic,
}

/// What is outside an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum GridPadding {
    /// Zeros.
    #[default]
    Zeros,
    /// The nearest element of the image.
    Border,
    /// The image again, reflected at its ends, as often as needed.
    Reflection,
}

/// Samples an image at the positions of a grid. As PyTorch's `grid_sample`, and ONNX's
/// `GridSample`.
///
/// Shapes: image `[n, c, h, w]`, grid `[n, y, x, 2]`, result `[n, c, y, x]`; or image `[n, c, d, h,
/// w]`, grid `[n, z, y, x, 3]`, result `[n, c, z, y, x]`. The last dimension of the grid has a
/// position for each dimension of the image, that along the last dimension first: -1 and 1 are the
/// ends of the image. Section 8 of [`docs/numerics/shape.md`][shape] has the arithmetic, and says
/// what positions that are no numbers give.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, GridSample, Interpolation, Layout};
/// let image = CpuDevice.storage_from_slice(&[0.0f32, 1.0, 2.0, 3.0])?;
/// let grid = CpuDevice.storage_from_slice(&[-1.0f32, -1.0, 0.5, 1.0, 3.0, 0.0])?;
/// let (l, points) = (Layout::contiguous((1, 1, 2, 2)), Layout::contiguous((1, 1, 3, 2)));
/// let op = GridSample::new().with_align_corners(true);
/// assert_eq!(image.grid_sample(&l, &grid, &points, op)?.to_vec::<f32>()?, [0.0, 2.75, 0.0]);
/// let op = op.with_mode(Interpolation::Nearest);
/// assert_eq!(image.grid_sample(&l, &grid, &points, op)?.to_vec::<f32>()?, [0.0, 3.0, 0.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
///
/// [shape]: https://github.com/isobit/isobit/blob/main/docs/numerics/shape.md
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GridSample {
    /// How a value between elements follows from those around it. Images of three dimensions have
    /// no [`Cubic`](Interpolation::Cubic).
    pub mode: Interpolation,
    /// What is outside the image.
    pub padding: GridPadding,
    /// Whether -1 and 1 are the centres of the first and the last element, or else their outer
    /// ends (PyTorch's `align_corners`).
    pub align_corners: bool,
}

impl GridSample {
    /// Linear interpolation, zeros outside the image, and -1 and 1 at its outer ends.
    pub const fn new() -> Self {
        Self { mode: Interpolation::Linear, padding: GridPadding::Zeros, align_corners: false }
    }

    /// Sets how a value between elements follows from those around it.
    pub const fn with_mode(mut self, mode: Interpolation) -> Self {
        self.mode = mode;
        self
    }

    /// Sets what is outside the image.
    pub const fn with_padding(mut self, padding: GridPadding) -> Self {
        self.padding = padding;
        self
    }

    /// Returns whether images may have so many dimensions after the channels.
    pub const fn takes_dims(&self, dims: usize) -> bool {
        dims == 2 || (dims == 3 && !matches!(self.mode, Interpolation::Cubic))
    }

    /// Sets whether -1 and 1 are the centres of the first and the last element.
    pub const fn with_align_corners(mut self, align_corners: bool) -> Self {
        self.align_corners = align_corners;
        self
    }
}
