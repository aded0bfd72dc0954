//! `printf`: the text of formats, compared with the C library's own, and the output that holds it.

use isobit_simgpu_core::print::{Arguments, Output, Stream, Text, format};
use std::ffi::CString;

/// An argument.
#[derive(Debug, Clone, PartialEq)]
enum Argument {
    Integer(u64),
    Double(f64),
    Text(&'static [u8]),
    Null,
}
use Argument::{Double, Integer, Null};

/// Arguments in a list, and the widths of the integers that were asked for.
struct List<const END: bool> {
    left: std::vec::IntoIter<Argument>,
    wide: Vec<bool>,
}

impl<const END: bool> Arguments for List<END> {
    const END_WITHOUT: bool = END;

    fn integer(&mut self, wide: bool) -> Option<u64> {
        self.wide.push(wide);
        match self.left.next()? {
            Integer(value) => Some(value),
            other => panic!("{other:?} is not an integer"),
        }
    }

    fn double(&mut self) -> Option<f64> {
        match self.left.next()? {
            Double(value) => Some(value),
            other => panic!("{other:?} is not a float"),
        }
    }

    fn text(&mut self, most: Option<usize>) -> Option<Text> {
        match self.left.next()? {
            Argument::Text(bytes) => Some(Text::Bytes(bytes[..bytes.len().min(most.unwrap_or(usize::MAX))].to_vec())),
            Null => Some(Text::Null),
            other => panic!("{other:?} is not a string"),
        }
    }
}

fn print<const END: bool>(text: &str, arguments: &[Argument]) -> (String, u32, Vec<bool>) {
    let mut list = List::<END> { left: Vec::from(arguments).into_iter(), wide: Vec::new() };
    let printed = format(text.as_bytes(), &mut list);
    assert!(list.left.next().is_none() || END, "{text}: every argument is taken");
    (String::from_utf8(printed.text).expect("letters"), printed.arguments, list.wide)
}

/// Formats one integer or float with the C library.
macro_rules! c {
    ($format:expr, $argument:expr) => {{
        let format = CString::new($format).expect("no NUL");
        let mut text = vec![0u8; 1024];
        // SAFETY: the format has one conversion, of the argument's type, and there is room.
        let length = unsafe { libc::snprintf(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), $argument) };
        text.truncate(length as usize);
        String::from_utf8(text).expect("letters")
    }};
}

#[test]
fn all_flags_widths_and_precisions() {
    let mut flags: Vec<String> = vec![String::new()];
    for flag in "-+ #0".chars() {
        flags.extend(flags.clone().into_iter().map(|others| format!("{others}{flag}")));
    }
    for flags in &flags {
        for width in ["", "1", "12"] {
            for precision in ["", ".", ".0", ".3", ".15"] {
                let head = format!("%{flags}{width}{precision}");
                for letter in "dioxXu".chars() {
                    for value in [0i64, 1, -1, 1234567, -(1 << 40) - 5] {
                        for (size, wide) in [("hh", false), ("h", false), ("", false), ("l", true), ("ll", true)] {
                            let text = format!("{head}{size}{letter}");
                            let want = if wide { c!(text.as_str(), value) } else { c!(text.as_str(), value as i32) };
                            assert_eq!(
                                print::<false>(&text, &[Integer(value as u64)]),
                                (want, 1, vec![wide]),
                                "{text}"
                            );
                        }
                    }
                }
                for letter in "eEfFgGaA".chars() {
                    for value in [0.0, -0.0, 1.0, -12345.678, 1e-300, f64::INFINITY, f64::NAN] {
                        let text = format!("{head}{letter}");
                        let want = c!(text.as_str(), value);
                        assert_eq!(print::<false>(&text, &[Double(value)]), (want, 1, vec![]), "{text}");
                        assert_eq!(print::<false>(&format!("{head}L{letter}"), &[Double(value)]).0, c!(text, value));
                    }
                }
            }
        }
    }
}

#[test]
fn other_conversions() {
    let text = Argument::Text(b"some text");
    let cases: &[(&str, &[Argument], &str)] = &[
        ("", &[], ""),
        ("plain", &[], "plain"),
        ("100%% %d%%", &[Integer(5)], "100% 5%"),
        ("%c%3c%-3c|", &[Integer(0x61), Integer(0x62), Integer(0x63)], "a  bc  |"),
        ("%s %.4s %12s|%-12.2s|", &[text.clone(), text.clone(), text.clone(), text.clone()], {
            "some text some    some text|so          |"
        }),
        ("%s|%10s", &[Null, Null], "(null)|    (null)"),
        ("%p %p", &[Integer(0xabc), Integer(0)], "0xabc (nil)"),
        ("%*d|%-*d|%*d|", &[Integer(4), Integer(1), Integer(4), Integer(2), Integer(-4i64 as u64), Integer(3)], {
            "   1|2   |3   |"
        }),
        ("%.*f %.*f", &[Integer(1), Double(2.25), Integer(-1i64 as u64), Double(0.5)], "2.2 0.500000"),
        ("%zu %jd %td", &[Integer(1 << 40), Integer(2), Integer(3)], "1099511627776 2 3"),
        ("a%nb", &[Integer(7)], "ab"),
        // Not conversions: they take nothing.
        ("%y %5k %ls %lc %", &[], "%y %5k %ls %lc %"),
        ("%", &[], "%"),
        ("%5", &[], "%5"),
        ("%99999999999d", &[], "%99999999999d"),
        // A text that nobody wants is not made.
        ("%2000000000d", &[Integer(1)], "%2000000000d"),
    ];
    for (format, arguments, want) in cases {
        assert_eq!(print::<false>(format, arguments).0, *want, "{format}");
    }
}

#[test]
fn arguments_that_are_not_there() {
    assert_eq!(print::<false>("%d %d %*d %s end", &[Integer(5)]), ("5 %d %*d %s end".into(), 1, vec![false; 3]));
    assert_eq!(print::<true>("%d %d end", &[Integer(5)]), ("5 ".into(), 1, vec![false; 2]));
}

#[test]
fn what_an_output_holds() {
    let output = Output::held(10);
    for text in ["four", "fives", "six"] {
        output.put(Stream::Out, text.as_bytes().to_vec());
    }
    // Together they have 12 bytes, so the first is lost.
    assert_eq!(output.waiting(), 8);
    assert_eq!(output.take(), [(Stream::Out, b"fives".to_vec()), (Stream::Out, b"six".to_vec())]);
    output.put(Stream::Error, b"more than ten bytes".to_vec());
    assert_eq!((output.waiting(), output.take()), (0, Vec::new()));
    output.set_room(100);
    output.put(Stream::Error, b"more than ten bytes".to_vec());
    output.set_room(18);
    assert_eq!(output.take(), []);
}
