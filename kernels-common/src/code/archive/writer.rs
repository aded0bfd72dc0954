//! Writes an archive from packed frames. The build script packs for speed, the release tool for
//! size.

use super::{MAGIC, PREFIX, VERSION, hash};

/// An archive that is being written.
#[derive(Debug, Default)]
pub struct Writer {
    dictionary: Vec<u8>,
    body: Vec<u8>,
    frames: Vec<u8>,
    frame_count: usize,
    modules: Vec<(String, [u8; MODULE])>,
}

/// The number of bytes that describe a module after its name: identity, frame, offset, length.
const MODULE: usize = 16 + 3 * 4;

impl Writer {
    /// Starts an archive whose frames may use a dictionary, which is empty for none.
    pub fn new(dictionary: &[u8]) -> Self {
        Self { dictionary: dictionary.to_vec(), body: dictionary.to_vec(), ..Self::default() }
    }

    /// Adds a frame and returns its index.
    pub fn frame(&mut self, packed: &[u8], unpacked: usize, with_dictionary: bool) -> usize {
        self.frames.extend((self.body.len() as u64).to_le_bytes());
        self.frames.extend(number(packed.len()));
        self.frames.extend(number(unpacked));
        self.frames.push(with_dictionary.into());
        self.frames.extend(hash(packed).to_le_bytes());
        self.body.extend(packed);
        self.frame_count += 1;
        self.frame_count - 1
    }

    /// Adds a module that is part of a frame.
    pub fn module(&mut self, name: &str, identity: u128, frame: usize, offset: usize, len: usize) {
        let mut line = [0; MODULE];
        line[..16].copy_from_slice(&identity.to_le_bytes());
        for (to, value) in line[16..].chunks_exact_mut(4).zip([frame, offset, len]) {
            to.copy_from_slice(&number(value));
        }
        self.modules.push((name.into(), line));
    }

    /// Returns the content of the file.
    pub fn finish(mut self, arch: &str, compiler: &str, flags: &str) -> Vec<u8> {
        let mut header = Vec::new();
        for part in [arch, compiler, flags] {
            text(&mut header, part);
        }
        header.extend(number(self.dictionary.len()));
        header.extend(hash(&self.dictionary).to_le_bytes());
        header.extend(number(self.frame_count));
        header.extend(self.frames);
        self.modules.sort();
        header.extend(number(self.modules.len()));
        for (name, line) in &self.modules {
            text(&mut header, name);
            header.extend(line);
        }
        let mut file = Vec::with_capacity(PREFIX + header.len() + self.body.len());
        file.extend(MAGIC);
        file.extend(VERSION.to_le_bytes());
        file.extend(number(header.len()));
        file.extend(hash(&header).to_le_bytes());
        file.extend(header);
        file.extend(self.body);
        file
    }
}

fn text(header: &mut Vec<u8>, text: &str) {
    header.extend(number(text.len()));
    header.extend(text.as_bytes());
}

fn number(value: usize) -> [u8; 4] {
    u32::try_from(value).expect("no part of the tree has 4 GiB").to_le_bytes()
}
