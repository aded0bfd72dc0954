"""Writes tables as Rust source."""

import re

from names import base

ORDER = ["Sop2", "Sopk", "Sop1", "Sopc", "Sopp", "Smem", "Vop1", "Vop2", "Vopc", "Vop3", "Vop3p", "Vopd", "Ds", "Flat", "Global", "Scratch", "Mubuf"]
FORMS = ["Plain", "Sdwa", "Dpp16", "Dpp8", "X", "Y"]


def stores(name):
    """True for what the data operand of an SMEM or MUBUF instruction is a source of."""
    return re.search(r"_(store|atomic)_", name) is not None


def scalar_destination_is_source(encoding, name):
    """SOPK instructions whose register is read only."""
    return encoding == "Sopk" and re.match(r"s_(cmpk|setreg|waitcnt)", name) is not None


def roles(encoding, name, slots, returns, ties):
    """The slots as Rust, each with what the operand is to the instruction."""
    out, count, seen_dst = [], 0, False
    hidden = []
    for index, (field, classes, dwords) in enumerate(slots):
        classes = " | ".join(classes) or "0"
        if field in ("Imm", "Offset1", "M0"):
            out.append(f"other({field})")
            continue
        if encoding == "Mubuf":
            place = {"Addr": 0, "Vdst": 1, "Srsrc": 2, "Soffset": 3}[field]
            if field == "Vdst" and not stores(name):
                out.append(f"dst(Vdst, {classes}, {dwords})")
                continue
            if field == "Vdst" and "_atomic_" in name:
                hidden.append(f"hidden(Old, Vdst, {classes}, {old_dwords(name, dwords)})")
            out.append(f"src({place}, {field}, {classes}, {dwords})")
        elif encoding == "Smem":
            if field == "Sdst" and stores(name):
                if "_atomic_" in name:
                    hidden.append(f"hidden(Old, Sdst, S, {old_dwords(name, dwords)})")
                out.append(f"src(2, Sdst, S, {dwords})")
            elif field == "Sdst":
                out.append(f"dst(Sdst, S, {dwords})")
            else:
                out.append(f"src(0, {field}, S, {dwords})")
                hidden.append("hidden(Source(1), Soffset, S, 1)")
        elif field == "Vdst" and returns:
            out.append(f"old(Vdst, {classes}, {dwords})")
        elif index == 0 and (field in ("Vdst", "Sdst") or field == "Vcc") and not scalar_destination_is_source(encoding, name):
            seen_dst = True
            out.append(f"dst({field}, {'S' if field != 'Vdst' else classes}, {dwords})")
        elif index == 1 and seen_dst and (field == "Sdst" or field == "Vcc" and encoding != "Vopc" and len(slots) > 2 and slots[2][0] == "Src0"):
            out.append(f"sdst({field}, S, {dwords})")
        else:
            out.append(f"src({count}, {field}, {'S' if field == 'Sdst' else classes}, {dwords})")
            count += 1
    if re.match(r"v_cmpx_", name) and not seen_dst:
        hidden.append("hidden(Dest, Exec, S, 1)")
    if ties:
        hidden.append(f"hidden(Source({count}), {slots[0][0]}, V, {slots[0][2]})")
    return ", ".join(out + hidden)


def old_dwords(name, dwords):
    """Registers that a returning atomic writes: a comparison and exchange takes twice as many."""
    return dwords // 2 if "cmpswap" in name else dwords


def write(path, tables, canonical, ties):
    cpus = list(tables)
    both = len(cpus) > 1
    keys = sorted({k for t in tables.values() for k in t}, key=lambda k: (ORDER.index(k[0]), FORMS.index(k[1]), k[2]))
    patterns, rows = {}, []
    for key in keys:
        versions = {}
        for cpu in cpus:
            if key in tables[cpu]:
                mnemonic, slots, fixed, value, ignored, returns = tables[cpu][key]
                name = canonical(mnemonic)
                text = roles(key[0], base(mnemonic), slots, returns, ties(name))
                versions.setdefault((mnemonic, name, text, fixed, value, ignored), []).append(cpu)
        for (mnemonic, name, text, fixed, value, ignored), on in versions.items():
            pattern = patterns.setdefault(text, f"P{len(patterns)}")
            arch = "ALL" if len(on) == len(cpus) else on[0].upper()
            rows.append(f'    row({arch}, {key[0]}, {key[1]}, {key[2]:#x}, "{mnemonic}", "{name}", {pattern}, {fixed:#x}, {value:#x}, {ignored:#x}),')
    generation = "GFX9 (gfx90a and gfx942)" if both else "GFX11 (gfx1100)"
    with open(path, "w") as f:
        f.write(f"//! The opcodes of {generation}, made by `tables/make_tables.py` from LLVM 19. Not edited by hand.\n\n")
        f.write("use super::row::*;\n\n")
        for text, pattern in patterns.items():
            f.write(f"const {pattern}: &[Slot] = &[{text}];\n")
        f.write("\n/// In the order of encoding, form and opcode.\n")
        f.write(f"pub(super) static ROWS: &[Row] = &[\n" + "\n".join(rows) + "\n];\n")
