//! The macros that declare a library: constants, handles, and C-like signatures that become a table
//! of function pointers. Each is a small language, so that the declarations read like the headers
//! and `cargo xtask bindings --check` can parse them.

/// Declares the values of a C enum as constants of its integer type, because a foreign library may
/// return values that no header lists.
#[macro_export]
macro_rules! constants {
    ($ty:ty: $( $name:ident = $value:literal, $doc:literal; )+) => {
        $( #[doc = $doc] pub const $name: $ty = $value; )+
    };
}

/// Declares handles: pointers to objects that are opaque outside the library.
#[macro_export]
macro_rules! handles {
    ($( $(#[$doc:meta])* $handle:ident = $object:ident; )+) => {
        $(
            $(#[$doc])*
            pub type $handle = *mut $object;

            #[doc = concat!("The object behind a [`", stringify!($handle), "`].")]
            #[repr(C)]
            #[derive(Debug)]
            pub struct $object {
                _opaque: [u8; 0],
            }
        )+
    };
}

/// Declares a library of ROCm: a struct with one function pointer per field, and how to fill it
/// from the library's file.
///
/// Functions that some releases lack are listed under `optional` and become an `Option`.
#[macro_export]
macro_rules! library {
    (
        $(#[$about:meta])*
        pub struct $Table:ident { name: $name:literal, variable: $variable:literal, sonames: [$($soname:literal),+ $(,)?] }
        $( $(#[$doc:meta])* fn $f:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty; )+
        $( optional { $( $(#[$odoc:meta])* fn $o:ident($($oarg:ident: $oty:ty),* $(,)?) -> $oret:ty; )+ } )?
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $Table {
            $( $(#[$doc])* pub $f: unsafe extern "C" fn($($arg: $ty),*) -> $ret, )+
            $($( $(#[$odoc])* pub $o: Option<unsafe extern "C" fn($($oarg: $oty),*) -> $oret>, )+)?
            opened: $crate::dl::Opened,
        }

        impl $Table {
            /// The library to look for.
            pub const SPEC: $crate::dl::LibrarySpec =
                $crate::dl::LibrarySpec { name: $name, variable: $variable, sonames: &[$($soname),+] };

            /// The functions without which the library cannot be used.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($f)),+];

            /// Returns the library of this process. It is opened at the first call and stays open.
            ///
            /// # Errors
            /// Returns an error if the library, or a function that every known release has, is
            /// missing. The result is the same at every call.
            pub fn get() -> Result<&'static Self, &'static $crate::dl::OpenError> {
                static TABLE: std::sync::OnceLock<Result<$Table, $crate::dl::OpenError>> = std::sync::OnceLock::new();
                TABLE.get_or_init(|| Self::open(None)).as_ref()
            }

            /// Opens the library, from a given file or from the standard places.
            ///
            /// # Errors
            /// Returns an error if the library, or a function that every known release has, is
            /// missing.
            pub fn open(path: Option<&std::path::Path>) -> Result<Self, $crate::dl::OpenError> {
                let opened = Self::SPEC.open(path)?;
                let symbols = opened.missing(Self::REQUIRED);
                let lacks = |opened: &$crate::dl::Opened, symbols| $crate::dl::OpenError::MissingSymbols {
                    name: $name,
                    file: opened.file().into(),
                    symbols,
                };
                if !symbols.is_empty() {
                    return Err(lacks(&opened, symbols));
                }
                Ok(Self {
                    $(
                        // SAFETY: the type is the one that AMD documents for this name; it was
                        // compared with the official headers.
                        $f: unsafe { opened.function(stringify!($f)) }
                            .ok_or_else(|| lacks(&opened, vec![stringify!($f)]))?,
                    )+
                    $($(
                        // SAFETY: the type is the one that AMD documents for this name; it was
                        // compared with the official headers.
                        $o: unsafe { opened.function(stringify!($o)) },
                    )+)?
                    opened,
                })
            }

            /// Returns the opened file: a path, or the bare name that the dynamic loader found.
            pub fn file(&self) -> &std::path::Path {
                self.opened.file()
            }
        }
    };
}
