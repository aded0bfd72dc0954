//! An archive embedded in the binary. It is read on first use and unpacked one frame at a time.

use crate::code::archive::{Archive, Damaged};
use crate::code::target::Target;
use isobit_hal::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// The code of one architecture.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) target: Target,
    pub(crate) arch: &'static str,
    file: &'static [u8],
    read: OnceLock<std::result::Result<Archive<'static>, Damaged>>,
    /// The frame that was unpacked last. A device that loads one module of a family often loads the
    /// next.
    last: Mutex<Option<(usize, Arc<[u8]>)>>,
}

impl Packed {
    pub(crate) const fn new(target: Target, arch: &'static str, file: &'static [u8]) -> Self {
        Self { target, arch, file, read: OnceLock::new(), last: Mutex::new(None) }
    }

    /// Returns the archive with its header read and checked.
    pub(crate) fn archive(&self) -> Result<&Archive<'static>> {
        let read = self.read.get_or_init(|| match Archive::parse(self.file)? {
            archive if archive.arch == self.arch => Ok(archive),
            other => Err(Damaged(format!("it is for {}", other.arch))),
        });
        read.as_ref().map_err(|e| self.damaged(e.clone()))
    }

    /// Whether it has a module.
    pub(crate) fn has(&self, module: &str) -> bool {
        // An unreadable archive is reported when the module is loaded.
        self.archive().map_or(true, |archive| archive.find(module).is_some())
    }

    /// Returns the bytes of a module, or `None` if it does not have the module.
    ///
    /// # Errors
    /// Returns an error if the archive is damaged.
    pub(crate) fn module(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let archive = self.archive()?;
        let Some(module) = archive.find(name) else { return Ok(None) };
        let mut last = self.last.lock();
        let unpacked = match &*last {
            Some((frame, unpacked)) if *frame == module.frame => unpacked.clone(),
            _ => {
                let unpacked: Arc<[u8]> = archive.unpack(module.frame).map_err(|e| self.damaged(e))?.into();
                last.insert((module.frame, unpacked)).1.clone()
            }
        };
        Ok(Some(unpacked[module.offset..module.offset + module.len].to_vec()))
    }

    /// Returns the file as embedded in this program.
    pub(crate) fn file(&self) -> &'static [u8] {
        self.file
    }

    fn damaged(&self, e: Damaged) -> Error {
        let message = format!("the code for {} in this program cannot be unpacked: build the program again", self.arch);
        Error::new(ErrorKind::Other, message).with_source(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::archive::Writer;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn packed(modules: &[&[&str]]) -> Vec<u8> {
        let mut writer = Writer::new(&[]);
        for frame in modules {
            let bytes = frame.concat();
            let at = writer.frame(&compress_to_vec(bytes.as_bytes(), CompressionLevel::Fastest), bytes.len(), false);
            let mut offset = 0;
            for module in *frame {
                writer.module(module, module.len() as u128, at, offset, module.len());
                offset += module.len();
            }
        }
        writer.finish("sm_80", "clang", "-O3")
    }

    /// Keeps a file for the life of the process, as the program's own is kept. A checker of leaks
    /// finds it in the list.
    fn kept(file: Vec<u8>) -> &'static [u8] {
        static FILES: Mutex<Vec<&[u8]>> = Mutex::new(Vec::new());
        let file = &*file.leak();
        FILES.lock().push(file);
        file
    }

    #[test]
    fn each_module_comes_back_whichever_was_asked_for_before() {
        let file = kept(packed(&[&["norm", "softmax", ""], &["exp"]]));
        let packed = Packed::new(Target::Nvptx, "sm_80", file);
        assert_eq!((packed.archive().unwrap().compiler, packed.archive().unwrap().flags), ("clang", "-O3"));
        for name in ["softmax", "exp", "norm", "", "norm", "exp"] {
            assert!(packed.has(name));
            assert_eq!(packed.module(name).unwrap().unwrap(), name.as_bytes());
        }
        assert!(!packed.has("sort"));
        assert_eq!(packed.module("sort").unwrap(), None);
        assert_eq!(packed.archive().unwrap().find("softmax").unwrap().identity, 7);
    }

    #[test]
    fn one_changed_byte_anywhere_is_an_error_or_changes_nothing() {
        let whole = packed(&[&["norm", "softmax"], &["exp"]]);
        for at in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= change;
                let packed = Packed::new(Target::Nvptx, "sm_80", kept(damaged));
                let failed = ["norm", "softmax", "exp"].into_iter().filter(|name| match packed.module(name) {
                    Ok(module) => {
                        assert_eq!(module.as_deref(), Some(name.as_bytes()), "byte {at}");
                        false
                    }
                    Err(e) => {
                        assert_eq!(e.kind(), ErrorKind::Other);
                        true
                    }
                });
                assert!(failed.count() > 0, "byte {at} is checked by nothing");
            }
        }
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let whole = packed(&[&["norm"]]);
        for len in 0..whole.len() {
            assert!(Packed::new(Target::Nvptx, "sm_80", kept(whole[..len].to_vec())).module("norm").is_err(), "{len}");
        }
    }

    /// A header with a correct hash but wrong numbers, as a faulty writer could produce.
    #[test]
    fn wrong_offsets_lengths_and_frames_are_errors() {
        let frame = compress_to_vec(&b"norm"[..], CompressionLevel::Fastest);
        let file = |unpacked, module: (usize, usize, usize)| {
            let mut writer = Writer::new(&[]);
            writer.frame(&frame, unpacked, false);
            writer.module("norm", 0, module.0, module.1, module.2);
            writer.finish("sm_80", "", "")
        };
        let module = |file: Vec<u8>| Packed::new(Target::Nvptx, "sm_80", kept(file)).module("norm");
        assert_eq!(module(file(4, (0, 0, 4))).unwrap().unwrap(), b"norm");
        for wrong in [(1, 0, 4), (0, 1, 4), (0, 0, 5), (0, u32::MAX as usize, u32::MAX as usize)] {
            assert!(module(file(4, wrong)).is_err(), "{wrong:?}");
        }
        for unpacked in [0, 3, 5] {
            assert!(module(file(unpacked, (0, 0, unpacked.min(4)))).is_err(), "{unpacked}");
        }
        let mut with_dictionary = Writer::new(b"no dictionary at all");
        with_dictionary.frame(&frame, 4, true);
        with_dictionary.module("norm", 0, 0, 0, 4);
        assert!(module(with_dictionary.finish("sm_80", "", "")).is_err());
    }
}
