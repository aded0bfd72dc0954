//! erf: an odd polynomial below 1, and above it 1 - exp(-L) with a polynomial L for -log(erfc).

use super::base::{Exp, bits, horner, pow2};

const INNER: [f64; 12] = bits([
    0x3fc0_6eba_8214_db68,
    0xbfd8_1274_6b03_79b5,
    0x3fbc_e2f2_1a04_0b02,
    0xbf9b_82ce_311f_7069,
    0x3f75_65bc_cf90_8894,
    0xbf4c_02db_03ff_6859,
    0x3f1f_9a2b_b4bb_a0e4,
    0xbeef_4ca5_bb28_56d7,
    0x3ebb_9807_f233_887f,
    0xbe85_c0bc_3130_e26f,
    0x3e4d_73d7_44d5_6d18,
    0xbe0a_c1a4_196e_3b8f,
]);
const OUTER: [f64; 18] = bits([
    0x3ffd_97fb_f27a_a2a1,
    0x4005_1c9b_0006_c21a,
    0x3fea_fabc_11a2_afd9,
    0x3fa5_477f_099b_6c88,
    0xbf84_8c9d_37fc_20b4,
    0x3f60_33f5_a12f_c663,
    0xbf2f_1b04_a8f3_78c1,
    0xbefb_92dd_9789_9da3,
    0x3efc_852a_a0c1_2682,
    0xbee4_4846_446e_e59e,
    0x3ec1_e247_370b_1890,
    0xbe8b_7cf2_292c_83ac,
    0xbe6f_25cb_b02b_423b,
    0x3e61_ed8c_ee88_eb21,
    0xbe42_4b8f_b990_3955,
    0x3e16_a9ee_8346_f693,
    0xbde0_66cb_52c7_6867,
    0x3d95_661e_2842_76a8,
]);

/// The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let ax = x.abs();
    let inner = x.mul_add(horner(x * x, &INNER), x);
    let y = if ax > 6.0 { 6.0 } else { ax } - 1.0;
    let e = Exp::base_e(-horner(y, &OUTER), 0.0);
    let outer = 1.0 - pow2(e.n) * e.significand();
    if ax < 1.0 { inner } else { outer.copysign(x) }
}
