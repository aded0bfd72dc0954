//! Loads PTX as a driver does: parses it, places variables in device memory, lowers every kernel.

mod coverage;
mod layout;
mod text;
mod variables;

use crate::arch::Arch;
use crate::exec::Program;
use crate::exec::program::Text;
use crate::lower::{Code, Functions, Part, inline, lower, reached};
use crate::ptx::ast::{Body, Function, Module as Tree};
use crate::ptx::{self, ParseError};
use isobit_simgpu_core::coverage::Marks;
use isobit_simgpu_core::memory::Memory;
use layout::Layout;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use variables::Variables;

/// The newest supported major `.version`.
const NEWEST: u32 = 9;
/// Maximum bytes of shared or local memory that a kernel may declare; no card has that much.
pub const MOST_DECLARED: u32 = 1 << 24;
/// Maximum threads per block.
pub const MAX_THREADS: u32 = 1024;

/// The shift of the results of approximate instructions (`rcp.approx`, `ex2.approx` and similar) in
/// units in the last place: -1, 0 or 1.
pub type Approximation = i8;

/// The reason why an image was not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The image is not PTX text (for example a cubin, a fat binary, or not code at all).
    NotPtx(String),
    /// The PTX is invalid, or uses an instruction, a modifier, a type or a directive that the
    /// simulator does not support.
    Invalid(ParseError),
    /// The PTX is for a newer card.
    WrongArch {
        /// The card.
        card: Arch,
        /// `.target`: 90 for `sm_90`.
        target: u32,
    },
    /// A symbol without a definition.
    Unresolved(String),
    /// There is not enough memory for the module's variables.
    OutOfMemory(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPtx(why) => write!(f, "the image is not PTX: {why}"),
            Self::Invalid(error) => write!(f, "{error}"),
            Self::WrongArch { card, target } => {
                write!(f, "the PTX is for sm_{target}, but the card is {}", card.name())
            }
            Self::Unresolved(symbol) => write!(f, "unresolved external symbol {symbol}"),
            Self::OutOfMemory(why) => write!(f, "no memory for the module's variables: {why}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// A loaded module. Dropping it and all its kernels unloads it.
#[derive(Debug)]
pub struct Module {
    kernels: HashMap<String, Arc<Kernel>>,
    globals: HashMap<String, (u64, u64)>,
}

impl Module {
    /// Loads PTX. The text may end with a NUL.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(
        arch: Arch,
        approximation: Approximation,
        memory: &Arc<Memory>,
        image: &[u8],
    ) -> Result<Self, LoadError> {
        let source = text::text(image)?;
        let tree = ptx::parse(source).map_err(LoadError::Invalid)?;
        check_target(arch, &tree)?;
        let text = Text { ptx: source.into(), lines: text::lines(source), files: tree.files.as_slice().into() };
        let functions = Functions::new(&tree);
        let variables = Arc::new(Variables::place(memory, &tree, &functions)?);
        let loading = Loading { approximation, tree: &tree, functions, text, variables };
        let bodies = tree.functions.iter().filter(|function| function.entry);
        let bodies = bodies.filter_map(|function| function.body.as_ref().map(|body| (function, body)));
        let kernels = bodies.map(|(function, body)| loading.kernel(function, body));
        let mut kernels = kernels.collect::<Result<Vec<_>, LoadError>>()?;
        if isobit_simgpu_core::coverage::wanted() {
            coverage::register(arch, &mut kernels);
        }
        let kernels = kernels.into_iter().map(|kernel| (kernel.name.clone(), Arc::new(kernel))).collect();
        Ok(Self { kernels, globals: loading.variables.globals() })
    }

    /// Returns a kernel by name.
    pub fn kernel(&self, name: &str) -> Option<Arc<Kernel>> {
        self.kernels.get(name).cloned()
    }

    /// Returns all kernels, in no particular order.
    pub fn kernels(&self) -> impl Iterator<Item = &Arc<Kernel>> {
        self.kernels.values()
    }

    /// Returns the address and size of a `.global` or `.const` variable.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        self.globals.get(name).copied()
    }
}

