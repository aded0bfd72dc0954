//! No code, only dependencies: cargo unites the features of what it builds in one go, and so builds
//! a package again where another selection asks for other features of something deep below it.
//! Whoever builds this package too gets the same features each time, and so compiles nothing twice:
//! not for the report, the tests, one package's tests, the lints or the examples.
