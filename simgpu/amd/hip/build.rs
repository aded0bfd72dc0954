//! Gives the library the name that what was linked against ROCm 5 asks for. A file of that name is
//! found on the library path, and a copy that the process opened before by its full path satisfies
//! the demand too, because the loader compares sonames.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libamdhip64.so.5");
    // What it registers for the end of the process must still be there then.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
