//! The results of cuRAND 10.4.5 for the same calls: digests taken from its host generators, which
//! need no card and, by NVIDIA's documentation, give the same numbers as a card.

/// A call that generates numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Bits,
    Uniform,
    UniformDouble,
    /// Mean -3, standard deviation 0.25.
    Normal,
    /// The same mean and deviation.
    NormalDouble,
}

/// The calls of every case, in order, and the number of values that each generates. Where possible,
/// counts are not multiples of a turn, so that each call begins within a turn.
pub const CALLS: [(Call, usize); 6] = [
    (Call::Bits, 1000),
    (Call::Uniform, 1001),
    (Call::UniformDouble, 999),
    (Call::Normal, 1000),
    (Call::NormalDouble, 1000),
    (Call::Bits, 270_001),
];

/// The kind, order, seed and offset of a generator, and the digests of its calls. The normal
/// distributions have no digests: their last bits depend on the logarithm and the sine, which
/// differ between a card and the host.
#[derive(Debug)]
pub struct Case {
    pub kind: u32,
    pub ordering: u32,
    pub seed: u64,
    pub offset: u64,
    pub digests: [u64; 4],
}

const fn case(kind: u32, ordering: u32, seed: u64, offset: u64, digests: [u64; 4]) -> Case {
    Case { kind, ordering, seed, offset, digests }
}

/// Philox, XORWOW and MRG32k3a in the default and the legacy order, and XORWOW in the seeded order.
#[rustfmt::skip]
pub const CASES: [Case; 10] = [
    case(161, 101, 0x0, 0, [0x6c46_3fc0_5104_8f3c, 0xc46d_b0d6_9339_8864, 0x2f5f_6b9a_f649_f08c, 0x8e23_517e_68ed_a891]),
    case(161, 101, 0x0123_4567_89ab_cdef, 7, [0xbade_f06b_7c23_84a1, 0x3c6b_5832_b03d_79f3, 0x6803_90dd_b451_ca74, 0xefd1_8411_e194_f206]),
    case(161, 103, 0x2a, 300_005, [0x72c7_0722_e476_e4a9, 0x25a5_5c8d_f6ba_8410, 0xb7de_e0c8_c048_66a8, 0x5931_6ba1_78dc_654b]),
    case(101, 101, 0x0, 0, [0x2f96_b6dc_39ad_96ad, 0x7057_05be_f4c5_6d90, 0x1dc6_62f3_715b_a784, 0x9263_2a90_46b1_fb8c]),
    case(101, 101, 0x0123_4567_89ab_cdef, 7, [0xf348_0c21_cfec_8217, 0x8221_75c3_2967_516b, 0xe18f_638f_dbbf_dbbe, 0xafa6_8ffe_5168_ec2c]),
    case(101, 103, 0x2a, 300_005, [0xad18_1f66_be6c_4bbd, 0x1d95_de0d_8f7d_7769, 0xcadb_c440_fb2c_95fa, 0x8224_d5f5_c79d_d832]),
    case(101, 102, 0xffff_fff0, 3, [0xe2d3_599b_71de_d0de, 0x30ad_cbb2_aa97_208f, 0xb67c_5cee_a725_dc6d, 0xe5f3_e58c_3eb9_fa22]),
    case(121, 101, 0x0, 0, [0xa581_bd1b_6dad_ab43, 0x9b10_2107_a413_3559, 0xb83b_3f80_be6c_9501, 0x709b_93ce_2f3e_6b7a]),
    case(121, 101, 0x0123_4567_89ab_cdef, 7, [0x952e_38ae_b545_3ab9, 0xb158_3c20_5b2f_3a10, 0xbf6c_1171_433a_9c8c, 0x2d48_33f1_9313_f35d]),
    case(121, 103, 0x2a, 300_005, [0xe37f_35d8_8d5a_61a4, 0x311a_f345_5191_1869, 0x470c_4cfb_6229_1668, 0xd805_6a64_9a95_ee7e]),
];

/// 64-bit FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the digests of a case, from the bytes that `draw` returns for each call.
pub fn digests(mut draw: impl FnMut(Call, usize) -> Vec<u8>) -> [u64; 4] {
    let mut digests = Vec::new();
    for (call, count) in CALLS {
        let bytes = draw(call, count);
        if !matches!(call, Call::Normal | Call::NormalDouble) {
            digests.push(digest(&bytes));
        }
    }
    digests.try_into().expect("four calls are not normal ones")
}
