//! A decoded instruction: the output of the decoder and the input of lowering.

/// A target whose code objects are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arch {
    /// CDNA 2, waves of 64.
    Gfx90a,
    /// CDNA 3, waves of 64.
    Gfx942,
    /// RDNA 3, waves of 32.
    Gfx1100,
}

impl Arch {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::Gfx90a, Self::Gfx942, Self::Gfx1100];

    /// Returns LLVM's name of the processor.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx90a => "gfx90a",
            Self::Gfx942 => "gfx942",
            Self::Gfx1100 => "gfx1100",
        }
    }

    /// Returns the full name that the simulated card of this target reports, including features.
    pub const fn target_id(self) -> &'static str {
        match self {
            Self::Gfx90a => "gfx90a:sramecc+:xnack-",
            Self::Gfx942 => "gfx942:sramecc+:xnack-",
            Self::Gfx1100 => "gfx1100",
        }
    }

    /// Returns the number of lanes of a wave.
    pub const fn wave_size(self) -> usize {
        match self {
            Self::Gfx90a | Self::Gfx942 => 64,
            Self::Gfx1100 => 32,
        }
    }

    /// True for the encodings of GFX9 (gfx90a, gfx942), false for those of GFX11.
    pub const fn is_gfx9(self) -> bool {
        matches!(self, Self::Gfx90a | Self::Gfx942)
    }
}

/// The encodings of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Scalar, two sources.
    Sop2,
    /// Scalar, a 16-bit constant.
    Sopk,
    /// Scalar, one source.
    Sop1,
    /// Scalar comparison.
    Sopc,
    /// Program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector, one source.
    Vop1,
    /// Vector, two sources.
    Vop2,
    /// Vector comparison.
    Vopc,
    /// Vector in 64 bits: up to three sources and modifiers. Also VOP3B (with a scalar
    /// destination).
    Vop3,
    /// Packed and mixed-precision vector.
    Vop3p,
    /// Two vector instructions in one (GFX11).
    Vopd,
    /// Local data share.
    Ds,
    /// Memory by generic address.
    Flat,
    /// Global memory.
    Global,
    /// Private memory.
    Scratch,
    /// Memory by buffer resource.
    Mubuf,
}

/// The location of an operand's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Operand {
    /// No operand.
    #[default]
    None,
    /// The first vector register of the operand: 0 to 255, and from 256 the accumulation registers
    /// a0 to a255 of gfx90a and gfx942.
    Vgpr(u16),
    /// The first scalar register, by its number in [`sreg`].
    Sgpr(u8),
    /// An inline constant by its code: 128 to 208 are the integers 0 to 64 and -1 to -16, 240 to
    /// 248 are the floats 0.5, -0.5, 1, -1, 2, -2, 4, -4 and 1/(2 pi). Its bits depend on the type
    /// that the instruction reads.
    Inline(u8),
    /// A 32-bit literal that follows the instruction.
    Literal(u32),
    /// The high half of the shared aperture's address, code 235 (the pair reads base as a 64-bit
    /// value with low half 0).
    SharedBase,
    /// Code 236.
    SharedLimit,
    /// Code 237.
    PrivateBase,
    /// Code 238.
    PrivateLimit,
    /// Code 251: true if VCC is zero.
    Vccz,
    /// Code 252: true if EXEC is zero.
    Execz,
    /// Code 253: the scalar condition.
    Scc,
}

/// Register numbers in the scalar register file. They are the codes of GFX9, except for `M0` and
/// `NULL`, whose codes are swapped between the generations: the decoder returns these numbers for
/// every target.
pub mod sreg {
    /// The low half of the flat scratch base on GFX9.
    pub const FLAT_SCRATCH_LO: u8 = 102;
    /// The high half of the flat scratch base on GFX9.
    pub const FLAT_SCRATCH_HI: u8 = 103;
    /// XNACK mask, low half (GFX9). GFX11 has s104 and s105 here, and s102 and s103 in the two
    /// numbers above.
    pub const XNACK_MASK_LO: u8 = 104;
    /// Vector condition code, low half.
    pub const VCC_LO: u8 = 106;
    /// Vector condition code, high half.
    pub const VCC_HI: u8 = 107;
    /// The first of sixteen trap temporaries.
    pub const TTMP0: u8 = 108;
    /// M0.
    pub const M0: u8 = 124;
    /// Reads zero, ignores writes (GFX10 and later).
    pub const NULL: u8 = 125;
    /// Execution mask, low half.
    pub const EXEC_LO: u8 = 126;
    /// Execution mask, high half.
    pub const EXEC_HI: u8 = 127;
}

/// A sub-dword selection of GFX9: the codes of the SDWA fields `dst_sel`, `src0_sel`, `src1_sel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Select {
    /// Byte 0 to 3.
    Byte(u8),
    /// Word 0 or 1.
    Word(u8),
    /// The whole dword.
    Dword,
}

/// What happens to the bits that an SDWA destination does not select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unused {
    /// They become zero.
    Pad,
    /// They become copies of the sign.
    Sext,
    /// They keep their previous value.
    Preserve,
}

/// The fields of an SDWA instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sdwa {
    /// Which part is written; `None` for comparisons.
    pub dst: Option<(Select, Unused)>,
    /// Which part of each source is read, and whether it is sign-extended.
    pub src: [(Select, bool); 2],
}

