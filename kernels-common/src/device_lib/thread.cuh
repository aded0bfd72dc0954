// Thread and block positions, and barriers, under the same names on every target: barrier() is one
// of the block, team_barrier() one of 32 neighbours, which are of one warp on every target.
#pragma once

#include "device_lib/base.cuh"

// Declares a kernel for blocks of up to BLOCK threads. The second form asks the compiler, if it
// supports this, to limit registers so that BLOCKS blocks fit on a multiprocessor.
#if defined(__AMDGCN__)
// Without the second attribute clang assumes blocks of 1,024 threads and limits registers
// accordingly, also with launch_bounds.
#define ISOBIT_KERNEL(BLOCK)                                                                                           \
    extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, BLOCK))) void
#define ISOBIT_KERNEL_RESIDENT(BLOCK, BLOCKS) ISOBIT_KERNEL(BLOCK)
#elif defined(__clang__)
#define ISOBIT_KERNEL(BLOCK) extern "C" __global__ __attribute__((launch_bounds(BLOCK))) void
#define ISOBIT_KERNEL_RESIDENT(BLOCK, BLOCKS) extern "C" __global__ __attribute__((launch_bounds(BLOCK, BLOCKS))) void
#else
#define ISOBIT_KERNEL(BLOCK) extern "C" __global__ __launch_bounds__(BLOCK) void
#define ISOBIT_KERNEL_RESIDENT(BLOCK, BLOCKS) extern "C" __global__ __launch_bounds__(BLOCK, BLOCKS) void
#endif

namespace isobit {

#if defined(__AMDGCN__)
// The implicit kernel arguments of code object version 5: block counts and sizes. The builtin for
// the grid size would do a division.
ISOBIT_FN u32 implicit_u32(int i) { return ((const u32 *)__builtin_amdgcn_implicitarg_ptr())[i]; }
ISOBIT_FN u32 implicit_u16(int i) { return ((const u16 *)__builtin_amdgcn_implicitarg_ptr())[i]; }
ISOBIT_FN u32 thread_x() { return __builtin_amdgcn_workitem_id_x(); }
ISOBIT_FN u32 thread_y() { return __builtin_amdgcn_workitem_id_y(); }
ISOBIT_FN u32 block_x() { return __builtin_amdgcn_workgroup_id_x(); }
ISOBIT_FN u32 block_y() { return __builtin_amdgcn_workgroup_id_y(); }
ISOBIT_FN u32 block_z() { return __builtin_amdgcn_workgroup_id_z(); }
ISOBIT_FN u32 grid_dim_x() { return implicit_u32(0); }
ISOBIT_FN u32 grid_dim_y() { return implicit_u32(1); }
ISOBIT_FN u32 grid_dim_z() { return implicit_u32(2); }
ISOBIT_FN u32 block_dim_x() { return implicit_u16(6); }
ISOBIT_FN u32 block_dim_y() { return implicit_u16(7); }
ISOBIT_FN void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
ISOBIT_FN void team_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
#elif defined(__clang__)
ISOBIT_FN u32 thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
ISOBIT_FN u32 thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
ISOBIT_FN u32 block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
ISOBIT_FN u32 block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
ISOBIT_FN u32 block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
ISOBIT_FN u32 grid_dim_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
ISOBIT_FN u32 grid_dim_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
ISOBIT_FN u32 grid_dim_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
ISOBIT_FN u32 block_dim_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
ISOBIT_FN u32 block_dim_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
ISOBIT_FN void barrier() { __syncthreads(); }
ISOBIT_FN void team_barrier() { __nvvm_bar_warp_sync(0xffffffffu); }
#else
ISOBIT_FN u32 thread_x() { return threadIdx.x; }
ISOBIT_FN u32 thread_y() { return threadIdx.y; }
ISOBIT_FN u32 block_x() { return blockIdx.x; }
ISOBIT_FN u32 block_y() { return blockIdx.y; }
ISOBIT_FN u32 block_z() { return blockIdx.z; }
ISOBIT_FN u32 grid_dim_x() { return gridDim.x; }
ISOBIT_FN u32 grid_dim_y() { return gridDim.y; }
ISOBIT_FN u32 grid_dim_z() { return gridDim.z; }
ISOBIT_FN u32 block_dim_x() { return blockDim.x; }
ISOBIT_FN u32 block_dim_y() { return blockDim.y; }
ISOBIT_FN void barrier() { __syncthreads(); }
ISOBIT_FN void team_barrier() { __syncwarp(); }
#endif

} // namespace isobit
