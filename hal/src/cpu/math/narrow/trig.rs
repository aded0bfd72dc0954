//! sin, cos and tan.

use super::Narrow;
use super::common::{MAGIC, f, horner, moved, reciprocal, sign_of, xor_sign};

/// The fractional part of 2ᵉ / 2π for e from 9 to 120, in units of 2⁻⁶⁴ (rounded to nearest).
static TURNS: [u64; 112] = [
    0x7cc1_b727_220a_94fe,
    0xf983_6e4e_4415_29fc,
    0xf306_dc9c_882a_53f8,
    0xe60d_b939_1054_a7f1,
    0xcc1b_7272_20a9_4fe1,
    0x9836_e4e4_4152_9fc2,
    0x306d_c9c8_82a5_3f85,
    0x60db_9391_054a_7f0a,
    0xc1b7_2722_0a94_fe14,
    0x836e_4e44_1529_fc27,
    0x06dc_9c88_2a53_f84f,
    0x0db9_3910_54a7_f09d,
    0x1b72_7220_a94f_e13b,
    0x36e4_e441_529f_c275,
    0x6dc9_c882_a53f_84eb,
    0xdb93_9105_4a7f_09d6,
    0xb727_220a_94fe_13ac,
    0x6e4e_4415_29fc_2758,
    0xdc9c_882a_53f8_4eb0,
    0xb939_1054_a7f0_9d5f,
    0x7272_20a9_4fe1_3abf,
    0xe4e4_4152_9fc2_757d,
    0xc9c8_82a5_3f84_eafa,
    0x9391_054a_7f09_d5f4,
    0x2722_0a94_fe13_abe9,
    0x4e44_1529_fc27_57d2,
    0x9c88_2a53_f84e_afa4,
    0x3910_54a7_f09d_5f48,
    0x7220_a94f_e13a_be90,
    0xe441_529f_c275_7d1f,
    0xc882_a53f_84ea_fa3f,
    0x9105_4a7f_09d5_f47d,
    0x220a_94fe_13ab_e8fb,
    0x4415_29fc_2757_d1f5,
    0x882a_53f8_4eaf_a3ea,
    0x1054_a7f0_9d5f_47d5,
    0x20a9_4fe1_3abe_8faa,
    0x4152_9fc2_757d_1f53,
    0x82a5_3f84_eafa_3ea7,
    0x054a_7f09_d5f4_7d4d,
    0x0a94_fe13_abe8_fa9a,
    0x1529_fc27_57d1_f535,
    0x2a53_f84e_afa3_ea6a,
    0x54a7_f09d_5f47_d4d3,
    0xa94f_e13a_be8f_a9a7,
    0x529f_c275_7d1f_534e,
    0xa53f_84ea_fa3e_a69c,
    0x4a7f_09d5_f47d_4d37,
    0x94fe_13ab_e8fa_9a6f,
    0x29fc_2757_d1f5_34de,
    0x53f8_4eaf_a3ea_69bc,
    0xa7f0_9d5f_47d4_d377,
    0x4fe1_3abe_8fa9_a6ee,
    0x9fc2_757d_1f53_4ddc,
    0x3f84_eafa_3ea6_9bb8,
    0x7f09_d5f4_7d4d_3770,
    0xfe13_abe8_fa9a_6ee0,
    0xfc27_57d1_f534_ddc1,
    0xf84e_afa3_ea69_bb82,
    0xf09d_5f47_d4d3_7703,
    0xe13a_be8f_a9a6_ee07,
    0xc275_7d1f_534d_dc0e,
    0x84ea_fa3e_a69b_b81b,
    0x09d5_f47d_4d37_7037,
    0x13ab_e8fa_9a6e_e06e,
    0x2757_d1f5_34dd_c0db,
    0x4eaf_a3ea_69bb_81b7,
    0x9d5f_47d4_d377_036e,
    0x3abe_8fa9_a6ee_06db,
    0x757d_1f53_4ddc_0db6,
    0xeafa_3ea6_9bb8_1b6c,
    0xd5f4_7d4d_3770_36d9,
    0xabe8_fa9a_6ee0_6db1,
    0x57d1_f534_ddc0_db63,
    0xafa3_ea69_bb81_b6c5,
    0x5f47_d4d3_7703_6d8a,
    0xbe8f_a9a6_ee06_db15,
    0x7d1f_534d_dc0d_b629,
    0xfa3e_a69b_b81b_6c53,
    0xf47d_4d37_7036_d8a5,
    0xe8fa_9a6e_e06d_b14b,
    0xd1f5_34dd_c0db_6296,
    0xa3ea_69bb_81b6_c52b,
    0x47d4_d377_036d_8a56,
    0x8fa9_a6ee_06db_14ad,
    0x1f53_4ddc_0db6_295a,
    0x3ea6_9bb8_1b6c_52b3,
    0x7d4d_3770_36d8_a566,
    0xfa9a_6ee0_6db1_4acd,
    0xf534_ddc0_db62_9599,
    0xea69_bb81_b6c5_2b32,
    0xd4d3_7703_6d8a_5665,
    0xa9a6_ee06_db14_acca,
    0x534d_dc0d_b629_5994,
    0xa69b_b81b_6c52_b328,
    0x4d37_7036_d8a5_664f,
    0x9a6e_e06d_b14a_cc9e,
    0x34dd_c0db_6295_993c,
    0x69bb_81b6_c52b_3279,
    0xd377_036d_8a56_64f1,
    0xa6ee_06db_14ac_c9e2,
    0x4ddc_0db6_2959_93c4,
    0x9bb8_1b6c_52b3_2788,
    0x3770_36d8_a566_4f11,
    0x6ee0_6db1_4acc_9e22,
    0xddc0_db62_9599_3c44,
    0xbb81_b6c5_2b32_7887,
    0x7703_6d8a_5664_f10e,
    0xee06_db14_acc9_e21d,
    0xdc0d_b629_5993_c439,
    0xb81b_6c52_b327_8872,
    0x7036_d8a5_664f_10e4,
];

