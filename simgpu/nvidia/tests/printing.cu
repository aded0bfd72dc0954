// Kernels that print: those of both vendors, and some for CUDA's rules.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))

DEVICE int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int block() { return __nvvm_read_ptx_sreg_ctaid_x(); }

#include "../../core/testing/printing.h"

extern "C" __attribute__((device)) int vprintf(const char*, const char*);

// A call has 32 arguments at most.
KERNEL void too_many(int* out) {
    out[0] = printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d "
                    "%d %5.2f %s end\n",
                    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                    28, 29, 30, 31, 32, 33, 34.0, "35");
}

KERNEL void no_format(int* out) { out[thread()] = vprintf((const char*)0, (const char*)0); }

KERNEL void unreadable_format(const char* format, int* out) { out[0] = vprintf(format, (const char*)0); }

KERNEL void unreadable_string(const char* text, int* out) { out[0] = printf("before %s after %d\n", text, 5); }

KERNEL void null_string(int* out) { out[0] = printf("%s|%.2s|%8s\n", (const char*)0, "abc", (const char*)0); }

KERNEL void not_conversions() { printf("%y %d %", 5); }

KERNEL void shared_string() {
    static __attribute__((shared)) char text[64];
    if (thread() < 26) text[thread()] = (char)('a' + thread());
    if (thread() == 26) text[26] = 0;
    __syncthreads();
    if (thread() == 40) printf("%s\n", text);
}
