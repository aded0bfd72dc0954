//! Initial values of variables: numbers, addresses, and lists of them in nested braces.

use super::ast::{Kind, Relocation, Type};
use super::lexer::Token;
use super::number::Number;
use super::parser::{Fault, Parser};
use super::scope::Found;
use super::variable::Shape;

/// Maximum bytes of initial values, whatever the length of an array.
const LIMIT: u64 = 1 << 30;

/// An initial value.
#[derive(Debug, Default)]
pub(super) struct Initial {
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) relocations: Vec<Relocation>,
}

/// A value that is being parsed.
struct Filling<'s> {
    name: &'s str,
    ty: Type,
    /// Number of elements per level of braces, from the outermost; `None` at the outermost level if
    /// the array has no length.
    lengths: &'s [Option<u64>],
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
}

impl<'a> Parser<'a> {
    /// Parses what follows the equals sign.
    pub(super) fn initial(&mut self, name: &str, ty: Type, lanes: u8, shape: &Shape) -> Result<Initial, Fault> {
        let too_large = || format!("`{name}` is too large for an initial value");
        let size = u64::from(ty.bytes());
        let sizes = shape.dimensions.iter().copied().chain((lanes > 1).then_some(lanes.into()));
        let sizes: Vec<u64> = sizes.collect();
        let mut lengths = Vec::new();
        for level in 0..sizes.len().max(1) {
            let length =
                sizes[level.min(sizes.len())..].iter().try_fold(1u64, |length, &size| length.checked_mul(size));
            let length = length.filter(|&length| length <= LIMIT / size);
            lengths.push(Some(length.ok_or_else(|| self.fault(too_large()))?));
        }
        if shape.open {
            lengths[0] = None;
        }
        let bytes = vec![0; (lengths[0].unwrap_or(0) * size) as usize];
        let mut filling = Filling { name, ty, lengths: &lengths, bytes, relocations: Vec::new() };
        let mut filled = 0;
        if self.at(b'{') {
            filled = self.fill(&mut filling, 0, 0)?;
        } else if sizes.is_empty() {
            self.element(&mut filling, 0)?;
        } else {
            return Err(self.unexpected("`{`"));
        }
        let Filling { mut bytes, relocations, .. } = filling;
        if shape.open {
            // The list determines the length; an incomplete last row is completed.
            let row = lengths.get(1).copied().flatten().unwrap_or(1).max(1);
            let length = filled.next_multiple_of(row);
            if length > LIMIT / size {
                return Err(self.fault(too_large()));
            }
            bytes.resize((length * size) as usize, 0);
        }
        Ok(Initial { bytes: Some(bytes), relocations })
    }

    /// Parses a list in braces and fills the elements from `start` on. At most as many levels are
    /// open as the array has dimensions.
    fn fill(&mut self, filling: &mut Filling<'_>, level: usize, start: u64) -> Result<u64, Fault> {
        self.expect(b'{')?;
        let length = filling.lengths[level];
        let mut at = 0;
        if self.take(b'}')? {
            return Ok(length.unwrap_or(0));
        }
        loop {
            if length.is_some_and(|length| at >= length) {
                return Err(self.fault(format!("`{}` has more initial values than elements", filling.name)));
            }
            if self.at(b'{') {
                // The largest row that starts here, as in C: the outer braces may be omitted.
                let rows = filling.lengths.iter().enumerate().skip(level + 1);
                let row = rows.filter_map(|(inner, &row)| Some((inner, row?)));
                let Some((inner, row)) = row.filter(|&(_, row)| row > 0).find(|&(_, row)| at % row == 0) else {
                    return Err(self.unexpected("a constant"));
                };
                self.fill(filling, inner, start + at)?;
                at += row;
            } else {
                self.element(filling, start + at)?;
                at += 1;
            }
            if !self.take(b',')? {
                self.expect(b'}')?;
                return Ok(at);
            }
        }
    }

