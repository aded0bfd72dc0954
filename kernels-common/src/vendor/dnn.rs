//! Convolutions as the deep-learning libraries of both vendors take them, and the cache of their
//! plans. A library takes milliseconds to choose an algorithm, so it is asked once per problem.

use crate::runtime::{Conv, DevicePtr, Scratch, Tensor4, Vendor};
use isobit_hal::{DType, ErrorKind, Result};
use std::collections::HashMap;

/// One operand of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvOperand {
    /// The size of each dimension.
    pub dims: [i32; 4],
    /// The stride along each dimension, in elements.
    pub strides: [i32; 4],
    /// The alignment of the address in bytes, at most 16.
    pub alignment: u32,
}

/// The key of a plan: everything in a [`Conv`] except the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvProblem {
    /// The dtype of all operands.
    pub dtype: DType,
    /// Whether the convolution is transposed. Libraries call this the gradient of a convolution
    /// with respect to its input.
    pub transposed: bool,
    /// The input, `[n, c_in, h, w]`.
    pub src: ConvOperand,
    /// The kernel, `[c_out, c_in / groups, kh, kw]`, or `[c_in, c_out / groups, kh, kw]` if
    /// transposed, which is the kernel of the convolution that it transposes.
    pub kernel: ConvOperand,
    /// The output, `[n, c_out, h_out, w_out]`.
    pub dst: ConvOperand,
    /// The stride along h and w.
    pub stride: [i32; 2],
    /// The padding along h and w.
    pub padding: [i32; 2],
    /// The dilation along h and w.
    pub dilation: [i32; 2],
    /// The number of channel groups.
    pub groups: i32,
}

fn small(n: usize) -> Result<i32, String> {
    i32::try_from(n).map_err(|_| format!("does not support sizes or strides of 2^31 or more, such as {n}"))
}

fn all_small<const N: usize>(values: [usize; N]) -> Result<[i32; N], String> {
    let mut small_values = [0; N];
    for (to, n) in small_values.iter_mut().zip(values) {
        *to = small(n)?;
    }
    Ok(small_values)
}

impl ConvOperand {
    fn of(tensor: &Tensor4) -> Result<Self, String> {
        let Tensor4 { ptr, dims, mut strides } = *tensor;
        if dims.iter().zip(strides).any(|(&size, stride)| size > 1 && stride == 0) {
            return Err("does not support operands that repeat elements".into());
        }
        // The stride of a dimension of size 1 is never used, but libraries identify a layout by all
        // strides, so it is set to that of a contiguous layout.
        for d in (0..4).rev().filter(|&d| dims[d] == 1) {
            strides[d] = if d == 3 { 1 } else { dims[d + 1] * strides[d + 1] };
        }
        let extent = dims.iter().zip(strides).fold(1usize, |n, (size, stride)| n.saturating_add((size - 1) * stride));
        small(extent)?;
        let alignment = if ptr.0 == 0 { 16 } else { 1 << ptr.0.trailing_zeros().min(4) };
        Ok(Self { dims: all_small(dims)?, strides: all_small(strides)?, alignment })
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_packed(&self) -> bool {
        let mut step = 1;
        self.dims.iter().zip(self.strides).rev().all(|(&size, stride)| {
            let fits = stride == step;
            step *= size;
            fits
        })
    }
}

impl ConvProblem {
    /// # Errors
    /// Returns a human-readable reason, to follow the library's name, if no library supports the
    /// convolution.
    pub fn of(conv: &Conv) -> Result<Self, String> {
        Ok(Self {
            dtype: conv.dtype,
            transposed: conv.transposed,
            src: ConvOperand::of(&conv.src)?,
            kernel: ConvOperand::of(&conv.kernel)?,
            dst: ConvOperand::of(&conv.dst)?,
            stride: all_small(conv.stride)?,
            padding: all_small(conv.padding)?,
            dilation: all_small(conv.dilation)?,
            groups: small(conv.groups)?,
        })
    }
}

/// The maximum number of cached plans; above it, the least recently used one is dropped.
const MOST_PLANS: usize = 1024;

/// A library's plan for one problem.
///
/// ```
/// use isobit_kernels::ConvPlan;
///
/// /// The algorithm that the library chose, as the number by which it is called.
/// struct Plan {
///     algorithm: i32,
///     workspace: usize,
/// }
///
/// impl ConvPlan for Plan {
///     fn workspace_bytes(&self) -> usize {
///         self.workspace
///     }
/// }
///
/// assert_eq!(Plan { algorithm: 1, workspace: 4096 }.workspace_bytes(), 4096);
/// ```
pub trait ConvPlan {
    /// Returns the size of its workspace in bytes.
    fn workspace_bytes(&self) -> usize;
}

/// The plans that were made with one handle.
#[derive(Debug)]
pub struct ConvPlans<P> {
    plans: HashMap<ConvProblem, Kept<P>>,
    uses: u64,
}

#[derive(Debug)]
struct Kept<P> {
    plan: Result<P, String>,
    last_used: u64,
}

impl<P> Default for ConvPlans<P> {
    fn default() -> Self {
        Self { plans: HashMap::new(), uses: 0 }
    }
}

impl<P: ConvPlan> ConvPlans<P> {
    /// Runs a convolution by its plan, which `make` creates on first use. `execute` receives the
    /// addresses of source, kernel and destination, and of a workspace from `scratch`, which is
    /// null if the plan needs none. If the library cannot do it, returns `Declined` with `library`
    /// and the reason.
    ///
    /// Libraries choose algorithms by heuristics and not by measurement, so making a plan runs
    /// nothing on the device and is allowed during a capture.
    ///
    /// # Errors
    /// Returns the error of `scratch`, except for `OutOfMemory`, for which the result is
    /// `Declined`.
    pub fn convolve(
        &mut self,
        library: &str,
        conv: &Conv,
        make: impl FnOnce(&ConvProblem) -> Result<P, String>,
        scratch: &mut Scratch<'_>,
        execute: impl FnOnce(&mut P, [DevicePtr; 3], DevicePtr) -> Result<(), String>,
    ) -> Result<Vendor> {
        let declined = |why: String| Ok(Vendor::Declined(format!("{library} {why}")));
        let problem = match ConvProblem::of(conv) {
            Ok(problem) => problem,
            Err(why) => return declined(why),
        };
        let plan = match self.plan(&problem, || make(&problem)) {
            Ok(plan) => plan,
            Err(why) => return declined(why),
        };
        let workspace = match plan.workspace_bytes() {
            0 => DevicePtr(0),
            bytes => match scratch(bytes) {
                Ok(workspace) => workspace,
                Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                    return declined(format!("needs a workspace of {bytes} bytes: {e}"));
                }
                Err(e) => return Err(e),
            },
        };
        match execute(plan, [conv.src.ptr, conv.kernel.ptr, conv.dst.ptr], workspace) {
            Ok(()) => Ok(Vendor::Done),
            Err(why) => {
                self.give_up(&problem, why.clone());
                declined(why)
            }
        }
    }
}

