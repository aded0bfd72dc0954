//! Programs: kernels as lists of steps, whose every access is a formula of the thread, the block
//! and the arguments. The same formulas become C++ (`text`) and are evaluated on the host
//! (`oracle`).

use std::fmt;

/// The unsigned type of a program's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl Element {
    /// Every type.
    pub const ALL: [Self; 4] = [Self::U8, Self::U16, Self::U32, Self::U64];

    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        1 << self as u32
    }

    /// Returns the type's name in the text of a kernel.
    pub fn name(self) -> &'static str {
        ["u8", "u16", "u32", "u64"][self as usize]
    }
}

/// A permutation of the threads of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// `t`.
    Same,
    /// `T - 1 - t`.
    Reversed,
    /// `(t + k) % T`.
    Rotated(u32),
    /// `t * k % T`, with `k` and `T` coprime.
    Strided(u32),
    /// `t ^ k`, for `T` a power of two.
    Swapped(u32),
    /// The transposed position in a matrix of `k` columns, which divides `T`.
    Transposed(u32),
}

impl Map {
    /// Returns the image of a thread in a block of `threads`.
    pub fn at(self, t: u32, threads: u32) -> u32 {
        match self {
            Map::Same => t,
            Map::Reversed => threads - 1 - t,
            Map::Rotated(k) => (t + k) % threads,
            Map::Strided(k) => t * k % threads,
            Map::Swapped(k) => t ^ k,
            Map::Transposed(k) => t % k * (threads / k) + t / k,
        }
    }

    /// Returns the formula, for a constant number of threads.
    fn text(self, threads: u32) -> String {
        match self {
            Map::Same => "t".into(),
            Map::Reversed => format!("({threads} - 1 - t)"),
            Map::Rotated(k) => format!("((t + {k}) % {threads})"),
            Map::Strided(k) => format!("(t * {k} % {threads})"),
            Map::Swapped(k) => format!("(t ^ {k})"),
            Map::Transposed(k) => format!("(t % {k} * {} + t / {k})", threads / k),
        }
    }
}

/// An argument of a launch, which the formulas of a program may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The number of threads of the grid that take part.
    Count,
    /// A number that is 0 unless a fault is planted by it.
    Shift,
    /// A thread of a block.
    Chosen,
}

/// The arguments of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arguments {
    /// See [`Argument::Count`].
    pub count: i64,
    /// See [`Argument::Shift`].
    pub shift: i64,
    /// See [`Argument::Chosen`].
    pub chosen: i64,
}

impl Arguments {
    fn of(&self, argument: Argument) -> i64 {
        match argument {
            Argument::Count => self.count,
            Argument::Shift => self.shift,
            Argument::Chosen => self.chosen,
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Argument::Count => "count",
            Argument::Shift => "shift",
            Argument::Chosen => "chosen",
        })
    }
}

/// The element of an access: `map(t) * scale + block * pitch + turn * hop + turn % 2 * parity +
/// (halving >> turn) + base`, and an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// The permutation of the threads.
    pub map: Map,
    /// The factor of the thread's image.
    pub scale: i64,
    /// The factor of the block.
    pub pitch: i64,
    /// The factor of the turn.
    pub hop: i64,
    /// Added in every second turn.
    pub parity: i64,
    /// Halved in every turn and added.
    pub halving: i64,
    /// Added to the rest.
    pub base: i64,
    /// Added to the rest.
    pub argument: Option<Argument>,
}

impl Index {
    /// `map(t)`.
    pub fn of(map: Map) -> Self {
        Self { map, scale: 1, pitch: 0, hop: 0, parity: 0, halving: 0, base: 0, argument: None }
    }

    /// Returns the element for a thread in a turn of the loop.
    pub fn at(&self, at: &Place, arguments: &Arguments) -> i64 {
        i64::from(self.map.at(at.thread, at.threads)) * self.scale
            + i64::from(at.block) * self.pitch
            + i64::from(at.turn) * self.hop
            + i64::from(at.turn % 2) * self.parity
            + (self.halving >> at.turn)
            + self.base
            + self.argument.map_or(0, |a| arguments.of(a))
    }

    fn text(&self, threads: u32) -> String {
        let mut text = format!("(i64){} * {}", self.map.text(threads), self.scale);
        for (factor, name) in [(self.pitch, "b"), (self.hop, "turn"), (self.parity, "(turn % 2)")] {
            if factor != 0 {
                text += &format!(" + (i64){name} * {factor}");
            }
        }
        if self.halving != 0 {
            text += &format!(" + ({} >> turn)", self.halving);
        }
        if self.base != 0 {
            text += &format!(" + {}", self.base);
        }
        self.argument.map_or(text.clone(), |a| format!("{text} + {a}"))
    }
}

/// The threads that execute a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// All.
    Always,
    /// `t < k`.
    Below(u32),
    /// `t < k >> turn`, as in a tree.
    Halved(u32),
    /// The threads of the grid below `count + k`.
    InGrid(i64),
    /// `t != chosen`.
    Others,
    /// `t == chosen`.
    Chosen,
}

impl Guard {
    /// Whether a thread executes the step.
    pub fn admits(self, at: &Place, arguments: &Arguments) -> bool {
        let t = i64::from(at.thread);
        match self {
            Guard::Always => true,
            Guard::Below(k) => at.thread < k,
            Guard::Halved(k) => at.thread < k >> at.turn,
            Guard::InGrid(k) => i64::from(at.block * at.threads) + t < arguments.count + k,
            Guard::Others => t != arguments.chosen,
            Guard::Chosen => t == arguments.chosen,
        }
    }

