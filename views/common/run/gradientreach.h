// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <QString>

#include <cstdint>
#include <memory>
#include <vector>

namespace retro::views
{

/// Why no gradient visits an operator (analysis::LeftOut).
enum class WhyLeftOut : std::uint8_t { Stops, NoPath, NotPassed, NoInput, InputStopped };

/// In a few words: "stops the gradient".
[[nodiscard]] QString wordOf(WhyLeftOut why);

/// An operator that a gradient does not visit.
struct LeftOutFact
{
    base::NodeId node;
    WhyLeftOut why = WhyLeftOut::NoPath;
    QString reason; ///< a sentence
};

/// What a gradient between some inputs and a value has to visit (the critical subgraph). Immutable. Nodes are those of
/// the run's graph.
struct GradientReach
{
    QString from; ///< "every input", or an input's name
    QString to;   ///< the value
    std::size_t critical = 0;
    std::vector<LeftOutFact> leftOut; ///< ascending by node

    /// Null for an operator that the gradient visits.
    [[nodiscard]] const LeftOutFact* find(base::NodeId node) const;
};

using GradientReachPointer = std::shared_ptr<const GradientReach>;

} // namespace retro::views
