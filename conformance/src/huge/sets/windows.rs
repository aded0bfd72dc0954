//! Convolutions, pooling and upsampling: many images, and one image whose windows end with a tile.

use super::Cases;
use crate::huge::Sizes;
use crate::huge::tiled::{Operand, Tiled, most};
use isobit_hal::{
    AdaptivePool, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, DType, GridSample, Interpolation, Numerics,
    Op, Pool2d, Pool3d, Resize, UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d,
};

pub(super) fn cases(s: Sizes) -> Cases {
    use DType::{BF16, F16, F32, I8, U8, U32};
    let (n, half) = (most(s), s.beyond_31());
    let images = |dtype, dims: &[usize]| Operand::new(dtype, dims).along(0);
    let portable = Numerics::Portable;
    let conv2d = Op::Conv2d(Conv2d::default().with_padding([1, 1]).with_numerics(portable));
    let conv1d = Op::Conv1d(Conv1d::default().with_stride([3]).with_numerics(portable));
    let back1d = Op::ConvTranspose1d(ConvTranspose1d::default().with_stride([3]).with_numerics(portable));
    let back2d = Op::ConvTranspose2d(ConvTranspose2d::default().with_stride([2, 1]).with_numerics(portable));
    let kernel = |dtype, dims: &[usize]| Operand::new(dtype, dims);
    let sound = |dtype, channels, length| Operand::new(dtype, &[1, channels, length]).along(2);
    let (pool, strips) = (Pool2d::new([2, 2]), Pool2d::new([2, 3]));
    vec![
        (
            "many images",
            Tiled::new(
                conv2d,
                vec![images(F32, &[3, 5, 9, 11]), kernel(F32, &[7, 5, 3, 3])],
                images(F32, &[3, 7, 9, 11]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::Conv3d(Conv3d::default().with_padding([1; 3]).with_numerics(portable)),
                vec![images(F32, &[3, 5, 4, 6, 7]), kernel(F32, &[3, 5, 3, 3, 3])],
                images(F32, &[3, 3, 4, 6, 7]),
                half,
            ),
        ),
        (
            "a long sequence",
            Tiled::new(conv1d.clone(), vec![sound(F16, 1, 2145), kernel(F16, &[2, 1, 3])], sound(F16, 2, 715), n),
        ),
        (
            "long channels",
            Tiled::new(conv1d, vec![sound(F32, 3, 2145), kernel(F32, &[4, 3, 3])], sound(F32, 4, 715), n),
        ),
        (
            "a long sequence",
            Tiled::new(back1d, vec![sound(F32, 2, 715), kernel(F32, &[2, 1, 3])], sound(F32, 1, 2145), n),
        ),
        (
            "many images",
            Tiled::new(
                back2d,
                vec![images(F32, &[3, 5, 9, 11]), kernel(F32, &[5, 3, 2, 1])],
                images(F32, &[3, 3, 18, 11]),
                half,
            ),
        ),
        (
            "many images",
            Tiled::new(Op::AvgPool2d(pool), vec![images(F16, &[3, 5, 22, 26])], images(F16, &[3, 5, 11, 13]), n),
        ),
        (
            "many images",
            Tiled::new(Op::MaxPool2d(pool), vec![images(I8, &[3, 5, 22, 26])], images(I8, &[3, 5, 11, 13]), n),
        ),
        (
            "many images",
            Tiled::new(Op::ArgMaxPool2d(pool), vec![images(F32, &[3, 5, 22, 26])], images(U32, &[3, 5, 11, 13]), n),
        ),
        (
            "many volumes",
            Tiled::new(
                Op::MaxPool3d(Pool3d::new([2, 3, 2])),
                vec![images(F16, &[3, 5, 4, 9, 14])],
                images(F16, &[3, 5, 2, 3, 7]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::AdaptiveMaxPool(AdaptivePool::new([9, 11])),
                vec![images(I8, &[3, 5, 22, 26])],
                images(I8, &[3, 5, 9, 11]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::Col2im(pool.with_stride([1, 1]).backward([12, 14])),
                vec![images(F16, &[3, 20, 143])],
                images(F16, &[3, 5, 12, 14]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::AvgPoolBackward(pool.backward([22, 26])),
                vec![images(F16, &[3, 5, 11, 13])],
                images(F16, &[3, 5, 22, 26]),
                n,
            ),
        ),
        (
            "a tall image",
            Tiled::new(
                Op::MaxPool2d(strips),
                vec![Operand::new(F32, &[1, 1, 110, 39]).along(2)],
                Operand::new(F32, &[1, 1, 55, 13]).along(2),
                n,
            ),
        ),
        (
            "many sequences",
            Tiled::new(
                Op::UpsampleNearest1d(UpsampleNearest1d::new([77])),
                vec![images(U8, &[5, 3, 33])],
                images(U8, &[5, 3, 77]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::UpsampleNearest2d(UpsampleNearest2d::new([18, 33])),
                vec![images(F32, &[3, 5, 9, 11])],
                images(F32, &[3, 5, 18, 33]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::UpsampleBilinear2d(UpsampleBilinear2d::new([21, 33])),
                vec![images(BF16, &[3, 5, 9, 11])],
                images(BF16, &[3, 5, 21, 33]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::Resize(Resize::new(&[18, 33], Interpolation::Cubic)),
                vec![images(BF16, &[3, 5, 9, 11])],
                images(BF16, &[3, 5, 18, 33]),
                n,
            ),
        ),
        (
            "many images",
            Tiled::new(
                Op::GridSample(GridSample::new()),
                vec![images(F16, &[3, 5, 9, 11]), images(F32, &[3, 18, 33, 2])],
                images(F16, &[3, 5, 18, 33]),
                n,
            ),
        ),
    ]
}
