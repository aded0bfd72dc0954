    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, storage: &candle::CudaStorage, layout: &Layout) -> Result<(candle::CudaStorage, Shape)> {
        use candle::cuda::isobit::{Op, UnaryOp};
        candle::CudaStorage::apply(&Op::Unary(UnaryOp::Sigmoid), &[(storage, layout)])
    }
