"""Canonical names: one name per operation on all targets. It is GFX11's if GFX9 has another name for the same operation on the same operands,
and gfx942's for the matrix instructions, which GFX11 does not have.

These are not unified, because the operands differ: `ds_cmpst_*` of GFX9 takes the comparand first, `ds_cmpstore_*` of GFX11 the new value.
"""

import re

# Complete names of GFX9 and the corresponding names of GFX11.
WHOLE = {
    "v_add_u32": "v_add_nc_u32", "v_sub_u32": "v_sub_nc_u32", "v_subrev_u32": "v_subrev_nc_u32",
    "v_add_u16": "v_add_nc_u16", "v_sub_u16": "v_sub_nc_u16", "v_subrev_u16": "v_subrev_nc_u16",
    "v_add_i16": "v_add_nc_i16", "v_sub_i16": "v_sub_nc_i16", "v_add_i32": "v_add_nc_i32", "v_sub_i32": "v_sub_nc_i32",
    "v_addc_co_u32": "v_add_co_ci_u32", "v_subb_co_u32": "v_sub_co_ci_u32", "v_subbrev_co_u32": "v_subrev_co_ci_u32",
    "v_ffbh_u32": "v_clz_i32_u32", "v_ffbl_b32": "v_ctz_i32_b32", "v_ffbh_i32": "v_cls_i32",
    "v_cvt_rpi_i32_f32": "v_cvt_nearest_i32_f32", "v_cvt_flr_i32_f32": "v_cvt_floor_i32_f32",
    "v_cvt_pkrtz_f16_f32": "v_cvt_pk_rtz_f16_f32",
    "v_cvt_pknorm_i16_f32": "v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_u16_f32": "v_cvt_pk_norm_u16_f32",
    "v_cvt_pknorm_i16_f16": "v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_u16_f16": "v_cvt_pk_norm_u16_f16",
    "v_mul_legacy_f32": "v_mul_dx9_zero_f32",
    "s_flbit_i32_b32": "s_clz_i32_u32", "s_flbit_i32_b64": "s_clz_i32_u64", "s_flbit_i32": "s_cls_i32", "s_flbit_i32_i64": "s_cls_i32_i64",
    "s_ff1_i32_b32": "s_ctz_i32_b32", "s_ff1_i32_b64": "s_ctz_i32_b64",
    "ds_write_addtid_b32": "ds_store_addtid_b32", "ds_read_addtid_b32": "ds_load_addtid_b32",
}

# Parts of names, replaced in this order.
PARTS = (
    (r"^s_andn1_", "s_and_not0_"), (r"^s_andn2_", "s_and_not1_"), (r"^s_orn1_", "s_or_not0_"), (r"^s_orn2_", "s_or_not1_"),
    (r"^v_cmp(x?)_tru_", r"v_cmp\1_t_"),
    (r"^ds_read2st64_", "ds_load_2addr_stride64_"), (r"^ds_read2_", "ds_load_2addr_"),
    (r"^ds_write2st64_", "ds_store_2addr_stride64_"), (r"^ds_write2_", "ds_store_2addr_"),
    (r"^ds_wrxchg2st64_rtn_", "ds_storexchg_2addr_stride64_rtn_"), (r"^ds_wrxchg2_rtn_", "ds_storexchg_2addr_rtn_"),
    (r"^ds_wrxchg_", "ds_storexchg_"), (r"^ds_read_", "ds_load_"), (r"^ds_write_", "ds_store_"),
    # The names of gfx942 have the number of blocks, if there are several, and an underscore before
    # the type of the factors.
    (r"^(v_mfma_(?:f32_32x32x1(?=f32)|[fi]32_32x32x4(?=f16|i8)))([fi]\d+)$", r"\1_2b_\2"),
    (r"^(v_mfma_(?:f32_16x16x1(?=f32)|[fi]32_16x16x4(?=f16|i8)|f64_4x4x4))([fi]\d+)$", r"\1_4b_\2"),
    (r"^(v_mfma_(?:f32_4x4x1|[fi]32_4x4x4))([fi]\d+)$", r"\1_16b_\2"),
    (r"^(v_mfma_[fi]\d+_\d+x\d+x\d+)([fi]\d+)$", r"\1_\2"),
)

_LOADS = {"ubyte": "u8", "sbyte": "i8", "ushort": "u16", "sshort": "i16", "dword": "b32", "dwordx2": "b64", "dwordx3": "b96", "dwordx4": "b128",
          "dwordx8": "b256", "dwordx16": "b512", "short": "b16", "byte": "b8"}
_ATOMICS = {"swap": "swap_b", "cmpswap": "cmpswap_b", "add": "add_u", "sub": "sub_u", "smin": "min_i", "umin": "min_u", "smax": "max_i",
            "umax": "max_u", "and": "and_b", "or": "or_b", "xor": "xor_b", "inc": "inc_u", "dec": "dec_u"}


def base(mnemonic):
    """Returns the mnemonic without the parts that identify the encoding."""
    name = re.sub(r"(_e32|_e64|_e64_dpp|_dpp|_sdwa)$", "", mnemonic)
    return name.replace("v_dual_", "v_")


def canonical(mnemonic):
    """Returns the canonical name of one of LLVM's mnemonics."""
    name = base(mnemonic)
    if name in WHOLE:
        return WHOLE[name]
    access = re.match(r"^((?:s_buffer|s_scratch|s|flat|global|scratch|buffer)_(?:load|store)_(?:lds_)?)([a-z]+(?:x\d+)?)(_d16)?(_hi)?$", name)
    if access and access[2] in _LOADS:
        return access[1] + ("d16_" if access[3] else "") + ("hi_" if access[4] else "") + _LOADS[access[2]]
    atomic = re.match(r"^((?:s_buffer|s|flat|global|buffer)_atomic_)([a-z]+)(_x2)?$", name)
    if atomic and atomic[2] in _ATOMICS:
        return atomic[1] + _ATOMICS[atomic[2]] + ("64" if atomic[3] else "32")
    for pattern, to in PARTS:
        name = re.sub(pattern, to, name)
    return name


def ties_destination(name):
    """Whether the destination is also a source, the last one."""
    return re.match(r"^v_(mac|fmac|pk_fmac|dot\dc|dot2acc)_", name) is not None
