//! Tests of cross-lane instructions. The models describe each from the other end: where a lane's
//! value goes, instead of where a lane reads.

use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand, sreg};

/// Tests every wave under several values of EXEC, with filled registers.
fn waves(mut test: impl FnMut(&mut Bench, &mut Random)) {
    let mut random = Random(9);
    for mut bench in Bench::all() {
        for trial in 0..24 {
            bench.fill(&mut random);
            let some = random.next();
            let mask = [u64::MAX, 0, 1 << 31 | 1 << 5, some, some & random.next(), !some][trial % 6];
            bench.wave.set_exec(mask & bench.wave.live);
            test(&mut bench, &mut random);
        }
    }
}

fn active(bench: &Bench, lane: usize) -> bool {
    bench.wave.exec() >> lane & 1 == 1
}

fn row(bench: &Bench, register: u16) -> Vec<u32> {
    bench.wave.v[usize::from(register)].0[..bench.wave.width].to_vec()
}

/// Runs an instruction and checks that active lanes get `should` and the others keep their values.
#[track_caller]
fn expect(bench: &mut Bench, code: &Inst, should: &[u32]) {
    let Operand::Vgpr(dst) = code.dst else { panic!("{:?}", code.dst) };
    let old = row(bench, dst);
    let lanes: Vec<u32> =
        (0..old.len()).map(|lane| if active(bench, lane) { should[lane] } else { old[lane] }).collect();
    bench.run(code);
    assert_eq!(row(bench, dst), lanes, "{code:?} on {}", bench.arch.name());
}

#[test]
fn a_lane_is_read_whether_it_is_active_or_not() {
    waves(|bench, random| {
        let select = random.word();
        bench.wave.set_word(8, select);
        let value = bench.word(3, (select % bench.wave.width as u32) as usize);
        let code = inst("v_readlane_b32", Encoding::Vop3, Operand::Sgpr(9), &[Operand::Vgpr(3), Operand::Sgpr(8)]);
        bench.run(&code);
        assert_eq!(bench.wave.word(9), value);
        let constant =
            inst("v_readlane_b32", Encoding::Vop3, Operand::Sgpr(9), &[Operand::Vgpr(3), Operand::Inline(133)]);
        bench.run(&constant);
        assert_eq!(bench.wave.word(9), bench.word(3, 5));
    });
}

#[test]
fn the_first_active_lane_is_read_and_lane_0_where_none_is() {
    waves(|bench, _| {
        let first = (0..bench.wave.width).find(|&lane| active(bench, lane)).unwrap_or(0);
        let code = inst("v_readfirstlane_b32", Encoding::Vop1, Operand::Sgpr(9), &[Operand::Vgpr(3)]);
        bench.run(&code);
        assert_eq!(bench.wave.word(9), bench.word(3, first));
    });
}

#[test]
fn one_lane_is_written_whether_it_is_active_or_not() {
    waves(|bench, random| {
        let (value, select) = (random.word(), random.word());
        bench.wave.set_word(8, value);
        bench.wave.set_word(sreg::M0, select);
        let mut lanes = row(bench, 3);
        lanes[(select % bench.wave.width as u32) as usize] = value;
        let src = [Operand::Sgpr(8), Operand::Sgpr(sreg::M0)];
        bench.run(&inst("v_writelane_b32", Encoding::Vop3, Operand::Vgpr(3), &src));
        assert_eq!(row(bench, 3), lanes);
    });
}

#[test]
fn active_lanes_swap_two_registers() {
    waves(|bench, _| {
        let (a, b) = (row(bench, 3), row(bench, 4));
        bench.run(&inst("v_swap_b32", Encoding::Vop1, Operand::Vgpr(3), &[Operand::Vgpr(4)]));
        for lane in 0..a.len() {
            let (x, y) = if active(bench, lane) { (b[lane], a[lane]) } else { (a[lane], b[lane]) };
            assert_eq!((bench.word(3, lane), bench.word(4, lane)), (x, y));
        }
    });
}

#[test]
fn bits_below_each_lane_are_counted() {
    waves(|bench, random| {
        let mask = random.next();
        bench.wave.set_word(8, mask as u32);
        bench.wave.set_word(9, (mask >> 32) as u32);
        let width = bench.wave.width;
        // The idiom with which kernels count the lanes before each lane: the low half, then the
        // high half added to it.
        let low =
            inst("v_mbcnt_lo_u32_b32", Encoding::Vop3, Operand::Vgpr(20), &[Operand::Sgpr(8), Operand::Inline(128)]);
        let expected: Vec<u32> =
            (0..width).map(|lane| (0..lane.min(32)).filter(|i| mask >> i & 1 == 1).count() as u32).collect();
        expect(bench, &low, &expected);
        let before = row(bench, 20);
        let high =
            inst("v_mbcnt_hi_u32_b32", Encoding::Vop3, Operand::Vgpr(20), &[Operand::Sgpr(9), Operand::Vgpr(20)]);
        let expected: Vec<u32> = (0..width)
            .map(|lane| before[lane].wrapping_add((32..lane).filter(|i| mask >> i & 1 == 1).count() as u32))
            .collect();
        expect(bench, &high, &expected);
    });
}