/// From this magnitude on, bf16 arguments are reduced by the table; f16 has no arguments this
/// large.
const FAR: f32 = 65_536.0;

/// Returns the fraction of a turn that a magnitude of at least 2¹⁶ (an eight-bit integer times a
/// power of two) leaves, in units of 2⁻⁶⁴.
#[inline(always)]
fn turns(magnitude: f32) -> u64 {
    let bits = magnitude.to_bits();
    let exponent = (bits >> 23) as usize - 143;
    u64::from(bits >> 16 & 0x7f | 0x80).wrapping_mul(TURNS[exponent])
}

/// Whether the table reduces this argument.
#[inline(always)]
fn is_far<T: Narrow>(magnitude: f32) -> bool {
    T::WIDE && (FAR..f32::INFINITY).contains(&magnitude)
}

/// Returns `magnitude - k * (high + low)`.
#[inline(always)]
fn reduce(k: f32, magnitude: f32, high: f32, low: f32) -> f32 {
    k.mul_add(-low, k.mul_add(-high, magnitude))
}

const PI: (f32, f32) = (f(0x4049_0fdb), f(0xb3bb_bd2e));
const HALF_PI: (f32, f32) = (f(0x3fc9_0fdb), f(0xb33b_bd2e));

/// sin x.
#[inline(always)]
pub fn sin<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let magnitude = moved::<T>(magnitude, f(0x3e56_6000), f(0x3e56_6040));
    let (r, half_turns) = if is_far::<T>(magnitude) {
        let turn = turns(magnitude);
        let r = (turn << 1) as i64 as f32 * f(0x2049_0fdb);
        (r, (turn.wrapping_add(1 << 62) >> 63) as u32)
    } else {
        let t = magnitude.mul_add(f(0x3ea2_f983), MAGIC);
        (reduce(t - MAGIC, magnitude, PI.0, PI.1), t.to_bits())
    };
    let z = r * r;
    let reduced = (r * z).mul_add(horner(z, [f(0x362e_e4ad), -f(0x394f_b7ed), f(0x3c08_877d), -f(0x3e2a_aaaa)]), r);
    xor_sign(reduced, half_turns << 31 ^ sign_of(x))
}

/// cos x.
#[inline(always)]
pub fn cos<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let (r, half_turns) = if is_far::<T>(magnitude) {
        // The cosine is the sine a quarter turn later.
        let turn = turns(magnitude).wrapping_add(1 << 62);
        let r = (turn << 1) as i64 as f32 * f(0x2049_0fdb);
        (r, (turn.wrapping_add(1 << 62) >> 63) as u32 ^ 1)
    } else {
        let t = magnitude.mul_add(f(0x3ea2_f983), -0.5) + MAGIC;
        (reduce(t - MAGIC + 0.5, magnitude, PI.0, PI.1), t.to_bits())
    };
    let reduced = horner(r * r, [f(0x362e_e4bf), -f(0x394f_b8b1), f(0x3c08_877d), -f(0x3e2a_aaa5), 1.0]) * r;
    xor_sign(reduced, !(half_turns << 31) & 0x8000_0000)
}

/// tan x.
#[inline(always)]
pub fn tan<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let magnitude = moved::<T>(magnitude, f(0x3d12_8000), f(0x3d12_8040));
    let (r, quarter_turns) = if is_far::<T>(magnitude) {
        let turn = turns(magnitude);
        let r = (turn << 2) as i64 as f32 * f(0x1fc9_0fdb);
        (r, (turn.wrapping_add(1 << 61) >> 62) as u32)
    } else {
        let t = magnitude.mul_add(f(0x3f22_f983), MAGIC);
        (reduce(t - MAGIC, magnitude, HALF_PI.0, HALF_PI.1), t.to_bits())
    };
    let z = r * r;
    let above = horner(z, [-f(0x3dc4_33c4), 1.0]) * r;
    let below = horner(z, [f(0x3c1f_336f), -f(0x3edb_b7aa), 1.0]);
    let odd = quarter_turns & 1 != 0;
    let (above, below) = if odd { (-below, above) } else { (above, below) };
    xor_sign(above * reciprocal(below), sign_of(x))
}
