//! A set of declarations in the same form for both sides, with types resolved to their ABI types.

use std::collections::BTreeMap;
use syn::{ReturnType, Type};

/// A function.
#[derive(Debug, Clone)]
pub struct Function {
    /// Types of the arguments, in order.
    pub arguments: Vec<Type>,
    /// Type of the result.
    pub result: ReturnType,
    /// Whether every release has it.
    pub required: bool,
}

/// All declarations of one side.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    /// Type aliases.
    pub aliases: BTreeMap<String, Type>,
    /// Functions.
    pub functions: BTreeMap<String, Function>,
    /// Constants, with type and value.
    pub constants: BTreeMap<String, (Type, i128)>,
    /// Sizes of `struct` and offsets of `struct::field`, in bytes.
    pub layouts: BTreeMap<String, u64>,
}

impl Declarations {
    /// Adds the declarations of `other`.
    pub fn add(&mut self, other: Self) {
        self.aliases.extend(other.aliases);
        self.functions.extend(other.functions);
        self.constants.extend(other.constants);
        self.layouts.extend(other.layouts);
    }

    /// Returns the ABI form of a type. Aliases of integers become integers, `const` is ignored, and
    /// an object that is only used through pointers is its name.
    pub fn resolved(&self, ty: &Type) -> String {
        match ty {
            Type::Ptr(pointer) => format!("*{}", self.resolved(&pointer.elem)),
            Type::Paren(inner) => self.resolved(&inner.elem),
            Type::Path(path) => {
                let name = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                match (self.aliases.get(&name), name.as_str()) {
                    (Some(alias), _) => self.resolved(alias),
                    (None, "c_char") => "i8".into(),
                    (None, "c_uchar") => "u8".into(),
                    (None, "c_int") => "i32".into(),
                    (None, "c_uint") => "u32".into(),
                    (None, "c_long" | "c_longlong") => "i64".into(),
                    (None, "c_ulong" | "c_ulonglong") => "u64".into(),
                    (None, "c_float") => "f32".into(),
                    (None, "c_double") => "f64".into(),
                    (None, "c_void") => "void".into(),
                    (None, other) => other.into(),
                }
            }
            // Neither side has other kinds; a new kind shows as a mismatch.
            other => format!("{:?}", std::mem::discriminant(other)),
        }
    }

    /// Returns the ABI form of a function's type.
    pub fn signature(&self, function: &Function) -> String {
        let arguments: Vec<_> = function.arguments.iter().map(|a| self.resolved(a)).collect();
        let result = match &function.result {
            ReturnType::Default => "void".into(),
            ReturnType::Type(_, ty) => self.resolved(ty),
        };
        format!("({}) -> {result}", arguments.join(", "))
    }
}

/// Returns the name and the declaration of a foreign function.
pub fn function(item: &syn::ForeignItemFn, required: bool) -> (String, Function) {
    let arguments = item.sig.inputs.iter().filter_map(|argument| match argument {
        syn::FnArg::Typed(typed) => Some((*typed.ty).clone()),
        syn::FnArg::Receiver(_) => None,
    });
    let function = Function { arguments: arguments.collect(), result: item.sig.output.clone(), required };
    (item.sig.ident.to_string(), function)
}
