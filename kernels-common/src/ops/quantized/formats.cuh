// Includes every format.
#pragma once

#include "ops/quantized/fp4.cuh"
#include "ops/quantized/iq1.cuh"
#include "ops/quantized/iq2.cuh"
#include "ops/quantized/iq3.cuh"
#include "ops/quantized/iq4.cuh"
#include "ops/quantized/k_quants.cuh"
#include "ops/quantized/legacy_quants.cuh"
#include "ops/quantized/ternary.cuh"
