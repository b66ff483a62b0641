// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// True when the target is computed from the node, or where nobody knows the target.
[[nodiscard]] bool reachesTarget(const Facts& facts, NodeId node);

/// By NodeId: a linear map or a product of two computed values lies between the node and the target.
[[nodiscard]] std::vector<bool> linearBehind(const Facts& facts);

/// Which samples of a pass something was found in that `holds` says of one: "for this input", "for each of 4 samples",
/// "for these 4 samples together".
[[nodiscard]] std::string samplesText(const Facts& facts, const Tensor& value,
                                      const std::function<bool(std::span<const double>)>& holds);
/// In how many samples of a batch it holds; nothing where there is one sample, or the value has none.
[[nodiscard]] std::optional<std::size_t> samplesThatHold(const Facts& facts, const Tensor& value,
                                                         const std::function<bool(std::span<const double>)>& holds);

} // namespace retro::diagnosis
