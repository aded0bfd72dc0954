// Includes every format.
#pragma once

#include "ops/quantized/k_quants.cuh"
#include "ops/quantized/legacy_quants.cuh"
