"""LLVM's AMDGPU disassembler, used through its C interface, and the parser of its text."""

import ctypes
import re

_LLVM = None
LITERAL = 0x12345678  # follows every probe


def _library():
    global _LLVM
    if _LLVM is None:
        _LLVM = ctypes.CDLL("libLLVM.so.19.1")
        for part in ("TargetInfo", "TargetMC", "Disassembler"):
            getattr(_LLVM, "LLVMInitializeAMDGPU" + part)()
        create, run = _LLVM.LLVMCreateDisasmCPU, _LLVM.LLVMDisasmInstruction
        create.restype = ctypes.c_void_p
        create.argtypes = [ctypes.c_char_p] * 2 + [ctypes.c_void_p, ctypes.c_int] + [ctypes.c_void_p] * 2
        run.restype = ctypes.c_size_t
        run.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
    return _LLVM


class Text:
    """A disassembled instruction: its mnemonic, its operands, and the whole text."""

    def __init__(self, text):
        self.whole = text
        self.mnemonic, _, rest = text.partition(" ")
        self.operands = _split(rest)


def _split(rest):
    """Returns the operands of an instruction, without the modifiers after the last one."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(rest):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(rest[start:i])
            start = i + 1
    parts.append(rest[start:])
    first = [p.strip().split(" ")[0] for p in parts if p.strip()]
    return [p for p in first if not re.match(r"[a-z]\w*:", p)]


class Disassembler:
    """The disassembler of one processor."""

    def __init__(self, cpu):
        self._run = _library().LLVMDisasmInstruction
        self._context = _library().LLVMCreateDisasmCPU(b"amdgcn-amd-amdhsa", cpu.encode(), None, 0, None, None)
        self._text = ctypes.create_string_buffer(512)

    def __call__(self, word, size, literal=LITERAL):
        """Returns the text of `size` bytes of `word` (followed by literals), or None if they are not an instruction."""
        data = word.to_bytes(size, "little") + literal.to_bytes(4, "little") * 3
        count = self._run(self._context, data, len(data), 0, self._text, 512)
        text = self._text.value.decode().strip().replace("\t", " ")
        if count < size or not text or "/*" in text or "Invalid" in text or text.startswith("v_illegal"):
            return None
        return Text(text)


REGISTER = re.compile(r"^(?:sext\()?[-|]*([vsa])(?:\[(\d+):(\d+)\]|(\d+)(?:\.l)?)\|?\)?$")


def register(token):
    """Returns (file, number, dwords) of a register operand, or None."""
    match = REGISTER.match(token)
    if not match:
        return None
    first = int(match[2] or match[4])
    return match[1], first, int(match[3] or first) - first + 1
