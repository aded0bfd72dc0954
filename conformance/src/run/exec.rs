//! One case on one device: guard bands and poison around every operand, two runs with complementary poisons, then the checks.

use super::buffer::{Buffer, POISONS};
use super::digest::result_digest;
use super::fault::Fault;
use crate::case::{Case, Kind, LayoutKind, format_of, scalar_from_bits};
use crate::cells::Cell;
use crate::compare::{Comparison, Product, bits_at, compare_bits, compare_product, show};
use crate::report::Class;
use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, ErrorKind, Layout, Op, Src};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a device's results are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The CPU driver, run on the same case in this process.
    Cpu,
    /// Nothing but themselves: the device is the reference, and is held to writing what it must, where it must, twice the same.
    Itself,
}

/// What a case showed.
#[derive(Debug, Clone)]
pub struct CaseRun {
    /// Why it failed, if it did.
    pub fault: Option<Fault>,
    /// The comparison with the reference; for a failure to compare (an error, say) an empty one.
    pub comparison: Comparison,
    /// True where both runs gave the same bits.
    pub repeatable: bool,
    /// A digest of the result: elements in logical order, NaNs made one outside class moved.
    pub digest: Option<String>,
}

struct Operands {
    /// `None` for an input that is the destination.
    inputs: Vec<Option<Buffer>>,
    dst: Buffer,
}

impl Operands {
    fn new(case: &Case, cell: &Cell) -> Self {
        let buffer =
            |i: usize, recipe, values| Buffer::new(cell.dtypes[i], recipe, &case.operand_dims(cell.kind, i), values);
        let inputs = case.inputs.iter().enumerate();
        let inputs =
            inputs.map(|(i, input)| input.layout.as_ref().map(|r| buffer(i, r, Some(&input.values)))).collect();
        let in_place = case.inputs.iter().find(|i| i.layout.is_none()).map(|i| &i.values);
        Self { inputs, dst: buffer(case.inputs.len(), &case.dst, in_place) }
    }
}

thread_local! {
    static IN_CALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// True while this thread is in a device's code: a panic there is caught and becomes the case's failure, so a panic hook need not
/// print it.
pub fn in_call() -> bool {
    IN_CALL.get()
}

/// The bytes of the destination after a call.
fn call<D: BackendDevice>(device: &D, case: &Case, cell: &Cell, on: &Operands, poison: u8) -> Result<Vec<u8>, Fault> {
    let run = || -> Result<_, isobit_hal::Error> {
        let mut uploaded = Vec::with_capacity(on.inputs.len());
        for buffer in on.inputs.iter().flatten() {
            let bytes = buffer.bytes(poison);
            let storage = device.storage_from_bytes(buffer.dtype, &bytes)?;
            uploaded.push((storage, bytes, buffer));
        }
        let before = on.dst.bytes(poison);
        let mut dst = device.storage_from_bytes(on.dst.dtype, &before)?;
        let mut stored = uploaded.iter().map(|(s, _, b)| (s, &b.placed.layout));
        let operands: Vec<Option<(&D::Storage, &Layout)>> =
            on.inputs.iter().map(|b| b.as_ref().and_then(|_| stored.next())).collect();
        dispatch(case, cell, on, &operands, &mut dst)?;
        device.synchronize()?;
        let after = dst.to_cpu_storage()?.as_bytes().to_vec();
        let mut changed = None;
        for (i, (storage, bytes, buffer)) in uploaded.iter().enumerate() {
            let now = storage.to_cpu_storage()?;
            let at = now.as_bytes().iter().zip(bytes).position(|(a, b)| a != b);
            if let Some(at) = at.filter(|_| changed.is_none()) {
                let offset = buffer.byte_offset(at / buffer.dtype.size_in_bytes());
                changed = Some(Fault::OutOfBounds { buffer: format!("input {i}"), offset });
            }
        }
        let stray = on
            .dst
            .stray(&before, &after)
            .map(|place| Fault::OutOfBounds { buffer: "destination".into(), offset: on.dst.byte_offset(place) });
        Ok(stray.or(changed).map_or(Ok(after), Err))
    };
    IN_CALL.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IN_CALL.set(false);
    match result {
        Ok(Ok(result)) => result,
        Ok(Err(e)) if e.kind() == ErrorKind::DeviceLost => Err(Fault::DeviceLost { message: e.to_string() }),
        Ok(Err(e)) => Err(Fault::Error { message: format!("{:?}: {e}", e.kind()) }),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Fault::Panic { message: text.unwrap_or("no message").into() })
        }
    }
}

