// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// True when the target is computed from the node, or where nobody knows the target.
[[nodiscard]] bool reachesTarget(const Facts& facts, NodeId node);

/// By NodeId: a linear map or a product of two computed values lies between the node and the target.
[[nodiscard]] std::vector<bool> linearBehind(const Facts& facts);

/// Of a finding about a forward value, for a pass of several samples (section 4.9, eval.batch).
struct BatchWords
{
    std::string text = "for this input"; ///< or "for each of 4 samples"
    double raised = 0;                   ///< what is added to the score where it holds for each
};

/// `holds` is asked for the elements of each sample.
[[nodiscard]] BatchWords batchWords(const Facts& facts, const Tensor& value,
                                    const std::function<bool(std::span<const double>)>& holds);

} // namespace retro::diagnosis
