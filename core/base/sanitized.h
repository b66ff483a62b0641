// SPDX-License-Identifier: Apache-2.0
#pragma once

// RETRO_SANITIZED: 1 where the program is compiled with a sanitizer that has an allocator of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RETRO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RETRO_SANITIZED 1
#endif
#endif
#ifndef RETRO_SANITIZED
#define RETRO_SANITIZED 0
#endif
