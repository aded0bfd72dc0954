//! Scratch memory that a library requires from its caller. The computations here do not use it, but
//! a program must provide it and must not rely on its contents.

use isobit_simgpu_library_common::Access;

/// Overwrites the memory at an exposed address if the simulator allows it.
///
/// # Safety
/// If the access is allowed, the memory may be written.
pub unsafe fn spoil(address: usize, bytes: usize, what: &str, access: &Access<'_>) -> bool {
    let memory = std::ptr::with_exposed_provenance_mut::<u8>(address);
    if bytes > 0 {
        if !access(memory, bytes, true, what) {
            return false;
        }
        // SAFETY: the simulator allowed the access, so the memory may be written, as the caller
        // promises.
        unsafe { memory.write_bytes(0xa5, bytes) };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::spoil;
    use std::cell::Cell;

    #[test]
    fn what_lies_there_is_lost_where_that_is_allowed() {
        let mut memory = [7u8; 4];
        let address = memory.as_mut_ptr().expose_provenance();
        let asked = Cell::new(0);
        let spoiled = |bytes, allowed: bool| {
            let access = |_: *const u8, n: usize, write: bool, what: &str| {
                asked.set(asked.get() + n);
                allowed && write && what == "memory"
            };
            // SAFETY: the buffer has at least `bytes` bytes, and none are touched at address 0.
            unsafe { spoil(if bytes == 0 { 0 } else { address }, bytes, "memory", &access) }
        };
        assert!(!spoiled(3, false) && memory == [7; 4]);
        assert!(spoiled(3, true) && memory[..3] != [7; 3] && memory[3] == 7);
        assert!(spoiled(0, false));
        assert_eq!(asked.get(), 6);
    }
}
