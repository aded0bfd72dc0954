//! The layout of a kernel's variables: the shared and local variables that it uses are placed
//! consecutively. A function with a frame has its local variables there; it shares the others with
//! the kernel.

use super::variables::Variables;
use super::{LoadError, MOST_DECLARED};
use crate::exec::calls::Slots;
use crate::lower::{Framed, Functions, Inlined, Location, Site};
use crate::ptx::ParseError;
use crate::ptx::ast::{Base, Body, Function, Instruction, Module as Tree, Operand, Space, Variable};
use std::collections::{HashMap, HashSet};

/// The locations of a kernel's variables.
pub(super) struct Layout {
    pub(super) locations: HashMap<String, Location>,
    pub(super) shared_bytes: u32,
    pub(super) local_bytes: u32,
    pub(super) const_bytes: u32,
    /// The frames of the functions that the kernel may call, in their order.
    pub(super) frames: Vec<Frame>,
}

/// The frame of a called function, and the locations of its variables.
pub(super) struct Frame {
    pub(super) locations: HashMap<String, Location>,
    pub(super) bytes: u32,
    /// The bytes of `.local` variables.
    pub(super) locals: u32,
}

/// The variables of a kernel that are placed already.
struct Placing<'a> {
    tree: &'a Tree,
    kernel: &'a Function,
    variables: &'a Variables,
    functions: &'a Functions<'a>,
    /// Variables in memories that the kernel and the functions that it calls have in common.
    common: HashMap<String, Location>,
    shared: u64,
    constant: u64,
    /// `extern` arrays, which follow the shared variables.
    dynamic: Vec<(String, u32)>,
}

impl Layout {
    pub(super) fn new(
        tree: &Tree,
        kernel: &Function,
        inlined: &Inlined<'_>,
        framed: &[Framed<'_>],
        variables: &Variables,
        functions: &Functions<'_>,
    ) -> Result<Self, LoadError> {
        let (common, dynamic) = (HashMap::new(), Vec::new());
        let mut placing = Placing { tree, kernel, variables, functions, common, shared: 0, constant: 0, dynamic };
        let mut local = 0;
        let mut locations = placing
            .body(&inlined.body, &inlined.sites, |variable| Ok(Location::Local(append(&mut local, variable)?)))?;
        let mut frames = Vec::new();
        for callee in framed {
            frames.push(placing.frame(callee)?);
        }
        // Dynamic shared memory of the launch follows the declared variables, and every `extern`
        // array starts there.
        let align = placing.dynamic.iter().map(|(_, align)| (*align).max(1)).max().unwrap_or(1);
        let start = placing.shared.next_multiple_of(align.into());
        for locations in [&mut locations].into_iter().chain(frames.iter_mut().map(|frame| &mut frame.locations)) {
            for (name, _) in &placing.dynamic {
                locations.insert(name.clone(), Location::Shared(start as u32));
            }
        }
        for formal in &kernel.parameters {
            locations.insert(formal.variable.name.clone(), Location::Argument(formal.offset));
        }
        let bytes = |bytes: u64| bytes.min(u32::MAX.into()) as u32;
        let (shared_bytes, local_bytes, const_bytes) = (bytes(start), bytes(local), bytes(placing.constant));
        Ok(Self { locations, shared_bytes, local_bytes, const_bytes, frames })
    }
}

impl Placing<'_> {
    /// Places the variables that a body uses; `own` places those of the thread.
    fn body(
        &mut self,
        body: &Body,
        sites: &[Site],
        mut own: impl FnMut(&Variable) -> Result<Location, LoadError>,
    ) -> Result<HashMap<String, Location>, LoadError> {
        let mut used = symbols(body);
        used.extend(sites.iter().flat_map(|site| site.arguments.iter().chain(&site.results)).map(String::as_str));
        let names: HashSet<&str> = body.variables.iter().map(|variable| variable.name.as_str()).collect();
        let of_module = self.tree.variables.iter().filter(|variable| !names.contains(variable.name.as_str()));
        let reached = of_module.chain(&body.variables).filter(|variable| used.contains(variable.name.as_str()));
        let mut locations = HashMap::new();
        let mut external = Vec::new();
        for variable in reached {
            let name = &variable.name;
            let location = match variable.space {
                _ if variable.external => {
                    external.push(variable);
                    continue;
                }
                Space::Local | Space::Param => own(variable)?,
                Space::Generic => continue,
                _ => match self.common.get(name) {
                    Some(location) => *location,
                    None => {
                        let location = self.place(variable)?;
                        self.common.insert(name.clone(), location);
                        location
                    }
                },
            };
            locations.insert(name.clone(), location);
        }
        let moved = body.instructions().filter_map(Instruction::function_address);
        for name in moved.filter(|name| self.functions.get(name).is_some()) {
            let address = self.functions.address(name).ok_or_else(|| LoadError::Unresolved(name.to_owned()))?;
            locations.insert(name.to_owned(), Location::Memory(address));
        }
        for variable in external {
            if variable.space != Space::Shared {
                return Err(LoadError::Unresolved(variable.name.clone()));
            }
            self.dynamic.push((variable.name.clone(), variable.align));
        }
        Ok(locations)
    }

    /// Places a variable that a whole block or the whole device has.
    fn place(&mut self, variable: &Variable) -> Result<Location, LoadError> {
        if variable.space == Space::Shared {
            return Ok(Location::Shared(append(&mut self.shared, variable)?));
        }
        let found = self.variables.find(&self.kernel.name, &variable.name);
        let (base, bytes) = found.ok_or_else(|| LoadError::Unresolved(variable.name.clone()))?;
        self.constant += if variable.space == Space::Const { bytes } else { 0 };
        Ok(Location::Memory(base))
    }

    /// Lays out the frame of a function: the values of the call come first.
    fn frame(&mut self, callee: &Framed<'_>) -> Result<Frame, LoadError> {
        let slots = Slots::new(&callee.function.signature());
        let values = callee.parameters.iter().zip(&slots.parameters).chain(callee.returns.iter().zip(&slots.returns));
        let values: HashMap<&str, u32> = values.map(|(name, at)| (name.as_str(), *at)).collect();
        let (mut end, mut locals) = (u64::from(slots.end), 0);
        let mut locations = self.body(&callee.body, &callee.sites, |variable| match values.get(&*variable.name) {
            Some(at) => Ok(Location::Frame(*at)),
            None => {
                locals += if variable.space == Space::Local { variable.bytes } else { 0 };
                Ok(Location::Frame(append(&mut end, variable)?))
            }
        })?;
        locations.extend(values.into_iter().map(|(name, at)| (name.to_owned(), Location::Frame(at))));
        Ok(Frame { locations, bytes: end as u32, locals: locals as u32 })
    }
}

/// Places a variable after the previous ones.
fn append(end: &mut u64, variable: &Variable) -> Result<u32, LoadError> {
    let at = end.next_multiple_of(variable.align.max(1).into());
    *end = at.saturating_add(variable.bytes);
    if *end > MOST_DECLARED.into() {
        let message = format!("{} exceeds the available {MOST_DECLARED} bytes", variable.name);
        return Err(LoadError::Invalid(ParseError { line: variable.line, function: None, message }));
    }
    Ok(at as u32)
}

/// Returns the names that the instructions of a body refer to.
fn symbols(body: &Body) -> HashSet<&str> {
    let mut names = HashSet::new();
    body.instructions().for_each(|inst| collect(&inst.operands, &mut names));
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