impl<P> ConvPlans<P> {
    /// Returns the plan for a problem, which is made on first use, or the cached reason why there
    /// is none.
    ///
    /// # Errors
    /// Returns the error of `make`.
    fn plan(&mut self, problem: &ConvProblem, make: impl FnOnce() -> Result<P, String>) -> Result<&mut P, String> {
        self.uses += 1;
        if self.plans.len() >= MOST_PLANS && !self.plans.contains_key(problem) {
            let oldest = self.plans.iter().min_by_key(|(_, kept)| kept.last_used).map(|(problem, _)| *problem);
            oldest.map(|problem| self.plans.remove(&problem));
        }
        let kept = self.plans.entry(*problem).or_insert_with(|| Kept { plan: make(), last_used: 0 });
        kept.last_used = self.uses;
        kept.plan.as_mut().map_err(|why| why.clone())
    }

    /// Marks a plan as never to be used again, because running it failed.
    fn give_up(&mut self, problem: &ConvProblem, why: String) {
        self.plans.insert(*problem, Kept { plan: Err(why), last_used: self.uses });
    }

    /// Drops all plans. Called before the handle that they were made with is destroyed.
    pub fn clear(&mut self) {
        self.plans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::{Error, ErrorKind};

    fn tensor(ptr: u64, dims: [usize; 4], strides: [usize; 4]) -> Tensor4 {
        Tensor4 { ptr: DevicePtr(ptr), dims, strides }
    }

    fn conv(src: Tensor4) -> Conv {
        Conv {
            dtype: DType::F32,
            transposed: false,
            src,
            kernel: tensor(512, [3, 2, 1, 5], [10, 5, 5, 1]),
            dst: tensor(1024, [1, 3, 1, 4], [12, 4, 4, 1]),
            stride: [1, 2],
            padding: [0, 1],
            dilation: [1, 1],
            groups: 1,
        }
    }

    #[test]
    fn strides_that_are_never_used_do_not_tell_plans_apart() {
        let of = |ptr, strides| ConvProblem::of(&conv(tensor(ptr, [1, 2, 1, 9], strides))).unwrap();
        let packed = of(256, [18, 9, 9, 1]);
        assert_eq!(of(256, [777, 9, 0, 1]), packed);
        assert!(packed.src.is_packed() && packed.kernel.is_packed());
        assert!(!of(256, [20, 10, 9, 1]).src.is_packed());
        assert_eq!((packed.src.alignment, of(260, [18, 9, 9, 1]).src.alignment), (16, 4));
    }

    #[test]
    fn what_no_library_takes_is_said() {
        let of = |dims, strides| ConvProblem::of(&conv(tensor(256, dims, strides)));
        assert!(of([2, 2, 1, 9], [0, 9, 9, 1]).unwrap_err().contains("repeat"));
        assert!(of([2, 2, 1, 1 << 31], [1 << 33, 1 << 32, 1 << 31, 1]).unwrap_err().contains("2^31"));
        assert!(of([4, 2, 1, 1 << 29], [1 << 30, 1 << 29, 1 << 29, 1]).unwrap_err().contains("2^31"), "the extent");
    }

    #[test]
    fn a_plan_is_made_once_and_the_longest_unused_goes() {
        let problem = |w: usize| ConvProblem::of(&conv(tensor(256, [1, 2, 1, w], [2 * w, w, w, 1]))).unwrap();
        let mut plans = ConvPlans::default();
        for w in 1..=MOST_PLANS {
            assert_eq!(plans.plan(&problem(w), || Ok(w)).copied(), Ok(w));
        }
        assert_eq!(plans.plan(&problem(1), || unreachable!("it is kept")).copied(), Ok(1));
        assert!(plans.plan(&problem(5000), || Err("no".into())).is_err());
        assert_eq!(plans.plan(&problem(5000), || Ok(7)).copied(), Err("no".into()), "a refusal is remembered");
        assert_eq!(plans.plan(&problem(1), || unreachable!("it was used")).copied(), Ok(1));
        assert_eq!(plans.plan(&problem(2), || Ok(9)).copied(), Ok(9), "it was the longest unused");
        plans.give_up(&problem(1), "it failed".into());
        assert!(plans.plan(&problem(1), || Ok(1)).is_err());
    }

    #[test]
    fn problems_that_differ_in_dtype_alone_have_plans_of_their_own() {
        let problem = ConvProblem::of(&conv(tensor(256, [1, 2, 1, 9], [18, 9, 9, 1]))).unwrap();
        let mut plans = ConvPlans::default();
        for (i, dtype) in [DType::F16, DType::BF16, DType::F32].into_iter().enumerate() {
            assert_eq!(plans.plan(&ConvProblem { dtype, ..problem }, || Ok(i)).copied(), Ok(i), "{dtype}");
        }
    }

    #[derive(Debug)]
    struct Wants(usize);

    impl ConvPlan for Wants {
        fn workspace_bytes(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn a_plan_works_in_memory_of_the_size_that_it_wants() {
        let (asked, mut plans) = (conv(tensor(256, [1, 2, 1, 9], [18, 9, 9, 1])), ConvPlans::default());
        for bytes in [0, 4096] {
            plans.clear();
            let mut given = None;
            let mut scratch = |n| {
                given = Some(n);
                Ok(DevicePtr(8192))
            };
            let execute = |plan: &mut Wants, operands: [DevicePtr; 3], memory: DevicePtr| {
                assert_eq!(operands, [256, 512, 1024].map(DevicePtr));
                assert_eq!((plan.0, memory.0), (bytes, if bytes == 0 { 0 } else { 8192 }));
                Ok(())
            };
            let done = plans.convolve("It", &asked, |_| Ok(Wants(bytes)), &mut scratch, execute);
            assert_eq!(done.unwrap(), Vendor::Done);
            assert_eq!(given, (bytes > 0).then_some(bytes));
        }
    }

    #[test]
    fn where_memory_is_short_the_library_declines_and_keeps_the_plan() {
        let (asked, mut plans) = (conv(tensor(256, [1, 2, 1, 9], [18, 9, 9, 1])), ConvPlans::default());
        let mut with = |kind| {
            let mut scratch = |_| Err(Error::new(kind, "short"));
            plans.convolve("It", &asked, |_| Ok(Wants(1)), &mut scratch, |_, _, _| unreachable!("it has no memory"))
        };
        assert_eq!(
            with(ErrorKind::OutOfMemory).unwrap(),
            Vendor::Declined("It needs a workspace of 1 bytes: short".into())
        );
        assert_eq!(with(ErrorKind::CaptureViolation).unwrap_err().kind(), ErrorKind::CaptureViolation);
        let mut scratch = |_| Ok(DevicePtr(512));
        let fails =
            plans.convolve("It", &asked, |_| unreachable!("it is kept"), &mut scratch, |_, _, _| Err("fails".into()));
        assert_eq!(fails.unwrap(), Vendor::Declined("It fails".into()));
        let again = plans.convolve("It", &asked, |_| unreachable!("it was given up"), &mut scratch, |_, _, _| Ok(()));
        assert_eq!(again.unwrap(), Vendor::Declined("It fails".into()));
    }
}
