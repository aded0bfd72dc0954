"""Debian's rocSPARSE on a simulated AMD GPU: memory, calls and the simulator's findings."""

import ctypes
import json

import numpy as np

HIP = ctypes.CDLL("libamdhip64.so.5")
ROCSPARSE = ctypes.CDLL("librocsparse.so.0")

NONE, TRANSPOSE, CONJUGATE = 111, 112, 113
ROWS, COLUMNS = 0, 1
SYMBOLIC, NUMERIC = 0, 1
LOWER, UPPER = 0, 1
NON_UNIT, UNIT = 0, 1
REUSE = AUTO = 0

# The letter in a function's name, by the type of its values.
LETTERS = {np.float32: "s", np.float64: "d", np.complex64: "c", np.complex128: "z"}


class Wrong(Exception):
    """A call that fails, or a result that is not SciPy's."""


def hip(name, *arguments):
    code = getattr(HIP, name)(*arguments)
    if code != 0:
        raise Wrong(f"{name} returns {code}")


class Buffer:
    """Device memory with the values of an array, freed with the object."""

    def __init__(self, values):
        self.values = np.ascontiguousarray(values)
        self.address = ctypes.c_void_p()
        # An allocation of no bytes is null, which rocSPARSE refuses as a buffer.
        hip("hipMalloc", ctypes.byref(self.address), ctypes.c_size_t(max(self.values.nbytes, 1)))
        source = self.values.ctypes.data_as(ctypes.c_void_p)
        hip("hipMemcpy", self.address, source, ctypes.c_size_t(self.values.nbytes), 1)

    def get(self):
        """Returns the values, which the stream of the call has written."""
        result = np.empty_like(self.values)
        target = result.ctypes.data_as(ctypes.c_void_p)
        hip("hipMemcpy", target, self.address, ctypes.c_size_t(result.nbytes), 2)
        return result

    def __del__(self):
        if self.address:
            HIP.hipFree(self.address)


class Room(Buffer):
    """Device memory that nothing has written."""

    def __init__(self, size, dtype=np.uint8):
        self.values = np.empty(size, dtype)
        self.address = ctypes.c_void_p()
        hip("hipMalloc", ctypes.byref(self.address), ctypes.c_size_t(max(self.values.nbytes, 1)))


def native(argument):
    """Returns an argument as C has it: a number of NumPy becomes a pointer to it on the host."""
    if isinstance(argument, Buffer):
        return argument.address
    if isinstance(argument, np.generic):
        cell = np.array([argument])
        pointer = cell.ctypes.data_as(ctypes.c_void_p)
        pointer.cell = cell
        return pointer
    if isinstance(argument, int):
        return ctypes.c_int(argument)
    return argument


def call(name, *arguments):
    """Calls a function of rocSPARSE and waits for its work."""
    code = getattr(ROCSPARSE, f"rocsparse_{name}")(*[native(argument) for argument in arguments])
    if code != 0:
        raise Wrong(f"rocsparse_{name} returns {code}")
    hip("hipDeviceSynchronize")


def made(name):
    """Returns an object that rocSPARSE makes, such as a descriptor."""
    result = ctypes.c_void_p()
    call(f"create_{name}", ctypes.byref(result))
    return result


def descriptor(base=0, fill=None, diagonal=None):
    result = made("mat_descr")
    for setting, value in [("index_base", base), ("fill_mode", fill), ("diag_type", diagonal)]:
        if value is not None:
            call(f"set_mat_{setting}", result, value)
    return result


def workspace(name, *arguments):
    """Returns the memory that a function asks for."""
    size = ctypes.c_size_t()
    call(name, *arguments, ctypes.byref(size))
    return Room(size.value)


def findings():
    """Returns what the simulator has found since the last question."""
    size = ctypes.c_size_t
    report = HIP.isobit_sim_report
    report.restype = size
    text = ctypes.create_string_buffer(report(None, size(0)) + 65536)
    length = report(text, size(len(text)))
    return json.loads(text.raw[:length])["findings"]
