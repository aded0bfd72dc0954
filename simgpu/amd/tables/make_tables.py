#!/usr/bin/env python3
"""Generates the opcode tables of the decoder (`../src/isa/table/gfx9.rs`, `gfx11.rs`) from LLVM 19 only.

Usage: make_tables.py [FOLDER]   (libLLVM.so.19.1 must be loadable: Debian's libllvm19)

For every opcode of every encoding, it disassembles a synthetic word with a different register number in each operand field, and reads the operands,
their order and their width from the text. Then it varies the word. Another class of operand in each source field shows what the field may contain.
Each remaining bit is flipped: it must keep its value (`fixed`), has no meaning (`ignored`), or is a modifier of the instruction. The tables therefore
contain everything that LLVM knows about all opcodes, used or not. The output depends only on LLVM's version.
"""

import itertools
import pathlib
import sys

from formats import KINDS, NUMBER, bits, formats
from llvm import LITERAL, Disassembler, register
from names import canonical, ties_destination

CPUS = ("gfx90a", "gfx942", "gfx1100")
LITERALS = {hex(LITERAL): "L", hex(LITERAL & 0xFFFF): "LT"}


def halves(fmt, text):
    """Returns the mnemonic and operands that belong to the format: those of one half for a VOPD, otherwise all."""
    if not fmt.vopd:
        return text.mnemonic, text.operands
    first, second = text.whole.split(" :: ")
    mnemonic, _, rest = (first if fmt.vopd == "X" else second).partition(" ")
    return mnemonic, rest.split(", ")


class Probe:
    """One opcode of one format."""

    def __init__(self, dis, fmt, opcode):
        self.dis, self.fmt = dis, fmt
        self.start = fmt.base | opcode << fmt.op[0]
        self.word = None

    def text(self, word, literal=LITERAL):
        text = self.dis(word, self.fmt.size, literal)
        return text and halves(self.fmt, text)

    def find(self):
        """Searches for operands that make the opcode an instruction; prefers more operands, and vector registers."""
        fmt = self.fmt
        optional = [f for f in fmt.fields if f.name == "Sdst" and fmt.encoding == "Vop3"]
        fields = [f for f in fmt.fields if f not in optional]
        choices = [[c for c in ("V", "S") if c in KINDS[f.kind]] + [None] for f in fields]
        for variant in fmt.variants:
            for returns in (0, fmt.returning) if fmt.returning else (0,):
                for chosen in itertools.product(*choices):
                    word = self.start | variant | returns
                    used = {f.name for f, c in zip(fields, chosen) if c}
                    for mask, value, of in fmt.controls:
                        if of is None or of in used:
                            word |= value
                    for f, c in zip(fields, chosen):
                        word = f.put(word, c)
                    text = self.text(word)
                    if text and self._shown(text[1], fields, chosen):
                        self.word, self.chosen = word, dict(zip((f.name for f in fields), chosen))
                        self.fields = {f.name: f for f in fields}
                        self._flag_destination(optional, text)
                        self._returning()
                        return True
        return False

    def _shown(self, operands, fields, chosen):
        """Whether every field that was given a register appears in the text."""
        numbers = {r[1] for r in map(register, operands) if r}
        return all(c is None or f.put(0, c) == 0 or expected(f, c) in numbers for f, c in zip(fields, chosen))

    def _flag_destination(self, optional, text):
        """Checks whether bits 14:8 of a VOP3 are a scalar destination."""
        for f in optional:
            word = f.put(self.word, "S")
            other = self.text(word)
            if other and any(register(o) and register(o)[:2] == ("s", NUMBER["Sdst"]) for o in other[1]):
                self.word, self.chosen[f.name], self.fields[f.name] = word, "S", f

    def _returning(self):
        """Checks whether the bit that makes an atomic return its old value adds a destination."""
        self.returns = False
        fmt = self.fmt
        if not fmt.returning or self.word & fmt.returning or fmt.encoding == "Mubuf":
            return
        vdst = next((f for f in fmt.fields if f.name == "Vdst"), None)
        if self.chosen.get("Vdst"):
            return
        word = vdst.put(self.word | fmt.returning, "V")
        other = self.text(word)
        if other and expected(vdst, "V") in {r[1] for r in map(register, other[1]) if r}:
            self.word, self.chosen["Vdst"], self.returns = word, "V", True

    def row(self):
        """Returns (mnemonic, slots, fixed mask, fixed value, ignored mask)."""
        mnemonic, operands = self.text(self.word)
        used = {n: self.fields[n] for n, c in self.chosen.items() if c}
        slots, taken = [], set()
        for index, token in enumerate(operands):
            slots.append(self._slot(index, token, used, taken))
        if "offset1:" in self.dis(self.word, self.fmt.size).whole:
            slots.append(("Offset1", "", 0))
        fixed, ignored = self._bits(used, mnemonic, operands)
        return mnemonic, slots, fixed, self.word & fixed, ignored

    def _slot(self, index, token, used, taken):
        found = register(token)
        if found:
            file, number, dwords = found
            for name, f in used.items():
                if expected(f, self.chosen[name]) == number and name not in taken:
                    taken.add(name)
                    classes = file.upper() if file == "a" or f.kind == "reg" and file == "s" else self._classes(index, f)
                    return name, classes, dwords
            raise SystemExit(f"an operand that no field explains: {token} in {self.dis(self.word, self.fmt.size).whole}")
        if token in ("vcc", "vcc_lo"):
            return "Vcc", "S", 2 if token == "vcc" else 1
        if token == "off":
            return "Saddr", "S", 1 if self.fmt.encoding == "Scratch" else 2
        if token in LITERALS and self.fmt.encoding in ("Vop2", "Vopd", "Sopk"):
            return "Literal", LITERALS[token], 1
        if self.fmt.encoding in ("Sopk", "Sopp", "Smem") or token.startswith(("gpr_idx(", "sendmsg(")):
            return "Imm", "", 0
        if token == "exec" or token == "m0":
            return token.capitalize(), "S", 1
        raise SystemExit(f"an operand that is not understood: {token} in {self.dis(self.word, self.fmt.size).whole}")

    def _classes(self, index, f):
        """Returns the classes of operands that a field may contain."""
        out = ""
        for cls in KINDS[f.kind]:
            word = f.put(self.word, cls)
            text = self.text(word)
            if not text or len(text[1]) <= index:
                continue
            if cls == "V" and text[1][index].endswith(".l"):
                cls = "H"
            elif cls == "V" and f.width >= 8 and self.text(word | 0x80 << f.low) is None:
                cls = "W"
            elif cls == "C" and "0x" in (self.text(word & ~f.mask | (240 << f.low | f.scalar_bit)) or ("", [""] * 9))[1][index]:
                cls = "CI"
            elif cls == "L":
                cls = LITERALS.get(text[1][index].strip("|-"), "L")
                if cls == "L" and self._is_written(word, index, 0x10, "0x10"):
                    cls = "LD"
                elif cls == "L" and self._is_written(word, index, 0x3C00, "1.0"):
                    cls = "LP"
                elif cls == "L" and self._is_written(word, index, 0x3F80, "1.0"):
                    cls = "LB"
            out += cls
        return out

    def _is_written(self, word, index, literal, text):
        """Whether LLVM writes a literal as this text."""
        found = self.text(word, literal)
        return found is not None and len(found[1]) > index and found[1][index] == text

    def _bits(self, used, mnemonic, operands):
        """Returns the bits that must keep their value, and the bits without a meaning."""
        fmt = self.fmt
        low, count = fmt.op
        known = ((1 << (count - 1).bit_length()) - 1) << low
        for f in used.values():
            known |= f.mask
        for mask, _, of in fmt.controls:
            if (of is None or self.chosen.get(of)) and not self._lacks_selection(mask):
                known |= mask
        if self.returns:
            known |= fmt.returning
        if fmt.vopd:
            known |= ~sum(f.mask for f in fmt.fields)
        known |= encoding_bits(fmt)
        whole = self.dis(self.word, fmt.size).whole
        fixed = ignored = 0
        for bit in range(fmt.size * 8):
            if known >> bit & 1:
                continue
            flipped = self.dis(self.word ^ 1 << bit, fmt.size)
            same = flipped is not None and flipped.whole == whole
            if flipped is None or halves(fmt, flipped)[0] != mnemonic or self._strict(bit, same, flipped.whole):
                fixed |= 1 << bit
            elif same:
                ignored |= 1 << bit
        return fixed, ignored

    def _lacks_selection(self, mask):
        """Whether the control is an SDWA selection of the destination that the instruction does not have."""
        selection = bits(40, 3)[0] | bits(43, 2)[0]
        destination = self.fmt.form == "Sdwa" and self.fmt.encoding != "Vopc" and mask & selection
        return destination and "dst_sel:" not in self.dis(self.word, self.fmt.size).whole

    def _strict(self, bit, same, flipped):
        """Returns bits that LLVM ignores although the instruction does not have them: op_sel if it has none, the thirteenth bit of FLAT's offset
        (the ISA has twelve), and a negation of integers (which LLVM writes as a sign extension)."""
        encoding = self.fmt.encoding
        return (
            encoding == "Vop3" and 11 <= bit <= 14 and same
            or encoding == "Flat" and bit == 12
            or encoding == "Vop3" and bit >= 61 and "sext(" in flipped
            or self.fmt.form == "Dpp16" and self.fmt.size == 8 and 52 <= bit <= 55 and "sext(" in flipped
        )