    /// Parses one element.
    fn element(&mut self, filling: &mut Filling<'_>, index: u64) -> Result<(), Fault> {
        let size = u64::from(filling.ty.bytes());
        let at = index * size;
        if at + size > LIMIT {
            return Err(self.fault(format!("`{}` is too large for an initial value", filling.name)));
        }
        if filling.bytes.len() < (at + size) as usize {
            filling.bytes.resize((at + size) as usize, 0);
        }
        if matches!(self.token, Token::Word(name) if name != "WARP_SZ") {
            let relocation = self.address(at, filling.ty)?;
            filling.relocations.push(relocation);
            return Ok(());
        }
        let number = self.expression()?;
        let number = if self.take(b'(')? {
            let shift = self.mask(number)?;
            let masked = if matches!(self.token, Token::Word(name) if name != "WARP_SZ") {
                let relocation = self.symbol_address(at, 1)?;
                filling.relocations.push(Relocation { shift, ..relocation });
                0
            } else {
                self.integer()? >> shift & 0xff
            };
            self.expect(b')')?;
            Number::unsigned(masked)
        } else {
            number
        };
        let bytes =
            encode(number, filling.ty).map_err(|message| self.fault(format!("`{}`: {message}", filling.name)))?;
        filling.bytes[at as usize..][..size as usize].copy_from_slice(&bytes[..size as usize]);
        Ok(())
    }

    /// Parses `symbol`, `symbol + 4` or `generic(symbol) + 4`.
    fn address(&mut self, at: u64, ty: Type) -> Result<Relocation, Fault> {
        if !matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed) || !matches!(ty.bits, 32 | 64) {
            return Err(self.unexpected("a constant"));
        }
        self.symbol_address(at, ty.bytes())
    }

    fn symbol_address(&mut self, at: u64, bytes: u32) -> Result<Relocation, Fault> {
        let name = self.name("a symbol")?;
        let generic = name == "generic" && self.take(b'(')?;
        let name = if generic { self.name("a symbol")? } else { name };
        let mut addend = self.offset()?;
        if generic {
            self.expect(b')')?;
            addend = addend.wrapping_add(self.offset()?);
        }
        let symbol = match self.frame.find(name) {
            Some(Found::Symbol(index)) => self.frame.symbols[index].unique.clone(),
            Some(_) => return Err(self.fault(format!("`{name}` has no address"))),
            None => name.to_string(),
        };
        Ok(Relocation { at, bytes, shift: 0, symbol, addend, generic })
    }

    /// Returns the right shift of the byte that a mask selects: `0xff00(symbol)`, called at the
    /// contents of the parentheses.
    fn mask(&self, mask: Number) -> Result<u32, Fault> {
        let shift = match mask {
            Number::Integer { bits, .. } => (0..64).step_by(8).find(|&shift| bits == 0xff << shift),
            _ => None,
        };
        shift.ok_or_else(|| self.fault("a mask must select exactly one byte"))
    }
}

