//! The names of a function: scopes, registers and their families, labels, variables. Names are
//! resolved during parsing, except for labels, which may be used before they are defined: if a
//! scope does not define a label by its end, the surrounding scope is searched.

#[cfg(test)]
mod tests;

use super::ast::{Body, LabelId, Operand, Prototype, Register, RegisterId, Statement, Type};
use std::collections::HashMap;

/// Registers of a family with this number or a higher one are stored by name, so that a large
/// number does not need a large table.
const DENSE: u32 = 1 << 16;

/// The components of a vector register, which can also be named as colours.
const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];
const COLOURS: [&str; 4] = ["r", "g", "b", "a"];

/// Returns the index of the component with a name, from 0.
pub(super) fn component(name: &str) -> Option<u8> {
    let at = |names: [&str; 4]| names.iter().position(|component| *component == name);
    at(COMPONENTS).or_else(|| at(COLOURS)).map(|index| index as u8)
}

/// The meaning of a name in a function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// A register, or the first of a vector's, and the number of components.
    Register(RegisterId, u8),
    /// The index in [`Frame::symbols`].
    Symbol(usize),
    /// A list of labels; the index in [`Body::targets`].
    Targets(usize),
    /// A prototype or a list of functions; the index in [`Body::prototypes`].
    Prototype(usize),
}

/// A variable.
#[derive(Debug)]
pub(super) struct Symbol {
    /// Its name in the tree, unique in the function.
    pub(super) unique: String,
    /// Bytes per element, for subscripts.
    pub(super) stride: u32,
}

/// Registers declared together: `%r<9>`.
#[derive(Debug)]
struct Family<'a> {
    prefix: &'a str,
    count: u32,
    ty: Type,
    lanes: u8,
    /// The registers in use, by number.
    used: Vec<Option<RegisterId>>,
}

impl Family<'_> {
    /// Returns the number in a name of the family.
    fn number(&self, name: &str) -> Option<u32> {
        let digits = name.strip_prefix(self.prefix)?.as_bytes();
        if digits.is_empty() || digits.len() > 10 || digits[0] == b'0' && digits.len() > 1 {
            return None;
        }
        let mut number = 0u64;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            number = number * 10 + u64::from(digit - b'0');
        }
        (number < self.count.into()).then_some(number as u32)
    }
}

/// A label that was used.
#[derive(Debug, Clone, Copy)]
struct Mention {
    label: LabelId,
    defined: bool,
    /// The line of its first use.
    line: u32,
}

#[derive(Debug, Default)]
struct Scope<'a> {
    names: HashMap<&'a str, Found>,
    families: Vec<Family<'a>>,
    labels: HashMap<&'a str, Mention>,
}

/// The state of a function during parsing.
#[derive(Debug, Default)]
pub(super) struct Frame<'a> {
    /// The part of its body that has been parsed.
    pub(super) body: Body,
    /// Its variables and parameters.
    pub(super) symbols: Vec<Symbol>,
    scopes: Vec<Scope<'a>>,
    /// How many variables and lists have used a name.
    uses: HashMap<&'a str, u32>,
    /// Pairs of labels that turned out to be the same.
    same: Vec<(LabelId, LabelId)>,
}

impl<'a> Frame<'a> {
    /// Returns the number of open scopes.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost scope.
    ///
    /// # Errors
    /// Fails on a label that the outermost scope does not define; returns its name, and the line of
    /// its use.
    pub(super) fn close(&mut self) -> Result<(), (&'a str, u32)> {
        let Some(scope) = self.scopes.pop() else { return Ok(()) };
        let mut open: Vec<_> = scope.labels.into_iter().filter(|(_, mention)| !mention.defined).collect();
        open.sort_by_key(|(_, mention)| mention.label);
        for (name, mention) in open {
            let Some(outer) = self.scopes.last_mut() else { return Err((name, mention.line)) };
            let same = outer.labels.entry(name).or_insert(mention).label;
            if same != mention.label {
                self.same.push((mention.label, same));
            }
        }
        Ok(())
    }

