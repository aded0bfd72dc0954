//! Bit instructions, bit by bit, as the PTX ISA defines them.

use crate::lanes::{Op, Random, cases};

fn bit(x: u64, at: u64) -> bool {
    at < 64 && x >> at & 1 == 1
}

/// Builds an integer from its bits.
fn made(width: u64, bit: impl Fn(u64) -> bool) -> u64 {
    (0..width).fold(0, |word, at| word | u64::from(bit(at)) << at)
}

fn word(random: &mut Random) -> u64 {
    random.integer(32)
}

#[test]
fn logic() {
    for width in [16, 32, 64] {
        let three = format!("b{width} b{width} b{width}");
        let two = format!("b{width} b{width}");
        let pairs = || cases(500, |random| [random.integer(width), random.integer(width)]);
        let ones = || pairs().map(|[a, _]| [a]);
        let bits = u64::from(width);
        Op::new(&format!("and.b{width}"), &three).is(pairs(), |[a, b]| made(bits, |at| bit(a, at) && bit(b, at)));
        Op::new(&format!("or.b{width}"), &three).is(pairs(), |[a, b]| made(bits, |at| bit(a, at) || bit(b, at)));
        Op::new(&format!("xor.b{width}"), &three).is(pairs(), |[a, b]| made(bits, |at| bit(a, at) != bit(b, at)));
        Op::new(&format!("not.b{width}"), &two).is(ones(), |[a]| made(bits, |at| !bit(a, at)));
        Op::new(&format!("cnot.b{width}"), &two).is(ones(), |[a]| u64::from(a == 0));
    }
}

#[test]
fn predicates() {
    let pairs = || (0..64).map(|n| [n >> 1 & 1, n & 1]);
    Op::new("and.pred", "pred pred pred").is(pairs(), |[a, b]| a & b);
    Op::new("or.pred", "pred pred !pred").is(pairs(), |[a, b]| a | (b ^ 1));
    Op::new("xor.pred", "pred pred pred").is(pairs(), |[a, b]| a ^ b);
    Op::new("not.pred", "pred pred").is(pairs().map(|[a, _]| [a]), |[a]| a ^ 1);
    Op::new("mov.pred", "pred pred").is(pairs().map(|[a, _]| [a]), |[a]| a);
    Op::new("xor.pred", "pred pred #-1").is(pairs().map(|[a, _]| [a]), |[a]| a ^ 1);
    Op::new("and.pred", "pred !pred #1").is(pairs().map(|[a, _]| [a]), |[a]| a ^ 1);
    Op::new("or.pred", "pred pred #0").is(pairs().map(|[a, _]| [a]), |[a]| a);
    assert_eq!(Op::new("mov.pred", "pred #0").one([]), 0);
    assert_eq!(Op::new("mov.pred", "pred #1").one([]), 1);
    assert_eq!(Op::new("mov.pred", "pred #-1").one([]), 1);
}

#[test]
fn any_function_of_three() {
    for table in [0u64, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1b, 0xff] {
        let of = move |[a, b, c]: [u64; 3]| {
            made(32, |at| bit(table, u64::from(bit(a, at)) << 2 | u64::from(bit(b, at)) << 1 | u64::from(bit(c, at))))
        };
        let words = || cases(300, |random| std::array::from_fn(|_| word(random)));
        Op::new("lop3.b32", &format!("b32 b32 b32 b32 #{table}")).is(words(), of);
        for (join, and) in [("and", true), ("or", false)] {
            let op = Op::new(&format!("lop3.{join}.b32"), &format!("b32|pred b32 b32 b32 #{table} pred"));
            for [a, b, c] in words() {
                for q in [0, 1] {
                    let (result, test) = (of([a, b, c]), u64::from(of([a, b, c]) != 0));
                    assert_eq!(op.all([a, b, c, q]), [result, if and { test & q } else { test | q }]);
                }
            }
        }
    }
    assert_eq!(Op::new("lop3.or.b32", "_|pred b32 b32 b32 #128 !pred").all([1, 1, 1, 1]), [1]);
}

#[test]
fn shifts() {
    for width in [16, 32, 64] {
        let operands = format!("b{width} b{width} b32");
        let amounts = || {
            cases(3000, |random| [random.integer(width), [random.integer(7), word(random)][random.next() as usize & 1]])
        };
        let bits = u64::from(width);
        Op::new(&format!("shl.b{width}"), &operands)
            .is(amounts(), |[a, by]| made(bits, |at| at >= by && bit(a, at - by)));
        for ty in ["u", "b"] {
            let op = Op::new(&format!("shr.{ty}{width}"), &operands);
            op.is(amounts(), |[a, by]| made(bits, |at| at + by < bits && bit(a, at + by)));
        }
        Op::new(&format!("shr.s{width}"), &operands)
            .is(amounts(), |[a, by]| made(bits, |at| bit(a, (at + by).min(bits - 1))));
    }
}