    fn text(self, threads: u32) -> String {
        match self {
            Guard::Always => String::new(),
            Guard::Below(k) => format!("if (t < {k}) "),
            Guard::Halved(k) => format!("if (t < {k} >> turn) "),
            Guard::InGrid(k) => format!("if ((i64)b * {threads} + t < count + {k}) "),
            Guard::Others => "if (t != chosen) ".into(),
            Guard::Chosen => "if (t == chosen) ".into(),
        }
    }
}

/// The memory of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Each block's own array.
    Shared,
    /// The input, which the host wrote.
    Input,
    /// A buffer that nothing has written.
    Scratch,
    /// Counters, which the host set to 0.
    Counters,
    /// The result.
    Output,
}

impl Space {
    /// The spaces in global memory, in the order of the kernel's arguments.
    pub const GLOBAL: [Self; 4] = [Self::Input, Self::Scratch, Self::Counters, Self::Output];

    /// Returns the name in the text of a kernel.
    pub fn name(self) -> &'static str {
        match self {
            Space::Shared => "s",
            Space::Input => "in",
            Space::Scratch => "scratch",
            Space::Counters => "counters",
            Space::Output => "out",
        }
    }
}

/// What a step does with its element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `acc = acc * 3 + x`, in 32 bits.
    Load,
    /// `x = acc * 5 + t + 1`.
    Store,
    /// `x += acc % 97`, atomically.
    AtomicAdd,
    /// `x += acc % 97`, as a load and a store.
    PlainAdd,
}

/// An access by each thread that the guard admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// What is done.
    pub kind: Kind,
    /// Where.
    pub space: Space,
    /// The first element.
    pub index: Index,
    /// By which threads.
    pub guard: Guard,
    /// The number of consecutive elements of one access: 1, 2 or 4. A load adds all of them to the
    /// accumulator; a store gives all of them the same value.
    pub width: u32,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// An access by the threads that its guard admits.
    Access(Access),
    /// All threads of the block wait for each other.
    Barrier,
    /// The steps, so many times, with `turn` from 0.
    Loop(u32, Vec<Step>),
}

/// A kernel. Each thread has an accumulator that begins with its index in the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The type of all elements but the counters', which have 32 bits.
    pub element: Element,
    /// Threads per block.
    pub threads: u32,
    /// Blocks.
    pub blocks: u32,
    /// Elements of the block's shared array.
    pub shared: i64,
    /// Elements of the buffers in global memory, in the order of [`Space::GLOBAL`].
    pub lengths: [i64; Space::GLOBAL.len()],
    /// What each thread does.
    pub steps: Vec<Step>,
}

/// A thread in a turn of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The thread in its block.
    pub thread: u32,
    /// The number of threads of a block.
    pub threads: u32,
    /// The block.
    pub block: u32,
    /// The turn of the innermost loop, or 0.
    pub turn: u32,
}

impl Program {
    /// Returns the number of elements of a space.
    pub fn len(&self, space: Space) -> i64 {
        match Space::GLOBAL.iter().position(|&s| s == space) {
            Some(i) => self.lengths[i],
            None => self.shared,
        }
    }

    /// Whether a thread makes an atomic.
    pub fn has_atomic(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Access(access) if access.kind == Kind::AtomicAdd))
    }

    /// Returns the kernel's text.
    pub fn text(&self, name: &str) -> String {
        let (e, threads) = (self.element.name(), self.threads);
        let mut text = format!(
            "KERNEL void {name}({e}* in, {e}* scratch, u32* counters, {e}* out, i64 count, i64 shift, i64 chosen) {{\n\
             \x20   SHARED __attribute__((aligned(32))) {e} s[{}];\n    escape(s);\n    u32 t = thread(), b = block();\n    \
             u32 acc = b * {threads} + t;\n    const u32 turn = 0;\n",
            self.shared
        );
        self.write(&self.steps, 1, &mut text);
        text + "}\n"
    }

    fn write(&self, steps: &[Step], depth: usize, text: &mut String) {
        let pad = "    ".repeat(depth);
        for step in steps {
            match step {
                Step::Barrier => *text += &format!("{pad}barrier();\n"),
                Step::Loop(times, body) => {
                    *text += &format!("{pad}for (u32 turn = 0; turn < {times}; ++turn) {{\n");
                    self.write(body, depth + 1, text);
                    *text += &format!("{pad}}}\n");
                }
                Step::Access(access) => *text += &format!("{pad}{}\n", self.access(access)),
            }
        }
    }

    fn access(&self, access: &Access) -> String {
        let Access { kind, space, index, guard, width } = *access;
        let (guard, index) = (guard.text(self.threads), index.text(self.threads));
        let e = if space == Space::Counters { Element::U32 } else { self.element };
        let (e, at) = (e.name(), format!("{} + opaque({index})", space.name()));
        match (kind, width) {
            (Kind::Load, 1) => format!("{guard}acc = acc * 3 + (u32)*({at});"),
            (Kind::Load, w) => format!("{guard}acc = acc * 3 + (u32)all(*(const {e}x{w}*)({at}));"),
            (Kind::Store, 1) => format!("{guard}*({at}) = ({e})(acc * 5 + t + 1);"),
            (Kind::Store, w) => format!("{guard}*({e}x{w}*)({at}) = {e}x{w}(({e})(acc * 5 + t + 1));"),
            (Kind::AtomicAdd, _) => format!("{guard}atomic_add({at}, acc % 97);"),
            (Kind::PlainAdd, _) => format!("{guard}*({at}) += acc % 97;"),
        }
    }
}
