//! The kernel parameters of one spatial dimension of a convolution, for all of its outputs or a
//! part of them.

use crate::launch::index::{Divisor, gcd};
use crate::launch::sizes;
use isobit_hal::{Error, ErrorKind, Result};
use std::mem::offset_of;
use std::ops::Range;

/// A dimension as the caller describes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub transposed: bool,
    /// The size of the input; `taps` is that of the kernel, `outputs` that of the result.
    pub size: usize,
    pub taps: usize,
    pub outputs: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
}

/// The layout of the kernels' `ConvAxis`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    size: u32,
    outputs: u32,
    taps: u32,
    position: i32,
    stride: u32,
    dilation: u32,
    common: u32,
    inverse: u32,
    per_phase: Divisor,
    phases: Divisor,
}

const _: () = assert!(size_of::<Axis>() == 56);
const _: () = assert!(offset_of!(Axis, position) == 12 && offset_of!(Axis, stride) == 16);
const _: () = assert!(offset_of!(Axis, per_phase) == 32);

impl Axis {
    /// How far in the input the taps of a phase are apart, as in `conv_line` of conv.cuh.
    pub fn per_tap(&self, transposed: bool) -> i32 {
        if transposed { -((self.dilation / self.common) as i32) } else { self.dilation as i32 }
    }

    /// How far in the kernel they are apart.
    pub fn tap_step(&self, transposed: bool) -> i32 {
        if transposed { (self.stride / self.common) as i32 } else { 1 }
    }
}

/// A part of the outputs along a dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub axis: Axis,
    /// The first input that any of the outputs may see. Positions are counted from it.
    pub first_input: usize,
    /// How far from `first_input` a position may lie, inside or outside the input.
    pub reach: usize,
    /// The number of phases. `per_phase` is the number of outputs in the largest phase.
    pub phases: usize,
    pub per_phase: usize,
    /// The largest number of taps that a phase meets.
    pub taps: usize,
}

/// The bit that guards the topmost of two positions in one number.
const TOP: u32 = i32::MIN as u32;

/// How the kernels keep positions along d and along h in one number, as `conv_row` of conv.cuh
/// does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    pub shift: u32,
    pub room: u32,
    pub guards: u32,
}

impl Rows {
    /// Returns `None` if the positions of the two dimensions do not fit one number together.
    pub fn of(planes: &Part, rows: &Part) -> Option<Self> {
        // The largest size of an input of which positions can be told from others.
        let size = |part: &Part| (part.axis.size as usize).min(part.reach + 1) as u32;
        if planes.is_one_plane() {
            return Some(Self { shift: 31, room: TOP - rows.axis.size, guards: TOP });
        }
        // So that a position minus the size, and one before the input plus what is outside, are
        // told apart from others.
        let bits = |part: &Part| usize::BITS - (2 * part.reach + 1).leading_zeros();
        let guard = bits(rows);
        if sizes::CONV_ROW_BITS.is_exceeded((guard + bits(planes)) as usize) {
            return None;
        }
        let shift = guard + 1;
        let room = (((1 << (31 - shift)) - size(planes)) << shift) + (1 << guard) - size(rows);
        Some(Self { shift, room, guards: TOP | 1 << guard })
    }
}

/// Returns `x` with `a x = 1` modulo `n`, for coprime numbers (the extended Euclidean algorithm);
/// returns 0 modulo 1.
fn inverse(a: i128, n: i128) -> i128 {
    let (mut r, mut x) = ((n, a.rem_euclid(n)), (0, 1));
    while r.1 != 0 {
        let q = r.0 / r.1;
        r = (r.1, r.0 - q * r.1);
        x = (x.1, x.0 - q * x.1);
    }
    x.0.rem_euclid(n)
}

