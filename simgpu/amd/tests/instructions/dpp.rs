//! Tests of permutations. The model says where each lane's value goes, from the ISA's description.

use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Dpp, Encoding, Operand};

/// Returns the lanes that the value of `lane` goes to, in a wave of `width`.
fn goes_to(ctrl: u16, lane: usize, width: usize) -> Vec<usize> {
    let (row, at, n) = (lane / 16 * 16, lane % 16, usize::from(ctrl % 16));
    let all = |lanes: std::ops::Range<usize>| lanes.filter(|&lane| lane < width).collect();
    match ctrl {
        // Two bits for each of four lanes select which of the four it reads.
        0x000..=0x0ff => {
            let reads = |to: usize| usize::from(ctrl) / [1, 4, 16, 64][to % 4] % 4;
            (lane / 4 * 4..lane / 4 * 4 + 4).filter(|&to| reads(to) == lane % 4).collect()
        }
        0x101..=0x10f => {
            if at >= n {
                vec![lane - n]
            } else {
                vec![]
            }
        }
        0x111..=0x11f => {
            if at + n < 16 {
                vec![lane + n]
            } else {
                vec![]
            }
        }
        0x121..=0x12f => vec![row + (at + n) % 16],
        0x130 => {
            if lane > 0 {
                vec![lane - 1]
            } else {
                vec![]
            }
        }
        0x134 => vec![(lane + width - 1) % width],
        0x138 => all(lane + 1..lane + 2),
        0x13c => vec![(lane + 1) % width],
        0x140 => vec![row + 15 - at],
        0x141 => vec![lane / 8 * 8 + 7 - lane % 8],
        0x142 => {
            if at == 15 {
                all(row + 16..row + 32)
            } else {
                vec![]
            }
        }
        0x143 => {
            if lane == 31 {
                all(32..64)
            } else {
                vec![]
            }
        }
        0x150..=0x15f => {
            if at == n {
                all(row..row + 16)
            } else {
                vec![]
            }
        }
        0x160..=0x16f => vec![lane ^ n],
        _ => panic!("{ctrl:#x}"),
    }
}

const CONTROLS: [u16; 30] = [
    0xe4, 0x1b, 0x00, 0xb1, 0x4e, 0x101, 0x107, 0x10f, 0x111, 0x118, 0x11f, 0x121, 0x128, 0x12f, 0x130, 0x134, 0x138,
    0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x157, 0x15f, 0x160, 0x161, 0x168, 0x16f, 0x0c6,
];

/// Returns the value that each lane reads: from an active lane, or from any lane if inactive ones
/// are fetched; `None` if there is none.
fn permuted(bench: &Bench, data: &[u32], ctrl: u16, fetch_inactive: bool) -> Vec<Option<u32>> {
    let mut lanes = vec![None; data.len()];
    for (lane, &value) in data.iter().enumerate() {
        if fetch_inactive || bench.wave.exec() >> lane & 1 == 1 {
            goes_to(ctrl, lane, data.len()).into_iter().for_each(|to| lanes[to] = Some(value));
        }
    }
    lanes
}

fn trials(mut test: impl FnMut(&mut Bench, &mut Random, u16)) {
    let mut random = Random(10);
    for mut bench in Bench::all() {
        for ctrl in CONTROLS {
            for trial in 0..6 {
                bench.fill(&mut random);
                let mask = if trial == 0 { u64::MAX } else { random.next() | random.next() };
                bench.wave.set_exec(mask & bench.wave.live);
                test(&mut bench, &mut random, ctrl);
            }
        }
    }
}

fn row(bench: &Bench, register: u16) -> Vec<u32> {
    bench.wave.v[usize::from(register)].0[..bench.wave.width].to_vec()
}

