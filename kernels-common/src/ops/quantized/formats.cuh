// Every format.
#pragma once

#include "ops/quantized/blocks_256.cuh"
#include "ops/quantized/blocks_32.cuh"
