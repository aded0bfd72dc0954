// Matrix products on row-major matrices, by single waves. A lane's place in the fragments is that
// of AMD's ISA documents. Every parameter has 8 bytes.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
typedef unsigned u32;
typedef unsigned long long u64;

DEVICE u32 lane() { return __builtin_amdgcn_workitem_id_x(); }

#ifdef __GFX9__
#define WAVE __attribute__((amdgpu_flat_work_group_size(64, 64)))
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));

// Multiplies 16 x depth by depth x 16, and adds the result to D.
KERNEL WAVE void product_f64(const double* a, const double* b, double* d, u64 depth) {
    u32 at = lane() % 16, group = lane() / 16;
    f64x4 sum;
    for (u32 e = 0; e < 4; e++) sum[e] = d[(4 * e + group) * 16 + at];
    for (u32 k = group; k < depth; k += 4) {
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[at * depth + k], b[k * 16 + at], sum, 0, 0, 0);
    }
    for (u32 e = 0; e < 4; e++) d[(4 * e + group) * 16 + at] = sum[e];
}

// Multiplies 128 x depth by depth x 160. The sums take 320 registers, more than there are vector
// registers.
KERNEL WAVE void product_f32(const float* a, const float* b, float* d, u64 depth) {
    u32 at = lane() % 32, group = lane() / 32;
    f32x16 sums[4][5] = {};
    for (u32 k = group; k < depth; k += 2) {
#pragma unroll
        for (u32 m = 0; m < 4; m++) {
#pragma unroll
            for (u32 n = 0; n < 5; n++) {
                sums[m][n] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[(32 * m + at) * depth + k],
                                                                  b[k * 160 + 32 * n + at], sums[m][n], 0, 0, 0);
            }
        }
    }
#pragma unroll
    for (u32 m = 0; m < 4; m++) {
#pragma unroll
        for (u32 n = 0; n < 5; n++) {
            for (u32 e = 0; e < 16; e++) {
                d[(32 * m + 8 * (e / 4) + 4 * group + e % 4) * 160 + 32 * n + at] = sums[m][n][e];
            }
        }
    }
}

// Multiplies 16 x depth by the transpose of 16 x depth: bytes of a row are in order in a register.
KERNEL WAVE void product_i8(const signed char* a, const signed char* b, int* d, u64 depth) {
    u32 at = lane() % 16, group = lane() / 16;
    i32x4 sum = {1, 2, 3, 4};
#ifdef __gfx942__
    for (u32 k = 8 * group; k < depth; k += 32) {
        sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(*(const long*)(a + at * depth + k), *(const long*)(b + at * depth + k),
                                                    sum, 0, 0, 0);
    }
#else
    for (u32 k = 4 * group; k < depth; k += 16) {
        sum = __builtin_amdgcn_mfma_i32_16x16x16i8(*(const int*)(a + at * depth + k), *(const int*)(b + at * depth + k),
                                                   sum, 0, 0, 0);
    }
#endif
    for (u32 e = 0; e < 4; e++) d[(4 * group + e) * 16 + at] = sum[e];
}

__attribute__((shared)) f32x4 exchanged[64];

// Loads, exchanges through group memory, multiplies and stores without a vector register for data.
KERNEL WAVE void only_accumulation(const f32x4* in, f32x4* out) {
    const f32x4* from = in + lane();
    f32x4* to = out + lane();
    auto place = (__attribute__((address_space(3))) f32x4*)&exchanged[lane()];
    asm volatile(
        "global_load_dwordx4 a[0:3], %0, off\n"
        "s_waitcnt vmcnt(0)\n"
        "ds_write_b128 %2, a[0:3]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "ds_read_b128 a[8:11], %2\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_4x4x1f32 a[8:11], a0, a1, a[8:11]\n"
        "s_nop 15\n"
        "v_accvgpr_mov_b32 a12, a11\n"
        "v_accvgpr_write_b32 a11, 2.0\n"
        "global_store_dwordx4 %1, a[8:11], off\n"
        "global_store_dword %1, a12, off offset:1024\n"
        "s_waitcnt vmcnt(0)\n" ::"v"(from), "v"(to), "v"(place)
        : "a0", "a1", "a2", "a3", "a8", "a9", "a10", "a11", "a12", "memory");
}

// Reads an accumulation register that nothing wrote.
KERNEL WAVE void undefined(u32* out) {
    u32 word;
    asm volatile("v_accvgpr_read_b32 %0, a5" : "=v"(word)::"a5");
    out[lane()] = word;
}

KERNEL WAVE void refused(const f16x4* a, f32x4* d) {
    d[lane()] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[lane()], a[lane()], f32x4{}, 0, 0, 0);
}

KERNEL WAVE void broadcast(const float* a, f32x16* d) {
    d[lane()] = __builtin_amdgcn_mfma_f32_16x16x1f32(a[lane()], a[lane()], f32x16{}, 1, 0, 0);
}
#else
#define WAVE __attribute__((amdgpu_flat_work_group_size(32, 32)))
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));

// Multiplies 16 x depth by the transpose of 16 x depth: signed bytes by unsigned ones.
KERNEL WAVE void product_iu8(const signed char* a, const unsigned char* b, int* d, u64 depth) {
    u32 at = lane() % 16, half = lane() / 16;
    i32x8 sum = {};
    for (u32 k = 0; k < depth; k += 16) {
        sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, *(const i32x4*)(a + at * depth + k), false,
                                                         *(const i32x4*)(b + at * depth + k), sum, false);
    }
    for (u32 e = 0; e < 8; e++) d[(2 * e + half) * 16 + at] = sum[e];
}

KERNEL WAVE void refused(const f16x16* a, f32x8* d) {
    d[lane()] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[lane()], a[lane()], f32x8{});
}
#endif
