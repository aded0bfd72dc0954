// Function pointers, virtual calls and recursion.
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define DEVICE __attribute__((device)) __attribute__((noinline))
#define CONSTANT __attribute__((constant))
#define VARIABLE __attribute__((device))
VARIABLE inline unsigned thread() { return __builtin_amdgcn_workitem_id_x(); }
VARIABLE inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#include "../../core/testing/calls.h"