fn check_target(arch: Arch, tree: &Tree) -> Result<(), LoadError> {
    let (major, minor) = tree.version;
    if major > NEWEST {
        let message = format!("PTX {major}.{minor} is newer than the newest supported version, {NEWEST}");
        return Err(LoadError::Invalid(ParseError { line: 1, function: None, message }));
    }
    let (high, low) = arch.compute_capability();
    if tree.target > 10 * high + low {
        return Err(LoadError::WrongArch { card: arch, target: tree.target });
    }
    Ok(())
}

/// A module that is being loaded.
struct Loading<'a> {
    approximation: Approximation,
    tree: &'a Tree,
    functions: Functions<'a>,
    text: Text,
    variables: Arc<Variables>,
}

impl Loading<'_> {
    fn kernel(&self, function: &Function, body: &Body) -> Result<Kernel, LoadError> {
        let inlined = inline(&self.functions, function, body)?;
        let framed = reached(&self.functions, &inlined.sites)?;
        let layout = Layout::new(self.tree, function, &inlined, &framed, &self.variables, &self.functions)?;
        let invalid = |name: &str, (line, message): (u32, String)| {
            LoadError::Invalid(ParseError { line, function: Some(name.to_owned()), message })
        };
        let whole =
            Code { name: &function.name, body: &inlined.body, sites: &inlined.sites, locations: &layout.locations };
        let parts = framed.iter().zip(&layout.frames).map(|(callee, frame)| {
            let code = Code {
                name: &callee.function.name,
                body: &callee.body,
                sites: &callee.sites,
                locations: &frame.locations,
            };
            Part { function: callee.function, code, frame: frame.bytes, locals: frame.locals }
        });
        let lowered = lower(self.approximation, &self.functions, whole, &parts.collect::<Vec<_>>())
            .map_err(|(name, why)| invalid(name, why))?;
        let threads = |shape: [u32; 3]| shape.iter().try_fold(1u32, |all, &n| all.checked_mul(n)).unwrap_or(u32::MAX);
        let shape = function.required_threads.or(function.max_threads);
        let arguments = function.parameters.iter();
        Ok(Kernel {
            name: function.name.clone(),
            arguments: arguments
                .map(|formal| Argument { offset: formal.offset, bytes: formal.variable.bytes as u32 })
                .collect(),
            shared_bytes: layout.shared_bytes,
            local_bytes: layout.local_bytes,
            const_bytes: layout.const_bytes,
            max_threads: shape.map_or(MAX_THREADS, threads).min(MAX_THREADS),
            required_threads: function.required_threads,
            registers: lowered.registers,
            ptx_version: self.tree.target,
            program: Arc::new(Program { text: self.text.clone(), ..lowered.program }),
            coverage: None,
            _variables: self.variables.clone(),
        })
    }
}

/// A kernel parameter and its location in the argument buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Offset in the buffer, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// A kernel, ready to run.
#[derive(Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub arguments: Vec<Argument>,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// Bytes of the constant variables that the kernel can reach.
    pub const_bytes: u32,
    /// Maximum threads per block: the limit of `.maxntid` or `.reqntid`, otherwise 1024.
    pub max_threads: u32,
    /// The required block shape (`.reqntid`).
    pub required_threads: Option<[u32; 3]>,
    /// The maximum number of 32-bit registers that hold values at the same time; reported as
    /// `CU_FUNC_ATTRIBUTE_NUM_REGS`.
    pub registers: u32,
    /// The module's `.target`: 80 for `sm_80`; reported as `CU_FUNC_ATTRIBUTE_PTX_VERSION`.
    pub ptx_version: u32,
    /// The lowered code.
    pub program: Arc<Program>,
    /// The marks of the steps that ran, if they are wanted.
    pub coverage: Option<Marks>,
    /// Keeps the memory of the module's variables alive.
    _variables: Arc<Variables>,
}

impl Kernel {
    /// Returns the bytes of the argument buffer.
    pub fn argument_bytes(&self) -> usize {
        self.arguments.last().map_or(0, |last| (last.offset + last.bytes) as usize)
    }
}
