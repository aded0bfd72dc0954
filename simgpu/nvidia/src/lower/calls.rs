//! Calls in lowered code: what each call may reach, and the paths that calls add between blocks.

use super::inline::{Site, Target};
use super::{Functions, Part};
use crate::exec::calls::{Callee, Reach, Slot};
use crate::exec::program::{Place, Program};

/// What the lowering of a body needs for its calls, and for the variables in its frame.
#[derive(Debug, Clone)]
pub struct Calling<'a> {
    /// The calls of the body.
    pub sites: &'a [Site],
    /// What each of them reaches; `None` is a function without code.
    pub reach: Vec<Option<Reach>>,
    /// The row with the start of each lane's frame.
    pub frame: Place,
    /// The registers that the current call must keep.
    pub live: Vec<Slot>,
}

impl Default for Calling<'_> {
    fn default() -> Self {
        Self { sites: &[], reach: Vec::new(), frame: Place::NONE, live: Vec::new() }
    }
}

/// Returns what the calls of a body reach: numbers of functions with frames.
pub(super) fn reach(functions: &Functions<'_>, sites: &[Site], framed: &[Part<'_>]) -> Vec<Option<Reach>> {
    let number = |name: &str| framed.iter().position(|part| part.function.name == name).map(|at| at as u32);
    let of_site = |site: &Site| match &site.target {
        Target::Function(name) => number(name).map(Reach::Function),
        Target::Pointer(targets) => {
            let candidates = functions.candidates(&site.signature, targets.as_deref());
            Some(Reach::Pointer(candidates.filter_map(|function| number(&function.name)).collect()))
        }
    };
    sites.iter().map(of_site).collect()
}

/// Puts functions into the paths between the blocks of a program: a block that ends with a call
/// leads to what it reaches, and their ends to the block behind the call. `calls` are the steps
/// that call, with their sites.
pub(super) fn link(program: &mut Program, calls: &[(usize, usize)]) {
    for &(step, site) in calls {
        let before = program.block_of(step);
        let after = std::mem::take(&mut program.blocks[before].next);
        let reached: Vec<u32> = match &program.calls.sites[site].reach {
            Reach::Function(callee) => vec![*callee],
            Reach::Pointer(callees) => callees.clone(),
        };
        for callee in reached {
            let Some(&Callee { entry, end, .. }) = program.calls.callees.get(callee as usize) else { continue };
            let entry = program.block_of(entry as usize) as u32;
            program.blocks[before].next.push(entry);
            if let Some(end) = end {
                let end = program.block_of(end as usize);
                program.blocks[end].next.extend(&after);
            }
        }
    }
}
