//! Convolutions and their gradients: y = alpha (x * w) + beta y, and the same for the gradients
//! with respect to x and w.
//!
//! Products are summed in the compute type, without fused operations, by channel and then by
//! position in the filter (for a gradient: in the order in which a loop over the results of the
//! convolution meets them). The sum is rounded once to the result's type. No vendor promises an
//! order.

mod tensor;
mod window;

pub use tensor::{Tensor, View};
pub use window::{SPATIAL, Window};

use crate::number::{Compute, Output};
use isobit_simgpu_library_common::Access;

/// Which of a convolution's operands is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The convolution itself: computes y from x and w.
    Forward,
    /// The gradient with respect to the input: computes dx from w and dy.
    Data,
    /// The gradient with respect to the filter: computes dw from x and dy.
    Filter,
}

impl Pass {
    /// Returns the names of the operands.
    pub fn names(self) -> [&'static str; 3] {
        match self {
            Self::Forward => ["x", "w", "y"],
            Self::Data => ["dx", "w", "dy"],
            Self::Filter => ["x", "dw", "dy"],
        }
    }

    /// Returns the position of the result among the operands, and the positions of the two factors.
    fn places(self) -> (usize, [usize; 2]) {
        match self {
            Self::Forward => (2, [0, 1]),
            Self::Data => (0, [2, 1]),
            Self::Filter => (1, [0, 2]),
        }
    }
}

/// A convolution with shapes that have been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution {
    /// Which operand is the result.
    pub pass: Pass,
    /// How the filter moves over the input.
    pub window: Window,
    /// The input, the filter and the result, or the gradients in their positions.
    pub tensors: [Tensor; 3],
}

/// The addresses of a convolution's operands and the factors that scale the result.
#[derive(Debug, Clone, Copy)]
pub struct Call<C> {
    /// The name of the caller, for findings.
    pub what: &'static str,
    /// The exposed addresses, in the order of the tensors.
    pub addresses: [usize; 3],
    /// The factor of the computed sum. Zero times NaN or infinity is NaN: no vendor says otherwise.
    pub alpha: C,
    /// The factor of the result's previous value. If it is zero, the previous value is not read.
    pub beta: C,
    /// What happens to an element of a factor before the multiplication: nothing, or a loss of
    /// precision.
    pub prepare: fn(C) -> C,
}

impl Convolution {
    /// Whether the operands' sizes match each other and the window.
    pub fn is_valid(&self) -> bool {
        let [x, w, y] = self.tensors.map(|t| t.dims);
        let groups = self.window.groups;
        let channels = groups > 0 && w[1].checked_mul(groups) == Some(x[1]) && w[0].is_multiple_of(groups);
        let spatial = (0..SPATIAL).all(|d| self.window.size(d, x[d + 2], w[d + 2]) == Some(y[d + 2]));
        channels && spatial && y[..2] == [x[0], w[0]]
    }

    /// Computes the convolution if the simulator allows every access.
    ///
    /// # Safety
    /// If the access is allowed, the operands hold elements of type `T`, as their shapes describe.
    pub unsafe fn run<T: Output<C>, C: Compute>(&self, call: &Call<C>, access: &Access<'_>) {
        let (to, from) = self.pass.places();
        let names = self.pass.names().map(|name| format!("{}: {name}", call.what));
        let view = |i: usize| View::<T>::new(&self.tensors[i], call.addresses[i]);
        let allowed = |i: usize, write: bool| view(i).is_allowed(write, &names[i], access);
        let old = !call.beta.is_zero();
        // Check the access to every operand, so that every finding is reported. The write comes
        // last, because a request for write access marks the memory as written.
        let factors = allowed(from[0], false) & allowed(from[1], false);
        if !(factors & (!old || allowed(to, false)) && allowed(to, true)) {
            return;
        }
        // SAFETY: both accesses were allowed.
        let read = |i: usize| unsafe { view(i).read() }.map(|v| (call.prepare)(v.widen())).collect::<Vec<C>>();
        let sums = self.sums([&read(from[0]), &read(from[1])]);
        let value = |sum: C, old: Option<T>| {
            let new = call.alpha.times(sum);
            T::round(old.map_or(new, |old| new.plus(call.beta.times(old.widen()))))
        };
        // SAFETY: the access was allowed.
        unsafe { view(to).update(sums, old, value) };
    }

    /// Returns the sums of products, one per element of the result, from the factors in row-major
    /// order.
    fn sums<C: Compute>(&self, factors: [&[C]; 2]) -> Vec<C> {
        let (to, from) = self.pass.places();
        let mut sums = vec![C::default(); self.tensors[to].elements()];
        self.products(|places| {
            let product = factors[0][places[from[0]]].times(factors[1][places[from[1]]]);
            let sum = &mut sums[places[to]];
            *sum = sum.plus(product);
        });
        sums
    }

    /// Calls `f` for every product with its positions in the input, the filter and the result.
    fn products(&self, mut f: impl FnMut([usize; 3])) {
        let [x, w, y] = self.tensors.map(|t| t.dims);
        let filters_of_group = w[0] / self.window.groups;
        let taps: [_; SPATIAL] = std::array::from_fn(|d| self.window.taps(d, x[d + 2], w[d + 2], y[d + 2]));
        let mut result = 0;
        for sample in 0..y[0] {
            for filter in 0..y[1] {
                let first = sample * x[1] + filter / filters_of_group * w[1];
                for (o0, o1, o2) in places([y[2], y[3], y[4]]) {
                    for channel in 0..w[1] {
                        let (image, kernel) = (first + channel, filter * w[1] + channel);
                        for &(i0, t0) in &taps[0][o0] {
                            for &(i1, t1) in &taps[1][o1] {
                                let row = ((image * x[2] + i0) * x[3] + i1) * x[4];
                                let kernel_row = ((kernel * w[2] + t0) * w[3] + t1) * w[4];
                                for &(i2, t2) in &taps[2][o2] {
                                    f([row + i2, kernel_row + t2, result]);
                                }
                            }
                        }
                    }
                    result += 1;
                }
            }
        }
    }
}

fn places([a, b, c]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}

#[cfg(test)]
mod tests;
