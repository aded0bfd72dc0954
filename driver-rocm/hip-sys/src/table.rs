//! The macros in which a library is declared: constants, handles, and C-like signatures that become
//! a table of function pointers. Three small languages, so that the declarations read as the
//! headers do, and `cargo xtask bindings --check` can read them.

/// Declares the values of an enum of C as constants of its integer type: a foreign library may
/// return values that no header lists.
#[macro_export]
macro_rules! constants {
    ($ty:ty: $( $name:ident = $value:literal, $doc:literal; )+) => {
        $( #[doc = $doc] pub const $name: $ty = $value; )+
    };
}

/// Declares handles: pointers to objects that only the library can look into.
#[macro_export]
macro_rules! handles {
    ($( $(#[$doc:meta])* $handle:ident = $object:ident; )+) => {
        $(
            $(#[$doc])*
            pub type $handle = *mut $object;

            #[doc = concat!("What a [`", stringify!($handle), "`] points to.")]
            #[repr(C)]
            #[derive(Debug)]
            pub struct $object {
                _opaque: [u8; 0],
            }
        )+
    };
}

/// Declares a library of ROCm: a struct with one function pointer a field, and how to fill it from
/// the library's file.
///
/// Functions that some release lacks stand under `optional` and become an `Option`.
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
            /// What is looked for.
            pub const SPEC: $crate::dl::LibrarySpec =
                $crate::dl::LibrarySpec { name: $name, variable: $variable, sonames: &[$($soname),+] };

            /// Functions without which the library cannot be used.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($f)),+];

            /// The library of this process: opened at the first call, kept for ever.
            ///
            /// # Errors
            /// Where the library, or a function that every known release has, is missing; the same
            /// at every call.
            pub fn get() -> Result<&'static Self, &'static $crate::dl::OpenError> {
                static TABLE: std::sync::OnceLock<Result<$Table, $crate::dl::OpenError>> = std::sync::OnceLock::new();
                TABLE.get_or_init(|| Self::open(None)).as_ref()
            }

            /// Opens the library, from a given file or from where it is found.
            ///
            /// # Errors
            /// Where the library, or a function that every known release has, is missing.
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
                        // SAFETY: the type is the one that AMD documents for this name, compared
                        // with the official headers.
                        $f: unsafe { opened.function(stringify!($f)) }
                            .ok_or_else(|| lacks(&opened, vec![stringify!($f)]))?,
                    )+
                    $($(
                        // SAFETY: as above.
                        $o: unsafe { opened.function(stringify!($o)) },
                    )+)?
                    opened,
                })
            }

            /// The file that was opened: a path, or the bare name that the dynamic loader found.
            pub fn file(&self) -> &std::path::Path {
                self.opened.file()
            }
        }
    };
}
