//! Rotary embeddings with tables that are longer than the sequence, as candle passes them.

use isobit::{AnyStorage, BackendStorage, Layout, Result, RopeForm};

/// Rotates `x` by the first rows of the tables; see [`RopeForm`].
///
/// # Errors
/// As [`BackendStorage::rope`].
pub fn rope(
    form: RopeForm,
    (x, layout): (&AnyStorage, &Layout),
    (cos, cos_layout): (&AnyStorage, &Layout),
    (sin, sin_layout): (&AnyStorage, &Layout),
) -> Result<AnyStorage> {
    let time = match (form, layout.dims()) {
        (RopeForm::Thd, &[_, time, ..]) | (_, &[_, _, time, _]) => time,
        _ => return x.rope(layout, cos, cos_layout, sin, sin_layout, form),
    };
    let used = |table: &Layout| match table.shape().rank() {
        rank @ (2 | 3) if table.dims()[rank - 2] > time => table.narrow(rank - 2, 0, time),
        _ => Ok(table.clone()),
    };
    x.rope(layout, cos, &used(cos_layout)?, sin, &used(sin_layout)?, form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::{AnyDevice, BackendDevice};

    #[test]
    fn only_the_first_rows_of_a_table_count() {
        let cpu = AnyDevice::cpu();
        let x = cpu.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        // cos 0, 1, then rows that are not used; sin 1, 0.
        let cos = cpu.storage_from_slice(&[0.0f32, 1.0, 7.0, 7.0, 7.0]).unwrap();
        let sin = cpu.storage_from_slice(&[1.0f32, 0.0, 7.0, 7.0, 7.0]).unwrap();
        let table = Layout::contiguous((5, 1));
        for (form, shape) in
            [(RopeForm::Interleaved, (1, 1, 2, 2)), (RopeForm::Halves, (1, 1, 2, 2)), (RopeForm::Thd, (1, 2, 1, 2))]
        {
            let layout = Layout::contiguous(shape);
            let turned = rope(form, (&x, &layout), (&cos, &table), (&sin, &table)).unwrap();
            assert_eq!(turned.to_vec::<f32>().unwrap(), [-2.0, 1.0, 3.0, 4.0], "{form}");
        }
        // One table for each sequence of a batch of two.
        let (layout, tables) = (Layout::contiguous((2, 1, 1, 2)), Layout::contiguous((2, 2, 1)));
        let turned = rope(RopeForm::Halves, (&x, &layout), (&cos, &tables), (&sin, &tables)).unwrap();
        assert_eq!(turned.to_vec::<f32>().unwrap(), [-2.0, 1.0, 7.0 * 3.0 - 7.0 * 4.0, 7.0 * 3.0 + 7.0 * 4.0]);
    }
}
