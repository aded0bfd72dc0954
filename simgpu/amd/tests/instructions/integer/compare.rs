//! Tests of comparisons of every type under every condition, and their effect on EXEC.

use super::{Case, I16, I32, I64, Type, U16, U32, U64, check, masks};
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::exec::lower;
use isobit_simgpu_amd::isa::{Encoding, Operand, sreg};
use std::cmp::Ordering::{Equal, Greater, Less};

/// A condition, by its name.
type Condition = (&'static str, fn(&[i128]) -> bool);

const CONDITIONS: [Condition; 8] = [
    ("f", |_| false),
    ("lt", |x| x[0].cmp(&x[1]) == Less),
    ("eq", |x| x[0].cmp(&x[1]) == Equal),
    ("le", |x| x[0].cmp(&x[1]) != Greater),
    ("gt", |x| x[0].cmp(&x[1]) == Greater),
    ("ne", |x| x[0].cmp(&x[1]) != Equal),
    ("ge", |x| x[0].cmp(&x[1]) != Less),
    ("t", |_| true),
];

const TYPES: [(&str, &[Type]); 6] = [
    ("i16", &[I16, I16]),
    ("u16", &[U16, U16]),
    ("i32", &[I32, I32]),
    ("u32", &[U32, U32]),
    ("i64", &[I64, I64]),
    ("u64", &[U64, U64]),
];

fn named(name: &str) -> &'static str {
    lower::names().find(|n| *n == name).unwrap_or_else(|| panic!("{name} is not executed"))
}

#[test]
fn every_condition_holds_where_its_numbers_are_so_ordered() {
    for (kind, src) in TYPES {
        for (condition, flag) in CONDITIONS {
            check(&[Case::compare(named(&format!("v_cmp_{condition}_{kind}")), src, flag)]);
        }
    }
}

#[test]
fn a_cmpx_makes_the_lanes_that_pass_the_active_ones() {
    let mut random = Random(6);
    let src = [Operand::Vgpr(2), Operand::Vgpr(4)];
    for (kind, types) in TYPES {
        for (condition, flag) in CONDITIONS {
            let name = named(&format!("v_cmpx_{condition}_{kind}"));
            for mut bench in Bench::all() {
                for mask in masks(&mut random) {
                    bench.fill(&mut random);
                    // Make enough lanes have equal operands.
                    for v in [4, 5] {
                        for lane in (0..bench.wave.width).filter(|lane| lane % 3 == 0) {
                            bench.wave.v[v].0[lane] = bench.wave.v[v - 2].0[lane];
                        }
                    }
                    let exec = mask & bench.wave.live;
                    bench.wave.set_exec(exec);
                    let passed = (0..bench.wave.width).fold(0, |passed, lane| {
                        let number = |v| types[0].number(bench.pair(v, lane));
                        passed | u64::from(exec >> lane & 1 == 1 && flag(&[number(2), number(4)])) << lane
                    });
                    // GFX9 writes the scalar destination and EXEC, GFX11 only EXEC.
                    let gfx9 = bench.arch.is_gfx9();
                    let before = bench.wave.s;
                    let dst = Operand::Sgpr(if gfx9 { 40 } else { sreg::EXEC_LO });
                    bench.run(&inst(name, Encoding::Vop3, dst, &src));
                    assert_eq!(bench.wave.exec(), passed, "{name} on {}", bench.arch.name());
                    for lane in 0..bench.wave.width {
                        assert_eq!(bench.wave.active.0[lane] != 0, passed >> lane & 1 == 1, "{name} lane {lane}");
                    }
                    let written = if gfx9 { passed } else { u64::from(before[40]) | u64::from(before[41]) << 32 };
                    assert_eq!(bench.wave.pair(40), written, "{name} on {}", bench.arch.name());
                }
            }
        }
    }
}