def expected(f, cls):
    """Returns the register number that LLVM prints for a field's probe value."""
    return NUMBER[f.name] + (4 if cls == "S" and f.kind in ("src9", "lane") else 0)


def encoding_bits(fmt):
    """Returns the bits that identify the encoding."""
    known = {"Sop2": 0xC0000000, "Sop1": 0xFF800000, "Sopc": 0xFF800000, "Sopk": 0xF0000000, "Sopp": 0xFF800000, "Vop2": 0x80000000,
             "Vopc": 0xFE000000, "Vop1": 0xFE000000, "Vop3": 0xFC000000, "Vop3p": 0xFF800000}.get(fmt.encoding, 0xFC000000)
    if fmt.encoding in ("Flat", "Scratch", "Global"):
        known |= (3 << 14) if fmt.returning == 1 << 16 else (3 << 16)
    if fmt.form in ("Dpp16", "Dpp8", "Sdwa"):
        known |= 0x1FF << 32 if fmt.size == 12 else 0x1FF
    return known


def table(cpu):
    dis, rows = Disassembler(cpu), {}
    for fmt in formats(cpu):
        for opcode in range(fmt.op[1]):
            key = fmt.encoding, fmt.form, opcode
            if key in rows:
                continue
            probe = Probe(dis, fmt, opcode)
            if probe.find():
                rows[key] = probe.row() + (probe.returns,)
    return rows


if __name__ == "__main__":
    from rust import write

    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "../src/isa/table")
    tables = {cpu: table(cpu) for cpu in CPUS}
    write(folder / "gfx9.rs", {c: tables[c] for c in CPUS[:2]}, canonical, ties_destination)
    write(folder / "gfx11.rs", {c: tables[c] for c in CPUS[2:]}, canonical, ties_destination)
