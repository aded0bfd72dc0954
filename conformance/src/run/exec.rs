//! Runs one call of a case on a device. The operands lie between guard bands or in allocations of
//! their exact size, with poison wherever no operand has an element.

use super::buffer::{Buffer, Form};
use super::fault::Fault;
use crate::case::{Case, LayoutKind};
use crate::cells::Cell;
use crate::family::COPY2D;
use isobit_hal::{BackendDevice, BackendStorage, Copy2d, ErrorKind, Op, Shape, Src};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The operands of a case.
pub struct Operands {
    /// `None` for an input that is the destination itself. The buffer of a scalar has one element.
    pub inputs: Vec<Option<Buffer>>,
    pub dst: Buffer,
}

impl Operands {
    pub fn new(case: &Case, cell: &Cell) -> Self {
        let buffer = |i: usize, spec, values| Buffer::new(cell.dtypes[i], spec, &case.operand_dims(cell, i), values);
        let inputs = case.inputs.iter().enumerate();
        let inputs =
            inputs.map(|(i, input)| input.layout.as_ref().map(|r| buffer(i, r, Some(&input.values)))).collect();
        let in_place = case.inputs.iter().find(|i| i.layout.is_none()).map(|i| &i.values);
        Self { inputs, dst: buffer(case.inputs.len(), &case.dst, in_place) }
    }

    /// Returns the inputs that are not the destination itself, with their numbers.
    fn inputs(&self) -> impl Iterator<Item = (usize, &Buffer)> {
        self.inputs.iter().enumerate().filter_map(|(input, buffer)| Some((input, buffer.as_ref()?)))
    }
}

thread_local! {
    static IN_CALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this thread is in a device's code. A panic there is caught and becomes the case's
/// failure, so a panic hook need not print it.
pub fn in_call() -> bool {
    IN_CALL.get()
}

/// Runs code of a device; a panic in it becomes an error with the panic's message.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    IN_CALL.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IN_CALL.set(false);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").into()
    })
}

/// The result of a call.
#[derive(Clone)]
pub struct Outcome {
    /// The destination's whole buffer.
    pub bytes: Vec<u8>,
    /// The report of an index out of range, if there is one; the call has a result nevertheless.
    pub out_of_range: Option<String>,
}

/// Runs a case on a device.
pub fn call<D: BackendDevice>(
    device: &D,
    case: &Case,
    cell: &Cell,
    on: &Operands,
    poison: u8,
    form: Form,
) -> Result<Outcome, Fault> {
    let run = || -> Result<_, isobit_hal::Error> {
        let mut uploaded = Vec::with_capacity(on.inputs.len());
        for (_, buffer) in on.inputs().filter(|(input, _)| !case.inputs[*input].scalar) {
            let bytes = buffer.bytes(poison);
            let storage = device.storage_from_bytes(buffer.dtype, &bytes[buffer.range(form)])?;
            uploaded.push((storage, bytes, buffer));
        }
        let before = on.dst.bytes(poison);
        let mut dst = destination(device, &on.dst, &before, form)?;
        let mut layouts: Vec<_> = uploaded.iter().map(|(_, _, b)| b.placed(form).layout.clone()).collect();
        cell.operation.family().pass(&mut layouts);
        let mut stored = uploaded.iter().zip(&layouts).map(|((s, _, _), layout)| Src::Storage(s, layout));
        let mut operand = |(input, buffer): (usize, &Option<Buffer>)| match buffer {
            None => Src::InPlace,
            Some(buffer) if case.inputs[input].scalar => Src::Scalar(buffer.first()),
            Some(_) => stored.next().expect("every tensor was uploaded"),
        };
        let operands: Vec<Src<'_, D::Storage>> = on.inputs.iter().enumerate().map(&mut operand).collect();
        let called = dispatch(case, cell, on, form, &operands, &mut dst).and_then(|()| device.synchronize());
        let out_of_range = match called {
            Err(e) if e.kind() == ErrorKind::IndexOutOfRange => Some(e.message().to_string()),
            other => other.map(|()| None)?,
        };
        let mut after = before.clone();
        after[on.dst.range(form)].copy_from_slice(dst.to_cpu_storage()?.as_bytes());
        let mut changed = None;
        for (i, (storage, bytes, buffer)) in uploaded.iter().enumerate() {
            let (now, range) = (storage.to_cpu_storage()?, buffer.range(form));
            let (now, given) = (now.as_bytes(), &bytes[range.clone()]);
            // Comparing as a whole is many times as fast as looking for a byte that differs.
            if changed.is_none()
                && now != given
                && let Some(at) = now.iter().zip(given).position(|(a, b)| a != b)
            {
                let offset = buffer.byte_offset((range.start + at) / buffer.dtype.size_in_bytes());
                changed = Some(Fault::OutOfBounds { buffer: format!("input {i}"), offset });
            }
        }
        let stray = on
            .dst
            .stray(&before, &after)
            .map(|place| Fault::OutOfBounds { buffer: "destination".into(), offset: on.dst.byte_offset(place) });
        Ok(stray.or(changed).map_or(Ok(Outcome { bytes: after, out_of_range }), Err))
    };
    match caught(run) {
        Ok(Ok(result)) => result,
        Ok(Err(e)) if e.kind() == ErrorKind::DeviceLost => Err(Fault::DeviceLost { message: e.to_string() }),
        Ok(Err(e)) => Err(Fault::Error { message: format!("{:?}: {e}", e.kind()) }),
        Err(message) => Err(Fault::Panic { message }),
    }
}

/// Returns the destination before a call: without any contents if a watch must see that the
/// operation writes each element before reading it.
fn destination<D: BackendDevice>(
    device: &D,
    dst: &Buffer,
    before: &[u8],
    form: Form,
) -> isobit_hal::Result<D::Storage> {
    if form == Form::Exact && dst.is_output_alone(form) {
        let shape = Shape::from([dst.placed(form).len]);
        // SAFETY: the operation that is called next writes every element before the storage is
        // read; if it does not, the watch reports it, which is what the test is for.
        return unsafe { device.alloc_uninit(&shape, dst.dtype) };
    }
    device.storage_from_bytes(dst.dtype, &before[dst.range(form)])
}

fn dispatch<S: BackendStorage>(
    case: &Case,
    cell: &Cell,
    on: &Operands,
    form: Form,
    operands: &[Src<'_, S>],
    dst: &mut S,
) -> isobit_hal::Result<()> {
    let layout = &on.dst.placed(form).layout;
    let op = case.op(cell);
    match *operands {
        [Src::Storage(src, sl)] if cell.operation.name() == COPY2D => {
            let rows = Copy2d::new(case.shape[0], case.shape[1])
                .with_strides(sl.stride()[0], layout.stride()[0])
                .with_offsets(sl.start_offset(), layout.start_offset());
            src.copy2d(dst, rows)
        }
        // Uses the form that candle users know, if the destination is contiguous.
        [Src::Storage(src, sl)] if op == Op::Copy && case.dst.kind() == LayoutKind::Contiguous => {
            src.copy_strided_src(dst, layout.start_offset(), sl)
        }
        _ => S::apply_into(&op, operands, dst, layout),
    }
}