    /// Returns the innermost scope.
    fn inner(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.open();
        }
        self.scopes.last_mut().expect("a scope is open")
    }

    /// Declares a name; returns false if the scope has it already.
    fn declare(&mut self, name: &'a str, found: Found) -> bool {
        self.inner().names.insert(name, found).is_none()
    }

    /// Adds a register to the body.
    fn add(&mut self, name: &str, ty: Type, lanes: u8) -> RegisterId {
        let first = RegisterId(self.body.registers.len() as u32);
        if lanes == 1 {
            self.body.registers.push(Register { name: name.to_string(), ty });
        } else {
            let lanes = &COMPONENTS[..lanes.into()];
            self.body.registers.extend(lanes.iter().map(|lane| Register { name: format!("{name}.{lane}"), ty }));
        }
        first
    }

    /// Declares a register; returns `None` if the scope has the name already.
    pub(super) fn register(&mut self, name: &'a str, ty: Type, lanes: u8) -> Option<RegisterId> {
        let id = self.add(name, ty, lanes);
        self.declare(name, Found::Register(id, lanes)).then_some(id)
    }

    /// Declares the registers `prefix0` to `prefixN`; returns false if the scope has them already.
    pub(super) fn family(&mut self, prefix: &'a str, count: u32, ty: Type, lanes: u8) -> bool {
        let families = &mut self.inner().families;
        let fresh = families.iter().all(|family| family.prefix != prefix);
        families.push(Family { prefix, count, ty, lanes, used: Vec::new() });
        fresh
    }

    /// Returns a name that is unique in the function.
    fn unique(&mut self, name: &'a str, taken: bool) -> String {
        let uses = self.uses.entry(name).or_insert(u32::from(taken));
        // PTX names cannot contain this character.
        let unique = if *uses == 0 { name.to_string() } else { format!("{name}#{uses}") };
        *uses += 1;
        unique
    }

    /// Declares a variable, and gives it its name in the tree; returns `None` if the scope has the
    /// name already. `taken` says whether the module has the name.
    pub(super) fn variable(&mut self, name: &'a str, stride: u32, taken: bool) -> Option<String> {
        let unique = self.unique(name, taken);
        self.symbols.push(Symbol { unique: unique.clone(), stride });
        self.declare(name, Found::Symbol(self.symbols.len() - 1)).then_some(unique)
    }

    /// Declares a list of labels; returns false if the scope has the name already.
    pub(super) fn targets(&mut self, name: &'a str, labels: Vec<LabelId>) -> bool {
        let unique = self.unique(name, false);
        self.body.targets.push((unique, labels));
        self.declare(name, Found::Targets(self.body.targets.len() - 1))
    }

    /// Declares a prototype or a list of functions; returns false if the scope has the name
    /// already.
    pub(super) fn prototype(&mut self, name: &'a str, prototype: Prototype) -> bool {
        let unique = self.unique(name, false);
        self.body.prototypes.push((unique, prototype));
        self.declare(name, Found::Prototype(self.body.prototypes.len() - 1))
    }

    /// Looks up a name.
    pub(super) fn find(&mut self, name: &'a str) -> Option<Found> {
        for at in (0..self.scopes.len()).rev() {
            let scope = &mut self.scopes[at];
            for family in 0..scope.families.len() {
                let found = &mut scope.families[family];
                let Some(number) = found.number(name) else { continue };
                let (ty, lanes) = (found.ty, found.lanes);
                if let Some(&Some(id)) = found.used.get(number as usize) {
                    return Some(Found::Register(id, lanes));
                }
                if number >= DENSE {
                    if let Some(&found) = scope.names.get(name) {
                        return Some(found);
                    }
                    let id = self.add(name, ty, lanes);
                    self.scopes[at].names.insert(name, Found::Register(id, lanes));
                    return Some(Found::Register(id, lanes));
                }
                let id = self.add(name, ty, lanes);
                let used = &mut self.scopes[at].families[family].used;
                if used.len() <= number as usize {
                    used.resize(number as usize + 1, None);
                }
                used[number as usize] = Some(id);
                return Some(Found::Register(id, lanes));
            }
            if let Some(&found) = scope.names.get(name) {
                return Some(found);
            }
        }
        None
    }

    /// Returns the label of a branch target.
    pub(super) fn label(&mut self, name: &'a str, line: u32) -> LabelId {
        let fresh = LabelId(self.body.labels.len() as u32);
        let mention = Mention { label: fresh, defined: false, line };
        let label = self.inner().labels.entry(name).or_insert(mention).label;
        if label == fresh {
            self.body.labels.push(name.to_string());
        }
        label
    }

    /// Places a label; returns false if the scope has it already.
    pub(super) fn place(&mut self, name: &'a str, line: u32) -> bool {
        let label = self.label(name, line);
        let mention = self.inner().labels.get_mut(name).expect("it was mentioned just now");
        let fresh = !std::mem::replace(&mut mention.defined, true);
        self.body.statements.push(Statement::Label(label));
        fresh
    }

    /// Returns the body after all scopes are closed: each label has one number.
    pub(super) fn finish(self) -> Body {
        let mut body = self.body;
        if self.same.is_empty() {
            return body;
        }
        // A label can equal one of an outer scope, which was found later. Going from the last pair
        // to the first, the outer label is always resolved already.
        let mut outer: Vec<LabelId> = (0..body.labels.len() as u32).map(LabelId).collect();
        for &(label, same) in self.same.iter().rev() {
            outer[label.0 as usize] = outer[same.0 as usize];
        }
        let mut numbers = vec![LabelId(0); outer.len()];
        let mut labels = Vec::new();
        for (index, name) in std::mem::take(&mut body.labels).into_iter().enumerate() {
            if outer[index].0 as usize == index {
                numbers[index] = LabelId(labels.len() as u32);
                labels.push(name);
            }
        }
        body.labels = labels;
        let renumber = |label: &mut LabelId| *label = numbers[outer[label.0 as usize].0 as usize];
        for statement in &mut body.statements {
            match statement {
                Statement::Label(label) => renumber(label),
                Statement::Instruction(inst) => inst.operands.iter_mut().for_each(|operand| {
                    if let Operand::Label(label) = operand {
                        renumber(label);
                    }
                }),
            }
        }
        body.targets.iter_mut().flat_map(|(_, labels)| labels).for_each(renumber);
        body
    }
}
