// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <array>
#include <cstdint>
#include <vector>

namespace retro::views
{

/// Width of the frontier after every visit, split by the mode of the visit in which a tensor came into it: what the
/// normal pass landed, what a search found for promises, what a fulfilment handed down. What landed before the first
/// visit counts as normal.
class FrontierModes
{
public:
    static constexpr std::size_t kModes = 3; ///< normal, search, fulfilment

    /// Walks the events once. The run must be one that a trace::Timeline opens.
    explicit FrontierModes(const trace::Run& run);
    FrontierModes() = default;

    [[nodiscard]] std::size_t visitCount() const { return m_widths.size(); }
    /// Tensors in the frontier after a visit that came into it in a mode (None counts as Normal); over the modes they
    /// add up to the width of the frontier.
    [[nodiscard]] std::uint32_t width(std::size_t visit, event::Mode mode) const;

private:
    std::vector<std::array<std::uint32_t, kModes>> m_widths; // by visit
};

} // namespace retro::views
