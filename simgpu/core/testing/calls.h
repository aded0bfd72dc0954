// Kernels with function pointers, virtual calls and recursion, for the tests of both vendors. What
// includes this file defines KERNEL, DEVICE (a function that calls do not inline), CONSTANT,
// VARIABLE, `thread()` and `barrier()`. Every parameter has 8 bytes.
typedef unsigned u32;
typedef unsigned long long u64;
VARIABLE inline void* operator new(decltype(sizeof(0)), void* at) { return at; }

// Tables of functions, in constant and in global memory.
DEVICE u32 triple(u32 x) { return 3 * x + 1; }
DEVICE u32 flip(u32 x) { return x ^ 0x55; }
DEVICE u32 shift(u32 x) { return x + 100; }
typedef u32 (*Function)(u32);
CONSTANT Function constants[3] = {triple, flip, shift};
VARIABLE Function variables[3] = {shift, triple, flip};

KERNEL void tables(u32* out) {
    u32 i = thread();
    out[i] = constants[i % 3](i) + 1000 * variables[i / 3 % 3](i);
}

// Stores a pointer that the next kernel calls.
KERNEL void store_pointer(Function* to, u64 which) { *to = which ? flip : triple; }
KERNEL void call_pointer(u32* out, Function* from) { out[thread()] = (*from)(thread()); }

// Virtual calls of objects that the device makes.
struct Shape {
    VARIABLE virtual float area() const = 0;
    VARIABLE virtual u32 kind() const { return 1; }
};
struct Square : Shape {
    float side;
    VARIABLE Square(float side) : side(side) {}
    VARIABLE float area() const override { return side * side; }
};
struct Rectangle : Shape {
    float width, height;
    VARIABLE Rectangle(float width, float height) : width(width), height(height) {}
    VARIABLE float area() const override { return width * height; }
    VARIABLE u32 kind() const override { return 7; }
};

KERNEL void shapes(float* areas, u32* kinds, char* memory) {
    u32 i = thread();
    if (i % 3 == 0)
        new (memory + 32 * i) Square(i);
    else
        new (memory + 32 * i) Rectangle(i, 2);
    barrier();
    const Shape* shape = (const Shape*)(memory + 32 * (i ^ 1));
    areas[i] = shape->area();
    kinds[i] = shape->kind();
}

// Recursion: of one function, of two, with values that live across calls, of arrays on the stack.
DEVICE u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
DEVICE u32 ackermann(u32 m, u32 n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
DEVICE u32 odd(u32 n);
DEVICE u32 even(u32 n) { return n == 0 ? 1 : odd(n - 1) * 3 + n; }
DEVICE u32 odd(u32 n) { return n == 0 ? 0 : even(n - 1) * 5 + n; }

KERNEL void recursion(u32* out) {
    u32 i = thread();
    out[3 * i] = fibonacci(i % 12);
    out[3 * i + 1] = ackermann(i % 3, i % 4);
    out[3 * i + 2] = even(i % 9);
}

DEVICE void quicksort(u32* a, int low, int high) {
    if (low >= high) return;
    u32 pivot = a[high];
    int i = low;
    for (int j = low; j < high; ++j) {
        if (a[j] < pivot) {
            u32 t = a[i];
            a[i] = a[j], a[j] = t;
            ++i;
        }
    }
    u32 t = a[i];
    a[i] = a[high], a[high] = t;
    quicksort(a, low, i - 1);
    quicksort(a, i + 1, high);
}

KERNEL void sort(u32* values) {
    u32 own[16];
    u32* mine = values + 16 * thread();
    for (u32 j = 0; j < 16; ++j) own[j] = mine[j];
    quicksort(own, 0, 15);
    for (u32 j = 0; j < 16; ++j) mine[j] = own[j];
}

// A binary tree: an element is its left child, its right child (0 for none) and its value.
DEVICE u32 walk(const u32* tree, u32 at) {
    if (at == 0) return 0;
    u32 left = walk(tree, tree[3 * at]), right = walk(tree, tree[3 * at + 1]);
    return 31 * left + 17 * right + tree[3 * at + 2];
}
KERNEL void tree(u32* out, const u32* tree, u64 count) { out[thread()] = walk(tree, 1 + thread() % count); }

// A structure by value, and a vector.
struct Six {
    u32 v[6];
};
DEVICE Six turned(Six s, u32 depth) {
    if (depth == 0) return s;
    Six t;
    for (u32 i = 0; i < 6; ++i) t.v[i] = s.v[(i + 1) % 6] + depth;
    Six below = turned(t, depth - 1);
    return below.v[0] & 1 ? turned(t, depth / 2) : below;
}
typedef float float4 __attribute__((ext_vector_type(4)));
DEVICE float4 doubled(float4 a, u32 n) { return n == 0 ? a : doubled(2.0f * a + 1.0f, n - 1) + a; }

KERNEL void values(u32* out, float4* vectors) {
    u32 i = thread();
    Six s;
    for (u32 j = 0; j < 6; ++j) s.v[j] = i + j;
    s = turned(s, i % 5);
    for (u32 j = 0; j < 6; ++j) out[6 * i + j] = s.v[j];
    vectors[i] = doubled(float4{(float)i, 2, 3, 4}, i % 5);
}

// 128 bytes of stack for each call.
DEVICE u32 deep(u32 n, const u32* from) {
    u32 own[32];
    for (u32 i = 0; i < 32; ++i) own[i] = from[i] + n;
    return n == 0 ? own[3] : deep(n - 1, own) + own[n % 32];
}
KERNEL void depth(u32* out, const u32* from, u64 n) {
    out[thread()] = thread() == 5 ? deep((u32)n, from) : deep(1, from);
}
// The variable keeps a compiler from turning the recursion into a loop.
DEVICE u32 forever(u32 n) {
    volatile u32 own[2];
    own[n % 2] = n;
    u32 below = n == 0xffffffff ? 0 : forever(n + 1);
    return below + own[n % 2];
}
KERNEL void endless(u32* out) { out[thread()] = forever(thread()); }

KERNEL void call_value(u32* out, u64 value) { out[thread()] = ((Function)value)(1); }
