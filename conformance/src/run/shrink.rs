//! Shrinks a failing case: fewer and smaller dimensions, contiguous layouts and plain values, as
//! long as it fails in the same way.

use super::check::inputs_at;
use super::fault::Fault;
use crate::case::{Case, Dist, Input, LayoutSpec, Values, format_of};
use crate::cells::Cell;
use isobit_hal::DType;
use std::time::{Duration, Instant};

/// The limits of shrinking: a failure is reported soon, even if its case is not the smallest.
const MOST_RUNS: usize = 400;
const LONGEST: Duration = Duration::from_secs(20);

/// Returns the smallest case found for which `run` still gives a fault of the same kind, with that
/// fault.
pub fn shrink(case: &Case, cell: &Cell, fault: Fault, mut run: impl FnMut(&Case) -> Option<Fault>) -> (Case, Fault) {
    let (mut best, mut fault) = (case.clone(), fault);
    let (started, mut runs) = (Instant::now(), 0);
    'smaller: loop {
        for candidate in candidates(&best, cell, &fault) {
            if runs == MOST_RUNS || started.elapsed() > LONGEST {
                return (best, fault);
            }
            runs += 1;
            if let Some(found) = run(&candidate).filter(|f| f.kind() == fault.kind()) {
                (best, fault) = (candidate, found);
                continue 'smaller;
            }
        }
        return (best, fault);
    }
}

/// Returns simpler cases, the boldest first. Each is smaller by some measure, so shrinking
/// terminates.
fn candidates(case: &Case, cell: &Cell, fault: &Fault) -> Vec<Case> {
    let mut out = Vec::new();
    one_element(case, cell, fault, &mut out);
    layouts(case, cell, &mut out);
    dims(case, cell, &mut out);
    values(case, cell, &mut out);
    params(case, &mut out);
    out.retain(|c| cell.operation.is_well_formed(&cell.dtypes, c));
    out
}

fn push(out: &mut Vec<Case>, case: &Case, change: impl FnOnce(&mut Case)) {
    let mut candidate = case.clone();
    change(&mut candidate);
    if candidate != *case {
        out.push(candidate);
    }
}

/// Adds a case with only the element that differs.
fn one_element(case: &Case, cell: &Cell, fault: &Fault, out: &mut Vec<Case>) {
    let Fault::Mismatch { index, .. } = *fault else { return };
    if !cell.operation.family().is_elementwise() || case.shape.iter().product::<usize>() <= 1 {
        return;
    }
    let Some(values) = inputs_at(case, cell, index) else { return };
    push(out, case, |c| {
        c.shape = vec![];
        c.dst = LayoutSpec::contiguous(0);
        c.inputs = values
            .into_iter()
            .zip(&case.inputs)
            .map(|(bits, input)| {
                let scalar = input.scalar;
                Input { scalar, ..Input::new(Some(LayoutSpec::contiguous(0)), Values::Bits(vec![bits])) }
            })
            .collect();
    });
}

fn layouts(case: &Case, cell: &Cell, out: &mut Vec<Case>) {
    let rank = |operand| case.operand_dims(cell, operand).len();
    let plain = |operand| LayoutSpec::contiguous(rank(operand));
    let last = case.inputs.len();
    // A scalar keeps its layout, which repeats its value.
    let set_plain = |i: usize, input: &mut Input| {
        if !input.scalar {
            input.layout = Some(plain(i));
        }
    };
    push(out, case, |c| {
        c.inputs.iter_mut().for_each(|input| input.scalar = false);
        c.inputs.iter_mut().enumerate().for_each(|(i, input)| set_plain(i, input));
        c.dst = plain(last);
    });
    for i in 0..last {
        push(out, case, |c| c.inputs[i].scalar = false);
        push(out, case, |c| set_plain(i, &mut c.inputs[i]));
    }
    push(out, case, |c| c.dst = plain(last));
    for operand in 0..=last {
        for d in 0..rank(operand) {
            let spec = |c: &mut Case, change: fn(&mut crate::case::Dim)| {
                let spec = match c.inputs.get_mut(operand) {
                    None => Some(&mut c.dst),
                    Some(input) => input.layout.as_mut().filter(|_| !input.scalar),
                };
                spec.into_iter().for_each(|r| change(&mut r.0[d]));
            };
            push(out, case, |c| spec(c, |d| d.step = 1));
            push(out, case, |c| spec(c, |d| d.before = 0));
            push(out, case, |c| spec(c, |d| d.after = 0));
            push(out, case, |c| spec(c, |d| d.broadcast = false));
        }
    }
}

fn dims(case: &Case, cell: &Cell, out: &mut Vec<Case>) {
    let rank = case.shape.len();
    for d in 0..cell.operation.family().removable_dims(rank) {
        push(out, case, |c| {
            c.shape.remove(d);
            c.dst = c.dst.without(d);
            c.inputs.iter_mut().filter_map(|i| i.layout.as_mut()).for_each(|r| *r = r.without(d));
            c.params = c.params.without_dim(d);
        });
    }
    for d in 0..rank {
        let size = case.shape[d];
        for smaller in [1, size / 4, size / 2, size - size / 4, size.saturating_sub(1)] {
            if smaller >= 1 && smaller < size {
                push(out, case, |c| c.shape[d] = smaller);
            }
        }
    }
}

fn one(dtype: DType) -> u64 {
    format_of(dtype).map_or(1, |f| f.compose(false, 0, 0))
}

fn values(case: &Case, cell: &Cell, out: &mut Vec<Case>) {
    for (i, input) in case.inputs.iter().enumerate() {
        let set = |out: &mut Vec<Case>, values: Values| push(out, case, |c| c.inputs[i].values = values);
        let one = one(cell.dtypes[i]);
        match &input.values {
            Values::Drawn { dist: Dist::Ones, .. } => {}
            Values::Drawn { dist, seed } => {
                set(out, Values::Drawn { dist: Dist::Ones, seed: 0 });
                for (simple, plainer) in [(Dist::Ramp, false), (Dist::Few, *dist == Dist::Ramp)] {
                    if *dist != simple && !plainer {
                        set(out, Values::Drawn { dist: simple, seed: *seed });
                    }
                }
                let count: usize = case.operand_dims(cell, i).iter().product();
                if (1..=64).contains(&count) {
                    set(out, Values::Bits(input.values.bits(cell.dtypes[i], count)));
                }
            }
            Values::Bits(bits) => {
                let others = (0..bits.len()).filter(|&e| bits[e] != one);
                for e in others.take(64) {
                    let mut simpler = bits.clone();
                    simpler[e] = one;
                    set(out, Values::Bits(simpler));
                }
                // The last value repeats, so equal values at the end are redundant.
                if let [rest @ .., a, b] = &bits[..]
                    && a == b
                {
                    set(out, Values::Bits([rest, &[*a]].concat()));
                }
            }
        }
    }
}

fn params(case: &Case, out: &mut Vec<Case>) {
    case.params.simpler().into_iter().for_each(|params| push(out, case, |c| c.params = params));
}
