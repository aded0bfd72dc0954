//! Unpacks frames.

use super::{Archive, Damaged};
use ruzstd::decoding::{Dictionary, FrameDecoder};

impl Archive<'_> {
    /// Unpacks a frame.
    ///
    /// # Errors
    /// Returns an error if the frame or the dictionary is damaged.
    pub fn unpack(&self, frame: usize) -> Result<Vec<u8>, Damaged> {
        let broken = |e: String| Damaged(format!("a frame cannot be unpacked: {e}"));
        let packed = self.packed(frame)?;
        let mut decoder = FrameDecoder::new();
        if self.frame(frame).with_dictionary {
            let dictionary = Dictionary::decode_dict(self.dictionary()?).map_err(|e| broken(e.to_string()))?;
            decoder.add_dict(dictionary).map_err(|e| broken(e.to_string()))?;
        }
        let mut unpacked = vec![0; self.frame(frame).unpacked];
        let len = decoder.decode_all(packed, &mut unpacked).map_err(|e| broken(e.to_string()))?;
        if len == unpacked.len() {
            Ok(unpacked)
        } else {
            Err(broken(format!("it has {len} of {} bytes", unpacked.len())))
        }
    }
}
