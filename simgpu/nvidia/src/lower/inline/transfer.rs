//! Passes arguments and results between their forms in PTX: `.param` variables, registers, and
//! constants.

use super::{Inliner, call_variable};
use crate::module::LoadError;
use crate::ptx::ast::{Base, Function, Instruction, Kind, Operand, Parameter, Register, RegisterId, Type};
use std::borrow::Cow;
use std::collections::HashMap;

/// The direction of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Into the function.
    In,
    /// Out of the function.
    Out,
}

impl<'a> Inliner<'a, '_> {
    /// Connects a formal parameter to the actual one of the call: by name if both are variables,
    /// otherwise by the returned instructions.
    #[expect(clippy::too_many_arguments, reason = "the caller has these parts of a call separately")]
    pub(super) fn pass(
        &mut self,
        at: &Instruction,
        function: &'a Function,
        formal: &'a Parameter,
        actual: &Operand,
        registers: u32,
        symbols: &mut HashMap<String, String>,
        way: Way,
    ) -> Result<Vec<Instruction>, LoadError> {
        let ty = type_name(formal.variable.ty);
        let inner = formal.register.map(|id| Operand::Register(RegisterId(id.0 + registers)));
        Ok(match (inner, actual) {
            (None, Operand::Symbol(name, 0)) => {
                symbols.insert(formal.variable.name.clone(), name.clone());
                Vec::new()
            }
            (Some(_), Operand::Sink) if way == Way::Out => Vec::new(),
            (inner, actual) => {
                let inner = inner.unwrap_or_else(|| {
                    let name = format!("{}::{}", function.name, formal.variable.name);
                    symbols.insert(formal.variable.name.clone(), name.clone());
                    self.declare(call_variable(&formal.variable, name.clone()));
                    Operand::Symbol(name, 0)
                });
                let known = |operand: &Operand| match operand {
                    Operand::Register(id) => self.out.registers.get(id.0 as usize).map(|r| r.ty),
                    _ => Some(formal.variable.ty),
                };
                // The callee's registers follow the existing ones and have the type of the formal
                // parameter.
                let fits = known(actual).is_none_or(|given| given.bits.max(16) == formal.variable.ty.bits.max(16));
                if !fits {
                    let message = format!("call: {} and its argument do not have the same width", formal.variable.name);
                    return Err(self.error(at.line, message));
                }
                match way {
                    Way::In => copy(at, &inner, actual.clone(), &ty),
                    Way::Out => copy(at, actual, inner, &ty),
                }
            }
        })
    }
}

/// Sets a register or a variable to a constant: `ty` is the type of a variable, or of an unknown
/// register.
pub(super) fn set(
    at: &Instruction,
    to: &Operand,
    value: Operand,
    ty: &str,
    registers: &[Register],
) -> Option<Instruction> {
    let known = match to {
        Operand::Register(id) => registers.get(id.0 as usize).map(|register| type_name(register.ty)),
        _ => None,
    };
    copy(at, to, value, known.as_deref().unwrap_or(ty)).pop()
}

/// Replaces an instruction that uses a parameter of its function by address. The parameter is in
/// the local memory of the thread, so that its address is a generic one.
pub(super) fn by_address<'i>(function: &Function, inst: &'i Instruction) -> Cow<'i, Instruction> {
    let own = |name: &str| {
        let named = |formal: &Parameter| formal.register.is_none() && formal.variable.name == name;
        function.parameters.iter().any(named)
    };
    let is_param = |modifier: &String| matches!(modifier.as_str(), "param" | "param::func");
    match (inst.opcode.as_str(), &inst.operands[..]) {
        ("mov", [_, Operand::Symbol(name, _)]) if own(name) => {
            let modifiers = ["local", "u64"].map(str::to_owned).to_vec();
            Cow::Owned(Instruction { opcode: "cvta".into(), modifiers, ..inst.clone() })
        }
        ("ld", [_, Operand::Address(Base::Register(_), _)]) if inst.modifiers.iter().any(is_param) => {
            let mut generic = inst.clone();
            generic.modifiers.retain(|modifier| !is_param(modifier));
            Cow::Owned(generic)
        }
        _ => Cow::Borrowed(inst),
    }
}

/// Returns the instruction that copies a value to a register or a variable.
pub(super) fn copy(at: &Instruction, to: &Operand, from: Operand, ty: &str) -> Vec<Instruction> {
    let variable = |operand: &Operand| match operand {
        Operand::Symbol(name, offset) => Some(Operand::Address(Base::Symbol(name.clone()), *offset)),
        _ => None,
    };
    let (opcode, space, operands) = match (variable(to), variable(&from)) {
        (Some(address), _) => ("st", Some("param"), vec![address, from]),
        (None, Some(address)) => ("ld", Some("param"), vec![to.clone(), address]),
        (None, None) => ("mov", None, vec![to.clone(), from]),
    };
    // 8-bit registers do not exist: a register that is declared so has 16 bits, and `mov` has no
    // narrower type.
    let ty = if opcode == "mov" && ty.ends_with('8') { "b16" } else { ty };
    let modifiers = space.into_iter().chain([ty]).map(str::to_owned).collect();
    vec![Instruction { guard: None, opcode: opcode.into(), modifiers, operands, ..at.clone() }]
}

/// Returns the modifier that names a type.
pub(super) fn type_name(ty: Type) -> String {
    match ty.kind {
        Kind::Predicate => "pred".into(),
        Kind::Bits | Kind::BFloat | Kind::HalfPair | Kind::BFloatPair | Kind::TensorFloat => format!("b{}", ty.bits),
        Kind::Unsigned => format!("u{}", ty.bits),
        Kind::Signed => format!("s{}", ty.bits),
        // `mov` and `ld` treat 16-bit floats as bits.
        Kind::Float if ty.bits == 16 => "b16".into(),
        Kind::Float => format!("f{}", ty.bits),
    }
}
