//! This package has only dependencies, no code. Cargo unifies the features of all packages that it
//! builds together, so a different selection of packages may rebuild a package with other features.
//! Building this package too gives the same features each time, so nothing is compiled twice for
//! the report, the tests, the tests of one package, the lints or the examples.
