// SPDX-License-Identifier: Apache-2.0
// The CUDA back end as it is, compiled for the emulated device: CUDA's headers are those of this folder.
#include "kernels/lut/cuda.cpp"             // NOLINT(bugprone-suspicious-include)
#include "kernels/lut/device/cudapasses.cu" // NOLINT(bugprone-suspicious-include)