fn dispatch<S: BackendStorage>(
    case: &Case,
    cell: &Cell,
    on: &Operands,
    operands: &[Option<(&S, &Layout)>],
    dst: &mut S,
) -> isobit_hal::Result<()> {
    let layout = &on.dst.placed.layout;
    let src = |i: usize| operands[i].map_or(Src::Dst, Src::from);
    let stored = |i: usize| operands[i].expect("the operation takes no destination as its input");
    let op = case.op(cell.kind, on.inputs.first().and_then(|b| b.as_ref()).map(|b| &b.placed), &on.dst.placed);
    match op {
        Op::ConstSet => {
            let crate::case::Params::Fill(bits) = case.params else {
                return Err(bad_case("const_set has a value to fill with"));
            };
            dst.const_set(scalar_from_bits(cell.dst_dtype(), bits), layout)
        }
        // The form that candle users know, where the destination is of its kind.
        Op::Copy if operands[0].is_some() && case.dst.kind() == LayoutKind::Contiguous => {
            let (s, l) = stored(0);
            s.copy_strided_src(dst, layout.start_offset(), l)
        }
        Op::Copy => S::copy_into(src(0), dst, layout),
        Op::Copy2d(copy) => stored(0).0.copy2d(dst, copy),
        Op::Cast => S::cast_into(stored(0).0, stored(0).1, dst, layout),
        Op::Affine(op) => S::affine_into(op, src(0), dst, layout),
        Op::Powf(op) => S::powf_into(op, src(0), dst, layout),
        Op::Elu(op) => S::elu_into(op, src(0), dst, layout),
        Op::Unary(op) => S::unary_into(op, src(0), dst, layout),
        Op::Binary(op) => S::binary_into(op, src(0), src(1), dst, layout),
        Op::Cmp(op) => S::cmp_into(op, src(0), src(1), dst, layout),
        Op::WhereCond => S::where_cond_into(src(0), src(1), src(2), dst, layout),
        Op::Reduce(op) => S::reduce_into(&op, stored(0).0, stored(0).1, dst, layout),
        Op::Matmul(op) => {
            let ((a, al), (b, bl)) = (stored(0), stored(1));
            S::matmul_into(op, a, al, b, bl, dst, layout)
        }
        _ => Err(bad_case("an operation that the suite does not know")),
    }
}

fn bad_case(message: &str) -> isobit_hal::Error {
    isobit_hal::Error::new(ErrorKind::InvalidArgument, format!("the case is not well formed: {message}"))
}

/// Runs a case: twice on the device with complementary poisons, once on the reference, and compares.
pub fn run_case<D: BackendDevice>(device: &D, reference: Reference, cell: &Cell, case: &Case) -> CaseRun {
    let on = Operands::new(case, cell);
    let mut run = CaseRun { fault: None, comparison: Comparison::default(), repeatable: true, digest: None };
    let results = POISONS.map(|poison| call(device, case, cell, &on, poison));
    let [first, second] = match results {
        [Ok(first), Ok(second)] => [first, second],
        [Err(fault), _] | [_, Err(fault)] => {
            run.fault = Some(fault);
            return run;
        }
    };
    let dtype = on.dst.dtype;
    if let Some((place, count)) = on.dst.unwritten(&first, &second) {
        let index = on.dst.logical_index(place).unwrap_or(0);
        run.fault = Some(Fault::Unwritten { index, count, offset: on.dst.byte_offset(place) });
        return run;
    }
    let (first, second) = (on.dst.gather(&first), on.dst.gather(&second));
    if let Some(d) = compare_bits(Class::Moved, dtype, &first, &second).first {
        run.repeatable = false;
        run.fault = Some(Fault::NotRepeatable { index: d.index, first: d.expected, second: d.got });
    }
    let class = cell.class();
    run.digest = Some(result_digest(class, dtype, &first));
    let compared = match (class, reference) {
        (Class::Vendor, _) => Ok(compare_product(&product(case, cell, &on), dtype, &first)),
        (_, Reference::Itself) => Ok(Comparison::default()),
        (_, Reference::Cpu) => call(&CpuDevice, case, cell, &on, POISONS[0])
            .map(|bytes| compare_bits(class, dtype, &on.dst.gather(&bytes), &first))
            .map_err(|fault| Fault::Error { message: format!("the reference: {fault}") }),
    };
    match compared {
        Ok(comparison) => {
            if let (None, Some(d)) = (&run.fault, &comparison.first) {
                run.fault = Some(Fault::mismatch(comparison.differing, d.clone()));
            }
            run.comparison = comparison;
        }
        Err(fault) => run.fault = Some(fault),
    }
    run
}

fn product(case: &Case, cell: &Cell, on: &Operands) -> Product {
    let values = |i: usize| {
        let buffer = on.inputs[i].as_ref().expect("matmul has no input in place");
        let format = format_of(buffer.dtype).expect("matmul is for floats");
        let bytes = buffer.gather(&buffer.bytes(POISONS[0]));
        (0..bytes.len() / buffer.dtype.size_in_bytes())
            .map(|e| format.to_f64(bits_at(buffer.dtype, &bytes, e)))
            .collect()
    };
    debug_assert_eq!(cell.kind, Kind::Matmul);
    let (batch, mkn) = case.shape.split_at(case.shape.len() - 3);
    Product { batch: batch.iter().product(), m: mkn[0], k: mkn[1], n: mkn[2], lhs: values(0), rhs: values(1) }
}

/// The values of the inputs at a logical index of an elementwise case, to make a case of one element of them.
pub(super) fn inputs_at(case: &Case, cell: &Cell, index: usize) -> Option<Vec<u64>> {
    let on = Operands::new(case, cell);
    let at = |buffer: &Buffer| {
        let bytes = buffer.gather(&buffer.bytes(POISONS[0]));
        (index < bytes.len() / buffer.dtype.size_in_bytes()).then(|| bits_at(buffer.dtype, &bytes, index))
    };
    on.inputs.iter().map(|b| at(b.as_ref().unwrap_or(&on.dst))).collect()
}

/// The first input's value at an index in words, for reports.
pub(super) fn describe_inputs(case: &Case, cell: &Cell, index: usize) -> Option<String> {
    let values = inputs_at(case, cell, index)?;
    let shown: Vec<_> = values.iter().enumerate().map(|(i, &bits)| show(cell.dtypes[i], bits)).collect();
    Some(shown.join(", "))
}
