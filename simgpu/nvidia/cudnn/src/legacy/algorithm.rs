//! Algorithms by number, and their requirements.

use super::tensor::{filter, tensor};
use super::window::{FMA_MATH, window};
use crate::engine::{Engine, NONDETERMINISTIC};
use crate::handle::stream_of;
use crate::problem::Problem;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, SUCCESS, Status, answer, ensure, fail};
use isobit_simgpu_library_common::{CUDA, injected};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::{c_int, c_void};

/// `cudnnConvolutionFwdAlgoPerf_t` and its counterparts for the gradients.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Performance {
    /// The algorithm.
    pub algorithm: c_int,
    /// Whether the algorithm supports the convolution.
    pub status: Status,
    /// Milliseconds; -1 if nothing was timed.
    pub time: f32,
    /// Bytes of the workspace.
    pub memory: usize,
    /// 1 if the results are deterministic.
    pub determinism: c_int,
    /// The math type of the convolution's descriptor.
    pub math_type: c_int,
    /// Reserved.
    pub reserved: [c_int; 3],
}

/// A convolution and the algorithm to compute it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen {
    pub(super) problem: Problem,
    pub(super) engine: Engine,
    math_type: c_int,
}

/// Returns the number of algorithms of a pass.
fn count(pass: Pass) -> c_int {
    match pass {
        Pass::Forward => 8,
        Pass::Data => 6,
        Pass::Filter => 7,
    }
}

impl Chosen {
    /// The operands are descriptors of input, filter and result, or of their gradients.
    pub(super) fn new(
        pass: Pass,
        [x, w, y]: [*mut c_void; 3],
        convolution: *mut c_void,
        algorithm: c_int,
    ) -> Outcome<Self> {
        let window = window(convolution)?;
        let operands = [&tensor(x)?, &filter(w)?, &tensor(y)?];
        let problem = Problem::new(pass, &window.steps, operands, window.compute_type, Some(window.groups))?;
        ensure((0..count(pass)).contains(&algorithm), BAD_PARAM, || format!("unknown algorithm: {algorithm}"))?;
        let with_units = window.math_type != FMA_MATH && Engine::MatrixUnits.check(&problem).is_ok();
        let engine = match (pass, algorithm) {
            (_, 1) if with_units => Engine::MatrixUnits,
            (Pass::Forward, 0) => Engine::Implicit,
            (Pass::Forward, 1) => Engine::Indexed,
            (_, 0) => Engine::Atomic,
            (_, 1) => Engine::Implicit,
            _ => return fail(NOT_SUPPORTED, format!("algorithm {algorithm} is not supported")),
        };
        engine.check(&problem)?;
        Ok(Self { problem, engine, math_type: window.math_type })
    }

    pub(super) fn workspace(&self) -> usize {
        self.engine.workspace(&self.problem)
    }

    fn performance(&self, algorithm: c_int) -> Performance {
        let determinism = c_int::from(!self.engine.numerical_notes().contains(&NONDETERMINISTIC));
        let (memory, math_type) = (self.workspace(), self.math_type);
        Performance { algorithm, status: SUCCESS, time: -1.0, memory, determinism, math_type, reserved: [0; 3] }
    }
}

/// # Safety
/// `bytes` is null or can be written.
unsafe fn workspace_size(
    handle: *mut c_void,
    pass: Pass,
    operands: [*mut c_void; 3],
    convolution: *mut c_void,
    algorithm: c_int,
    bytes: *mut usize,
) -> Status {
    answer(|| {
        stream_of(handle)?;
        ensure(!bytes.is_null(), NULL_POINTER, || "the pointer to the size is null".into())?;
        let chosen = Chosen::new(pass, operands, convolution, algorithm)?;
        // SAFETY: not null; the caller promises that `bytes` is null or can be written.
        unsafe { bytes.write(chosen.workspace()) };
        Ok(())
    })
}