impl Window {
    /// Returns the parameters for a range of outputs, which must not be empty.
    ///
    /// # Errors
    /// `InvalidArgument` if one output sees inputs that are too far apart for the kernels.
    pub fn part(&self, outputs: &Range<usize>) -> Result<Part> {
        let [first, count, taps] = [outputs.start, outputs.len(), self.taps].map(|n| n as i128);
        let [size, mut stride, padding] = [self.size, self.stride, self.padding].map(|n| n as i128);
        // A stride or dilation that is never applied, because there is one output or one tap, is
        // ignored.
        let dilation = if taps == 1 { 1 } else { self.dilation as i128 };
        let extent = (taps - 1) * dilation;
        // Positions count from the first input that is seen, or from the one before it.
        let (position, first_input, reach);
        if self.transposed {
            let from = first + padding;
            if size == 1 {
                stride = stride.min(from + count + extent + 1);
            }
            first_input = ((from - extent) / stride).max(0);
            position = from - first_input * stride;
            reach = (position + count).max(extent) / stride + 1;
        } else {
            if count == 1 {
                stride = 1;
            }
            let from = first * self.stride as i128 - padding;
            let seen = (count - 1) * stride + extent;
            first_input = from.clamp(0, size);
            // If nothing is seen from there, the distance to the input does not matter.
            position = if first_input == size { 0 } else { (from - first_input).max(-1 - seen) };
            reach = seen + 1;
        }
        let span = [position.abs() + count, extent, stride, dilation, reach].into_iter().fold(0, i128::max);
        // The sum of two positions or sizes below the limit fits an i32.
        if sizes::CONV_SPAN.is_reached(usize::try_from(span).unwrap_or(usize::MAX)) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "a kernel of {} taps with stride {} and dilation {} spans 2^29 or more positions of a dimension, which is too many \
                     for the GPU kernels; the CPU backend supports it",
                    self.taps, self.stride, self.dilation
                ),
            ));
        }
        let common = gcd(stride, dilation);
        let phases = if self.transposed { stride.min(count) } else { 1 };
        let per_phase = (count + phases - 1) / phases;
        let tap_step = if self.transposed { stride / common } else { 1 };
        Ok(Part {
            axis: Axis {
                size: (size - first_input).clamp(0, i128::from(i32::MAX / 2)) as u32,
                outputs: count as u32,
                taps: taps as u32,
                position: position as i32,
                stride: stride as u32,
                dilation: dilation as u32,
                common: common as u32,
                inverse: inverse(dilation / common, stride / common) as u32,
                per_phase: Divisor::new(per_phase as usize),
                phases: Divisor::new(phases as usize),
            },
            first_input: first_input.min(size) as usize,
            reach: reach as usize,
            phases: phases as usize,
            per_phase: per_phase as usize,
            taps: ((taps + tap_step - 1) / tap_step) as usize,
        })
    }
}

impl Part {
    /// Whether the only position is 0, so that the input and the kernel have one plane.
    pub fn is_one_plane(&self) -> bool {
        let a = &self.axis;
        (a.size, a.outputs, a.taps, a.position, self.first_input) == (1, 1, 1, 0, 0)
    }

    /// Whether neighbouring outputs of a plain convolution meet as many neighbouring taps, and some
    /// of the input.
    pub fn slides(&self, taps: usize) -> bool {
        let a = &self.axis;
        (a.taps as usize, a.stride, a.dilation) == (taps, 1, 1) && a.size > 0
    }

