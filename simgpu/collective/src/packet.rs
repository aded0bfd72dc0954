//! The form in which requests and answers pass between processes.

use std::io::{self, Read, Write};

/// Numbers and parts of any length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) numbers: Vec<u64>,
    pub(crate) parts: Vec<Vec<u8>>,
}

impl Packet {
    pub(crate) fn new(numbers: Vec<u64>, parts: Vec<Vec<u8>>) -> Self {
        Self { numbers, parts }
    }

    /// Writes it behind one byte, for which a reader can wait.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let lengths = [self.numbers.len(), self.parts.len()].map(|length| length as u64);
        let of_parts = self.parts.iter().map(|part| part.len() as u64);
        let head = lengths.into_iter().chain(self.numbers.iter().copied()).chain(of_parts);
        let head: Vec<u8> = [1].into_iter().chain(head.flat_map(u64::to_le_bytes)).collect();
        to.write_all(&head)?;
        self.parts.iter().try_for_each(|part| to.write_all(part))?;
        to.flush()
    }

    /// Reads what [`write`](Self::write) has written behind the first byte.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut number = || {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes)?;
            Ok::<_, io::Error>(u64::from_le_bytes(bytes))
        };
        let (numbers, parts) = (number()?, number()?);
        let numbers = (0..numbers).map(|_| number()).collect::<io::Result<_>>()?;
        let lengths = (0..parts).map(|_| number()).collect::<io::Result<Vec<_>>>()?;
        let part = |length| {
            let mut part = Vec::new();
            let read = from.take(length).read_to_end(&mut part)?;
            if read as u64 == length { Ok(part) } else { Err(io::Error::from(io::ErrorKind::UnexpectedEof)) }
        };
        Ok(Self { numbers, parts: lengths.into_iter().map(part).collect::<io::Result<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_read_as_it_was_written_and_a_torn_one_is_none() {
        let packet = Packet::new(vec![3, u64::MAX], vec![vec![], vec![1, 2, 3]]);
        let mut bytes = Vec::new();
        packet.write(&mut bytes).unwrap();
        assert_eq!(Packet::read(&mut &bytes[1..]).unwrap(), packet);
        for length in 1..bytes.len() {
            assert!(Packet::read(&mut &bytes[1..length]).is_err(), "{length}");
        }
    }
}
