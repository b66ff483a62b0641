// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function that host and device share. Headers with such functions compile as C++17.
#ifdef __CUDACC__
#define RETRO_HOST_DEVICE __host__ __device__
#else
#define RETRO_HOST_DEVICE
#endif
