//! Reads an archive. Every offset and length is checked against the actual sizes.

use super::{Archive, Damaged, Frame, MAGIC, Module, PREFIX, VERSION, hash};

/// The most bytes of an unpacked frame: a part of a family has a few MiB. Damaged lengths must not
/// take all memory.
const MOST_UNPACKED: usize = 256 << 20;

/// The unread rest of a header.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| Damaged("it ends too early".into()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        Ok(self.take(N)?.try_into().expect("as many were taken"))
    }

    fn u32(&mut self) -> Result<usize, Damaged> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn hash(&mut self) -> Result<u128, Damaged> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<&'a str, Damaged> {
        let len = self.u32()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| Damaged("a name is not UTF-8".into()))
    }
}

impl<'a> Archive<'a> {
    /// Parses the header of a file.
    ///
    /// # Errors
    /// Returns an error if the file is not an archive, has another version, or is damaged.
    pub fn parse(file: &'a [u8]) -> Result<Self, Damaged> {
        let mut prefix = Cursor(file);
        if prefix.array()? != MAGIC {
            return Err(Damaged("its magic number is wrong".into()));
        }
        let version = prefix.u32()?;
        if version != VERSION as usize {
            return Err(Damaged(format!("its format version is {version}, this program reads version {VERSION}")));
        }
        let (header_len, header_hash) = (prefix.u32()?, prefix.hash()?);
        debug_assert_eq!(file.len() - prefix.0.len(), PREFIX);
        let header = prefix.take(header_len)?;
        if hash(header) != header_hash {
            return Err(Damaged("the hash of its header does not match".into()));
        }
        let (mut header, body) = (Cursor(header), prefix.0);
        let (arch, compiler, flags) = (header.text()?, header.text()?, header.text()?);
        let (dictionary_len, dictionary_hash) = (header.u32()?, header.hash()?);
        let dictionary = Cursor(body).take(dictionary_len)?;
        let frames: Vec<_> = (0..header.u32()?).map(|_| frame(&mut header, body)).collect::<Result<_, _>>()?;
        let modules: Vec<_> = (0..header.u32()?).map(|_| module(&mut header, &frames)).collect::<Result<_, _>>()?;
        if !modules.is_sorted_by(|a, b| a.name < b.name) {
            return Err(Damaged("its modules are not sorted".into()));
        }
        Ok(Self { arch, compiler, flags, dictionary, dictionary_hash, frames, modules })
    }

    /// Returns a copy of a file with the hash that its header has, for fuzzing: random changes
    /// otherwise end at the hash.
    pub fn with_hash_of_header(file: &[u8]) -> Vec<u8> {
        let mut file = file.to_vec();
        let len = file.get(12..16).and_then(|len| Some(u32::from_le_bytes(len.try_into().ok()?) as usize));
        if let Some(header) = len.and_then(|len| file.get(PREFIX..PREFIX.checked_add(len)?)) {
            let hash = hash(header).to_le_bytes();
            file[16..PREFIX].copy_from_slice(&hash);
        }
        file
    }

    /// Returns the module with a name.
    pub fn find(&self, name: &str) -> Option<&Module<'a>> {
        self.modules.binary_search_by_key(&name, |m| m.name).ok().map(|i| &self.modules[i])
    }

    /// Returns every module, sorted by name.
    pub fn modules(&self) -> &[Module<'a>] {
        &self.modules
    }

    /// Returns a frame by its index, which must be that of a module of this archive.
    pub fn frame(&self, frame: usize) -> &Frame<'a> {
        &self.frames[frame]
    }

    /// Checks and returns the packed bytes of a frame.
    ///
    /// # Errors
    /// Returns an error if they are damaged.
    pub fn packed(&self, frame: usize) -> Result<&'a [u8], Damaged> {
        let Frame { packed, hash: expected, .. } = self.frames[frame];
        if hash(packed) == expected { Ok(packed) } else { Err(Damaged("the hash of a frame does not match".into())) }
    }

    /// Checks and returns the dictionary; it is empty if there is none.
    ///
    /// # Errors
    /// Returns an error if it is damaged.
    pub fn dictionary(&self) -> Result<&'a [u8], Damaged> {
        if hash(self.dictionary) == self.dictionary_hash {
            Ok(self.dictionary)
        } else {
            Err(Damaged("the hash of its dictionary does not match".into()))
        }
    }
}

fn frame<'a>(header: &mut Cursor<'a>, body: &'a [u8]) -> Result<Frame<'a>, Damaged> {
    let offset = usize::try_from(u64::from_le_bytes(header.array()?)).map_err(|_| Damaged("it is too long".into()))?;
    let (packed, unpacked) = (header.u32()?, header.u32()?);
    let [with_dictionary] = header.array()?;
    let hash = header.hash()?;
    if unpacked > MOST_UNPACKED {
        return Err(Damaged(format!("a frame would have {unpacked} bytes, and none has more than {MOST_UNPACKED}")));
    }
    let rest = body.get(offset..).ok_or_else(|| Damaged("a frame lies beyond its end".into()))?;
    Ok(Frame { packed: Cursor(rest).take(packed)?, hash, unpacked, with_dictionary: with_dictionary != 0 })
}

fn module<'a>(header: &mut Cursor<'a>, frames: &[Frame<'a>]) -> Result<Module<'a>, Damaged> {
    let name = header.text()?;
    let identity = header.hash()?;
    let (frame, offset, len) = (header.u32()?, header.u32()?, header.u32()?);
    let fits = |f: &Frame<'_>| offset.checked_add(len).is_some_and(|end| end <= f.unpacked);
    if !frames.get(frame).is_some_and(fits) {
        return Err(Damaged(format!("{name} lies outside its frame")));
    }
    Ok(Module { name, identity, frame, offset, len })
}
