//! The roof of a benchmark: the least time of each row on the device, from the copy rate of the run
//! and the best rate of the vendor's matrix products in it.

use crate::group::{Group, Place};
use crate::report::Report;
use crate::row::Row;
use isobit_hal::{Family, Numerics};
use std::collections::BTreeMap;

/// The rates of a device.
#[derive(Debug)]
pub struct Roof {
    /// Bytes read and written per microsecond by a copy.
    pub copy: f64,
    /// Operations per microsecond of the vendor's fastest matrix product, by dtype.
    pub peaks: BTreeMap<String, f64>,
}

impl Roof {
    /// Takes the rates from all rows: those of a selection may lack the products.
    pub fn of(report: &Report) -> Self {
        let products = Group { place: Place::Of(Family::Matmul), numerics: Numerics::Vendor };
        let mut peaks = BTreeMap::new();
        for row in report.rows.iter().filter(|row| Group::of(row) == products) {
            if let Some(flops) = row.flops {
                let peak: &mut f64 = peaks.entry(row.dtype.clone()).or_default();
                *peak = peak.max(flops / row.us);
            }
        }
        Self { copy: report.copy_gb_per_s * 1e3, peaks }
    }

    /// Returns the least time in microseconds: of moving the bytes or of the operations, whichever
    /// is longer. Without both rates it is the row's floor.
    pub fn time(&self, row: &Row) -> Option<f64> {
        match (row.bytes, row.flops, self.peaks.get(&row.dtype)) {
            (Some(bytes), Some(flops), Some(peak)) => Some((bytes / self.copy).max(flops / peak)),
            _ => row.floor_us,
        }
    }

    /// Returns the share of the roof that a row achieves: 1 if it takes the least time.
    pub fn share(&self, row: &Row) -> Option<f64> {
        self.time(row).map(|least| least / row.us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of 4000 GB/s, and a product of 8e9 operations in 10 us and in 20 us.
    fn roof() -> Roof {
        let product = |op: &str, us| Row { flops: Some(8e9), ..Row::new(op, "f16", "64x64x64", us) };
        let rows = vec![product("matmul_vendor", 20.0), product("matmul_vendor", 10.0), product("matmul", 1.0)];
        Roof::of(&Report { rows, ..Report::example() })
    }

    #[test]
    fn the_rates_are_of_the_copy_and_of_the_fastest_vendor_product() {
        let roof = roof();
        assert_eq!(roof.copy, 4e6);
        assert_eq!(roof.peaks, BTreeMap::from([("f16".into(), 8e8)]));
    }

    #[test]
    fn the_longer_of_both_times_is_the_least_time() {
        let row = |dtype: &str, bytes, flops| Row {
            bytes,
            flops,
            ..Row::new("conv2d", dtype, "k3", 40.0).with_floor(Some(30.0))
        };
        // 16 MB take 4 us at 4 MB/us; 16e9 operations take 20 us at 8e8 per us.
        assert_eq!(roof().time(&row("f16", Some(16e6), Some(16e9))), Some(20.0));
        assert_eq!(roof().share(&row("f16", Some(16e6), Some(16e9))), Some(0.5));
        assert_eq!(roof().time(&row("f16", Some(400e6), Some(16e9))), Some(100.0));
        assert_eq!(roof().time(&row("f32", Some(16e6), Some(16e9))), Some(30.0), "no product of f32");
        assert_eq!(roof().time(&row("f16", None, Some(16e9))), Some(30.0), "bytes unknown");
        assert_eq!(roof().time(&Row::new("host_add", "f32", "1024", 1.0)), None);
    }
}
