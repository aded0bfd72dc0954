// HIPRTC's declarations before every program, without those that need the library of device
// functions: qualifiers, coordinates, barriers.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __ISOBIT_LAUNCH_BOUNDS(__VA_ARGS__, 0)
#define __ISOBIT_LAUNCH_BOUNDS(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))

typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

namespace isobit_hiprtc {
// The implicit arguments of code object version 5: numbers of blocks, then the sizes of a block.
static __device__ __forceinline__ unsigned blocks(int axis) {
    return ((const unsigned *)__builtin_amdgcn_implicitarg_ptr())[axis];
}
static __device__ __forceinline__ unsigned threads(int axis) {
    return ((const unsigned short *)__builtin_amdgcn_implicitarg_ptr())[6 + axis];
}
#define ISOBIT_COORDINATES(NAME, X, Y, Z)                                                                              \
    struct NAME {                                                                                                      \
        __device__ __forceinline__ unsigned get_x() const { return X; }                                                \
        __device__ __forceinline__ unsigned get_y() const { return Y; }                                                \
        __device__ __forceinline__ unsigned get_z() const { return Z; }                                                \
        __declspec(property(get = get_x)) unsigned x;                                                                  \
        __declspec(property(get = get_y)) unsigned y;                                                                  \
        __declspec(property(get = get_z)) unsigned z;                                                                  \
    };
ISOBIT_COORDINATES(thread_index, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                   __builtin_amdgcn_workitem_id_z())
ISOBIT_COORDINATES(block_index, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                   __builtin_amdgcn_workgroup_id_z())
ISOBIT_COORDINATES(block_size, threads(0), threads(1), threads(2))
ISOBIT_COORDINATES(grid_size, blocks(0), blocks(1), blocks(2))
#undef ISOBIT_COORDINATES
} // namespace isobit_hiprtc

extern const __device__ __attribute__((weak)) isobit_hiprtc::thread_index threadIdx;
extern const __device__ __attribute__((weak)) isobit_hiprtc::block_index blockIdx;
extern const __device__ __attribute__((weak)) isobit_hiprtc::block_size blockDim;
extern const __device__ __attribute__((weak)) isobit_hiprtc::grid_size gridDim;

static __device__ __forceinline__ void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
static __device__ __forceinline__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
static __device__ __forceinline__ void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
static __device__ __forceinline__ void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
