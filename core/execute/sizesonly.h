// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::execute
{

/// While one lives on a thread, models that this thread binds are looked at and not run: results may be larger than the
/// memory of this machine, as a plan may be for another one.
class SizesOnly
{
public:
    SizesOnly();
    ~SizesOnly();
    SizesOnly(const SizesOnly&) = delete;
    SizesOnly& operator=(const SizesOnly&) = delete;

    /// Whether one lives on this thread.
    [[nodiscard]] static bool isOn();

private:
    bool m_before;
};

} // namespace retro::execute
