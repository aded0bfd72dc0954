//! Operations on numbered buffers: the steps of the groups' programs, the same for every device.

use super::case::{Checked, Failed};
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Op, Result, Src};
use std::fmt;

/// One operation.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub op: Op,
    /// The input buffers by number, each with a layout. The destination's own number means the
    /// destination itself.
    pub inputs: Vec<(usize, Layout)>,
    pub dst: usize,
    pub layout: Layout,
    /// The dtype of a new storage for the result, which replaces the buffer; the old storage is
    /// dropped while work on it may be pending.
    pub fresh: Option<DType>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let new = if self.fresh.is_some() { "new " } else { "" };
        write!(f, "{new}buffer {} {} = ", self.dst, self.layout)?;
        let inputs: Vec<_> = self.inputs.iter().map(|(i, l)| format!("buffer {i} {l}")).collect();
        write!(f, "{:?} of ({})", self.op, inputs.join(", "))
    }
}

/// The buffers by number; `None` for a buffer that does not exist yet.
pub(crate) type Buffers<S> = Vec<Option<S>>;

/// Runs a step on a device, on the thread's current stream.
pub(crate) fn perform<D: BackendDevice>(device: &D, step: &Step, buffers: &mut Buffers<D::Storage>) -> Result<()> {
    let mut dst = match step.fresh {
        // SAFETY: a step's layout contains every element of a fresh buffer, and the step either
        // writes all of it, or fails and the storage is dropped unread.
        Some(dtype) => Some(unsafe { device.alloc_uninit(step.layout.shape(), dtype)? }),
        None => buffers[step.dst].take(),
    };
    let into = dst.as_mut().expect("a step writes a buffer that is there");
    let inputs: Vec<Src<'_, D::Storage>> = step
        .inputs
        .iter()
        .map(|(i, layout)| match &buffers[*i] {
            Some(storage) => Src::Storage(storage, layout),
            None => Src::InPlace,
        })
        .collect();
    let done = D::Storage::apply_into(&step.op, &inputs, into, &step.layout);
    if step.fresh.is_none() || done.is_ok() {
        buffers[step.dst] = dst;
    }
    done
}

/// Checks that bytes equal those of the reference, where any NaN equals any other; `what` describes
/// the data.
pub(crate) fn equal(what: &str, dtype: DType, expected: &[u8], got: &[u8]) -> Checked {
    use crate::compare::{bits_at, canonical, show};
    use crate::schema::Class;
    if expected == got {
        return Ok(());
    }
    if expected.len() != got.len() {
        return Err(Failed::new(format!("{what}: expected {} bytes, got {}", expected.len(), got.len())));
    }
    let bits = |bytes: &[u8], i| canonical(Class::Exact, dtype, bits_at(dtype, bytes, i));
    let count = expected.len() / dtype.size_in_bytes();
    let mut differing = (0..count).filter(|&i| bits(expected, i) != bits(got, i));
    let Some(first) = differing.next() else { return Ok(()) };
    let shown = [expected, got].map(|bytes| show(dtype, bits_at(dtype, bytes, first)));
    Err(Failed::new(format!(
        "{what}: {} of {count} elements of {dtype} differ, the first at {first}: expected {}, got {}",
        differing.count() + 1,
        shown[0],
        shown[1]
    )))
}
