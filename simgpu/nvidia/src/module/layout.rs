//! The layout of a kernel's variables: the shared and local variables that it uses are placed
//! consecutively.

use super::LoadError;
use super::variables::Variables;
use crate::lower::Location;
use crate::ptx::ParseError;
use crate::ptx::ast::{Base, Body, Function, Module as Tree, Operand, Space, Statement, Variable};
use std::collections::{HashMap, HashSet};

/// Maximum bytes of shared or local memory that a kernel may declare; no card has that much.
const MOST: u64 = 1 << 24;

/// The locations of a kernel's variables.
pub(super) struct Layout {
    pub(super) locations: HashMap<String, Location>,
    pub(super) shared_bytes: u32,
    pub(super) local_bytes: u32,
    pub(super) const_bytes: u32,
}

impl Layout {
    pub(super) fn new(tree: &Tree, kernel: &Function, body: &Body, variables: &Variables) -> Result<Self, LoadError> {
        let used = symbols(body);
        let own: HashSet<&str> = body.variables.iter().map(|variable| variable.name.as_str()).collect();
        let of_module = tree.variables.iter().filter(|variable| !own.contains(variable.name.as_str()));
        let reached = of_module.chain(&body.variables).filter(|variable| used.contains(variable.name.as_str()));
        let reached: Vec<&Variable> = reached.collect();
        let mut locations = HashMap::new();
        let (mut shared, mut local, mut constant) = (0, 0, 0);
        for variable in reached.iter().filter(|variable| !variable.external) {
            let location = match variable.space {
                Space::Global | Space::Const => {
                    let found = variables.find(&kernel.name, &variable.name);
                    let (base, bytes) = found.ok_or_else(|| LoadError::Unresolved(variable.name.clone()))?;
                    constant += if variable.space == Space::Const { bytes } else { 0 };
                    Location::Memory(base)
                }
                Space::Shared => Location::Shared(append(&mut shared, variable)?),
                Space::Local | Space::Param => Location::Local(append(&mut local, variable)?),
                Space::Generic => continue,
            };
            locations.insert(variable.name.clone(), location);
        }
        // Dynamic shared memory of the launch follows the declared variables, and every `extern`
        // array starts there.
        let dynamic: Vec<_> = reached.iter().filter(|variable| variable.external).collect();
        if let Some(undefined) = dynamic.iter().find(|variable| variable.space != Space::Shared) {
            return Err(LoadError::Unresolved(undefined.name.clone()));
        }
        let align = dynamic.iter().map(|variable| variable.align.max(1)).max().unwrap_or(1);
        let start = shared.next_multiple_of(align.into());
        locations.extend(dynamic.iter().map(|variable| (variable.name.clone(), Location::Shared(start as u32))));
        for formal in &kernel.parameters {
            locations.insert(formal.variable.name.clone(), Location::Argument(formal.offset));
        }
        let bytes = |bytes: u64| bytes.min(u32::MAX.into()) as u32;
        let (shared_bytes, local_bytes, const_bytes) = (bytes(start), bytes(local), bytes(constant));
        Ok(Self { locations, shared_bytes, local_bytes, const_bytes })
    }
}

/// Places a variable after the previous ones.
fn append(end: &mut u64, variable: &Variable) -> Result<u32, LoadError> {
    let at = end.next_multiple_of(variable.align.max(1).into());
    *end = at.saturating_add(variable.bytes);
    if *end > MOST {
        let message = format!("{} exceeds the available {MOST} bytes", variable.name);
        return Err(LoadError::Invalid(ParseError { line: variable.line, function: None, message }));
    }
    Ok(at as u32)
}

/// Returns the names that the instructions of a body refer to.
fn symbols(body: &Body) -> HashSet<&str> {
    let mut names = HashSet::new();
    for statement in &body.statements {
        if let Statement::Instruction(inst) = statement {
            collect(&inst.operands, &mut names);
        }
    }
    names
}

fn collect<'a>(operands: &'a [Operand], names: &mut HashSet<&'a str>) {
    for operand in operands {
        match operand {
            Operand::Symbol(name, _) | Operand::Address(Base::Symbol(name), _) => {
                names.insert(name);
            }
            Operand::Vector(operands) | Operand::List(operands) => collect(operands, names),
            _ => {}
        }
    }
}
