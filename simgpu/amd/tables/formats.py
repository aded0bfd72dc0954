"""The encodings of GFX9 and GFX11 as bit fields, for the generator to probe. The positions of fields are from AMD's ISA documents."""

from dataclasses import dataclass, field

# How the generator writes a register, constant or literal into a field, by the kind of the field:
# one entry for each class of operand that the field can contain (V vector register, S scalar
# register, C inline constant, L literal). `n` is the register number to write.
KINDS = {
    "src9": {"V": lambda n: 256 + n, "S": lambda n: n + 4, "C": lambda n: 129, "L": lambda n: 255},
    "src8": {"S": lambda n: n, "C": lambda n: 129, "L": lambda n: 255},
    "reg": {"V": lambda n: n},
    "lane": {"V": lambda n: n, "S": lambda n: n + 4, "C": lambda n: 129},
    "pair": {"S": lambda n: n // 2},
    "quad": {"S": lambda n: n // 4},
    "soffset": {"S": lambda n: n, "C": lambda n: 129},
}

# The register number that probes write to each field. All are different, so that LLVM's text shows
# from which field an operand comes.
NUMBER = {
    "Vdst": 20, "Sdst": 28, "Src0": 40, "Src1": 60, "Src2": 80, "Addr": 24, "Data0": 36, "Data1": 48, "Saddr": 52, "Srsrc": 32, "Soffset": 68,
    "Sbase": 44,
}


@dataclass
class Field:
    """An operand: its name, lowest bit, width, kind, and its value if the instruction does not have the operand."""

    name: str
    low: int
    width: int
    kind: str
    unused: int = 0
    scalar_bit: int = 0  # for an SDWA source: the bit that makes it a scalar register

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.low | self.scalar_bit

    def put(self, word, cls):
        """Returns `word` with an operand of a class (None: no operand) in this field."""
        value = self.unused if cls is None else KINDS[self.kind][cls](NUMBER[self.name]) & ((1 << self.width) - 1)
        return word & ~self.mask | value << self.low | (self.scalar_bit if cls in ("S", "C") else 0)


@dataclass
class Format:
    """An encoding: its bits, the position of the opcode, the operands, and the fields that the decoder itself reads and checks (`controls`: mask,
    value in probes, and the operand that they belong to)."""

    encoding: str
    form: str
    size: int
    base: int
    op: tuple
    fields: list
    controls: list = field(default_factory=list)
    returning: int = 0  # the bit that makes an atomic return the old value
    # further bits to try in turn, until one gives an instruction
    variants: list = field(default_factory=lambda: [0])
    vopd: str = ""  # the half of a VOPD


def bits(low, width, value=0, of=None):
    return ((1 << width) - 1) << low, value << low, of


def scalar(gfx9):
    d, s0, s1 = Field("Sdst", 16, 7, "src8"), Field("Src0", 0, 8, "src8"), Field("Src1", 8, 8, "src8")
    imm = bits(0, 16, 0x14)
    yield Format("Sop2", "Plain", 4, 0x80000000, (23, 96), [d, s0, s1])
    yield Format("Sop1", "Plain", 4, 0xBE800000, (8, 256), [d, s0])
    yield Format("Sopc", "Plain", 4, 0xBF000000, (16, 128), [s0, s1])
    yield Format("Sopk", "Plain", 4, 0xB0000000, (23, 29), [d], [imm])
    yield Format("Sopp", "Plain", 4, 0xBF800000, (16, 128), [], [imm])
    yield Format("Sopp", "Plain", 4, 0xBF800000, (16, 128), [])
    data, base, offset = Field("Sdst", 6, 7, "src8"), Field("Sbase", 0, 6, "pair"), Field("Soffset", 57, 7, "src8", 0 if gfx9 else 0x7C)
    if gfx9:
        controls = [bits(14, 1), bits(17, 1, 1), bits(32, 21, 0x14), bits(57, 7)]
        yield Format("Smem", "Plain", 8, 0xC0000000, (18, 256), [data, base], controls)
        yield Format("Smem", "Plain", 8, 0xC0000000, (18, 256), [data, base])
    else:
        yield Format("Smem", "Plain", 8, 0xF4000000, (18, 256), [data, base], [bits(32, 21, 0x14), bits(57, 7, 0x7C)])
        yield Format("Smem", "Plain", 8, 0xF4000000 | 0x7C << 57, (18, 256), [data, base])
        yield Format("Smem", "Plain", 8, 0xF4000000, (18, 256), [data, base])


def vector(gfx9):
    d, s0, s1 = Field("Vdst", 17, 8, "reg"), Field("Src0", 0, 9, "src9"), Field("Src1", 9, 8, "reg")
    low0 = Field("Src0", 32, 8, "reg")
    for name, base, op, fields in (
        ("Vop2", 0, (25, 62), [d, s0, s1]),
        ("Vopc", 0x7C000000, (17, 256), [s0, s1]),
        ("Vop1", 0x7E000000, (9, 256), [d, s0]),
    ):
        others = [f for f in fields if f is not s0]
        yield Format(name, "Plain", 4, base, op, fields)
        dpp = [bits(40, 9, 0xE4), bits(56, 8, 0xFF)]
        yield Format(name, "Dpp16", 8, base | 0xFA, op, [low0] + others, dpp)
        if gfx9:
            lane0 = Field("Src0", 32, 8, "lane", scalar_bit=1 << 55)
            lane1 = Field("Src1", 9, 8, "lane", scalar_bit=1 << 63)
            sources = [bits(48, 3, 6, "Src0"), bits(56, 3, 6, "Src1")]
            if name == "Vopc":
                yield Format(name, "Sdwa", 8, base | 0xF9, op, [Field("Sdst", 40, 7, "src8"), lane0, lane1], sources + [bits(47, 1, 1)])
            else:
                lanes = [d, lane0, lane1] if name == "Vop2" else [d, lane0]
                yield Format(name, "Sdwa", 8, base | 0xF9, op, lanes, sources + [bits(40, 3, 6, "Vdst"), bits(43, 2)])
        else:
            yield Format(name, "Dpp8", 8, base | 0xE9, op, [low0] + others, [bits(40, 24, 0xFAC688)])


def vector3(gfx9):
    d, sd = Field("Vdst", 0, 8, "reg"), Field("Sdst", 8, 7, "src8")
    s0, s1, s2 = (Field(f"Src{i}", 32 + 9 * i, 9, "src9") for i in range(3))
    base, packed = (0xD0000000, 0xD3800000) if gfx9 else (0xD4000000, 0xCC000000)
    ones = 3 << 59 | 1 << 14  # the value of op_sel_hi that does not swap the halves
    for name, base, op, fields, variants in (
        ("Vop3", base, (16, 1024 if not gfx9 else 0x380), [d, s0, s1, s2, sd], [0]),
        ("Vop3p", packed, (16, 128), [d, s0, s1, s2], [ones, 1 << 14, 0]),
    ):
        yield Format(name, "Plain", 8, base, op, fields, variants=variants)
        if not gfx9:
            low0 = Field("Src0", 64, 8, "reg")
            rest = [low0] + [f for f in fields if f is not s0]
            yield Format(name, "Dpp16", 12, base | 0xFA << 32, op, rest, [bits(72, 9, 0xE4), bits(88, 8, 0xFF)], variants=variants)
            yield Format(name, "Dpp8", 12, base | 0xE9 << 32, op, rest, [bits(72, 24, 0xFAC688)], variants=variants)


def dual():
    d, s0, s1 = Field("Vdst", 56, 8, "reg"), Field("Src0", 0, 9, "src9"), Field("Src1", 9, 8, "reg")
    moves = 0xC8000000 | 8 << 22 | 8 << 17 | 0x101 | 0x103 << 32
    yield Format("Vopd", "X", 8, moves & ~0x1FF & ~(15 << 22) | 1 << 49, (22, 16), [d, s0, s1], vopd="X")
    d, s0, s1 = Field("Vdst", 49, 7, "half"), Field("Src0", 32, 9, "src9"), Field("Src1", 41, 8, "reg")
    yield Format("Vopd", "Y", 8, moves & ~(0x1FF << 32) & ~(31 << 17) | 1 << 56, (17, 32), [d, s0, s1], vopd="Y")


KINDS["half"] = {"V": lambda n: n // 2}


def memory(gfx9, gfx90a):
    addr, data0, data1, vdst = (Field(n, 32 + 8 * i, 8, "reg") for i, n in enumerate(("Addr", "Data0", "Data1", "Vdst")))
    ds = Format("Ds", "Plain", 8, 0xD8000000, (17 if gfx9 else 18, 256), [vdst, addr, data0, data1], [bits(0, 8, 1), bits(8, 8, 2)])
    gds = Format("Ds", "Plain", 8, ds.base | 1 << (16 if gfx9 else 17), ds.op, ds.fields, ds.controls)
    yield ds
    yield gds
    for plain in (ds, gds):
        yield Format("Ds", "Plain", 8, plain.base, ds.op, ds.fields)
        yield Format("Ds", "Plain", 8, plain.base, ds.op, ds.fields, [bits(0, 16)])
    off = 0x7F if gfx9 else 0x7C
    vector_address = 0 if gfx90a else (1 << 13 if gfx9 else 1 << 55)
    for segment, name in enumerate(("Flat", "Scratch", "Global")):
        controls = [bits(0, 12 if segment == 0 else 13, 0x14)] + ([bits(48, 7, off)] if segment else [])
        extra = vector_address if segment == 1 else 0
        if extra:
            controls.append((extra, extra, None))
        base = 0xDC000000 | segment << (14 if gfx9 else 16)
        # FLAT has no scalar address; the value of its bits then differs by generation.
        for bits_off, c in ((0, controls), (off << 48, controls), (0, [])) if segment == 0 else ((0, controls), (0, [])):
            yield Format(name, "Plain", 8, base | bits_off, (18, 128), [vdst, addr, data0], c, returning=1 << (16 if gfx9 else 14))
    srsrc, soffset = Field("Srsrc", 48, 5, "quad"), Field("Soffset", 56, 8, "soffset")
    vdata = Field("Vdst", 40, 8, "reg")
    modes = [bits(0, 12, 0x14)] + ([bits(12, 1, 1), bits(13, 1)] if gfx9 else [bits(54, 1, 1), bits(55, 1)])
    lds = 1 << 16 if gfx9 else 0
    for base, c in ((0, modes), (0, []), (lds, modes)):
        fields = [addr, vdata, srsrc, soffset]
        yield Format("Mubuf", "Plain", 8, 0xE0000000 | base, (18, 128 if gfx9 else 256), fields, c, returning=1 << 14)


def formats(cpu):
    """Yields every encoding of a processor. If two have the same key, the first one that LLVM accepts is used."""
    gfx9 = cpu != "gfx1100"
    yield from scalar(gfx9)
    yield from vector(gfx9)
    yield from vector3(gfx9)
    if not gfx9:
        yield from dual()
    yield from memory(gfx9, cpu == "gfx90a")
