"""A program that knows nothing of the simulator: prints the cards that it gets, then does what its
arguments say: `race`, `wild` (a store far outside an allocation), or a number to end with."""

import ctypes
import os
import sys


def check(code):
    if code:
        sys.exit(f"a call failed with {code}")


def result(function, kind, *arguments):
    value = kind()
    check(function(ctypes.byref(value), *arguments))
    return value


def launch(name, blocks, address):
    function = result(cuda.cuModuleGetFunction, ctypes.c_void_p, module, name)
    argument = ctypes.c_uint64(address)
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(argument), ctypes.c_void_p))
    check(cuda.cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, None, arguments, None))


def open_library(name):
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


cuda, hip = open_library("libcuda.so.1"), open_library("libamdhip64.so")
if hip:
    print("rocm", result(hip.hipGetDeviceCount, ctypes.c_int).value)
if cuda:
    check(cuda.cuInit(0))
    count = result(cuda.cuDeviceGetCount, ctypes.c_int).value
    major = [result(cuda.cuDeviceGetAttribute, ctypes.c_int, 75, card).value for card in range(count)]
    print("cuda", count, *major)
    context = result(cuda.cuDevicePrimaryCtxRetain, ctypes.c_void_p, 0)
    check(cuda.cuCtxSetCurrent(context))
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "../../nvidia/cuda/tests/findings.ptx"), "rb") as ptx:
        module = result(cuda.cuModuleLoadData, ctypes.c_void_p, ptx.read() + b"\0")
    address = result(cuda.cuMemAlloc_v2, ctypes.c_uint64, ctypes.c_size_t(400)).value
for action in sys.argv[1:]:
    if action == "race":
        launch(b"race", 2, address)
    elif action == "wild":
        launch(b"poke", 1, address + (64 << 20))
    else:
        sys.exit(int(action))
    print("status", cuda.cuCtxSynchronize())
