//! Tests of instructions with a 16-bit constant, and of hardware registers.

use super::waves;
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::exec::Flow;
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand, sreg};

/// Returns the instruction with its register in the places where a decoder may put it: as the
/// destination, and as a source if it is read.
fn with(name: &'static str, constant: i32, sources: usize) -> Inst {
    let mut code = inst(name, Encoding::Sopk, Operand::Sgpr(20), &[Operand::Sgpr(20)][..sources]);
    code.imm = constant;
    code
}

fn trials(mut test: impl FnMut(&mut Bench, i32, usize)) {
    let mut random = Random(12);
    for mut bench in waves() {
        for trial in 0..400 {
            bench.fill(&mut random);
            // Half of the registers hold possible values of the constant.
            let any = i32::from(random.next() as i16);
            let constant = random.pick(&[0, 1, -1, 5, 0x7fff, -0x8000, any]);
            if trial % 2 == 0 {
                bench.wave.set_word(20, if trial % 4 == 0 { constant as u32 } else { constant as u32 & 0xffff });
            }
            test(&mut bench, constant, trial % 2);
        }
    }
}

#[test]
fn constants_are_moved_added_and_multiplied_with_their_sign() {
    trials(|bench, constant, sources| {
        let (old, scc) = (i64::from(bench.wave.word(20) as i32), bench.wave.scc);
        bench.run(&with("s_movk_i32", constant, 0));
        assert_eq!((bench.wave.word(20) as i32, bench.wave.scc), (constant, scc));

        bench.wave.set_word(20, old as u32);
        bench.run(&with("s_mulk_i32", constant, sources));
        assert_eq!((bench.wave.word(20), bench.wave.scc), ((old * i64::from(constant)) as u32, scc));

        bench.wave.set_word(20, old as u32);
        bench.run(&with("s_cmovk_i32", constant, sources));
        assert_eq!(
            (i64::from(bench.wave.word(20) as i32), bench.wave.scc),
            (if scc { constant.into() } else { old }, scc)
        );

        bench.wave.set_word(20, old as u32);
        bench.run(&with("s_addk_i32", constant, sources));
        let sum = old + i64::from(constant);
        assert_eq!((bench.wave.word(20), bench.wave.scc), (sum as u32, i64::from(sum as i32) != sum));
    });
}

#[test]
fn a_register_is_compared_with_a_signed_or_an_unsigned_constant() {
    type Comparison = (&'static str, &'static str, fn(i64, i64) -> bool);
    const COMPARISONS: [Comparison; 6] = [
        ("s_cmpk_eq_i32", "s_cmpk_eq_u32", |a, b| a == b),
        ("s_cmpk_lg_i32", "s_cmpk_lg_u32", |a, b| a != b),
        ("s_cmpk_gt_i32", "s_cmpk_gt_u32", |a, b| a > b),
        ("s_cmpk_ge_i32", "s_cmpk_ge_u32", |a, b| a >= b),
        ("s_cmpk_lt_i32", "s_cmpk_lt_u32", |a, b| a < b),
        ("s_cmpk_le_i32", "s_cmpk_le_u32", |a, b| a <= b),
    ];
    trials(|bench, constant, sources| {
        let word = bench.wave.word(20);
        for (signed, unsigned, holds) in COMPARISONS {
            bench.run(&with(signed, constant, sources));
            assert_eq!(bench.wave.scc, holds((word as i32).into(), constant.into()), "{signed} {word:#x} {constant}");
            bench.run(&with(unsigned, constant, sources));
            assert_eq!(
                bench.wave.scc,
                holds(word.into(), (constant & 0xffff).into()),
                "{unsigned} {word:#x} {constant}"
            );
        }
        assert_eq!(bench.wave.word(20), word);
    });
}

/// Returns the constant of a hardware register: its identifier, a first bit, a number of bits.
fn hwreg(id: i32, at: i32, bits: i32) -> i32 {
    id | at << 6 | (bits - 1) << 11
}

#[test]
fn the_mode_can_be_read_and_set_to_what_it_is() {
    for mut bench in waves() {
        let read = |bench: &mut Bench, id, at, bits| {
            let mut code = inst("s_getreg_b32", Encoding::Sopk, Operand::Sgpr(9), &[]);
            code.imm = hwreg(id, at, bits);
            bench.try_run(&code).map(|flow| (flow, bench.wave.word(9)))
        };
        // Round to nearest even, subnormals kept, as in kernel descriptors.
        assert_eq!(read(&mut bench, 1, 0, 4), Ok((Flow::Next, 0)));
        assert_eq!(read(&mut bench, 1, 4, 4), Ok((Flow::Next, 15)));
        assert_eq!(read(&mut bench, 1, 0, 32), Ok((Flow::Next, 0x3f0)));
        bench.wave.scc = true;
        assert_eq!(read(&mut bench, 2, 0, 1), Ok((Flow::Next, 1)));
        assert_eq!(read(&mut bench, 60, 0, 1).map(|(flow, _)| flow), Ok(Flow::Fault));
        assert!(bench.fault.as_deref().is_some_and(|why| why.contains("60")));

        let mut set = inst("s_setreg_imm32_b32", Encoding::Sopk, Operand::None, &[Operand::Literal(0xf)]);
        set.imm = hwreg(1, 4, 4);
        bench.run(&set);
        // Flushing binary32 subnormals to zero is not a mode that kernels are compiled for.
        set.src[0] = Operand::Literal(0xc);
        assert_eq!(bench.try_run(&set), Ok(Flow::Fault));
        assert!(bench.fault.as_deref().is_some_and(|why| why.contains("0x3c0")));
        bench.wave.set_word(20, 3);
        let mut round = with("s_setreg_b32", hwreg(1, 0, 2), 1);
        assert_eq!(bench.try_run(&round), Ok(Flow::Fault));
        bench.wave.set_word(20, 0x10);
        round.dst = Operand::None;
        bench.run(&round);
        let mut immediate = inst("s_denorm_mode", Encoding::Sopp, Operand::None, &[]);
        immediate.imm = 15;
        bench.run(&immediate);
        immediate.imm = 3;
        assert_eq!(bench.try_run(&immediate), Ok(Flow::Fault));
        let mut immediate = inst("s_round_mode", Encoding::Sopp, Operand::None, &[]);
        bench.run(&immediate);
        immediate.imm = 1;
        assert_eq!(bench.try_run(&immediate), Ok(Flow::Fault));
        assert_eq!(bench.wave.word(sreg::NULL), 0);
    }
}
