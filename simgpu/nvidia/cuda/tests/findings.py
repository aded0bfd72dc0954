"""Stores far outside an allocation on a simulated card, between writes to a buffered output."""

import ctypes
import os
import sys

cuda = ctypes.CDLL(sys.argv[1])
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "findings.ptx")


def check(code):
    if code:
        sys.exit(f"a call failed with {code}")


def result(function, kind, *arguments):
    value = kind()
    check(function(ctypes.byref(value), *arguments))
    return value


check(cuda.cuInit(0))
context = result(cuda.cuDevicePrimaryCtxRetain, ctypes.c_void_p, 0)
check(cuda.cuCtxSetCurrent(context))
with open(source, "rb") as ptx:
    module = result(cuda.cuModuleLoadData, ctypes.c_void_p, ptx.read() + b"\0")
poke = result(cuda.cuModuleGetFunction, ctypes.c_void_p, module, b"poke")
address = result(cuda.cuMemAlloc_v2, ctypes.c_uint64, ctypes.c_size_t(400))
for line in range(10_000):
    print("line", line)
argument = ctypes.c_uint64(address.value + (64 << 20))
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(argument), ctypes.c_void_p))
check(cuda.cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
for line in range(10_000, 20_000):
    print("line", line)
print("status", cuda.cuCtxSynchronize())
sys.exit(5)
