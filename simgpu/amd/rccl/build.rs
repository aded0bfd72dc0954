//! Keeps the library in the process once it is loaded, because its threads run until the process
//! ends.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
