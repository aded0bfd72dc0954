//! The tests of both vendors' libraries, which have one interface. The test program of a vendor
//! includes this folder next to its `VENDOR`, and uses the libraries as a program does: it opens
//! them by the names of the vendor.

mod capture;
mod collectives;
mod faults;
mod gpu;
mod groups;
mod misuse;
mod processes;
mod run;
mod values;

pub use gpu::Vendor;
