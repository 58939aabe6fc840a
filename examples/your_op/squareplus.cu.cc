#include "squareplus.h"

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"

YOUR_OPS(INSTANTIATE_GPU_ELEMENTWISE)
