    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        x: &candle::CudaStorage,
        layout: &Layout,
        cos: &candle::CudaStorage,
        cos_layout: &Layout,
        sin: &candle::CudaStorage,
        sin_layout: &Layout,
    ) -> Result<(candle::CudaStorage, Shape)> {
        let form = candle::cuda::isobit::RopeForm::Interleaved;
        candle::CudaStorage::rope(form, (x, layout), (cos, cos_layout), (sin, sin_layout))
    }
