//! Parameters of resizing images.

use super::Interpolation;
use crate::Dims;
use smallvec::SmallVec;

/// Which position of the image an element of the result has, as ONNX names them. Below, `s` is the
/// image's size in a dimension, `i` the element of the result, and `length` is `s * scale`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Coordinates {
    /// Pixels have an extent of 1 around their centre: `(i + 0.5) / scale - 0.5`. PyTorch's
    /// `align_corners=False`.
    #[default]
    HalfPixel,
    /// As [`HalfPixel`](Self::HalfPixel), but -0.5 if `length` is 1.
    PytorchHalfPixel,
    /// As [`HalfPixel`](Self::HalfPixel), with the image's middle in the middle of the result, also
    /// if the result's size is `length` rounded down: `s / 2 * (1 - size / length)` is added.
    HalfPixelSymmetric,
    /// The centres of the first and the last element of image and result coincide: `i * (s - 1) /
    /// (length - 1)`, or 0 if `length` is 1. PyTorch's `align_corners=True`.
    AlignCorners,
    /// The first elements begin at one position: `i / scale`.
    Asymmetric,
    /// A region of the image, by start and end of each dimension, where 0 is the centre of the
    /// first element and 1 that of the last: `start * (s - 1) + i * (end - start) * (s - 1) /
    /// (length - 1)`, or the region's middle if `length` is 1. Positions before 0 and after `s - 1`
    /// give [`Resize::extrapolation`]. TensorFlow's `crop_and_resize`.
    CropAndResize(SmallVec<[[f64; 2]; 3]>),
}

/// Which element is the nearest to a position between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum NearestMode {
    /// The nearer one, of two equally near the lower one.
    #[default]
    RoundPreferFloor,
    /// The nearer one, of two equally near the higher one. With [`Coordinates::HalfPixel`],
    /// PyTorch's `nearest-exact`.
    RoundPreferCeil,
    /// The lower one. With [`Coordinates::Asymmetric`], PyTorch's `nearest`.
    Floor,
    /// The higher one.
    Ceil,
}

/// Resizes images `[n, c, ..]` with one, two or three dimensions after the channels. ONNX's
/// `Resize`, with every mode that it has, and so PyTorch's `interpolate`. [`UpsampleNearest2d`] and
/// [`UpsampleBilinear2d`] are faster where they have the mode.
///
/// Nearest neighbours are of all dtypes; linear and cubic interpolation of f8e4m3, f16, bf16, f32
/// and f64. Section 9 of [`docs/numerics/shape.md`][shape] has the arithmetic.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Interpolation, Layout, Resize};
/// let x = CpuDevice.storage_from_slice(&[0.0f32, 4.0, 8.0, 12.0])?;
/// let l = Layout::contiguous((1, 1, 4));
/// let op = Resize::new(&[2], Interpolation::Linear);
/// assert_eq!(x.resize(&l, op.clone())?.to_vec::<f32>()?, [2.0, 10.0]);
/// // The weighted mean of all elements that a shrunken pixel covers.
/// assert_eq!(x.resize(&l, op.with_antialias(true))?.to_vec::<f32>()?, [2.5, 9.5]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
///
/// [`UpsampleNearest2d`]: super::UpsampleNearest2d
/// [`UpsampleBilinear2d`]: super::UpsampleBilinear2d
/// [shape]: https://github.com/isobit/isobit/blob/main/docs/numerics/shape.md
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Resize {
    /// The sizes of the result's dimensions after the channels.
    pub size: Dims,
    /// Scales of these dimensions from which positions are computed; `None` takes the ratios of the
    /// sizes.
    pub scale: Option<SmallVec<[f64; 3]>>,
    /// How a value between elements follows from those around it.
    pub mode: Interpolation,
    /// Which position of the image an element of the result has.
    pub coordinates: Coordinates,
    /// Which element is the nearest to a position between two.
    pub nearest: NearestMode,
    /// The parameter of the kernel of cubic interpolation.
    pub cubic_coeff: f64,
    /// Whether dimensions that shrink take all elements that an element of the result covers, with
    /// weights of a wider kernel (PyTorch's and ONNX's `antialias`). Has no effect on nearest
    /// neighbours.
    pub antialias: bool,
    /// Whether elements outside the image have no weight, and the others' are scaled to a sum of 1;
    /// otherwise they are those at the image's ends. Has no effect on nearest neighbours. PyTorch
    /// has it with antialiasing only.
    pub exclude_outside: bool,
    /// The value of positions outside the image with [`Coordinates::CropAndResize`].
    pub extrapolation: f64,
}

