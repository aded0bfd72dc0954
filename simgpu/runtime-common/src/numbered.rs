//! Tables of attributes that are queried by number.

/// Defines the attributes of a device: name, number, and the value as a function of the queried
/// object. Generates `value`, which returns `None` for unknown numbers, and `ATTRIBUTES`, which
/// lists them.
#[macro_export]
macro_rules! attributes {
    ($queried:ty; $($name:ident = $number:literal => $value:expr;)*) => {
        /// Returns the value of an attribute, or `None` for unknown ones.
        fn value(attribute: ::std::ffi::c_int, this: &$queried) -> Option<::std::ffi::c_int> {
            let of: fn(&$queried) -> ::std::ffi::c_int = match attribute {
                $($number => $value,)*
                _ => return None,
            };
            Some(of(this))
        }

        /// Every supported attribute, with the vendor's name.
        pub const ATTRIBUTES: &[(&str, ::std::ffi::c_int)] = &[$((stringify!($name), $number)),*];
    };
}
