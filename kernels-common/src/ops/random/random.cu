// Random numbers from Isobit's own generator. Element i is number (offset + i) of a sequence,
// regardless of the launch: a thread makes the numbers of whole generator blocks.
#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"
#include "device_lib/random.cuh"

namespace isobit {

ISOBIT_CONST u32 RANDOM_BLOCK = 256;

// Results that are the drawn numbers, rounded to the dtype.
template <typename T, typename D>
struct Drawn {
    using Distribution = D;
    static constexpr bool READS = false;
    D distribution;

    ISOBIT_METHOD T result(typename D::Number number, T) const { return from_compute<T>(number); }
};

// Results that are the drawn bits.
template <typename T, typename D>
struct Bits {
    using Distribution = D;
    static constexpr bool READS = false;
    D distribution;

    ISOBIT_METHOD T result(T bits, T) const { return bits; }
};

// The elements of a source where the drawn mark is set, times a factor; 0 elsewhere.
template <typename T>
struct Dropout {
    using Distribution = Marks<u32>;
    static constexpr bool READS = true;
    Distribution distribution;
    compute_t<T> scale;

    ISOBIT_METHOD T result(u32 mark, T x) const {
        return from_compute<T>(mark != 0 ? to_compute(x) * scale : (compute_t<T>)0);
    }
};

// Ones where the drawn word is below the source's element times 2^32; 0 elsewhere.
template <typename T>
struct Bernoulli {
    using Distribution = Words;
    static constexpr bool READS = true;
    Distribution distribution;

    ISOBIT_METHOD T result(u32 word, T p) const {
        using C = compute_t<T>;
        const C all = (C)4294967296.0, words = to_compute(p) * all;
        // NaN is not above 0.
        const C below = words > (C)0 ? rint(words < all ? words : all) : (C)0;
        return from_compute<T>(word < (u64)below ? (C)1 : (C)0);
    }
};

// The numbers of block number `at` after the first one.
template <typename D>
ISOBIT_FN void random_numbers(const PhiloxSequence &sequence, u64 at, const D &distribution, typename D::Number *to) {
    using Block = typename D::Block;
    distribution.numbers(Block{philox(sequence, at, ~0ull / Block::NUMBERS, Block::STREAM)}, to);
}

// Elements per step of a thread over contiguous elements: whole packs and whole blocks.
template <typename T, typename F>
ISOBIT_CONST int RANDOM_WIDTH = pack_size<T>() < F::Distribution::Block::NUMBERS ? F::Distribution::Block::NUMBERS
                                                                                 : pack_size<T>();

// Contiguous elements, aligned to 16 bytes; the first element is the first number of a block.
template <typename T, typename F>
ISOBIT_FN void random_contiguous(T *dst, const T *src, u64 n, const PhiloxSequence &sequence, const F &f) {
    using Number = typename F::Distribution::Number;
    constexpr int NUMBERS = F::Distribution::Block::NUMBERS, WIDTH = RANDOM_WIDTH<T, F>, BLOCKS = WIDTH / NUMBERS;
    constexpr int VECTOR = pack_size<T>(), VECTORS = WIDTH / VECTOR;
    const u64 packs = (n + (WIDTH - 1)) / WIDTH, step = (u64)grid_dim_x() * RANDOM_BLOCK;
#pragma unroll 1
    for (u64 pack = (u64)block_x() * RANDOM_BLOCK + thread_x(); pack < packs; pack += step) {
        const u64 first = pack * WIDTH;
        const bool whole = first + WIDTH <= n;
        Pack<VECTOR, T> x[VECTORS] = {};
        if (F::READS) {
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
                if (whole)
                    x[v] = load<VECTOR>(src + first + v * VECTOR);
                else
#pragma unroll
                    for (int i = 0; i < VECTOR; i++)
                        if (first + v * VECTOR + i < n)
                            x[v].v[i] = src[first + v * VECTOR + i];
        }
        Number numbers[WIDTH];
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            random_numbers(sequence, pack * BLOCKS + b, f.distribution, numbers + b * NUMBERS);
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            x[i / VECTOR].v[i % VECTOR] = f.result(numbers[i], x[i / VECTOR].v[i % VECTOR]);
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            if (whole)
                store(dst + first + v * VECTOR, x[v]);
            else
#pragma unroll
                for (int i = 0; i < VECTOR; i++)
                    if (first + v * VECTOR + i < n)
                        dst[first + v * VECTOR + i] = x[v].v[i];
    }
}

// The positions of a launch over any layout; the host's `Places` in random/mod.rs. The index has
// the destination and the source, if there is one.
template <int OPERANDS>
struct RandomPlaces {
    u64 n;
    // Numbers of the first block that come before the first element.
    u32 skip;
    // Nonzero if an index of an element does not fit 31 bits.
    u32 is_long;
    Index<OPERANDS> index;
};

// Must match ops/random/mod.rs.
static_assert(sizeof(RandomPlaces<1>) == 184 && sizeof(RandomPlaces<2>) == 248);
ISOBIT_LAYOUT(ISOBIT_OFFSET(RandomPlaces<1>, skip) == 8 && ISOBIT_OFFSET(RandomPlaces<1>, index) == 16);

template <typename T, int OPERANDS, typename F>
ISOBIT_FN void random_strided(T *dst, const T *src, const RandomPlaces<OPERANDS> &places,
                              const PhiloxSequence &sequence, const F &f) {
    constexpr int NUMBERS = F::Distribution::Block::NUMBERS;
    const u64 blocks = (places.n + places.skip + (NUMBERS - 1)) / NUMBERS, step = (u64)grid_dim_x() * RANDOM_BLOCK;
#pragma unroll 1
    for (u64 block = (u64)block_x() * RANDOM_BLOCK + thread_x(); block < blocks; block += step) {
        typename F::Distribution::Number numbers[NUMBERS];
        random_numbers(sequence, block, f.distribution, numbers);
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) {
            // For numbers of the first block before the first element, this wraps to a value beyond
            // every n.
            const u64 element = block * NUMBERS + i - places.skip;
            if (element < places.n) {
                const Offsets<OPERANDS> at = places.is_long ? offsets_of_long(places.index, element)
                                                            : offsets_of(places.index, (u32)element);
                dst[at.at[0]] = f.result(numbers[i], F::READS ? src[at.at[OPERANDS - 1]] : T{});
            }
        }
    }
}

