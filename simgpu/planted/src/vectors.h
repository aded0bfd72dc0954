// What the kernels of `program.rs` need besides the idioms' `shim.h`.
typedef unsigned char u8;
typedef unsigned short u16;
typedef long long i64;
#define VECTOR(e, w) typedef e e##x##w __attribute__((ext_vector_type(w)))
VECTOR(u8, 2);
VECTOR(u8, 4);
VECTOR(u16, 2);
VECTOR(u16, 4);
VECTOR(u32, 2);
VECTOR(u32, 4);
VECTOR(u64, 2);
template <typename V> DEVICE u64 all(V x) {
    u64 sum = 0;
    for (u32 i = 0; i < sizeof(V) / sizeof(x[0]); ++i) sum += x[i];
    return sum;
}
// Without it, the compiler removes loads of shared memory that no thread stores to, which would
// then say nothing about the checks.
DEVICE void escape(const void* p) {
#ifdef __NVPTX__
    asm volatile("" ::"l"(p) : "memory");
#else
    asm volatile("" ::"v"(p) : "memory");
#endif
}
// Without it, the compiler knows which accesses of a thread are to the same element. It then keeps
// values in registers, narrows accesses, and changes their order, as it may between barriers.
DEVICE i64 opaque(i64 index) {
#ifdef __NVPTX__
    asm volatile("" : "+l"(index));
#else
    asm volatile("" : "+v"(index));
#endif
    return index;
}
