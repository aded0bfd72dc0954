//! Functions that a library does not have. When the library is loaded, it removes them from its own
//! table of symbols, so that `dlsym` does not find them, as with an older release of the vendor's
//! library.

use std::ffi::{CStr, CString, c_char, c_void};

/// An entry of the symbol table (`Elf64_Sym`).
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// The beginning of `struct link_map` in `<link.h>`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const [usize; 2],
}

/// Tags of the dynamic section.
const DT_NULL: usize = 0;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_GNU_HASH: usize = 0x6fff_fef5;

/// The symbols of a loaded library.
struct Symbols {
    hash: *const u32,
    table: *mut Symbol,
    texts: *const c_char,
}

/// Runs [`remove_of_environment`] when the calling library is loaded.
#[macro_export]
macro_rules! remove_absent_functions {
    () => {
        // SAFETY: the loader calls the functions of this section once, after it has relocated the
        // library. The function needs nothing else to be initialised.
        #[unsafe(link_section = ".init_array")]
        #[used]
        static REMOVE_ABSENT_FUNCTIONS: extern "C" fn() = {
            extern "C" fn remove() {
                $crate::absent::remove_of_environment(remove as *const ::std::ffi::c_void);
            }
            remove
        };
    };
}

/// Removes the functions that [`VARIABLE`](crate::VARIABLE) calls absent from the library that
/// contains `code`. The rest of the variable is checked by the runtime at its first call.
pub fn remove_of_environment(code: *const c_void) {
    // A panic must not reach the loader.
    let _ = std::panic::catch_unwind(|| {
        let text = crate::of_environment().unwrap_or_default();
        let names = text.split(',').filter_map(|entry| {
            let mut parts = entry.split(':').map(str::trim);
            let name = parts.next()?;
            (parts.next_back() == Some("absent")).then_some(name)
        });
        let mut names = names.peekable();
        if names.peek().is_none() {
            return;
        }
        let Some(symbols) = Symbols::of(code) else { return };
        for name in names.filter_map(|name| CString::new(name).ok()) {
            symbols.remove(&name);
        }
    });
}

impl Symbols {
    /// Returns the symbols of the library that contains `code`.
    fn of(code: *const c_void) -> Option<Self> {
        const RTLD_DL_LINKMAP: i32 = 2;
        // SAFETY: all fields are integers or pointers, for which zero is valid.
        let mut info = unsafe { std::mem::zeroed::<libc::Dl_info>() };
        let mut map = std::ptr::null_mut();
        // SAFETY: both out-parameters are valid; the loader writes the address of its own map.
        if unsafe { libc::dladdr1(code, &mut info, &mut map, RTLD_DL_LINKMAP) } == 0 || map.is_null() {
            return None;
        }
        // SAFETY: the loader's map of a library that is loaded.
        let LinkMap { base, dynamic, .. } = unsafe { map.cast::<LinkMap>().read() };
        // SAFETY: the dynamic section ends in DT_NULL.
        let entries = (0..).map(|at| unsafe { *dynamic.add(at) }).take_while(|[tag, _]| *tag != DT_NULL);
        let mut found = [0; 3];
        for [tag, value] in entries {
            let Some(at) = [DT_GNU_HASH, DT_SYMTAB, DT_STRTAB].iter().position(|wanted| *wanted == tag) else {
                continue;
            };
            // The C library relocates the addresses of most architectures in place.
            found[at] = if value < base { base + value } else { value };
        }
        let [hash, table, texts] = found;
        let complete = found.iter().all(|address| *address != 0);
        complete.then_some(Self { hash: hash as _, table: table as _, texts: texts as _ })
    }

    /// Returns the entry of a function, by the hash table that `dlsym` uses.
    fn find(&self, name: &CStr) -> Option<*mut Symbol> {
        let wanted = name.to_bytes().iter().fold(5381u32, |hash, &b| hash.wrapping_mul(33).wrapping_add(b.into()));
        // SAFETY: the layout of `DT_GNU_HASH`: the number of buckets, the first symbol, the number
        // of words of 64 bits in the filter, a shift; the filter, the buckets, the chains.
        unsafe {
            let [buckets, first, words] = [0, 1, 2].map(|at| *self.hash.add(at));
            let bucket = self.hash.add(4 + 2 * words as usize);
            let chain = bucket.add(buckets as usize);
            let mut at = *bucket.add((wanted % buckets.max(1)) as usize);
            if at < first {
                return None;
            }
            loop {
                let (hash, symbol) = (*chain.add((at - first) as usize), self.table.add(at as usize));
                if hash | 1 == wanted | 1 && CStr::from_ptr(self.texts.add((*symbol).name as usize)) == name {
                    return Some(symbol);
                }
                if hash & 1 != 0 {
                    return None;
                }
                at += 1;
            }
        }
    }

    /// Makes a symbol undefined, if the library has it.
    fn remove(&self, name: &CStr) {
        let Some(symbol) = self.find(name) else { return };
        // SAFETY: the call only reads a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let (start, end) = (symbol as usize / page * page, symbol as usize + size_of::<Symbol>());
        let protect = |protection| {
            // SAFETY: the pages contain the symbol, so they are mapped; a private mapping of the
            // file, so that no other process sees the change.
            unsafe { libc::mprotect(start as *mut c_void, end - start, protection) == 0 }
        };
        if protect(libc::PROT_READ | libc::PROT_WRITE) {
            // SAFETY: the entry is mapped and writable now. Other threads do not look it up before
            // the library is loaded.
            unsafe {
                (*symbol).value = 0;
                (*symbol).section = 0;
            }
            protect(libc::PROT_READ);
        }
    }
}