#[test]
fn a_pull_gets_zero_from_inactive_lanes() {
    waves(|bench, random| {
        let offset = random.pick(&[0, 4, 8, 252]);
        let (address, data) = (row(bench, 2), row(bench, 3));
        let lanes = data.len() as u64;
        let should: Vec<u32> = address
            .iter()
            .map(|&a| {
                let bytes = (u64::from(a) + offset as u64) % (1 << 32);
                let from = (bytes / 4 % lanes) as usize;
                if active(bench, from) { data[from] } else { 0 }
            })
            .collect();
        let dst = random.pick(&[2, 3, 20]);
        let mut code = inst("ds_bpermute_b32", Encoding::Ds, Operand::Vgpr(dst), &[Operand::Vgpr(2), Operand::Vgpr(3)]);
        code.imm = offset;
        expect(bench, &code, &should);
    });
}

#[test]
fn a_push_comes_from_the_highest_active_lane_that_names_the_target() {
    waves(|bench, random| {
        let offset = random.pick(&[0, 4, 8, 252]);
        let (address, data) = (row(bench, 2), row(bench, 3));
        let lanes = data.len() as u64;
        let target = |lane: usize| ((u64::from(address[lane]) + offset as u64) % (1 << 32) / 4 % lanes) as usize;
        let should: Vec<u32> = (0..data.len())
            .map(|to| {
                (0..data.len())
                    .rev()
                    .find(|&from| active(bench, from) && target(from) == to)
                    .map_or(0, |from| data[from])
            })
            .collect();
        let mut code = inst("ds_permute_b32", Encoding::Ds, Operand::Vgpr(20), &[Operand::Vgpr(2), Operand::Vgpr(3)]);
        code.imm = offset;
        expect(bench, &code, &should);
    });
}

#[test]
fn a_swizzle_permutes_groups_of_32_lanes() {
    waves(|bench, random| {
        let data = row(bench, 3);
        let mut swizzle = |offset: usize, from: &dyn Fn(usize) -> usize| {
            let should: Vec<u32> = (0..data.len())
                .map(|lane| {
                    let source = lane / 32 * 32 + from(lane % 32);
                    if active(bench, source) { data[source] } else { 0 }
                })
                .collect();
            let mut code = inst("ds_swizzle_b32", Encoding::Ds, Operand::Vgpr(20), &[Operand::Vgpr(3)]);
            code.imm = offset as i32;
            expect(bench, &code, &should);
        };
        // LLVM's SWAP, REVERSE and BROADCAST macros, with the offsets from its assembler.
        swizzle(0x041f, &|lane| lane ^ 1);
        swizzle(0x401f, &|lane| lane ^ 16);
        swizzle(0x1c1f, &|lane| lane / 8 * 8 + 7 - lane % 8);
        swizzle(0x0078, &|lane| lane / 8 * 8 + 3);
        // QUAD_PERM, 0, 1, 2, 3.
        swizzle(0x80e4, &|lane| lane);
        let quad = random.next() as usize & 0xff;
        swizzle(0x8000 | quad, &|lane| lane / 4 * 4 + quad / [1, 4, 16, 64][lane % 4] % 4);
        // Rotations of 32 lanes by any number, in both directions.
        let by = random.next() as usize % 32;
        swizzle(0xc000 | by << 5, &|lane| (lane + by) % 32);
        swizzle(0xc400 | by << 5, &|lane| (lane + 32 - by) % 32);
        // Rotations in groups of eight: the upper two bits of a lane's position do not change.
        swizzle(0xc018 | 3 << 5, &|lane| lane / 8 * 8 + (lane + 3) % 8);
        // The FFT order of all 32, of pairs of 16, and of none.
        let reversed = |x: usize, bits: u32| (0..bits).fold(0, |y, bit| y * 2 + (x >> bit) % 2);
        swizzle(0xe000, &|lane| reversed(lane, 5));
        swizzle(0xe010, &|lane| lane / 16 * 16 + reversed(lane % 16, 4));
        swizzle(0xe01f, &|lane| lane);
    });
}

#[test]
fn a_permutation_of_rows_follows_its_selectors() {
    waves(|bench, random| {
        let data = row(bench, 3);
        for v in [20, 3] {
            for (name, other) in [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)] {
                for op_sel in 0..4 {
                    bench.wave.v[3].0[..data.len()].copy_from_slice(&data);
                    let old = row(bench, v);
                    let select = random.next();
                    bench.wave.set_word(8, select as u32);
                    bench.wave.set_word(9, (select >> 32) as u32);
                    let nibbles: Vec<usize> = (0..16).map(|i| (select / 16u64.pow(i) % 16) as usize).collect();
                    let should: Vec<u32> = (0..data.len())
                        .map(|lane| {
                            let from = ((lane / 16 * 16) ^ other) + nibbles[lane % 16];
                            match (active(bench, from), op_sel) {
                                (true, _) | (false, 1 | 3) => data[from],
                                (false, 2) => 0,
                                _ => old[lane],
                            }
                        })
                        .collect();
                    let src = [Operand::Vgpr(3), Operand::Sgpr(8), Operand::Sgpr(9)];
                    let mut code = inst(name, Encoding::Vop3, Operand::Vgpr(v), &src);
                    code.op_sel = op_sel;
                    expect(bench, &code, &should);
                }
            }
        }
    });
}

#[test]
fn halves_of_a_wave_of_64_change_places() {
    waves(|bench, _| {
        let data = row(bench, 3);
        let should = match data.len() {
            64 => [&data[32..], &data[..32]].concat(),
            _ => row(bench, 20),
        };
        let code = inst("v_permlane64_b32", Encoding::Vop1, Operand::Vgpr(20), &[Operand::Vgpr(3)]);
        expect(bench, &code, &should);
    });
}
