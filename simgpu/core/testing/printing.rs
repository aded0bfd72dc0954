//! What the kernels of `printing.h` print, by the C library's `snprintf`. Each test program
//! includes this file.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    fn snprintf(to: *mut c_char, room: usize, format: *const c_char, ...) -> c_int;
}

/// The text that the kernels get.
pub const TEXT: &[u8] = b"letters\0";

/// Formats with the C library.
macro_rules! c {
    ($format:literal $(, $argument:expr)* $(,)?) => {{
        let format = CString::new($format).expect("no NUL");
        let mut text = vec![0u8; 4096];
        // SAFETY: the arguments below have the types of their conversions, and there is room.
        let length = unsafe { snprintf(text.as_mut_ptr().cast(), text.len(), format.as_ptr() $(, $argument)*) };
        text.truncate(length as usize);
        text
    }};
}

/// Returns the texts of `conversions`, one for each call.
#[expect(clippy::approx_constant, reason = "the kernels print these numbers")]
pub fn conversions() -> Vec<Vec<u8>> {
    let text = TEXT.as_ptr();
    let pi = 3.14159f64;
    let pointer = 0x1234usize as *const u8;
    vec![
        c!("%d|%5d|%-5d|%+d|% d|%05d|%i|%.4d\n", 42, 42, 42, 42, 42, 42, -7, 42),
        c!("%u|%o|%#o|%x|%X|%#x|%#X|%#010x\n", 4_000_000_000u32, 8, 8, 255, 255, 255, 255, 255),
        c!(
            "%hd|%hhd|%hu|%ld|%lld|%llu|%lx|%zu\n",
            -5,
            -3,
            65535,
            1i64 << 40,
            -(1i64 << 40),
            u64::MAX,
            0xabcd_ef01_2345_6789u64,
            7u64,
        ),
        c!("%f|%.2f|%10.3f|%-10.1f|%+.1f|% .1f|%010.2f\n", pi, pi, pi, pi, pi, pi, -pi),
        c!("%e|%.0E|%#.0e|%g|%G|%#g|%g\n", 12345.678, 12345.678, 12345.678, 0.0001, 1e-10, 1.0, 1e20),
        c!("%a|%A|%.1a|%f|%F|%e|%5.1f\n", 1.0, 0.5, 3.14, f64::INFINITY, -f64::INFINITY, f64::NAN, 2.5),
        c!("%c|%5c|%-3c|%c%c\n", c_int::from(b'x'), c_int::from(b'y'), c_int::from(b'z'), 0x6f, 0x6b),
        c!("%s|%10s|%-10s|%.3s|%10.2s|\n", text, text, text, text, text),
        c!("%*d|%-*d|%.*f|%*.*f|%*d|%.*d|%.*s\n", 6, 42, 6, 42, 2, pi, 8, 3, 2.71828, -6, 42, -1, 42, 2, text),
        c!("100%%|%5s|%p|%20p\n", c"a".as_ptr(), pointer, pointer),
        b"no arguments\n".to_vec(),
        Vec::new(),
        b"after an empty format\n".to_vec(),
    ]
}

/// Checks the texts of `lines`: each is a whole line, and the lines of each thread are in order.
#[track_caller]
pub fn check_lines(texts: &[Vec<u8>], blocks: u32, threads: u32, count: u64) {
    let mut next: HashMap<(u32, u32), u64> = HashMap::new();
    for text in texts {
        let text = std::str::from_utf8(text).expect("letters");
        let words: Vec<&str> = text.strip_suffix(".\n").expect("a whole line").split(' ').collect();
        let [_, block, _, thread, _, line] = words[..] else { panic!("not a line: {text}") };
        assert_eq!(text, format!("block {block} thread {thread} line {line}.\n"));
        let number = |word: &str| word.parse::<u32>().expect("a number");
        let next = next.entry((number(block), number(thread))).or_default();
        assert_eq!(u64::from(number(line)), *next, "the lines of a thread are in order: {text}");
        *next += 1;
    }
    assert_eq!(next.len(), (blocks * threads) as usize);
    assert!(next.values().all(|lines| *lines == count), "{next:?}");
}

/// Returns the texts of `divided`, for one block, in order.
pub fn divided(threads: u32) -> Vec<String> {
    let mut texts = Vec::new();
    texts.extend((0..threads).filter(|t| t % 3 == 0).map(|t| format!("three {t}\n")));
    texts.extend((0..threads).filter(|t| t % 3 == 1).map(|t| format!("one {t} of some\n")));
    texts.extend((0..threads.min(6)).map(|t| format!("all {t}\n")));
    texts.sort();
    texts
}

/// Returns the texts of `made`, sorted.
pub fn made(letter: u8, threads: u8) -> Vec<Vec<u8>> {
    let text = |thread: u8| (0..5).map(|i| letter + i + thread).collect::<Vec<u8>>();
    let numbers = (0..threads).map(|thread| format!("({thread})\n").into_bytes());
    let mut texts: Vec<_> =
        numbers.chain((0..threads).map(|thread| [b"<", &text(thread)[..], b">\n"].concat())).collect();
    texts.sort();
    texts
}