// Maps the vendor's numbers, uniform in (0, 1], to an interval.
template <typename T>
struct Between {
    Uniform<compute_t<T>> interval;
    ISOBIT_METHOD T operator()(compute_t<T> x) const { return from_compute<T>(interval.at((compute_t<T>)1 - x)); }
};

} // namespace isobit

#define ISOBIT_RANDOM(NAME, DISTRIBUTION, T)                                                                           \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, isobit::u64 n, isobit::PhiloxSequence sequence,                                               \
         isobit::DISTRIBUTION<isobit::compute_t<isobit::T>> distribution) {                                            \
        using namespace isobit;                                                                                        \
        using D = DISTRIBUTION<compute_t<isobit::T>>;                                                                  \
        random_contiguous(dst, dst, n, sequence, Drawn<isobit::T, D>{distribution});                                   \
    }
#define ISOBIT_RANDOM_STRIDED(NAME, DISTRIBUTION, T)                                                                   \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, isobit::RandomPlaces<1> places, isobit::PhiloxSequence sequence,                              \
         isobit::DISTRIBUTION<isobit::compute_t<isobit::T>> distribution) {                                            \
        using namespace isobit;                                                                                        \
        using D = DISTRIBUTION<compute_t<isobit::T>>;                                                                  \
        random_strided(dst, dst, places, sequence, Drawn<isobit::T, D>{distribution});                                 \
    }
#define ISOBIT_RANDOM_MARKS(NAME, T)                                                                                   \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, isobit::u64 n, isobit::PhiloxSequence sequence, isobit::Marks<isobit::T> marks) {             \
        using namespace isobit;                                                                                        \
        random_contiguous(dst, dst, n, sequence, Bits<isobit::T, Marks<isobit::T>>{marks});                            \
    }
#define ISOBIT_RANDOM_MARKS_STRIDED(NAME, T)                                                                           \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, isobit::RandomPlaces<1> places, isobit::PhiloxSequence sequence,                              \
         isobit::Marks<isobit::T> marks) {                                                                             \
        using namespace isobit;                                                                                        \
        random_strided(dst, dst, places, sequence, Bits<isobit::T, Marks<isobit::T>>{marks});                          \
    }
#define ISOBIT_RANDOM_DROPOUT(NAME, T)                                                                                 \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n, isobit::PhiloxSequence sequence,                         \
         isobit::Marks<isobit::u32> marks, isobit::compute_t<isobit::T> scale) {                                       \
        using namespace isobit;                                                                                        \
        random_contiguous(dst, src, n, sequence, Dropout<isobit::T>{marks, scale});                                    \
    }
#define ISOBIT_RANDOM_DROPOUT_STRIDED(NAME, T)                                                                         \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, const isobit::T *src, isobit::RandomPlaces<2> places, isobit::PhiloxSequence sequence,        \
         isobit::Marks<isobit::u32> marks, isobit::compute_t<isobit::T> scale) {                                       \
        using namespace isobit;                                                                                        \
        random_strided(dst, src, places, sequence, Dropout<isobit::T>{marks, scale});                                  \
    }
#define ISOBIT_RANDOM_BERNOULLI(NAME, T)                                                                               \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n, isobit::PhiloxSequence sequence) {                       \
        using namespace isobit;                                                                                        \
        random_contiguous(dst, src, n, sequence, Bernoulli<isobit::T>{});                                              \
    }
#define ISOBIT_RANDOM_BERNOULLI_STRIDED(NAME, T)                                                                       \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, const isobit::T *src, isobit::RandomPlaces<2> places, isobit::PhiloxSequence sequence) {      \
        using namespace isobit;                                                                                        \
        random_strided(dst, src, places, sequence, Bernoulli<isobit::T>{});                                            \
    }
#define ISOBIT_RANDOM_BETWEEN(NAME, T)                                                                                 \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::compute_t<isobit::T> *src, isobit::u64 n,                                       \
         isobit::Uniform<isobit::compute_t<isobit::T>> interval) {                                                     \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T, compute_t<T>>(), 2>(Between<T>{interval}, n, dst, src);                                \
    }
#define ISOBIT_RANDOM_BETWEEN_STRIDED(NAME, T)                                                                         \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::compute_t<isobit::T> *src, isobit::Walk<2> walk,                                \
         isobit::Uniform<isobit::compute_t<isobit::T>> interval) {                                                     \
        using namespace isobit;                                                                                        \
        strided<1, 4>(Indices<0>{}, Between<T>{interval}, walk, dst, src);                                             \
    }