#[test]
fn funnels() {
    let words = || {
        cases(2000, |random| {
            [word(random), word(random), [random.integer(6), word(random)][random.next() as usize & 1]]
        })
    };
    for (mode, amount) in [("clamp", (|by| by.min(32)) as fn(u64) -> u64), ("wrap", |by| by & 31)] {
        Op::new(&format!("shf.l.{mode}.b32"), "b32 b32 b32 b32").is(words(), |[a, b, by]| {
            let (both, by) = (a | b << 32, amount(by));
            made(32, |at| bit(both, at + 32 - by))
        });
        Op::new(&format!("shf.r.{mode}.b32"), "b32 b32 b32 b32").is(words(), |[a, b, by]| {
            let (both, by) = (a | b << 32, amount(by));
            made(32, |at| bit(both, at + by))
        });
    }
}

#[test]
fn fields() {
    for width in [32, 64] {
        let bits = u64::from(width);
        let operands = format!("b{width} b{width} b32 b32");
        let fields = || {
            cases(4000, |random| {
                let (place, length) = (random.next() >> 8, random.next() >> 8);
                [
                    random.integer(width),
                    if place & 256 == 0 { place & 63 } else { place & 0xffff },
                    length & 127 | length & 0xf00,
                ]
            })
        };
        for (ty, signed) in [("u", false), ("s", true)] {
            Op::new(&format!("bfe.{ty}{width}"), &operands).is(fields(), |[a, place, length]| {
                let (place, length, top) = (place & 0xff, length & 0xff, bits - 1);
                let sign = signed && length != 0 && bit(a, (place + length - 1).min(top));
                made(bits, |at| if at < length && place + at <= top { bit(a, place + at) } else { sign })
            });
        }
        let op = Op::new(&format!("bfi.b{width}"), &format!("b{width} b{width} b{width} b32 b32"));
        op.is(
            fields().map(|[a, place, length]| [a, a.rotate_left(7) & (u64::MAX >> (64 - width)), place, length]),
            |[a, b, place, length]| {
                let (place, length) = (place & 0xff, length & 0xff);
                made(bits, |at| if at >= place && at - place < length { bit(a, at - place) } else { bit(b, at) })
            },
        );
    }
}

#[test]
fn extensions_and_masks() {
    let words = || cases(3000, |random| [word(random), [random.integer(6), word(random)][random.next() as usize & 1]]);
    for clamp in [true, false] {
        let mode = if clamp { "clamp" } else { "wrap" };
        for (ty, signed) in [("u32", false), ("s32", true)] {
            Op::new(&format!("szext.{mode}.{ty}"), "b32 b32 b32").is(words(), |[a, b]| {
                let (low, too_large) = (b & 31, b >= 32 && clamp);
                let mask = if too_large { 0 } else { u32::MAX << low };
                let sign = low != 0 && !too_large && signed && bit(a, (low.wrapping_sub(1)) & 31);
                u64::from(if sign { a as u32 | mask } else { a as u32 & !mask })
            });
        }
        Op::new(&format!("bmsk.{mode}.b32"), "b32 b32 b32").is(words(), |[a, b]| {
            let (place, width) = if clamp { (a, b) } else { (a & 31, b & 31) };
            made(32, |at| at >= place && at - place < width)
        });
    }
}

#[test]
fn counting() {
    for width in [32, 64] {
        let (operands, bits) = (format!("b32 b{width}"), u64::from(width));
        let values = || cases(1000, |random| [random.integer(width)]);
        Op::new(&format!("popc.b{width}"), &operands)
            .is(values(), |[a]| (0..bits).filter(|at| bit(a, *at)).count() as u64);
        Op::new(&format!("clz.b{width}"), &operands)
            .is(values(), |[a]| (0..bits).take_while(|at| !bit(a, bits - 1 - at)).count() as u64);
        Op::new(&format!("brev.b{width}"), &format!("b{width} b{width}"))
            .is(values(), |[a]| made(bits, |at| bit(a, bits - 1 - at)));
        for (ty, signed) in [("u", false), ("s", true)] {
            for shift in [false, true] {
                let name = if shift { "bfind.shiftamt" } else { "bfind" };
                Op::new(&format!("{name}.{ty}{width}"), &operands).is(values(), |[a]| {
                    let wanted = !(signed && bit(a, bits - 1));
                    let found = (0..bits).rev().find(|at| bit(a, *at) == wanted);
                    found.map_or(0xffff_ffff, |at| if shift { bits - 1 - at } else { at })
                });
            }
        }
    }
    let searches =
        cases(4000, |random| [word(random), random.integer(5), (random.next() % 71).wrapping_sub(35) & 0xffff_ffff]);
    Op::new("fns.b32", "b32 b32 b32 b32").is(searches, |[mask, base, offset]| {
        let offset = offset as u32 as i32;
        if offset == 0 {
            return if bit(mask, base) { base } else { 0xffff_ffff };
        }
        let (mut place, mut left) = (base as i64, offset.abs() - 1);
        while (0..32).contains(&place) {
            if bit(mask, place as u64) {
                if left == 0 {
                    return place as u64;
                }
                left -= 1;
            }
            place += i64::from(offset.signum());
        }
        0xffff_ffff
    });
}

