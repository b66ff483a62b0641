// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <QString>

#include <cstdint>
#include <memory>
#include <vector>

namespace retro::views
{

/// The worst that a diagnosis found at a node of a graph. `level` grows: 0 a note, 1 a warning, 2 a difference, 3 an
/// error.
struct FoundNode
{
    base::NodeId node;
    std::uint8_t level = 0;
    QString text; ///< what was found there, a line each
};

/// Per node at most one. Immutable.
using FoundNodes = std::shared_ptr<const std::vector<FoundNode>>;

} // namespace retro::views