#[test]
fn the_first_operand_comes_from_another_lane() {
    trials(|bench, random, ctrl| {
        let [bound_ctrl, fetch_inactive] = [0; 2].map(|_| random.next() & 1 == 1);
        let [row_mask, bank_mask] = [0; 2].map(|_| if random.next() & 1 == 1 { 15 } else { random.next() as u8 & 15 });
        // The destination may be the permuted register.
        let dst = random.pick(&[3, 20]);
        let (a, b, old) = (row(bench, 3), row(bench, 4), row(bench, dst));
        let mut code = inst("v_sub_nc_u32", Encoding::Vop2, Operand::Vgpr(dst), &[Operand::Vgpr(3), Operand::Vgpr(4)]);
        code.dpp = Some(Dpp::Dpp16 { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive });
        let reads = permuted(bench, &a, ctrl, fetch_inactive);
        bench.run(&code);
        for lane in 0..a.len() {
            let masks = row_mask >> (lane / 16) & 1 == 1 && bank_mask >> (lane % 16 / 4) & 1 == 1;
            let active = bench.wave.exec() >> lane & 1 == 1;
            let should = match reads[lane] {
                _ if !masks || !active => old[lane],
                Some(value) => value.wrapping_sub(b[lane]),
                None if bound_ctrl => 0u32.wrapping_sub(b[lane]),
                None => old[lane],
            };
            assert_eq!(bench.word(dst, lane), should, "lane {lane}, {:?} on {}", code.dpp, bench.arch.name());
        }
    });
}

#[test]
fn a_comparison_gives_zero_where_a_lane_is_not_let_through() {
    trials(|bench, random, ctrl| {
        let bound_ctrl = random.next() & 1 == 1;
        let a = row(bench, 3);
        let mut code = inst("v_cmp_le_u32", Encoding::Vopc, Operand::Sgpr(40), &[Operand::Vgpr(3), Operand::Vgpr(4)]);
        code.dpp = Some(Dpp::Dpp16 { ctrl, row_mask: 15, bank_mask: 15, bound_ctrl, fetch_inactive: false });
        let reads = permuted(bench, &a, ctrl, false);
        bench.run(&code);
        for (lane, read) in reads.into_iter().enumerate() {
            let active = bench.wave.exec() >> lane & 1 == 1;
            let value = read.or(bound_ctrl.then_some(0));
            let should = active && value.is_some_and(|value| value <= bench.word(4, lane));
            assert_eq!(bench.wave.mask(40) >> lane & 1 == 1, should, "lane {lane}, {:?}", code.dpp);
        }
    });
}

#[test]
fn both_words_of_a_pair_are_permuted() {
    trials(|bench, _, ctrl| {
        let words = [2, 3].map(|v| row(bench, v));
        let mut code = inst("v_mov_b64", Encoding::Vop1, Operand::Vgpr(20), &[Operand::Vgpr(2)]);
        code.dpp = Some(Dpp::Dpp16 { ctrl, row_mask: 15, bank_mask: 15, bound_ctrl: true, fetch_inactive: false });
        let reads = words.map(|words| permuted(bench, &words, ctrl, false));
        let old = [20, 21].map(|v| row(bench, v));
        bench.run(&code);
        for (at, reads) in reads.iter().enumerate() {
            for (lane, read) in reads.iter().enumerate() {
                let should = if bench.wave.exec() >> lane & 1 == 1 { read.unwrap_or(0) } else { old[at][lane] };
                assert_eq!(bench.word(20 + at as u16, lane), should);
            }
        }
    });
}

#[test]
fn groups_of_eight_are_permuted_at_will_and_read_zero_from_inactive_lanes() {
    trials(|bench, random, _| {
        let lanes = [0; 8].map(|_| random.next() as u8 & 7);
        let fetch_inactive = random.next() & 1 == 1;
        let data = row(bench, 3);
        let old = row(bench, 20);
        let mut code = inst("v_mov_b32", Encoding::Vop1, Operand::Vgpr(20), &[Operand::Vgpr(3)]);
        code.dpp = Some(Dpp::Dpp8 { lanes, fetch_inactive });
        bench.run(&code);
        for lane in 0..data.len() {
            let from = lane / 8 * 8 + usize::from(lanes[lane % 8]);
            let active = |lane: usize| bench.wave.exec() >> lane & 1 == 1;
            let should = match (active(lane), active(from) || fetch_inactive) {
                (false, _) => old[lane],
                (true, true) => data[from],
                (true, false) => 0,
            };
            assert_eq!(bench.word(20, lane), should);
        }
    });
}