/// How the positions of one dimension follow from the elements of the result: element `i` is at `(i
/// + shift) * factor / divisor + offset`, each operation rounded to f64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResizeAxis {
    /// Added to the number of the element.
    pub shift: f64,
    /// What that is multiplied by.
    pub factor: f64,
    /// What that is divided by.
    pub divisor: f64,
    /// Added to the quotient.
    pub offset: f64,
    /// What distances are multiplied by before the kernel is evaluated: 1, or less if antialiasing
    /// makes the kernel wider.
    pub filter: f64,
}

impl Resize {
    /// Resizes to the given sizes, by the ratios of the sizes and with half pixels.
    pub fn new(size: &[usize], mode: Interpolation) -> Self {
        Self {
            size: size.into(),
            scale: None,
            mode,
            coordinates: Coordinates::default(),
            nearest: NearestMode::default(),
            cubic_coeff: -0.75,
            antialias: false,
            exclude_outside: false,
            extrapolation: 0.0,
        }
    }

    /// Computes positions from the given scales.
    pub fn with_scale(mut self, scale: &[f64]) -> Self {
        self.scale = Some(scale.into());
        self
    }

    /// Sets which position of the image an element of the result has.
    pub fn with_coordinates(mut self, coordinates: Coordinates) -> Self {
        self.coordinates = coordinates;
        self
    }

    /// Sets which element is the nearest to a position between two.
    pub fn with_nearest(mut self, nearest: NearestMode) -> Self {
        self.nearest = nearest;
        self
    }

    /// Sets the parameter of the kernel of cubic interpolation.
    pub fn with_cubic_coeff(mut self, cubic_coeff: f64) -> Self {
        self.cubic_coeff = cubic_coeff;
        self
    }

    /// Sets whether dimensions that shrink take all elements that an element of the result covers.
    pub fn with_antialias(mut self, antialias: bool) -> Self {
        self.antialias = antialias;
        self
    }

    /// Sets whether elements outside the image have no weight.
    pub fn with_exclude_outside(mut self, exclude_outside: bool) -> Self {
        self.exclude_outside = exclude_outside;
        self
    }

    /// Sets the value of positions outside the image.
    pub fn with_extrapolation(mut self, extrapolation: f64) -> Self {
        self.extrapolation = extrapolation;
        self
    }

    /// Returns how positions of a dimension follow from the elements of the result, for an image of
    /// the size `from` in it. Dimensions are counted from that after the channels.
    ///
    /// # Panics
    /// If the parameters have no such dimension.
    pub fn axis(&self, d: usize, from: usize) -> ResizeAxis {
        let (from, to) = (from as f64, self.size[d] as f64);
        let given = self.scale.as_ref().map(|scale| scale[d]);
        let (scale, length) = given.map_or((to / from, to), |scale| (scale, from * scale));
        let half_pixel = [0.5, 1.0, scale, -0.5];
        let [shift, factor, divisor, offset] = match &self.coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::PytorchHalfPixel if length == 1.0 => [0.0, 0.0, 1.0, -0.5],
            Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => [0.5, 1.0, scale, from / 2.0 * (1.0 - to / length) - 0.5],
            Coordinates::AlignCorners if length == 1.0 => [0.0, 0.0, 1.0, 0.0],
            Coordinates::AlignCorners => [0.0, from - 1.0, length - 1.0, 0.0],
            Coordinates::Asymmetric => [0.0, 1.0, scale, 0.0],
            Coordinates::CropAndResize(region) => {
                let [start, end] = region[d];
                let (first, span) = (start * (from - 1.0), (end - start) * (from - 1.0));
                if length == 1.0 { [0.5, span, 1.0, first] } else { [0.0, span, length - 1.0, first] }
            }
        };
        let filter = if self.antialias { scale.min(1.0) } else { 1.0 };
        ResizeAxis { shift, factor, divisor, offset, filter }
    }

    /// Returns the number of elements to each side that the kernel reaches, before antialiasing
    /// makes it wider.
    pub const fn reach(&self) -> usize {
        if matches!(self.mode, Interpolation::Cubic) { 2 } else { 1 }
    }

    /// Returns whether results are divided by the sum of the weights.
    pub const fn is_normalized(&self) -> bool {
        !matches!(self.mode, Interpolation::Nearest) && (self.antialias || self.exclude_outside)
    }
}

impl ResizeAxis {
    /// A dimension of one element, which stays.
    pub const WHOLE: Self = Self { shift: 0.0, factor: 0.0, divisor: 1.0, offset: 0.0, filter: 1.0 };

    /// Returns how far the kernel reaches to each side, in elements of the image, and the number of
    /// elements that it takes from the first after the lower end on.
    pub fn support(&self, reach: usize) -> (f64, usize) {
        let support = reach as f64 / self.filter;
        (support, (2.0 * support) as usize + 1)
    }
}
