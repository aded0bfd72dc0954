//! RCCL on the simulated GPU, as a program uses it. Both vendors' libraries have the same tests.

#[path = "../../../collective/testing/mod.rs"]
mod testing;

/// Whose libraries are tested.
const VENDOR: testing::Vendor = testing::Vendor::Amd;
