//! Compares our declarations with those of the headers. Messages name both where they differ.

use crate::declarations::Declarations;

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of functions that agree.
    pub functions: usize,
    /// Number of constants that agree.
    pub constants: usize,
    /// Number of sizes and offsets that agree.
    pub layouts: usize,
    /// Optional items that these headers do not have.
    pub absent: Vec<String>,
    /// The differences.
    pub mismatches: Vec<String>,
}

impl Report {
    /// Returns the absent items as text for the end of a line.
    pub fn absent_text(&self) -> String {
        if self.absent.is_empty() { String::new() } else { format!("; this release lacks {}", self.absent.join(", ")) }
    }
}

/// Compares every declaration of ours with theirs.
pub fn compare(ours: &Declarations, theirs: &Declarations) -> Report {
    let mut report = Report::default();
    for (name, function) in &ours.functions {
        let declared = ours.signature(function);
        match theirs.functions.get(name).map(|f| theirs.signature(f)) {
            Some(header) if header == declared => report.functions += 1,
            Some(header) => report.mismatches.push(format!("{name}: declared {declared}, but the header has {header}")),
            None if !function.required => report.absent.push(name.clone()),
            None => report.mismatches.push(format!("{name}: declared {declared}, but the header has no such function")),
        }
    }
    for (name, (ty, value)) in &ours.constants {
        let declared = format!("{}: {} = {value}", name, ours.resolved(ty));
        match theirs.constants.get(name) {
            Some((t, v)) if v == value && theirs.resolved(t) == ours.resolved(ty) => report.constants += 1,
            Some((t, v)) => report
                .mismatches
                .push(format!("declared {declared}, but the header has {name}: {} = {v}", theirs.resolved(t))),
            // Enums grow: an older release lacks some values of a newer one.
            None => report.absent.push(name.clone()),
        }
    }
    for (name, bytes) in &ours.layouts {
        match theirs.layouts.get(name) {
            Some(header) if header == bytes => report.layouts += 1,
            Some(header) => {
                report.mismatches.push(format!("{name}: declared as {bytes} bytes, but the header has {header}"))
            }
            None => report.absent.push(name.clone()),
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{declared, headers};

    const HEADER: &str = r#"
        pub type hipError_t = ::std::os::raw::c_uint;
        pub const hipSuccess: hipError_t = 0;
        pub const hipErrorOutOfMemory: hipError_t = 2;
        pub const hipStreamNonBlocking: u32 = 1;
        pub struct ihipStream_t { _unused: [u8; 0] }
        pub type hipStream_t = *mut ihipStream_t;
        pub struct hipDeviceProp_t { pub name: [::std::os::raw::c_char; 256usize] }
        const _: () = {
            ["Size of hipDeviceProp_t"][::std::mem::size_of::<hipDeviceProp_t>() - 792usize];
            ["Offset of field: hipDeviceProp_t::gcnArchName"][::std::mem::offset_of!(hipDeviceProp_t, gcnArchName)
                - 396usize];
        };
        unsafe extern "C" {
            pub fn hipMalloc(ptr: *mut *mut ::std::os::raw::c_void, size: usize) -> hipError_t;
            pub fn hipGetDeviceProperties(prop: *mut hipDeviceProp_t, deviceId: ::std::os::raw::c_int) -> hipError_t;
            pub fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
        }
    "#;

    const OURS: &str = r#"
        pub type hipError_t = c_uint;
        crate::handles! { /** A stream. */ hipStream_t = ihipStream_t; }
        crate::constants! { hipError_t: hipSuccess = 0, "Done."; hipErrorOutOfMemory = 2, "None left."; }
        crate::constants! { c_uint: hipStreamNonBlocking = 1, "Free."; }
        pub const R0000: PropertiesLayout = PropertiesLayout { size: 792, arch_name: 396 };
        crate::library! {
            /// HIP.
            pub struct Hip { name: "HIP", variable: "V", sonames: ["a", "b"] }
            /// Allocates.
            fn hipMalloc(ptr: *mut *mut c_void, size: usize) -> hipError_t;
            /// Destroys.
            fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
            optional {
                /// Properties.
                fn hipGetDeviceProperties(prop: *const hipDeviceProp_tR0000, deviceId: c_int) -> hipError_t;
                /// Properties of ROCm 6.
                fn hipGetDevicePropertiesR0600(prop: *mut hipDeviceProp_tR0600, deviceId: c_int) -> hipError_t;
            }
        }
    "#;

    fn report(ours: &str) -> Report {
        compare(&declared::read(ours).unwrap(), &headers::parse(HEADER).unwrap())
    }

    #[test]
    fn declarations_that_agree_are_counted() {
        let report = report(OURS);
        assert_eq!(report.mismatches, [""; 0]);
        assert_eq!((report.functions, report.constants, report.layouts), (3, 3, 2));
        assert_eq!(report.absent, ["hipGetDevicePropertiesR0600"]);
    }

    #[test]
    fn a_wrong_declaration_is_reported_with_both_sides() {
        for (right, wrong, told) in [
            ("size: usize", "size: c_uint", ["(**void, u32) -> u32", "(**void, usize) -> u32"]),
            ("ptr: *mut *mut c_void", "ptr: *mut c_void", ["(*void, usize)", "(**void, usize)"]),
            ("stream: hipStream_t)", "stream: *mut ihipEvent_t)", ["(*ihipEvent_t)", "(*ihipStream_t)"]),
            ("hipError_t = c_uint", "hipError_t = c_int", ["-> i32", "-> u32"]),
            ("fn hipMalloc(", "fn hipMallocs(", ["hipMallocs", "no such function"]),
            ("hipErrorOutOfMemory = 2", "hipErrorOutOfMemory = 3", ["= 3", "= 2"]),
            ("{ c_uint: hipStreamNonBlocking", "{ c_uchar: hipStreamNonBlocking", ["u8 = 1", "u32 = 1"]),
            ("arch_name: 396", "arch_name: 400", ["400", "396"]),
            ("size: 792", "size: 800", ["800", "792"]),
            (
                "prop: *const hipDeviceProp_tR0000",
                "prop: *mut hipDeviceProp_tR0600",
                ["*hipDeviceProp_tR0600", "*hipDeviceProp_tR0000"],
            ),
        ] {
            assert!(OURS.contains(right), "{right}");
            let report = report(&OURS.replace(right, wrong));
            assert!(!report.mismatches.is_empty(), "{wrong} was not detected");
            let all = report.mismatches.join("\n");
            assert!(told.iter().all(|t| all.contains(t)), "{wrong}: {all}");
        }
    }
}
