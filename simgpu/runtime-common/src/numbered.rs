//! Tables of what is asked for by number.

/// Writes down the attributes of a device: name, number, and the value as a function of what is
/// asked. Makes `value`, which answers nothing for numbers that are none of them, and `ATTRIBUTES`,
/// which lists them.
#[macro_export]
macro_rules! attributes {
    ($queried:ty; $($name:ident = $number:literal => $value:expr;)*) => {
        /// The value of an attribute; nothing for those that are refused.
        fn value(attribute: ::std::ffi::c_int, this: &$queried) -> Option<::std::ffi::c_int> {
            let of: fn(&$queried) -> ::std::ffi::c_int = match attribute {
                $($number => $value,)*
                _ => return None,
            };
            Some(of(this))
        }

        /// Every attribute that is answered, with the vendor's name.
        pub const ATTRIBUTES: &[(&str, ::std::ffi::c_int)] = &[$((stringify!($name), $number)),*];
    };
}
