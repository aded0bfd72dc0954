// Kernels as users write them for NVRTC; they use no code of this repository.

typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void saxpy(float a, const float* x, float* y, u32 n) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(a, x[i], y[i]);
}

// Sums with warps, shared memory and one atomic per block.
__device__ int warp_sum(int x) {
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_down_sync(0xffffffff, x, distance);
    return x;
}

extern "C" __global__ void sum(const int* in, int* out, u32 n) {
    __shared__ int partial[32];
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = warp_sum(i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(out, x);
    }
}

// Multiplies square matrices in tiles of 16.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, u32 n) {
    __shared__ float left[16][16], right[16][17];
    u32 row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (u32 k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (u32 i = 0; i < 16; ++i) sum = fmaf(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// Builds a histogram in shared memory, whose size the launch sets, then in global memory.
extern "C" __global__ void histogram(const unsigned char* in, u32* bins, u32 n) {
    extern __shared__ u32 counts[];
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[in[i]], 1);
    __syncthreads();
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x)
        if (counts[i]) atomicAdd(&bins[i], counts[i]);
}

// Converts to half precision and back, without the toolkit's headers.
extern "C" __global__ void halves(const float* in, unsigned short* half, unsigned short* twice, float* back, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short h, d;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(in[i]));
    asm("add.rn.f16 %0, %1, %1;" : "=h"(d) : "h"(h));
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(d));
    half[i] = h;
    twice[i] = d;
    back[i] = f;
}

extern "C" __global__ void transpose(const float* in, float* out, u32 rows, u32 columns) {
    __shared__ float tile[32][33];
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (u32 j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (u32 j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Computes the running sums of each block's part with upward shuffles.
extern "C" __global__ void scan(const u32* in, u32* out) {
    __shared__ u32 sums[32];
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 x = in[i];
    for (u32 distance = 1; distance < 32; distance *= 2) {
        u32 other = __shfl_up_sync(0xffffffff, x, distance);
        if (lane >= distance) x += other;
    }
    if (lane == 31) sums[warp] = x;
    __syncthreads();
    for (u32 w = 0; w < warp; ++w) x += sums[w];
    out[i] = x;
}

// Keeps the odd values, in order within a warp: votes, counts, one atomic per warp.
extern "C" __global__ void compact(const u32* in, u32* out, u32* count, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && in[i] % 2;
    u32 kept = __ballot_sync(0xffffffff, keep), base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(0xffffffff, base, 0);
    if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[i];
}

// Calls library functions, which use approximate instructions, tables and local memory.
extern "C" __global__ void functions(const float* in, float* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    out[i] = expf(x);
    out[n + i] = sinf(1e6f * x);
    out[2 * n + i] = logf(fabsf(x) + 0.25f);
    out[3 * n + i] = powf(fabsf(x) + 0.25f, 1.7f);
    out[4 * n + i] = tanhf(x);
    out[5 * n + i] = x / 3.0f + sqrtf(fabsf(x));
    out[6 * n + i] = rsqrtf(fabsf(x) + 1.0f);
    out[7 * n + i] = erff(x);
}

extern "C" __global__ void doubles(const double* in, double* out, double* total, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i];
    out[i] = sqrt(x) / (x + 1.0);
    out[n + i] = exp(-x);
    atomicAdd(total, floor(x));
}

// A switch that becomes a branch table, function calls, a structure passed by value.
struct Range {
    int low, high;
    double step;
};

__device__ __noinline__ int steps(Range range) { return (int)((range.high - range.low) / range.step); }

__device__ __noinline__ int choose(int which, int x) {
    switch (which) {
        case 0: return x + 1;
        case 1: return x * 3;
        case 2: return x - 7;
        case 3: return -x;
        case 4: return x / 5;
        case 5: return x % 5;
        case 6: return x << 3;
        case 7: return x >> 2;
        case 8: return x ^ 0x55;
        default: return 0;
    }
}

extern "C" __global__ void calls(const int* in, int* out, Range range, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = choose(i % 11, in[i]) + steps(range);
}

// Groups of equal values in a warp: their number, and the first lane of each.
extern "C" __global__ void groups(const u32* in, u32* out) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 same = __match_any_sync(0xffffffff, in[i]);
    int all;
    __match_all_sync(0xffffffff, in[i], &all);
    u32 most = __reduce_max_sync(0xffffffff, in[i]);
    out[4 * i] = __popc(same);
    out[4 * i + 1] = __ffs(same) - 1;
    out[4 * i + 2] = all;
    out[4 * i + 3] = most;
}

__constant__ u32 factors[4] = {2, 3, 5, 7};
__device__ u32 offset = 11;

// Constants, a module variable, bit operations, wide integers, an array with a run-time index.
extern "C" __global__ void integers(const u64* in, u64* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 x = in[i], parts[6];
    parts[0] = x / (i + 3);
    parts[1] = x % (i + 3);
    parts[2] = __clzll(x) | (u64)__brev((u32)x) << 32;
    parts[3] = __byte_perm((u32)x, (u32)(x >> 32), 0x3607);
    parts[4] = __umul64hi(x, 0x9e3779b97f4a7c15ull);
    parts[5] = __funnelshift_l((u32)x, (u32)(x >> 32), i) + (u64)factors[i % 4] * offset;
    u64 mixed = 0;
    for (u32 k = 0; k < 6; ++k) mixed = mixed * 31 + parts[(i + k) % 6];
    out[i] = mixed;
}

// A lock with compare-and-swap, for which threads of one warp and of several blocks contend.
extern "C" __global__ void locked(u32* lock, volatile u32* total) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *total = *total + threadIdx.x + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// NVRTC loads the last three of seven aligned elements as four.
extern "C" __global__ void last_three(const float* __restrict__ seven, float* __restrict__ out) {
    const float* s = (const float*)__builtin_assume_aligned(seven, 16);
    for (int i = 0; i < 3; ++i) out[i] = s[4 + i];
}

extern "C" __global__ void last_three_shared(const float* seven, float* out) {
    __shared__ __align__(16) float s[7];
    if (threadIdx.x < 7) s[threadIdx.x] = seven[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; ++i) out[i] = s[4 + i];
    }
}
