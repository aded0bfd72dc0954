// Kernels that print: those of both vendors, and some that call the host in other ways. Without
// STAND_IN, they are linked with ROCm's device library.
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))

DEVICE int thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE int block() { return __builtin_amdgcn_workgroup_id_x(); }

#include "../../core/testing/printing.h"

#ifdef STAND_IN
#include "printing_library.h"

KERNEL void call(u64 service, u64 function, u64* out) {
    out[thread()] = call_host(service, function, thread(), 2, 3, 4, 5, 6, 7);
}

// To the standard error, which HIP's own fprintf to stderr asks for.
KERNEL void to_error(u64 control, u64* out) {
    u64 descriptor = __ockl_printf_begin(control);
    out[0] = __ockl_printf_append_string_n(descriptor, "told\n", 6, 1);
}

KERNEL void not_begun(u64 number) { __ockl_printf_append_args(number << 8, 1, 0, 0, 0, 0, 0, 0, 0, 1); }

KERNEL void beyond() { ((char*)implicit_argument(10))[-1] = 5; }
#endif

KERNEL void null_string() { printf("[%s]\n", (const char*)0); }

KERNEL void fewer_arguments() { printf("%d and %d\n", 5); }

// A string of any length, in one message.
KERNEL void long_string(const char* text) { printf("<%s>\n", text); }

KERNEL void fails_after_printing() {
    printf("last words\n");
    __builtin_trap();
}
