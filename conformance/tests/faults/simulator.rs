//! The simulator's own functions: which calls fail, and how many there were.

use crate::card::Card;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};

/// The number of calls of a function.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct Count {
    /// All of them.
    pub calls: u64,
    /// Those that returned an error.
    pub failed: u64,
    /// Those that an injected fault made fail.
    pub injected: u64,
}

/// The simulated runtime library of this process.
pub struct Simulator {
    card: &'static Card,
    library: Library,
}

impl Simulator {
    /// Opens the library, which the driver opens too.
    pub fn new(card: &'static Card) -> Self {
        let file = card.installation().join("lib").join(card.runtime);
        // SAFETY: the simulator does nothing when it is loaded, except to remove absent functions.
        let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) };
        Self { card, library: library.unwrap_or_else(|why| panic!("{}: {why}", file.display())) }
    }

    /// Sets the faults; no text means none.
    pub fn fail(&self, faults: &str) {
        let text = CString::new(faults).expect("no NUL");
        // SAFETY: the simulator's function has this type, and the text ends in NUL.
        let status = unsafe {
            let set = self.library.get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"isobit_sim_fault\0");
            set.expect("the simulator's function")(text.as_ptr())
        };
        assert_eq!(status, 0, "{faults}");
    }

    /// Returns the number of calls by function since the process began.
    pub fn counts(&self) -> BTreeMap<String, Count> {
        let mut json = vec![0u8; 1 << 16];
        // SAFETY: the simulator's function has this type, and the buffer has the given length.
        let written = unsafe {
            let calls = self.library.get::<unsafe extern "C" fn(*mut c_char, usize) -> usize>(b"isobit_sim_calls\0");
            calls.expect("the simulator's function")(json.as_mut_ptr().cast(), json.len())
        };
        serde_json::from_slice(&json[..written]).expect("the counts are JSON")
    }

    /// Returns the number of faults that happened.
    pub fn injected(&self) -> u64 {
        self.counts().values().map(|count| count.injected).sum()
    }

    /// Returns the number of native objects of each kind that are not destroyed. An object counts
    /// as destroyed if an injected fault kept its end from happening.
    pub fn live(&self) -> Vec<(&'static str, u64)> {
        let counts = self.counts();
        let of = |name: &str| counts.get(name).copied().unwrap_or_default();
        let live = |create: Count, destroy: Count| {
            create.calls - create.failed + destroy.failed - destroy.injected - destroy.calls
        };
        self.card.natives.iter().map(|(create, destroy)| (*create, live(of(create), of(destroy)))).collect()
    }

    /// Resets the card, as a program does that goes on after the device was lost.
    pub fn reset(&self) {
        // SAFETY: the functions have these types, in the vendors' headers.
        let status = unsafe {
            match self.card.vendor {
                0 => {
                    let reset =
                        self.library.get::<unsafe extern "C" fn(c_int) -> c_int>(b"cuDevicePrimaryCtxReset_v2\0");
                    reset.expect("CUDA's function")(0)
                }
                _ => {
                    let reset = self.library.get::<unsafe extern "C" fn() -> c_int>(b"hipDeviceReset\0");
                    reset.expect("HIP's function")()
                }
            }
        };
        assert_eq!(status, 0, "the card cannot be reset");
    }
}