/// Encodes a number as it is stored in memory, in the first bytes.
fn encode(number: Number, ty: Type) -> Result<[u8; 16], String> {
    let integer = matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed);
    let (bits, extended) = match (number, ty.kind, ty.bits) {
        (Number::Integer { bits, signed }, ..) if integer => (bits, signed && (bits as i64) < 0),
        (Number::Integer { bits, signed: true }, Kind::Float, 64) => ((bits as i64 as f64).to_bits(), false),
        (Number::Integer { bits, signed: false }, Kind::Float, 64) => ((bits as f64).to_bits(), false),
        (Number::Integer { bits, signed: true }, Kind::Float, 32) => ((bits as i64 as f32).to_bits().into(), false),
        (Number::Integer { bits, signed: false }, Kind::Float, 32) => ((bits as f32).to_bits().into(), false),
        (Number::Double(bits), Kind::Float | Kind::Bits, 64) => (bits, false),
        (Number::Double(bits), Kind::Float, 32) => ((f64::from_bits(bits) as f32).to_bits().into(), false),
        (Number::Single(bits), Kind::Float | Kind::Bits, 32) => (bits.into(), false),
        _ => return Err("a constant does not fit the type".into()),
    };
    let value = u128::from(bits) | if extended { u128::MAX << 64 } else { 0 };
    Ok(value.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::ast::Variable;
    use super::super::tests::{module, module_error};
    use super::*;

    /// Returns the only variable other than the one that all modules here have.
    fn variable(text: &str) -> Variable {
        module(text).variables.remove(1)
    }

    fn words(text: &str) -> Vec<u32> {
        let bytes = variable(text).init.expect("it has an initial value");
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn numbers() {
        assert_eq!(words(".global .u32 x = -1;"), [u32::MAX]);
        assert_eq!(words(".global .s32 x = 0x1ffffffff;"), [u32::MAX]);
        let floats = words(".global .f32 x[5] = {0f3f800000, 1.5, -2.0, 3, 0.1};");
        assert_eq!(floats, [1.0f32, 1.5, -2.0, 3.0, 0.1].map(f32::to_bits));
        assert_eq!(words(".global .f64 x = 0.1;"), [0x9999_999a, 0x3fb9_9999]);
        assert_eq!(words(".global .b64 x = 0d3ff8000000000000;"), [0, 0x3ff8_0000]);
        assert_eq!(words(".global .b128 x = -2;"), [u32::MAX - 1, u32::MAX, u32::MAX, u32::MAX]);
        assert_eq!(variable(".const .b16 x[3] = {1+1, 65535};").init, Some(vec![2, 0, 255, 255, 0, 0]));
        assert_eq!(variable(".const .b8 x[WARP_SZ/16] = {300, -1};").init, Some(vec![44, 255]));
    }

    #[test]
    fn braces() {
        assert_eq!(words(".global .s32 x[][2] = { {1, 2}, {3}, {}, {7, 8} };"), [1, 2, 3, 0, 0, 0, 7, 8]);
        assert_eq!(words(".global .s32 x[][2] = {1, 2, 3};"), [1, 2, 3, 0]);
        assert_eq!(words(".global .s32 x[2][2][2] = {{{1}, {2, 3}}, 4, 5, {6}};"), [1, 0, 2, 3, 4, 5, 6, 0]);
        assert_eq!(words(".global .v4 .u32 x = {1, 2, 3, 4};"), [1, 2, 3, 4]);
        assert_eq!(words(".global .v2 .u32 x[2] = {{1, 2}, {3, 4}};"), [1, 2, 3, 4]);
        assert_eq!(words(".global .u32 x = {5};"), [5]);
        assert_eq!(variable(".global .b8 x[4] = {};").init, Some(vec![0; 4]));
    }

    #[test]
    fn addresses() {
        let at = |at, symbol: &str, addend, generic| Relocation {
            at,
            bytes: 8,
            shift: 0,
            symbol: symbol.into(),
            addend,
            generic,
        };
        let found =
            variable(".global .u64 x[6] = {outside, outside+4, generic(outside)-8, 7, generic(outside+4)+2*3, f};");
        assert_eq!(
            found.relocations,
            [
                at(0, "outside", 0, false),
                at(8, "outside", 4, false),
                at(16, "outside", -8, true),
                at(32, "outside", 10, true),
                at(40, "f", 0, false),
            ]
        );
        assert_eq!(found.init.map(|init| init[24]), Some(7));
        let found = variable(
            ".global .u8 x[10] = {1, 0xFF(outside), 0xFF00(generic(outside)+4), 0xFF00000000000000(outside)};",
        );
        let byte =
            |at, shift, addend, generic| Relocation { at, bytes: 1, shift, symbol: "outside".into(), addend, generic };
        assert_eq!(variable(".global .b8 x[3] = {0xff00(0x1234), 0xff(1 + 1), 7};").init, Some(vec![0x12, 2, 7]));
        assert_eq!(found.relocations, [byte(1, 0, 0, false), byte(2, 8, 4, true), byte(3, 56, 0, false)]);
    }

    #[test]
    fn a_function_names_its_own_variables() {
        let module = module(".entry k() { .global .u32 outside; .global .u64 x = outside; ret; }");
        let body = module.functions[0].body.as_ref().unwrap();
        assert_eq!(body.variables[1].relocations[0].symbol, "outside#1");
    }

    #[test]
    fn faults() {
        for (text, message) in [
            (".global .u32 x[2] = {1, 2, 3};", "`x` has more initial values than elements"),
            (".global .u32 x[2][2] = {{1, 2, 3}};", "`x` has more initial values than elements"),
            (".global .u32 x[2] = {{1}};", "expected a constant, found `{`"),
            (".global .u32 x[2][2] = {1, {2}};", "expected a constant, found `{`"),
            (".global .u32 x[2] = 1;", "expected `{`, found `1`"),
            (".global .u32 x = 1.5;", "`x`: a constant does not fit the type"),
            (".global .b16 x = outside;", "expected a constant, found `outside`"),
            (".global .b8 x = 0xf0(outside);", "a mask must select exactly one byte"),
            (".global .b8 x[1 << 40] = {1};", "`x` is too large for an initial value"),
            (".global .b8 x[][1 << 28] = {{}, {}, {}, {}, {}};", "`x` is too large for an initial value"),
            (".shared .b8 x = 1;", "`x` cannot have an initial value"),
            (".extern .global .b8 x = 1;", "`x` cannot have an initial value"),
        ] {
            assert_eq!(module_error(text), message, "{text}");
        }
    }
}
