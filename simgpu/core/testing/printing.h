// Kernels that print, for both vendors. Each source of tests defines KERNEL, DEVICE, thread() and
// block(), and includes this file. Every parameter has 8 bytes.
typedef unsigned long long u64;
extern "C" __attribute__((device)) int printf(const char*, ...);

// `core/testing/printing.rs` has the same calls for the C library.
KERNEL void conversions(const char* text) {
    printf("%d|%5d|%-5d|%+d|% d|%05d|%i|%.4d\n", 42, 42, 42, 42, 42, 42, -7, 42);
    printf("%u|%o|%#o|%x|%X|%#x|%#X|%#010x\n", 4000000000u, 8u, 8u, 255u, 255u, 255u, 255u, 255u);
    printf("%hd|%hhd|%hu|%ld|%lld|%llu|%lx|%zu\n", (short)-5, (signed char)-3, (unsigned short)65535, 1L << 40,
           -(1LL << 40), ~0ULL, 0xabcdef0123456789UL, (unsigned long)7);
    printf("%f|%.2f|%10.3f|%-10.1f|%+.1f|% .1f|%010.2f\n", 3.14159, 3.14159, 3.14159, 3.14159, 3.14159, 3.14159, -3.14159);
    printf("%e|%.0E|%#.0e|%g|%G|%#g|%g\n", 12345.678, 12345.678, 12345.678, 0.0001, 1e-10, 1.0, 1e20);
    printf("%a|%A|%.1a|%f|%F|%e|%5.1f\n", 1.0, 0.5, 3.14, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 2.5f);
    printf("%c|%5c|%-3c|%c%c\n", 'x', 'y', 'z', 'o', 'k');
    printf("%s|%10s|%-10s|%.3s|%10.2s|\n", text, text, text, text, text);
    printf("%*d|%-*d|%.*f|%*.*f|%*d|%.*d|%.*s\n", 6, 42, 6, 42, 2, 3.14159, 8, 3, 2.71828, -6, 42, -1, 42, 2, text);
    printf("100%%|%5s|%p|%20p\n", "a", (void*)0x1234, (void*)0x1234);
    printf("no arguments\n");
    printf("");
    printf("after an empty format\n");
}

// Three lines for each thread of two dimensions of numbers.
KERNEL void lines(u64 count) {
    for (u64 line = 0; line < count; line++) printf("block %d thread %d line %llu.\n", block(), thread(), line);
}

// Only some threads of a wave print, and not the same ones with each format.
KERNEL void divided() {
    if (thread() % 3 == 0) printf("three %d\n", thread());
    else if (thread() % 3 == 1) printf("one %d of %s\n", thread(), "some");
    if (thread() > 5) return;
    printf("all %d\n", thread());
}

// A string, and a format, that the kernel makes. HIP passes strings only if the compiler knows the
// format.
KERNEL void made(u64 letter) {
    char format[8], text[8];
    for (int i = 0; i < 5; i++) text[i] = (char)(letter + i + thread());
    text[5] = 0;
    printf("<%s>\n", text);
    const char* parts = "(%d)\n";
    for (int i = 0; i < 6; i++) format[i] = *(const volatile char*)(parts + i);
    printf(format, thread());
}

// The results of printf.
KERNEL void results(int* out, const char* text) {
    out[0] = printf("nothing\n");
    out[1] = printf("%d %s\n", 12, text);
    out[2] = printf("%*.*f\n", 7, 2, 1.0);
}
