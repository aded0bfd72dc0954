//! A kernel: its descriptor (the 64 bytes that the hardware's packet processor reads), and the
//! metadata of its arguments.

use super::metadata::{Described, Formats};
use super::{Image, LoadError};
use crate::exec::Program;
use crate::exec::marks::{Kind, Mark, memory};
use crate::isa::{Arch, Inst};
use isobit_simgpu_core::check::Granules;
use isobit_simgpu_core::coverage::Marks;
use std::ops::Range;
use std::sync::Arc;

/// The source of an argument's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// The caller of the launch.
    Explicit,
    /// The number of blocks along a dimension.
    BlockCount(usize),
    /// The number of threads of a block along a dimension.
    GroupSize(usize),
    /// The number of threads of a partial last block along a dimension; launches here do not have
    /// one.
    Remainder(usize),
    /// The start of the grid along a dimension, which is 0.
    GlobalOffset(usize),
    /// The number of dimensions of the grid.
    GridDims,
    /// The size of the dynamic group memory in bytes.
    DynamicLds,
    /// The high half of the private aperture's address.
    PrivateBase,
    /// The high half of the shared aperture's address.
    SharedBase,
    /// The address of the buffer for calls of the host.
    HostCalls,
    /// The address of the buffer in which `printf` leaves records for the end of the kernel.
    Records,
    /// A pointer to runtime data that no kernel of the tree dereferences. It is null, so that a
    /// dereference is detected.
    Null,
}

impl ArgKind {
    /// Returns the kind with this name in the metadata.
    pub(super) fn named(kind: &str) -> Result<Self, LoadError> {
        let dimension = |name: &str| ["x", "y", "z"].iter().position(|d| name.ends_with(d)).unwrap_or(0);
        Ok(match kind {
            "global_buffer" | "by_value" | "dynamic_shared_pointer" | "image" | "sampler" | "pipe" | "queue" => {
                Self::Explicit
            }
            "hidden_block_count_x" | "hidden_block_count_y" | "hidden_block_count_z" => {
                Self::BlockCount(dimension(kind))
            }
            "hidden_group_size_x" | "hidden_group_size_y" | "hidden_group_size_z" => Self::GroupSize(dimension(kind)),
            "hidden_remainder_x" | "hidden_remainder_y" | "hidden_remainder_z" => Self::Remainder(dimension(kind)),
            "hidden_global_offset_x" | "hidden_global_offset_y" | "hidden_global_offset_z" => {
                Self::GlobalOffset(dimension(kind))
            }
            "hidden_grid_dims" => Self::GridDims,
            "hidden_dynamic_lds_size" => Self::DynamicLds,
            "hidden_private_base" => Self::PrivateBase,
            "hidden_shared_base" => Self::SharedBase,
            "hidden_hostcall_buffer" => Self::HostCalls,
            "hidden_printf_buffer" => Self::Records,
            "hidden_none"
            | "hidden_multigrid_sync_arg"
            | "hidden_heap_v1"
            | "hidden_default_queue"
            | "hidden_completion_action"
            | "hidden_queue_ptr" => Self::Null,
            other => return Err(LoadError::Unsupported(format!("an argument of kind {other}"))),
        })
    }
}

/// A kernel's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arg {
    /// The offset in bytes from the start of the argument segment.
    pub offset: u32,
    /// The size in bytes.
    pub bytes: u32,
    /// The source of its value.
    pub kind: ArgKind,
}

/// A kernel of a loaded module. The module stays loaded as long as the kernel exists.
#[derive(Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its arguments, including hidden ones.
    pub args: Vec<Arg>,
    /// The size of the argument segment in bytes.
    pub kernarg_bytes: u32,
    /// The group memory that the code declares, in bytes.
    pub lds_bytes: u32,
    /// Private memory per thread in bytes, without a stack of unknown depth.
    pub private_bytes: u32,
    /// Whether it needs such a stack: it may call functions through pointers, or recursively.
    pub dynamic_stack: bool,
    /// The largest number of threads per block.
    pub max_threads: u32,
    /// The number of vector registers per thread, including accumulation registers.
    pub vgprs: u32,
    /// The number of scalar registers per wave.
    pub sgprs: u32,
    pub(crate) program: Arc<Program>,
    pub(crate) entry: usize,
    pub(crate) setup: Setup,
    pub(crate) granules: Granules,
    pub(crate) atomics: bool,
    pub(crate) formats: Arc<Formats>,
    /// The marks of the steps that ran, if they are wanted.
    pub coverage: Option<Marks>,
    /// Its steps in the program.
    pub(super) steps: Range<usize>,
    _image: Arc<Image>,
}

/// The initial registers of a wave, from the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    /// `kernel_code_properties`: the user registers that are present.
    pub(crate) properties: u16,
    /// The number of user registers, including padding.
    pub(crate) user_sgprs: u8,
    /// Which of the group's coordinates are present.
    pub(crate) group_ids: [bool; 3],
    /// Whether the group's information word is present.
    pub(crate) group_info: bool,
    /// Whether the wave's private segment offset is present.
    pub(crate) scratch: bool,
    /// The number of dimensions of the thread's coordinates beyond x.
    pub(crate) thread_dims: u8,
    /// The number of vector registers of the program.
    pub(crate) vector: usize,
    /// The number of its accumulation registers.
    pub(crate) accumulation: usize,
}

