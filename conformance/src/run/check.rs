//! Checks a case: runs it twice on the device and once on the reference, and compares.

use super::buffer::{Buffer, Form, POISONS};
use super::digest::{KnownResult, case_digest, result_digest};
use super::exec::{Operands, Outcome, call};
use super::fault::Fault;
use super::launches::{Launches, Small};
use super::watch::{Sighting, Watch};
use crate::case::{Case, format_of};
use crate::cells::Cell;
use crate::compare::{Comparison, bits_at, compare_bits, show};
use crate::family::VendorCall;
use crate::schema::Class;
use isobit_hal::{BackendDevice, CpuDevice};

/// The reference for a device's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The CPU driver, which runs the same case in this process.
    Cpu,
    /// The device itself: each case only checks that the whole result is written, that nothing else
    /// is written, and that both runs give the same bits.
    Itself,
}

/// The result of a case.
#[derive(Debug, Clone)]
pub struct CaseRun {
    /// The reason for the failure, if it failed.
    pub fault: Option<Fault>,
    /// The comparison with the reference; empty if the case failed before it, for example with an
    /// error.
    pub comparison: Comparison,
    /// Whether both runs gave the same bits.
    pub repeatable: bool,
    /// A digest of the case itself, including its values.
    pub case_digest: String,
    /// A digest of the result: elements in logical order; outside class moved, all NaNs count as
    /// one.
    pub digest: Option<String>,
    /// The accesses that the device's watch reported.
    pub sightings: Vec<Sighting>,
    /// Whether the device no longer responds.
    pub lost: bool,
}

/// A device with its reference, its watch and its launch code.
#[derive(Debug)]
pub struct Bench<'a, D> {
    /// The device.
    pub device: &'a D,
    /// The reference for its results.
    pub reference: Reference,
    /// The observer of its accesses, if any.
    pub watch: Option<&'a dyn Watch>,
    /// Its launch code, if it can be told to make small launches.
    pub launches: Option<&'a dyn Launches>,
    /// Whether each case runs a third time, with small launches, where these decide differently. If
    /// not, the second run of one in three such cases has small launches.
    pub thorough: bool,
}

// Not derived, because the device need not be `Copy`.
impl<D> Clone for Bench<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Bench<'_, D> {}

impl<'a, D> Bench<'a, D> {
    /// Returns a device with a reference, and nothing else.
    pub fn new(device: &'a D, reference: Reference) -> Self {
        Self { device, reference, watch: None, launches: None, thorough: false }
    }
}

/// Runs a case twice on the device, with complementary poisons, and once on the reference, and
/// compares. On a watched device the second run has no guard bands. The second run of some cases
/// has small launches, where these make another decision. If the reference's result for
/// this very case is already known and the device gives the same, the reference does not run again.
pub fn run_case<D: BackendDevice>(
    bench: &Bench<'_, D>,
    cell: &Cell,
    case: &Case,
    known: Option<KnownResult<'_>>,
) -> CaseRun {
    let mut run = compared(bench, cell, case, known);
    match bench.watch.map(Watch::look) {
        // What the watch saw explains any other fault.
        Some(Ok(sightings)) => {
            if let Some(first) = sightings.first() {
                run.fault = Some(first.fault(sightings.len()));
            }
            run.sightings = sightings;
        }
        Some(Err(why)) => run.fault = Some(Fault::Error { message: format!("the device's watch failed: {why}") }),
        None => {}
    }
    run
}

