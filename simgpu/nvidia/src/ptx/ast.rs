//! What a PTX module says. Registers and labels are numbers by which the parser has resolved names
//! and scopes; symbols stay names.

/// A module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module {
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// The architecture of `.target`: 80 for `sm_80`, also for `sm_80a` and `compute_80`.
    pub target: u32,
    /// `.file`: number and path.
    pub files: Vec<(u32, String)>,
    /// Variables of module scope, whatever their state space.
    pub variables: Vec<Variable>,
    /// Entries and functions, with and without a body.
    pub functions: Vec<Function>,
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg` is not one of these: registers have a table of their own.
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
    /// What the bits mean.
    pub kind: Kind,
    /// How many there are: 1 for predicates, 8 to 128 for others.
    pub bits: u32,
}

/// What the bits of a type mean.
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
    /// The type that a modifier or directive names (`f32`, without the dot); none where it is no
    /// type.
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

    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }
}

/// A variable or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name. Those of a function are unique within it: the parser gives an inner one that
    /// shadows another a name of its own.
    pub name: String,
    /// Where it is.
    pub space: Space,
    /// The type of an element.
    pub ty: Type,
    /// The alignment, given or that of the type.
    pub align: u32,
    /// How large it is in all, in bytes; 0 for an `extern` array without a length.
    pub bytes: u64,
    /// The initial value, `bytes` long; none where none is given (zeros for `.global` and
    /// `.const`).
    pub init: Option<Vec<u8>>,
    /// Addresses in the initial value.
    pub relocations: Vec<Relocation>,
    /// It is declared `.extern`.
    pub external: bool,
    /// The line of its declaration, from 1.
    pub line: u32,
}

/// An address in an initial value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Where, in bytes.
    pub at: u64,
    /// Bytes of the address: 8, or fewer where a `mask()` takes one byte of it.
    pub bytes: u32,
    /// Bits that the address is shifted down by before it is stored (`mask()`).
    pub shift: u32,
    /// Of what.
    pub symbol: String,
    /// Added to it.
    pub addend: i64,
    /// The address is a generic one (`generic(x)`).
    pub generic: bool,
}

/// An entry or a function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// It is a kernel.
    pub entry: bool,
    /// What it returns (`.func` only). A `.reg` one names its register in `register`.
    pub returns: Vec<Parameter>,
    /// What it takes, in order.
    pub parameters: Vec<Parameter>,
    /// `.maxntid`, filled up with ones.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, filled up with ones.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// The body; none for a declaration.
    pub body: Option<Body>,
    /// The line of its name, from 1.
    pub line: u32,
}

/// A formal parameter, with its place in the argument buffer of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The variable; its space is [`Space::Param`].
    pub variable: Variable,
    /// The register that a `.reg` parameter of a function is.
    pub register: Option<RegisterId>,
    /// Bytes from the start of the argument buffer, each parameter at the next multiple of its
    /// alignment.
    pub offset: u32,
}

/// A register's number in its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// A label's number in its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// What a function has between its braces, inner scopes flattened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// All registers, by number. A family (`.reg .b32 %r<9>`) gives those that are used; a vector
    /// register (`.reg .v2 .f32 v`) one for each component, `v.x` and `v.y`.
    pub registers: Vec<Register>,
    /// `.shared`, `.local`, `.param`, `.const` and `.global` variables of the function.
    pub variables: Vec<Variable>,
    /// Labels, by number: their names.
    pub labels: Vec<String>,
    /// Lists of labels that `brx.idx` names (`.branchtargets`), by name.
    pub targets: Vec<(String, Vec<LabelId>)>,
    /// Instructions and labels in order.
    pub statements: Vec<Statement>,
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
    /// A place that branches go to.
    Label(LabelId),
    /// An instruction.
    Instruction(Instruction),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// The predicate that it is executed under.
    pub guard: Option<Guard>,
    /// The opcode: what comes before the first dot.
    pub opcode: String,
    /// What comes after it, in order, without dots: `["rn", "ftz", "f32"]`. `::` stays inside of
    /// one (`shared::cta`).
    pub modifiers: Vec<String>,
    /// The operands, in order.
    pub operands: Vec<Operand>,
    /// The line in the PTX, from 1.
    pub line: u32,
    /// The place in the source that `.loc` gave last: file number and line.
    pub location: Option<(u32, u32)>,
}

/// The predicate of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The register.
    pub register: RegisterId,
    /// It is executed where the predicate is false.
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
    /// An integer constant, and its bits where it is negative. Constant expressions are evaluated.
    Integer(u64),
    /// The bits of a double: `0d3ff0000000000000`, or a decimal constant.
    Double(u64),
    /// The bits of a single: `0f3f800000`.
    Single(u32),
    /// A special register: `%tid.x` is `("%tid", Some(0))`, `%laneid` is `("%laneid", None)`.
    Special(String, Option<u8>),
    /// `[base + offset]`
    Address(Base, i64),
    /// A variable, `name + offset`, standing for its address.
    Symbol(String, i64),
    /// A place to branch to.
    Label(LabelId),
    /// A name of [`Body::targets`], of a function (in a call, or for its address), or of a
    /// prototype.
    Name(String),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
}

/// What an address starts from.
#[derive(Debug, Clone, PartialEq)]
pub enum Base {
    /// A register.
    Register(RegisterId),
    /// A variable or parameter.
    Symbol(String),
    /// Nothing: the offset is the address.
    None,
}