#[test]
fn permutations() {
    let byte = |a: u64, b: u64, at: u64| (a | b << 32) >> (8 * at) & 0xff;
    let words = || cases(1000, |random| std::array::from_fn(|_| word(random)));
    Op::new("prmt.b32", "b32 b32 b32 b32").is(words(), |[a, b, c]| {
        (0..4).fold(0, |result, at| {
            let nibble = c >> (4 * at) & 15;
            let found = byte(a, b, nibble & 7);
            let found = if nibble & 8 == 0 {
                found
            } else if found & 0x80 != 0 {
                0xff
            } else {
                0
            };
            result | found << (8 * at)
        })
    });
    // The bytes of the result from the highest down, in the order of the tables in the PTX ISA.
    let modes: [(&str, [[u64; 4]; 4]); 6] = [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, lists) in modes {
        Op::new(&format!("prmt.b32.{mode}"), "b32 b32 b32 b32")
            .is(words(), |[a, b, c]| lists[c as usize & 3].iter().fold(0, |result, at| result << 8 | byte(a, b, *at)));
    }
}

#[test]
fn selecting() {
    for ty in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        let width: u32 = ty[1..].parse().unwrap();
        let select = Op::new(&format!("selp.{ty}"), &format!("b{width} b{width} b{width} pred"));
        select.is(
            cases(200, |random| [random.integer(width), random.integer(width), random.next() & 1]),
            |[a, b, first]| {
                if first == 1 { a } else { b }
            },
        );
        let by_sign = Op::new(&format!("slct.{ty}.s32"), &format!("b{width} b{width} b{width} b32"));
        by_sign.is(cases(200, |random| [random.integer(width), random.integer(width), word(random)]), |[a, b, c]| {
            if c < 1 << 31 { a } else { b }
        });
    }
    // Zeros of either sign select the first operand; a NaN and negative numbers do not.
    let signs = [(0.0, 0.0, 1), (-0.0, -0.0, 1), (1.0, 1.0, 1), (-1.0, -1.0, 2), (f32::NAN, f32::NAN, 2)];
    for (name, tiny) in [("slct.b32.f32", 2), ("slct.ftz.b32.f32", 1)] {
        let op = Op::new(name, "b32 b32 b32 b32");
        for (by, _, want) in signs {
            assert_eq!(op.one([1, 2, f32::to_bits(by).into()]), want, "{name} by {by}");
        }
        assert_eq!(op.one([1, 2, f32::from_bits(0x8000_0001).to_bits().into()]), tiny);
    }
}

#[test]
fn moves() {
    for ty in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        let width: u32 = ty[1..].parse().unwrap();
        Op::new(&format!("mov.{ty}"), &format!("b{width} b{width}"))
            .is(cases(64, |random| [random.integer(width)]), |[a]| a);
    }
    assert_eq!(Op::new("mov.u32", "b32 #-1").one([]), 0xffff_ffff);
    assert_eq!(Op::new("mov.u64", "b64 #-1").one([]), u64::MAX);
    assert_eq!(Op::new("mov.b16", "b16 #-2").one([]), 0xfffe);
    assert_eq!(Op::new("mov.f32", "b32 f:7f800001").one([]), 0x7f80_0001);
    assert_eq!(Op::new("mov.f64", "b64 d:7ff0000000000001").one([]), 0x7ff0_0000_0000_0001);
}

#[test]
fn packing() {
    for (whole, part, count) in [(16, 8, 2), (32, 16, 2), (32, 8, 4), (64, 32, 2), (64, 16, 4)] {
        let vector = format!("{{{}}}", vec![format!("b{part}"); count].join(","));
        let pack = Op::new(&format!("mov.b{whole}"), &format!("b{whole} {vector}"));
        let unpack = Op::new(&format!("mov.b{whole}"), &format!("{vector} b{whole}"));
        let mut random = Random(1);
        for _ in 0..100 {
            let parts: Vec<u64> = (0..count).map(|_| random.integer(part)).collect();
            let packed = parts.iter().rev().fold(0, |packed, element| packed << part | element);
            assert_eq!(pack.warp(std::slice::from_ref(&parts)).0, [[packed]]);
            assert_eq!(unpack.warp(&[vec![packed]]).0, [parts]);
        }
    }
    assert_eq!(Op::new("mov.b64", "{_,b32} b64").all([0x1234_5678_9abc_def0]), [0x1234_5678]);
}