fn compared<D: BackendDevice>(
    bench: &Bench<'_, D>,
    cell: &Cell,
    case: &Case,
    known: Option<KnownResult<'_>>,
) -> CaseRun {
    let on = Operands::new(case, cell);
    let mut run = CaseRun {
        fault: None,
        comparison: Comparison::default(),
        repeatable: true,
        case_digest: case_digest(case, on.inputs.iter().flatten().chain([&on.dst])),
        digest: None,
        sightings: Vec::new(),
        lost: false,
    };
    let on_device = |poison, form| call(bench.device, case, cell, &on, poison, form);
    let second_form = if bench.watch.is_some() { Form::Exact } else { Form::Banded };
    let first_run = || on_device(POISONS[0], Form::Banded);
    let normal = || on_device(POISONS[1], second_form);
    let small = |launches| {
        let _small = Small::new(launches);
        normal().map_err(Fault::in_small_launches)
    };
    let runs = || -> Result<_, Fault> {
        bench.launches.map(Launches::take_differs);
        // What the watch sees in the second run, which has no guard bands, explains a fault of the
        // first.
        let first = first_run().inspect_err(|_| drop(normal()))?;
        let launches = bench.launches.filter(|launches| launches.take_differs());
        Ok(match launches {
            None => (first, normal()?, None),
            Some(launches) if bench.thorough => (first, normal()?, Some((launches, small(launches)?))),
            Some(launches) if is_chosen(&run.case_digest) => {
                let second = small(launches)?;
                (first, second.clone(), Some((launches, second)))
            }
            Some(_) => (first, normal()?, None),
        })
    };
    let (first, second, in_small) = match runs() {
        Ok(results) => results,
        Err(fault) => {
            run.lost = matches!(fault, Fault::DeviceLost { .. });
            run.fault = Some(fault);
            return run;
        }
    };
    let (out_of_range, first, second) = (first.out_of_range, first.bytes, second.bytes);
    if let Some(unwritten) = unwritten(&on, &first, &second, second_form, on_device) {
        run.fault = Some(unwritten);
        return run;
    }
    let dtype = on.dst.dtype;
    let gathered = |result: Result<Outcome, Fault>| Some(on.dst.gather(&result.ok()?.bytes));
    let (first, second) = (on.dst.gather(&first), on.dst.gather(&second));
    let in_small = in_small.and_then(|(launches, outcome)| Some((launches, gathered(Ok(outcome))?)));
    let differs = |class, other: &[u8]| compare_bits(class, dtype, &first, other).first;
    let class = cell.class();
    // Small launches may give another NaN, as another device may; the same launches may not.
    let of_second = if bench.thorough || in_small.is_none() { Class::Moved } else { class };
    if let Some((launches, result)) = &in_small
        && let Some(d) = differs(class, result)
        && gathered(first_run()).as_ref() == Some(&first)
        && gathered(normal()).as_ref() == Some(&first)
        && gathered(small(*launches)).as_ref() == Some(result)
    {
        // Each kind of launches repeats its own result, whatever the poison.
        run.fault = Some(Fault::LaunchDependent { index: d.index, first: d.expected, second: d.got });
    } else if let Some(d) = differs(of_second, &second).or_else(|| differs(class, &in_small.as_ref()?.1)) {
        run.repeatable = false;
        let (index, first_value, second_value) = (d.index, d.expected, d.got);
        // The result depends either on the poison or on nothing at all. Running again with the same
        // poisons distinguishes the two.
        run.fault = Some(match [gathered(first_run()), gathered(normal())] {
            [Some(a), Some(b)] if a == first && b == second => {
                Fault::StrayRead { index, first: first_value, second: second_value }
            }
            _ => Fault::NotRepeatable { index, first: first_value, second: second_value },
        });
    }
    let digest = result_digest(class, dtype, &first);
    let agrees = known.is_some_and(|known| known.case == run.case_digest && known.digest == digest);
    run.digest = Some(digest);
    let compared = match (class, bench.reference) {
        (Class::Vendor, _) => Ok(compare_vendor(case, cell, &on, &first)),
        (_, Reference::Itself) => Ok(Comparison::default()),
        (_, Reference::Cpu) if agrees && out_of_range.is_none() => Ok(Comparison::default()),
        (_, Reference::Cpu) => reference(case, cell, &on)
            .map_err(|fault| Fault::Error { message: format!("the reference: {fault}") })
            .and_then(|reference| match (reference.out_of_range, out_of_range) {
                (Some(_), None) => Err(Fault::Error { message: "an index out of range was not reported".into() }),
                (None, Some(_)) => {
                    Err(Fault::Error { message: "an index out of range was reported, but there is none".into() })
                }
                (Some(wanted), Some(got)) if wanted != got => Err(Fault::Error {
                    message: format!("an index out of range was reported as `{got}`, not as `{wanted}`"),
                }),
                _ => Ok(compare_bits(class, dtype, &on.dst.gather(&reference.bytes), &first)),
            }),
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

/// Whether the second run of a case has small launches: one case in three, by its digest, so that
/// neither its index nor its cell matters.
fn is_chosen(case_digest: &str) -> bool {
    u64::from_str_radix(case_digest, 16).is_ok_and(|digest| digest.is_multiple_of(3))
}

/// Returns the reference's result. The function is not generic, so it is compiled here and not
/// again in every crate that runs cases on its own device.
fn reference(case: &Case, cell: &Cell, on: &Operands) -> Result<Outcome, Fault> {
    call(&CpuDevice, case, cell, on, POISONS[0], Form::Banded)
}

/// Returns the fault for elements that hold the poison in both runs. A second run without initial
/// contents has no poison: if it differs from the first, a run with the poison decides.
fn unwritten(
    on: &Operands,
    first: &[u8],
    second: &[u8],
    second_form: Form,
    on_device: impl Fn(u8, Form) -> Result<Outcome, Fault>,
) -> Option<Fault> {
    let poisoned;
    let second = match second_form {
        Form::Exact if on.dst.gather(first) == on.dst.gather(second) => return None,
        Form::Exact => {
            poisoned = on_device(POISONS[1], Form::Banded).ok()?.bytes;
            &poisoned
        }
        Form::Banded => second,
    };
    let (place, count) = on.dst.unwritten(first, second)?;
    let index = on.dst.logical_index(place).unwrap_or(0);
    Some(Fault::Unwritten { index, count, offset: on.dst.byte_offset(place) })
}

/// Returns the exact values of the inputs of a case, in logical order.
pub(crate) fn exact_inputs(on: &Operands) -> Vec<Vec<f64>> {
    let values = |buffer: &Option<Buffer>| {
        let buffer = buffer.as_ref().expect("what libraries compute has no input in place");
        let bytes = buffer.gather(&buffer.bytes(POISONS[0]));
        let count = bytes.len() / buffer.dtype.size_in_bytes();
        // The only integers are lengths, which are u32.
        let value = |bits| format_of(buffer.dtype).map_or(bits as f64, |format| format.to_f64(bits));
        (0..count).map(|e| value(bits_at(buffer.dtype, &bytes, e))).collect()
    };
    on.inputs.iter().map(values).collect()
}

/// Compares a library's result with the exact result. Where that does not agree, the portable
/// kernel may have computed the case, because the library does not take it: all bits are then the
/// CPU's.
fn compare_vendor(case: &Case, cell: &Cell, on: &Operands, got: &[u8]) -> Comparison {
    let input_dims = (0..on.inputs.len()).map(|i| case.operand_dims(cell, i)).collect();
    let call = VendorCall { op: &case.op(cell), dtype: on.dst.dtype, input_dims, inputs: exact_inputs(on), got };
    let found = cell.operation.family().compare_vendor(call);
    let is_portable = || {
        let portable = reference(case, cell, on).map(|portable| on.dst.gather(&portable.bytes));
        portable.is_ok_and(|bytes| compare_bits(Class::Defined, on.dst.dtype, &bytes, got).differing == 0)
    };
    if found.differing > 0 && is_portable() { Comparison::default() } else { found }
}

/// Returns the values of the inputs at a logical index of an elementwise case, from which shrinking
/// makes a case of one element.
pub(super) fn inputs_at(case: &Case, cell: &Cell, index: usize) -> Option<Vec<u64>> {
    let on = Operands::new(case, cell);
    let at = |buffer: &Buffer| {
        let bytes = buffer.gather(&buffer.bytes(POISONS[0]));
        (index < bytes.len() / buffer.dtype.size_in_bytes()).then(|| bits_at(buffer.dtype, &bytes, index))
    };
    on.inputs.iter().map(|b| at(b.as_ref().unwrap_or(&on.dst))).collect()
}

/// Returns the inputs' values at an index in words, for reports.
pub(super) fn describe_inputs(case: &Case, cell: &Cell, index: usize) -> Option<String> {
    let values = inputs_at(case, cell, index)?;
    let shown: Vec<_> = values.iter().enumerate().map(|(i, &bits)| show(cell.dtypes[i], bits)).collect();
    Some(shown.join(", "))
}
