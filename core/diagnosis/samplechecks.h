// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <functional>
#include <span>

namespace retro::diagnosis
{

/// Asked for the results of a node for one sample.
using SampleCheck = std::function<bool(std::span<const double>)>;

/// What forward.dead, forward.saturated and forward.clipped look for, of one sample (eval.batch asks it of each). Empty
/// for nodes that the check does not look at. Each is defined beside its check.
[[nodiscard]] SampleCheck deadCheck(const Facts& facts, NodeId node);
[[nodiscard]] SampleCheck saturatedCheck(const Facts& facts, NodeId node);
[[nodiscard]] SampleCheck clippedCheck(const Facts& facts, NodeId node);

} // namespace retro::diagnosis
