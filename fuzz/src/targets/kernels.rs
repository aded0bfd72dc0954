//! What the drivers' host code reads: binaries of users, and packed kernels.

use isobit_kernels::{Target, untrusted};

/// Checks a binary of a user before a driver gets it, and reads its metadata.
pub(crate) fn user_binary(data: &[u8]) {
    for (target, arch) in [(Target::Amdgcn, "gfx90a:sramecc+:xnack-"), (Target::Nvptx, "sm_80")] {
        if let Err(error) = untrusted::user_binary(target, arch, data) {
            assert!(!error.message().is_empty());
        }
    }
}

/// Reads an archive of packed kernels and unpacks each frame.
pub(crate) fn archive(data: &[u8]) {
    if let Err(why) = untrusted::archive(data) {
        assert!(!why.is_empty());
    }
}
