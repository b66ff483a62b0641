// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compiles a function for several register widths. The choice is made while the program is loaded, before a sanitizer
// is ready for it. Results do not depend on it: nothing is contracted, and lanes are as many in each.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RETRO_WIDE_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETRO_WIDE_REGISTERS
#endif
