//! The files that a source of the tree includes. The build script uses it too.

/// Returns the names of the files of the tree that a text includes directly, in its order. The tree
/// includes its own files in quotation marks, one to a line, and by their path below `src`.
pub fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.split('"').next())
}
