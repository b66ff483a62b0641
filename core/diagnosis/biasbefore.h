// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <optional>
#include <string>

namespace retro::diagnosis
{

/// The linear map whose bias makes what a node reads.
struct BiasBefore
{
    NodeId node;
    double share = 0; ///< Σ|b| / (Σ|b| + Σ|z − b|) over its results
};

/// Of the linear map before a node, with nodes between that move elements or scale channels. Nothing where there is
/// none, or where its bias is less than the most of what it gives.
[[nodiscard]] std::optional<BiasBefore> biasBefore(const Facts& facts, NodeId node);

/// What to look at before a node: the bias of the linear map that makes it, else `otherwise`.
[[nodiscard]] std::string adviceBefore(const Facts& facts, NodeId node, const std::string& otherwise);

} // namespace retro::diagnosis
