//! The syntax tree of a PTX module. The parser resolves the names and scopes of registers and
//! labels to numbers; symbols stay names.

/// A module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module {
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// The architecture of `.target`: 80 for `sm_80`, also for `sm_80a` and `compute_80`.
    pub target: u32,
    /// `.file`: number and path.
    pub files: Vec<(u32, String)>,
    /// Variables of module scope in all state spaces.
    pub variables: Vec<Variable>,
    /// Entries and functions, with and without a body.
    pub functions: Vec<Function>,
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// No state space is given. `.reg` is not one of these: registers have a table of their own.
    Generic,
    /// `.global`
    Global,
    /// `.shared` (also `.shared::cta`)
    Shared,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param` (also `.param::entry`, `.param::func`)
    Param,
}

/// A fundamental type. `.b8` to `.b128` are [`Bits`](Kind::Bits), and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    /// The interpretation of the bits.
    pub kind: Kind,
    /// The width: 1 for predicates, 8 to 128 for others.
    pub bits: u32,
}

/// The interpretation of a type's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `.b8` to `.b128`
    Bits,
    /// `.u8` to `.u64`
    Unsigned,
    /// `.s8` to `.s64`
    Signed,
    /// `.f16`, `.f32`, `.f64`
    Float,
    /// `.bf16`
    BFloat,
    /// `.f16x2`
    HalfPair,
    /// `.bf16x2`
    BFloatPair,
    /// `.tf32`
    TensorFloat,
    /// `.pred`
    Predicate,
}

impl Type {
    /// Returns the type that a modifier or directive names (`f32`, without the dot); `None` if it
    /// is not a type.
    pub fn named(name: &str) -> Option<Self> {
        let (kind, bits) = match name {
            "pred" => (Kind::Predicate, 1),
            "f16x2" => (Kind::HalfPair, 32),
            "bf16" => (Kind::BFloat, 16),
            "bf16x2" => (Kind::BFloatPair, 32),
            "tf32" => (Kind::TensorFloat, 32),
            _ => {
                let digits = name.get(1..)?;
                let bits = digits.parse().ok().filter(|_| !digits.starts_with(['0', '+']))?;
                let kind = match (name.as_bytes()[0], bits) {
                    (b'b', 8 | 16 | 32 | 64 | 128) => Kind::Bits,
                    (b'u', 8 | 16 | 32 | 64) => Kind::Unsigned,
                    (b's', 8 | 16 | 32 | 64) => Kind::Signed,
                    (b'f', 16 | 32 | 64) => Kind::Float,
                    _ => return None,
                };
                (kind, bits)
            }
        };
        Some(Self { kind, bits })
    }

    /// Returns the size in memory in bytes.
    pub fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }
}

/// A variable or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name. Names of function variables are unique within the function: the parser renames an
    /// inner variable that shadows another.
    pub name: String,
    /// The state space.
    pub space: Space,
    /// The type of an element.
    pub ty: Type,
    /// The declared alignment, or that of the type.
    pub align: u32,
    /// The total size in bytes; 0 for an `extern` array without a length.
    pub bytes: u64,
    /// The initial value, `bytes` long; `None` if none is given (zeros for `.global` and `.const`).
    pub init: Option<Vec<u8>>,
    /// Addresses in the initial value.
    pub relocations: Vec<Relocation>,
    /// Whether it is declared `.extern`.
    pub external: bool,
    /// The line of its declaration, from 1.
    pub line: u32,
}

/// An address in an initial value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// The offset in bytes.
    pub at: u64,
    /// Bytes of the address: 8, or fewer if a `mask()` selects one byte of it.
    pub bytes: u32,
    /// Bits by which the address is shifted right before it is stored (`mask()`).
    pub shift: u32,
    /// The symbol whose address is stored.
    pub symbol: String,
    /// The number added to the address.
    pub addend: i64,
    /// Whether the address is generic (`generic(x)`).
    pub generic: bool,
}

/// An entry or a function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel.
    pub entry: bool,
    /// The results (`.func` only). A `.reg` result names its register in `register`.
    pub returns: Vec<Parameter>,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// `.maxntid`, padded with ones.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, padded with ones.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// The body; `None` for a declaration.
    pub body: Option<Body>,
    /// The line of its name, from 1.
    pub line: u32,
}

impl Function {
    /// Returns the sizes of its values.
    pub fn signature(&self) -> Signature {
        let sizes = |all: &[Parameter]| all.iter().map(|parameter| parameter.variable.bytes).collect();
        Signature { returns: sizes(&self.returns), parameters: sizes(&self.parameters) }
    }
}

/// A formal parameter, with its location in the argument buffer of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The variable; its space is [`Space::Param`].
    pub variable: Variable,
    /// The register of a `.reg` parameter of a function.
    pub register: Option<RegisterId>,
    /// Offset in the argument buffer, in bytes; each parameter is at the next multiple of its
    /// alignment.
    pub offset: u32,
}

/// A register's number in its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// A label's number in its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// The contents of a function's braces, with inner scopes flattened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// All registers, by number. A family (`.reg .b32 %r<9>`) gives only the registers in use; a
    /// vector register (`.reg .v2 .f32 v`) gives one for each component, `v.x` and `v.y`.
    pub registers: Vec<Register>,
    /// `.shared`, `.local`, `.param`, `.const` and `.global` variables of the function.
    pub variables: Vec<Variable>,
    /// Names of the labels, by number.
    pub labels: Vec<String>,
    /// Label lists of `brx.idx` (`.branchtargets`), by name.
    pub targets: Vec<(String, Vec<LabelId>)>,
    /// What calls through a pointer may reach (`.callprototype`, `.calltargets`), by name.
    pub prototypes: Vec<(String, Prototype)>,
    /// Instructions and labels in order.
    pub statements: Vec<Statement>,
}

impl Body {
    /// Returns the instructions in order.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.statements.iter().filter_map(|statement| match statement {
            Statement::Instruction(inst) => Some(inst),
            Statement::Label(_) => None,
        })
    }
}

/// What a call through a pointer may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prototype {
    /// Functions with these values (`.callprototype`).
    Signature(Signature),
    /// These functions (`.calltargets`).
    Targets(Vec<String>),
}

/// The sizes of the values that a function takes and returns, in bytes. A predicate has one byte,
/// and an array without a length, which stands for any number of values, has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// The results.
    pub returns: Vec<u64>,
    /// The parameters.
    pub parameters: Vec<u64>,
}

/// A register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Its name, with the percent sign if it has one.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// The target of branches.
    Label(LabelId),
    /// An instruction.
    Instruction(Instruction),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// The guard predicate.
    pub guard: Option<Guard>,
    /// The opcode: the text before the first dot.
    pub opcode: String,
    /// The parts after it, in order, without dots: `["rn", "ftz", "f32"]`. `::` does not separate
    /// parts (`shared::cta`).
    pub modifiers: Vec<String>,
    /// The operands, in order.
    pub operands: Vec<Operand>,
    /// The line in the PTX, from 1.
    pub line: u32,
    /// The source location of the last `.loc`: file number and line.
    pub location: Option<(u32, u32)>,
}

impl Instruction {
    /// Returns the name of the function whose address the instruction takes.
    pub fn function_address(&self) -> Option<&str> {
        match self.operands.last() {
            Some(Operand::Name(name)) if self.opcode == "mov" => Some(name),
            _ => None,
        }
    }
}

/// The guard of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The register.
    pub register: RegisterId,
    /// Whether the instruction is executed if the predicate is false.
    pub negated: bool,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// `!p`
    Negated(RegisterId),
    /// `d|p`: two destinations. Either may be `_`.
    Pair(Option<RegisterId>, Option<RegisterId>),
    /// `_`
    Sink,
    /// `{a, b, c, d}`
    Vector(Vec<Operand>),
    /// The bits of an integer constant, which can be negative. Constant expressions are evaluated.
    Integer(u64),
    /// The bits of a double: `0d3ff0000000000000`, or a decimal constant.
    Double(u64),
    /// The bits of a single: `0f3f800000`.
    Single(u32),
    /// A special register: `%tid.x` is `("%tid", Some(0))`, `%laneid` is `("%laneid", None)`.
    Special(String, Option<u8>),
    /// `[base + offset]`
    Address(Base, i64),
    /// A variable, `name + offset`, which stands for its address.
    Symbol(String, i64),
    /// The target of a branch.
    Label(LabelId),
    /// A name in [`Body::targets`], of a function (in a call, or for its address), or of a
    /// prototype.
    Name(String),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
}

/// The base of an address.
#[derive(Debug, Clone, PartialEq)]
pub enum Base {
    /// A register.
    Register(RegisterId),
    /// A variable or parameter.
    Symbol(String),
    /// No base: the offset is the address.
    None,
}