/// Writes the algorithms that support a convolution, fastest first.
///
/// # Safety
/// `returned` is null or can be written, and `results` is null or has room for `requested`.
unsafe fn algorithms(
    handle: *mut c_void,
    pass: Pass,
    operands: [*mut c_void; 3],
    convolution: *mut c_void,
    requested: c_int,
    returned: *mut c_int,
    results: *mut Performance,
) -> Status {
    answer(|| {
        stream_of(handle)?;
        let room = usize::try_from(requested).unwrap_or_default();
        ensure(room > 0, BAD_PARAM, || format!("{requested} algorithms are requested"))?;
        ensure(!returned.is_null() && !results.is_null(), NULL_POINTER, || "null array of algorithms".into())?;
        let chosen = |algorithm| Chosen::new(pass, operands, convolution, algorithm);
        // If the operands are invalid, every algorithm fails.
        let named: Vec<_> = [1, 0].into_iter().filter_map(|a| Some(chosen(a).ok()?.performance(a))).collect();
        if named.is_empty() {
            chosen(1)?;
        }
        let n = named.len().min(room);
        // SAFETY: not null; the caller promises that `returned` is null or can be written, and
        // `results` is null or has room for `requested`.
        unsafe {
            results.copy_from_nonoverlapping(named.as_ptr(), n);
            returned.write(n as c_int);
        }
        Ok(())
    })
}

/// # Safety
/// `to` is null or can be written.
unsafe fn most(handle: *mut c_void, pass: Pass, to: *mut c_int) -> Status {
    answer(|| {
        stream_of(handle)?;
        ensure(!to.is_null(), NULL_POINTER, || "the pointer to the number is null".into())?;
        // SAFETY: not null; the caller promises that `to` is null or can be written.
        unsafe { to.write(count(pass)) };
        Ok(())
    })
}

macro_rules! functions {
    ($($pass:ident, $size:ident, $algorithms:ident, $most:ident, [$x:ident, $w:ident, $y:ident], ($first:ident, $second:ident, $third:ident);)*) => {$(
        /// Returns the bytes of workspace that an algorithm needs.
        ///
        /// # Safety
        /// `bytes` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $size(
            handle: *mut c_void,
            $first: *mut c_void,
            $second: *mut c_void,
            convolution: *mut c_void,
            $third: *mut c_void,
            algorithm: c_int,
            bytes: *mut usize,
        ) -> Status {
            injected!(CUDA, stringify!($size));
            // SAFETY: the caller promises that `to` is null or can be written.
            unsafe { workspace_size(handle, Pass::$pass, [$x, $w, $y], convolution, algorithm, bytes) }
        }

        /// Returns the algorithms that support the convolution, fastest first. Nothing is timed.
        ///
        /// # Safety
        /// `returned` is null or can be written, and `results` is null or has room for `requested`
        /// elements.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $algorithms(
            handle: *mut c_void,
            $first: *mut c_void,
            $second: *mut c_void,
            convolution: *mut c_void,
            $third: *mut c_void,
            requested: c_int,
            returned: *mut c_int,
            results: *mut Performance,
        ) -> Status {
            injected!(CUDA, stringify!($algorithms));
            // SAFETY: the caller promises that `to` is null or can be written.
            unsafe { algorithms(handle, Pass::$pass, [$x, $w, $y], convolution, requested, returned, results) }
        }

        /// Returns the number of algorithms.
        ///
        /// # Safety
        /// `count` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $most(handle: *mut c_void, count: *mut c_int) -> Status {
            injected!(CUDA, stringify!($most));
            // SAFETY: the caller promises that `to` is null or can be written.
            unsafe { most(handle, Pass::$pass, count) }
        }
    )*};
}

functions! {
    Forward, cudnnGetConvolutionForwardWorkspaceSize, cudnnGetConvolutionForwardAlgorithm_v7,
        cudnnGetConvolutionForwardAlgorithmMaxCount, [x, w, y], (x, w, y);
    Data, cudnnGetConvolutionBackwardDataWorkspaceSize, cudnnGetConvolutionBackwardDataAlgorithm_v7,
        cudnnGetConvolutionBackwardDataAlgorithmMaxCount, [x, w, y], (w, y, x);
    Filter, cudnnGetConvolutionBackwardFilterWorkspaceSize, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
        cudnnGetConvolutionBackwardFilterAlgorithmMaxCount, [x, w, y], (x, y, w);
}