    /// Returns how many taps the outputs of a phase meet, as `conv_line` of conv.cuh does.
    pub fn taps_of(&self, transposed: bool, phase: usize) -> usize {
        let a = &self.axis;
        if !transposed {
            return a.taps as usize;
        }
        let (tap_step, rest) = (a.stride / a.common, (a.position as u32 + phase as u32) % a.stride);
        let first = u64::from(rest / a.common) * u64::from(a.inverse) % u64::from(tap_step);
        let meets = rest.is_multiple_of(a.common) && first < u64::from(a.taps);
        if meets { ((a.taps - first as u32 - 1) / tap_step + 1) as usize } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mirrors `conv_line` of conv.cuh for every phase: the input position for each output and tap
    /// of a part, or `None` if the phase does not meet the tap.
    fn met(part: &Part, transposed: bool) -> Vec<Vec<Option<i64>>> {
        let a = &part.axis;
        let [count, taps, stride] = [a.outputs, a.taps, a.stride].map(i64::from);
        let line = |o: i64| {
            if !transposed {
                let at = |t| i64::from(a.position) + o * stride + t * i64::from(a.dilation);
                return (0..taps).map(|t| Some(at(t) + part.first_input as i64)).collect();
            }
            let (common, tap_step) = (i64::from(a.common), stride / i64::from(a.common));
            let from = i64::from(a.position) + o % stride;
            let rest = from % stride;
            let first = rest / common * i64::from(a.inverse) % tap_step;
            let meets = |t: i64| rest % common == 0 && t >= first && (t - first) % tap_step == 0;
            let at = |t: i64| {
                let steps = (t - first) / tap_step;
                (from - first * i64::from(a.dilation)) / stride + o / stride - steps * i64::from(a.dilation) / common
            };
            (0..taps).map(|t| meets(t).then(|| at(t) + part.first_input as i64)).collect()
        };
        (0..count).map(line).collect()
    }

    #[test]
    fn parts_meet_the_inputs_that_the_definition_says() {
        let sizes: [(usize, usize); 5] = [(1, 1), (2, 3), (5, 1), (7, 4), (30, 2)];
        for (transposed, (size, taps)) in [false, true].into_iter().flat_map(|t| sizes.map(|s| (t, s))) {
            for (stride, dilation, padding) in
                (1..7usize).flat_map(|s| (1..5usize).flat_map(move |d| (0..4usize).map(move |p| (s, d, p))))
            {
                let extent = dilation * (taps - 1);
                let outputs = if transposed {
                    ((size - 1) * stride + extent + 1).saturating_sub(2 * padding)
                } else {
                    (size + 2 * padding).saturating_sub(extent).div_ceil(stride)
                };
                let window = Window { transposed, size, taps, outputs, stride, padding, dilation };
                for range in [0..outputs, outputs / 2..outputs, outputs / 3..outputs.div_ceil(2)]
                    .into_iter()
                    .filter(|r| !r.is_empty())
                {
                    let part = window.part(&range).unwrap();
                    let inside = part.first_input as i64..part.first_input as i64 + i64::from(part.axis.size);
                    for (number, (o, met)) in range.zip(met(&part, transposed)).enumerate() {
                        let taps = met.iter().flatten().count();
                        assert_eq!(part.taps_of(transposed, number % part.phases), taps, "output {o} of {window:?}");
                        for (t, got) in met.into_iter().enumerate() {
                            let reached = o as i64 + padding as i64 - (t * dilation) as i64;
                            let want = match transposed {
                                true => (reached % stride as i64 == 0).then_some(reached / stride as i64),
                                false => Some((o * stride + t * dilation) as i64 - padding as i64),
                            };
                            let what = format!("output {o}, tap {t} of {window:?}");
                            assert_eq!(got.is_some(), want.is_some(), "{what}");
                            let seen = |p: Option<i64>, within: &Range<i64>| p.filter(|p| within.contains(p));
                            assert_eq!(seen(got, &inside), seen(want, &(0..size as i64)), "{what}");
                        }
                    }
                }
            }
        }
    }

    /// Mirrors `conv_inside` of conv.cuh for a row.
    fn is_inside(rows: Rows, row: u32) -> bool {
        (row | row.wrapping_add(rows.room)) & rows.guards == 0
    }

    #[test]
    fn rows_tell_positions_along_two_dimensions() {
        let window = |size, taps, outputs, padding| Window {
            transposed: false,
            size,
            taps,
            outputs,
            stride: 1,
            padding,
            dilation: 1,
        };
        let part = |w: Window| w.part(&(0..w.outputs)).unwrap();
        let one = part(window(1, 1, 1, 0));
        for rows in [(1, 1, 1, 0), (5, 3, 5, 1), (9, 2, 12, 2), (1, 4, 2, 2), (0, 2, 3, 2)] {
            for planes in [(1, 1, 1, 0), (3, 2, 4, 1), (1, 2, 2, 1), (8, 1, 8, 0), (2, 1, 1, 0)] {
                let [planes, rows] = [planes, rows].map(|(s, t, o, p)| part(window(s, t, o, p)));
                let packed = Rows::of(&planes, &rows).unwrap();
                let all = |part: &Part| -(part.reach as i32)..=part.reach as i32;
                let is_one = planes.is_one_plane();
                for (d, h) in all(&planes).flat_map(|d| all(&rows).map(move |h| (d, h))) {
                    if is_one && d != 0 {
                        continue;
                    }
                    let row = ((d as u32) << packed.shift).wrapping_add(h as u32);
                    let within = |at: i32, part: &Part| (0..part.axis.size as i32).contains(&at);
                    let want = within(d, &planes) && within(h, &rows);
                    assert_eq!(is_inside(packed, row), want, "{d}, {h} of {planes:?}, {rows:?}");
                    assert!(!is_inside(packed, row.wrapping_add(1 << 31)), "{d}, {h} of {planes:?}, {rows:?}");
                }
            }
        }
        let wide = part(window(1, 1 << 15, 1, 0));
        assert!(Rows::of(&wide, &wide).is_none());
        assert_eq!(Rows::of(&one, &wide).map(|rows| rows.guards), Some(1 << 31));
    }

    #[test]
    fn far_windows_are_near_for_their_parts() {
        let far = 1 << 40;
        let window = Window { transposed: false, size: 5, taps: 1, outputs: 3, stride: far, padding: far, dilation: 1 };
        assert!(window.part(&(0..3)).is_err());
        let part = window.part(&(1..2)).unwrap();
        assert_eq!((part.first_input, met(&part, false)), (0, vec![vec![Some(0)]]));
        assert_eq!(window.part(&(0..1)).unwrap().axis.position, -1);
        assert_eq!(window.part(&(2..3)).unwrap().axis.size, 0);
        let window = Window { transposed: true, size: 1, taps: 2, outputs: 2, stride: far, padding: 0, dilation: 1 };
        let met = met(&window.part(&(0..2)).unwrap(), true);
        assert_eq!(met, vec![vec![Some(0), None], vec![None, Some(0)]]);
    }
}