/// A lane permutation of the first source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dpp {
    /// DPP16: the 9-bit control, masks of rows and banks, and the two flags.
    Dpp16 {
        /// `dpp_ctrl`.
        ctrl: u16,
        /// The rows that are written, one bit each.
        row_mask: u8,
        /// The banks that are written, one bit each.
        bank_mask: u8,
        /// Lanes without a source read zero instead of keeping the destination.
        bound_ctrl: bool,
        /// Inactive lanes may be read.
        fetch_inactive: bool,
    },
    /// DPP8: for each lane of a group of eight, the lane of the group that it reads.
    Dpp8 {
        /// The lanes that are read.
        lanes: [u8; 8],
        /// Inactive lanes may be read.
        fetch_inactive: bool,
    },
}

/// Cache-policy bits, in the order of their fields; the names differ by generation (glc slc dlc,
/// sc0 nt sc1). The simulated memory has no caches, but the bits tell atomic loads and stores from
/// plain ones, and the first marks an atomic that returns the old value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cache {
    /// glc; sc0 on gfx942. On an atomic: the old value is returned.
    pub glc: bool,
    /// slc; nt on gfx942.
    pub slc: bool,
    /// dlc on GFX11; scc on gfx90a; sc1 on gfx942.
    pub dlc: bool,
}

/// The patterns of a matrix instruction of GFX9 (VOP3P-MAI). With zeros, each block of the result
/// is the product of its own blocks of both factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mai {
    /// The logarithm of the number of blocks that read the same block of the first factor; for a
    /// sparse product, whether `abid` selects among the indices.
    pub cbsz: u8,
    /// The block that they read, or the indices.
    pub abid: u8,
    /// The pattern in which lanes of the second factor are exchanged. For doubles on gfx942, the
    /// operands that are negated, one bit each.
    pub blgp: u8,
}

/// A decoded instruction. Fields that an encoding does not have keep their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inst {
    /// LLVM's full mnemonic for the target: `v_add_f32_e32`, `ds_load_b32`. The second half of a
    /// VOPD is in [`second`](Self::second).
    pub mnemonic: &'static str,
    /// The name that lowering uses: the same for all targets, without the suffixes of encodings. If
    /// names differ, it is GFX11's (`ds_read_b32` becomes `ds_load_b32`; `v_dual_add_f32` becomes
    /// `v_add_f32`), or gfx942's (`v_mfma_f32_32x32x2f32` becomes `v_mfma_f32_32x32x2_f32`).
    pub name: &'static str,
    /// The encoding.
    pub encoding: Encoding,
    /// The size in bytes, including a literal.
    pub size: u8,
    /// The destination: a vector or a scalar register. Stores have none. VOPC writes the scalar
    /// register (VCC if implied; EXEC for `v_cmpx` on GFX11).
    pub dst: Operand,
    /// The second, scalar destination (carry out, `v_div_scale`'s flag); VCC if implied.
    pub sdst: Operand,
    /// Sources in LLVM's order. The last source is the carry in or `v_cndmask`'s selector (VCC if
    /// implied). The destination of `v_fmac` and `v_mac` is the third source, and the literal of
    /// `v_fmamk` and `v_fmaak` is in its own position. Memory instructions: address (or `vaddr`),
    /// data, second data (DS), scalar base (or `saddr`; `Operand::None` for `off`). MUBUF: vaddr,
    /// data, resource, soffset. SMEM: base, offset register or none.
    pub src: [Operand; 4],
    /// The number of sources in `src`.
    pub src_count: u8,
    /// The number of 32-bit registers of the destination, from LLVM's operand classes: 2 for
    /// `v[0:1]`.
    pub dst_dwords: u8,
    /// The number of 32-bit registers of each source, from LLVM's operand classes.
    pub src_dwords: [u8; 4],
    /// simm16 of SOPK and SOPP, the offset of memory instructions (`offset0` of a two-address DS
    /// instruction).
    pub imm: i32,
    /// `offset1` of a two-address DS instruction.
    pub imm1: i32,
    /// The sources that are negated, one bit each; `neg_lo` of VOP3P.
    pub neg: u8,
    /// `neg_hi` of VOP3P.
    pub neg_hi: u8,
    /// The sources whose absolute value is used (before the negation), one bit each.
    pub abs: u8,
    /// `op_sel`: bit i selects the high half of source i, bit 3 the high half of the destination.
    pub op_sel: u8,
    /// `op_sel_hi` of VOP3P.
    pub op_sel_hi: u8,
    /// Whether the result is clamped: floats to 0..1, integers to their range.
    pub clamp: bool,
    /// The output modifier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    /// Sub-dword selections.
    pub sdwa: Option<Sdwa>,
    /// The permutation of the first source.
    pub dpp: Option<Dpp>,
    /// Cache policy.
    pub cache: Cache,
    /// The patterns of a matrix instruction.
    pub mai: Mai,
    /// MUBUF `offen`: the address register is added to the address.
    pub offen: bool,
    /// MUBUF `idxen`.
    pub idxen: bool,
    /// MUBUF and DS `lds`/`gds`.
    pub lds: bool,
    /// The second half of a VOPD.
    pub second: Option<Box<Inst>>,
}

/// An error for bytes that are not an instruction of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The first word.
    pub word: u32,
    /// The unknown part: the encoding, the opcode, or a modifier.
    pub what: String,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#010x}: {}", self.word, self.what)
    }
}

impl std::error::Error for DecodeError {}
