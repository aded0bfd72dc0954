    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        storage: &crate::CudaStorage,
        layout: &crate::Layout,
    ) -> Result<(crate::CudaStorage, crate::Shape)> {
        use crate::cuda::isobit::{Op, Sort};
        let order = if self.asc { Sort::ascending() } else { Sort::descending() };
        crate::CudaStorage::apply(&Op::ArgSort(order), &[(storage, layout)])
    }
