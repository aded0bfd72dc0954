//! Every arithmetic opcode. Opcodes that several families of types share are dispatched here by
//! type.

use super::emit::{Families, none};
use super::{bits, compare, convert, float, half, integer, matrix};
use crate::lower::Table;

macro_rules! shared {
    ($($name:literal $integer:path, $float:path, $half:path;)*) => {
        const SHARED: Table = &[$(
            ($name, |low, inst| Families { integer: $integer, float: $float, half: $half }.lower(low, inst))
        ),*];
    };
}

shared! {
    "add" integer::add, float::add, half::add;
    "sub" integer::sub, float::sub, half::sub;
    "mul" integer::mul, float::mul, half::mul;
    "mad" integer::mad, float::mad, none;
    "fma" none, float::fma, half::fma;
    "div" integer::div, float::div, none;
    "min" integer::min, float::min, half::min;
    "max" integer::max, float::max, half::max;
    "abs" integer::abs, float::abs, half::abs;
    "neg" integer::neg, float::neg, half::neg;
    "ex2" none, float::ex2, half::ex2;
    "tanh" none, float::tanh, half::tanh;
}

const FAMILIES: [&[Table]; 7] =
    [&[SHARED], bits::TABLES, compare::TABLES, convert::TABLES, float::TABLES, integer::TABLES, matrix::TABLES];

const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// All arithmetic tables.
pub const TABLES: &[Table] = &{
    let mut all: [Table; COUNT] = [SHARED; COUNT];
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut table = 0;
        while table < FAMILIES[family].len() {
            all[count] = FAMILIES[family][table];
            count += 1;
            table += 1;
        }
        family += 1;
    }
    all
};
