//! Tests of instruction pairs: both read before either writes.

use super::*;
use isobit_simgpu_amd::isa::Arch;

#[test]
fn both_halves_read_before_either_writes() {
    let (a, b) = (Operand::Vgpr(2), Operand::Vgpr(3));
    let half = |name, dst: Operand, src: &[Operand]| inst(name, Encoding::Vopd, dst, src);
    // Tests all combinations of two sums with their own destinations and sources among v2, v3 and
    // v4.
    for vector_unit in [isobit_simgpu_core::vector::has_vector_unit(), false] {
        let mut bench = Bench::new(Arch::Gfx1100, vector_unit);
        for choice in 0..3u16.pow(4) {
            let source = |at: u32| Operand::Vgpr(2 + choice / 3u16.pow(at) % 3);
            let pair = Inst {
                second: Some(Box::new(half("v_mul_f32", b, &[source(2), source(3)]))),
                ..half("v_add_f32", a, &[source(0), source(1)])
            };
            let before = [2.0f32, 3.0, 5.0];
            for (at, value) in before.into_iter().enumerate() {
                bench.wave.v[2 + at].0.fill(value.to_bits());
            }
            bench.run(&pair);
            let of =
                |operand: Operand| if let Operand::Vgpr(at) = operand { before[usize::from(at) - 2] } else { f32::NAN };
            assert_eq!(f32::from_bits(bench.word(2, 31)), of(source(0)) + of(source(1)), "{choice}");
            assert_eq!(f32::from_bits(bench.word(3, 0)), of(source(2)) * of(source(3)), "{choice}");
        }
        // A swap, in active lanes only.
        let swap = Inst { second: Some(Box::new(half("v_mov_b32", b, &[a]))), ..half("v_mov_b32", a, &[b]) };
        bench.wave.v[2].0.fill(7);
        bench.wave.v[3].0.fill(9);
        bench.wave.set_exec(0x0000_ffff);
        bench.run(&swap);
        assert_eq!([bench.word(2, 0), bench.word(3, 15), bench.word(2, 16), bench.word(3, 31)], [9, 7, 7, 9]);
    }
}
