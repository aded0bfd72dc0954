// Random numbers from Isobit's own generator. Element i is number (offset + i) of a sequence,
// regardless of the launch: a thread makes the numbers of whole generator blocks.
#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"
#include "device_lib/random.cuh"

namespace isobit {

ISOBIT_CONST u32 RANDOM_BLOCK = 256;

// The numbers of block number `at` after the first one.
template <typename T, typename D>
ISOBIT_FN void random_numbers(const PhiloxSequence &sequence, u64 at, const D &distribution, compute_t<T> *to) {
    using Block = RandomBlock<compute_t<T>>;
    distribution.numbers(Block{philox(sequence, at, ~0ull / Block::NUMBERS, Block::STREAM)}, to);
}

// Contiguous elements, aligned to 16 bytes; the first element is the first number of a block.
template <typename T, typename D>
ISOBIT_FN void random_contiguous(T *dst, u64 n, const PhiloxSequence &sequence, const D &distribution) {
    constexpr int NUMBERS = RandomBlock<compute_t<T>>::NUMBERS, WIDTH = pack_size<T>(), BLOCKS = WIDTH / NUMBERS;
    const u64 packs = (n + (WIDTH - 1)) / WIDTH, step = (u64)grid_dim_x() * RANDOM_BLOCK;
#pragma unroll 1
    for (u64 pack = (u64)block_x() * RANDOM_BLOCK + thread_x(); pack < packs; pack += step) {
        compute_t<T> numbers[WIDTH];
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            random_numbers<T>(sequence, pack * BLOCKS + b, distribution, numbers + b * NUMBERS);
        Pack<WIDTH, T> x;
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            x.v[i] = from_compute<T>(numbers[i]);
        const u64 first = pack * WIDTH;
        if (first + WIDTH <= n) {
            store(dst + first, x);
        } else {
#pragma unroll
            for (int i = 0; i < WIDTH; i++)
                if (first + i < n)
                    dst[first + i] = x.v[i];
        }
    }
}

// The positions of a launch over any layout; the host's `Places` in random/mod.rs.
struct RandomPlaces {
    u64 n;
    // Numbers of the first block that come before the first element.
    u32 skip;
    // Nonzero if an index of an element does not fit 31 bits.
    u32 is_long;
    Index<1> index;
};

// Must match ops/random/mod.rs.
static_assert(sizeof(RandomPlaces) == 184);
ISOBIT_LAYOUT(ISOBIT_OFFSET(RandomPlaces, skip) == 8 && ISOBIT_OFFSET(RandomPlaces, index) == 16);

template <typename T, typename D>
ISOBIT_FN void random_strided(T *dst, const RandomPlaces &places, const PhiloxSequence &sequence,
                              const D &distribution) {
    constexpr int NUMBERS = RandomBlock<compute_t<T>>::NUMBERS;
    const u64 blocks = (places.n + places.skip + (NUMBERS - 1)) / NUMBERS, step = (u64)grid_dim_x() * RANDOM_BLOCK;
#pragma unroll 1
    for (u64 block = (u64)block_x() * RANDOM_BLOCK + thread_x(); block < blocks; block += step) {
        compute_t<T> numbers[NUMBERS];
        random_numbers<T>(sequence, block, distribution, numbers);
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) {
            // For numbers of the first block before the first element, this wraps to a value beyond
            // every n.
            const u64 element = block * NUMBERS + i - places.skip;
            if (element < places.n) {
                const u64 at = places.is_long ? offsets_of_long(places.index, element).at[0]
                                              : offsets_of(places.index, (u32)element).at[0];
                dst[at] = from_compute<T>(numbers[i]);
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
        isobit::random_contiguous(dst, n, sequence, distribution);                                                     \
    }
#define ISOBIT_RANDOM_STRIDED(NAME, DISTRIBUTION, T)                                                                   \
    ISOBIT_KERNEL(isobit::RANDOM_BLOCK)                                                                                \
    NAME(isobit::T *dst, isobit::RandomPlaces places, isobit::PhiloxSequence sequence,                                 \
         isobit::DISTRIBUTION<isobit::compute_t<isobit::T>> distribution) {                                            \
        isobit::random_strided(dst, places, sequence, distribution);                                                   \
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