impl Kernel {
    #[expect(clippy::too_many_arguments, reason = "the parts of a code object, which the module already has")]
    pub(super) fn new(
        arch: Arch,
        described: Described,
        image: &[u8],
        descriptor: usize,
        code_bytes: u64,
        base: u64,
        program: &Arc<Program>,
        owner: &Arc<Image>,
    ) -> Result<Self, LoadError> {
        let name = described.name;
        let cut = || LoadError::Invalid(format!("the descriptor of {name} lies outside the segments"));
        let kd: &[u8; 64] = image.get(descriptor..).and_then(|b| b.first_chunk()).ok_or_else(cut)?;
        let word = |at: usize| u32::from_le_bytes([kd[at], kd[at + 1], kd[at + 2], kd[at + 3]]);
        let offset = i64::from(word(16)) | i64::from(word(20)) << 32;
        let (rsrc1, rsrc2) = (word(48), word(52));
        let properties = word(56) as u16;
        if word(56) >> 16 != 0 {
            return Err(LoadError::Unsupported(format!("preloaded arguments of {name}")));
        }
        // Round to nearest even and keep subnormals: the mode of everything that this project
        // compiles, and HIP's default.
        let mode = rsrc1 >> 12 & 0xff;
        if mode != 0xf0 {
            return Err(LoadError::Unsupported(format!("the floating-point mode {mode:#x} of {name}")));
        }
        let wave32 = properties >> 10 & 1 == 1;
        if described.wave_size as usize != arch.wave_size() || wave32 != (arch.wave_size() == 32) {
            return Err(LoadError::Unsupported(format!("waves of {} of {name}", described.wave_size)));
        }
        let entry = base.wrapping_add(descriptor as u64).wrapping_add_signed(offset);
        let entry =
            program.step_at(entry).ok_or_else(|| LoadError::Invalid(format!("{name} starts outside the code")))?;
        let dynamic_stack = properties >> 11 & 1 == 1;
        let end = u64::from(program.steps[entry].offset) + code_bytes;
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        let own = program.steps[entry..].iter().take_while(|step| step.offset < end).count();
        // Both kinds share one file on gfx90a and gfx942. The descriptor says at which register the
        // accumulation registers start.
        let accumulation = if arch.is_gfx9() { described.vgprs.saturating_sub(4 * (word(44) & 63) + 4) } else { 0 };
        let vector = described.vgprs - accumulation;
        if vector.max(accumulation) > 256 {
            return Err(LoadError::Invalid(format!(
                "{name} has {vector} vector and {accumulation} accumulation registers, of at most 256 each"
            )));
        }
        let (granules, atomics) = accesses(program, entry..entry + own);
        Ok(Self {
            args: described.args,
            kernarg_bytes: described.kernarg_bytes,
            lds_bytes: word(0),
            private_bytes: word(4),
            dynamic_stack,
            max_threads: described.max_threads,
            vgprs: described.vgprs,
            sgprs: described.sgprs,
            program: program.clone(),
            entry,
            setup: Setup {
                properties,
                user_sgprs: (rsrc2 >> 1 & 31) as u8,
                group_ids: [7, 8, 9].map(|bit| rsrc2 >> bit & 1 == 1),
                group_info: rsrc2 >> 10 & 1 == 1,
                scratch: rsrc2 & 1 == 1,
                thread_dims: (rsrc2 >> 11 & 3) as u8,
                vector: vector as usize,
                accumulation: accumulation as usize,
            },
            granules,
            atomics,
            formats: described.formats,
            coverage: None,
            steps: entry..entry + own,
            _image: owner.clone(),
            name,
        })
    }
}

impl Kernel {
    /// Returns the private memory per thread of a launch whose stacks of unknown depth have this
    /// size.
    pub fn private_with(&self, stack: u32) -> u32 {
        if self.dynamic_stack { self.private_bytes.saturating_add(stack) } else { self.private_bytes }
    }

    /// Returns its instructions, without those of functions that it calls.
    pub fn insts(&self) -> impl Iterator<Item = &Inst> {
        // A step behind code that ends early has no instruction.
        self.program.steps[self.steps.clone()].iter().filter_map(|step| self.program.insts.get(step.inst as usize))
    }
}

/// Returns the smallest accesses to global and to group memory in a kernel's own steps, and whether
/// there are atomics. If the kernel calls functions, the whole code is examined.
fn accesses(program: &Program, own: Range<usize>) -> (Granules, bool) {
    // A step behind code that ends early has no instruction.
    let mut own_insts = program.steps[own.clone()].iter().filter_map(|step| program.insts.get(step.inst as usize));
    let calls = own_insts.any(|inst| matches!(inst.name, "s_swappc_b64" | "s_call_b64"));
    let range = if calls { 0..program.steps.len() } else { own };
    let (mut granules, mut atomics) = (Granules::default(), false);
    for (step, mark) in program.steps[range.clone()].iter().zip(&program.marks[range.start..]) {
        atomics |= *mark == Mark::Atomic;
        let Some(inst) = program.insts.get(step.inst as usize) else { continue };
        let Some((space @ ("global" | "flat" | "ds" | "buffer"), kind)) = memory(inst) else { continue };
        atomics |= kind == Kind::Atomic;
        for part in inst.name.split('_') {
            let bytes = match part {
                "u8" | "i8" | "b8" => 1,
                "u16" | "i16" | "b16" => 2,
                _ => continue,
            };
            if space != "ds" {
                granules.note_global(bytes);
            }
            if matches!(space, "ds" | "flat") {
                granules.note_local(bytes);
            }
        }
    }
    (granules, atomics)
}
