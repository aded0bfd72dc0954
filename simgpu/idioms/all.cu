// All idioms in one module, so that each card needs one compilation.
#include "atomics.cu"
#include "flags.cu"
#include "scans.cu"
#include "reductions.cu"
#include "tiles.cu"
