// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"

#include <cmath>
#include <cstdint>
#include <optional>

namespace retro::event
{

// Numbers packed in Launch and Buffer events.

/// Bit 0 of the flag of a Launch: on a device.
inline constexpr std::uint8_t kLaunchOnDevice = 1;
/// Bits of the flag of a Buffer.
enum BufferUse : std::uint8_t { kBufferRead = 1, kBufferWritten = 2 };

/// Kernel (lut::KernelId) of a Launch: the low 8 bits of extra.
[[nodiscard]] inline std::uint32_t kernelIn(const Event& launch)
{
    return static_cast<std::uint32_t>(launch.extra & 0xff);
}
/// Seconds that a Launch took; nothing where nobody measured it. The bits above the kernel: nanoseconds + 1, or 0.
[[nodiscard]] inline std::optional<double> secondsIn(const Event& launch)
{
    const std::int64_t packed = launch.extra >> 8;
    return packed > 0 ? std::optional(static_cast<double>(packed - 1) * 1e-9) : std::nullopt;
}
/// Extra of a Launch.
[[nodiscard]] inline std::int64_t packLaunch(std::uint32_t kernel, const std::optional<double>& seconds)
{
    constexpr double kMost = 1e15; // nanoseconds: eleven days
    const double nanoseconds = seconds ? std::fmin(std::fmax(*seconds * 1e9, 0), kMost) : 0;
    const std::int64_t packed = seconds ? static_cast<std::int64_t>(std::llround(nanoseconds)) + 1 : 0;
    return packed * 256 + static_cast<std::int64_t>(kernel & 0xffU);
}

} // namespace retro::event
