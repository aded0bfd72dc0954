    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        x: &candle::CudaStorage,
        layout: &Layout,
        weight: &candle::CudaStorage,
        weight_layout: &Layout,
        bias: &candle::CudaStorage,
        bias_layout: &Layout,
    ) -> Result<(candle::CudaStorage, Shape)> {
        use candle::cuda::isobit::{LayerNorm as Parameters, Op};
        let op = Op::LayerNorm(Parameters::new(self.eps.into()));
        candle::CudaStorage::apply(&op, &[(x, layout), (weight, weight_layout), (bias, bias_layout)])
    }
