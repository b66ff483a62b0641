// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/target.h"

#include <optional>
#include <string_view>

namespace retro::engine
{

/// In place of an axis of a target (`segment=2`): a class at all places of a sample where no other one scores higher.
inline constexpr std::string_view kSegmentAxis = "segment";

/// The class of the segment that is asked for; none where something else is.
[[nodiscard]] std::optional<std::int64_t> segmentIn(const TargetRequest& request);

/// A segment as resolveTarget() answers it: relevance starts with the scores of the class (One: with 1 each) at its
/// places, unless all of the value is asked for or a start is given. `index` is −1 for each sample, `logit` the sum of
/// the scores, `place` says how many places there are. `axes` are the names of all axes. Errors: Usage (an output
/// without places, no such class, one that wins nowhere, a contrast), Input (a given start of another shape).
[[nodiscard]] base::Result<ResolvedTarget> resolveSegment(std::int64_t wanted, const StartRequest& start,
                                                          base::ValueId value, const tensor::Tensor& forward,
                                                          const std::vector<std::string>& axes);

/// The start relevance that a file has for a value. Errors: Input (another shape).
[[nodiscard]] base::Result<tensor::Tensor> givenStart(const std::filesystem::path& file, const tensor::Tensor& forward);

} // namespace retro::engine
