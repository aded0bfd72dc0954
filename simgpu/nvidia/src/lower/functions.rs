//! The functions of a module: which of them calls inline, which get frames of their own, and the
//! addresses that stand for them.
//!
//! Inlining gives the fastest code, and nearly every call can be inlined. A function gets a frame
//! of its own if it may call itself, if it allocates stack, or if it is called through a pointer.
//! Such a function still inlines what it calls.

use crate::exec::calls::{Known, What};
use crate::exec::memory::FUNCTION_APERTURE;
use crate::ptx::ast::{Body, Function, Instruction, Module, Operand, Signature};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The functions that compilers put in the tables of abstract classes. Nothing defines them.
const PURE: [&str; 2] = ["__cxa_pure_virtual", "__cxa_deleted_virtual"];
/// The distance between the addresses of functions.
const STEP: u64 = 16;
/// Bits of the part of an address that tells the functions of a module apart.
const MODULE: u32 = 28;
/// Modules whose addresses differ.
const MODULES: u64 = 1 << 19;

/// The functions of a module.
#[derive(Debug)]
pub struct Functions<'a> {
    all: HashMap<&'a str, &'a Function>,
    /// Functions that calls do not inline.
    framed: HashSet<&'a str>,
    /// Functions that have a body and whose address is a value somewhere.
    taken: Vec<&'a Function>,
    addresses: HashMap<&'a str, u64>,
    known: Arc<[Known]>,
}

impl<'a> Functions<'a> {
    /// Finds the functions of a module, and gives them addresses that no other module has.
    pub fn new(tree: &'a Module) -> Self {
        static LOADED: AtomicU64 = AtomicU64::new(0);
        let module = LOADED.fetch_add(1, Ordering::Relaxed) % MODULES;
        let all: HashMap<&str, &Function> = tree.functions.iter().map(|f| (f.name.as_str(), f)).collect();
        let has_address = |function: &Function| function.body.is_some() || PURE.contains(&function.name.as_str());
        let base = FUNCTION_APERTURE + (module << MODULE);
        let addressed = tree.functions.iter().zip(1..).filter(|(function, _)| has_address(function));
        let addresses: HashMap<&str, u64> = addressed.map(|(f, at)| (f.name.as_str(), base + STEP * at)).collect();
        let known = tree.functions.iter().filter_map(|function| {
            Some(Known {
                address: *addresses.get(function.name.as_str())?,
                name: function.name.clone(),
                what: match &function.body {
                    None => What::Pure,
                    Some(_) if function.entry => What::Kernel,
                    Some(_) => What::Function(function.signature()),
                },
            })
        });
        let known = known.collect();
        let names = taken(tree);
        let is_taken = |f: &&Function| f.body.is_some() && !f.entry && names.contains(f.name.as_str());
        let taken = tree.functions.iter().filter(is_taken).collect();
        Self { framed: framed(tree, &all), all, taken, addresses, known }
    }

    /// Returns a function by its name.
    pub fn get(&self, name: &str) -> Option<&'a Function> {
        self.all.get(name).copied()
    }

    /// Whether calls of a function are not inlined.
    pub fn has_frame(&self, name: &str) -> bool {
        self.framed.contains(name)
    }

    /// Returns the address of a function that has a body, or that stands for a pure virtual one.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.addresses.get(name).copied()
    }

    /// Returns what the addresses stand for.
    pub fn known(&self) -> Arc<[Known]> {
        self.known.clone()
    }

    /// Returns the functions that a call through a pointer may reach: those with these values, and
    /// among `targets` if the call names them.
    pub fn candidates<'s>(
        &'s self,
        signature: &'s Signature,
        targets: Option<&'s [String]>,
    ) -> impl Iterator<Item = &'a Function> + 's {
        let named = move |function: &Function| targets.is_none_or(|targets| targets.contains(&function.name));
        self.taken.iter().copied().filter(move |function| function.signature() == *signature && named(function))
    }
}

/// Returns the names whose addresses instructions and initial values take.
fn taken(tree: &Module) -> HashSet<&str> {
    let bodies = || tree.functions.iter().filter_map(|function| function.body.as_ref());
    let variables = tree.variables.iter().chain(bodies().flat_map(|body| &body.variables));
    let initial = variables.flat_map(|variable| &variable.relocations).map(|relocation| relocation.symbol.as_str());
    let moved = bodies().flat_map(Body::instructions).filter_map(Instruction::function_address);
    initial.chain(moved).collect()
}

/// Returns the functions that calls cannot inline.
fn framed<'a>(tree: &'a Module, all: &HashMap<&'a str, &'a Function>) -> HashSet<&'a str> {
    let mut framed: HashSet<&str> = HashSet::new();
    let mut callees: HashMap<&str, HashSet<&str>> = HashMap::new();
    for function in tree.functions.iter().filter(|function| !function.entry) {
        for inst in function.body.iter().flat_map(Body::instructions) {
            match inst.opcode.as_str() {
                "alloca" => {
                    framed.insert(&function.name);
                }
                "call" => {
                    let called = inst.operands.iter().find_map(|operand| match operand {
                        Operand::Name(name) => all.get(name.as_str()).map(|callee| callee.name.as_str()),
                        _ => None,
                    });
                    callees.entry(&function.name).or_default().extend(called);
                }
                _ => {}
            }
        }
    }
    // A function that calls none of those that are left, or is called by none of them, is in no
    // cycle. What remains are the cycles, and functions between two of them.
    loop {
        let before = callees.len();
        let called: HashSet<&str> = callees.values().flatten().copied().collect();
        let left: HashSet<&str> = callees.keys().copied().filter(|name| called.contains(name)).collect();
        callees.retain(|name, callees| {
            callees.retain(|callee| left.contains(callee));
            left.contains(name) && !callees.is_empty()
        });
        if callees.len() == before {
            break;
        }
    }
    framed.extend(callees.into_keys());
    framed
}
