#[cfg(feature = "cuda")]
mod isobit;
#[cfg(feature = "cuda")]
pub use isobit::{moe_gemm, moe_gemm_gguf};
