//! Sets the soname that programs ask for. The loader then finds the library by that name on the
//! library path. It also accepts a copy that the process opened earlier by its full path, because
//! the loader compares sonames.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // The library registers functions that run at process exit, so it must not be unloaded before
    // then.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
