// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/rewrite.h"

#include <memory>
#include <string>
#include <vector>

namespace retro::engine
{

/// What withStandardNodes() did, as a step `standard-nodes` of nodes before and after; without steps where that is
/// nothing.
[[nodiscard]] rewrite::Rewritten standardStage(std::shared_ptr<const graph::Graph> before,
                                               std::shared_ptr<const graph::Graph> after);

/// What became of If, Loop and Scan, as steps `write-out`, one per such node of `before`. `lines` are those of
/// execute::Unrolled.
[[nodiscard]] rewrite::Rewritten writeOutStage(std::shared_ptr<const graph::Graph> before,
                                               std::shared_ptr<const graph::Graph> after,
                                               const std::vector<std::string>& lines);

} // namespace retro::engine
