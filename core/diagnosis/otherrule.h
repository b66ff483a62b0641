// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <optional>
#include <string>
#include <string_view>

namespace retro::diagnosis
{

/// What a node loses to one cause, of what started, when it is explained again with another rule; nothing where no
/// passes are made, or the rule does not fit.
[[nodiscard]] std::optional<double> lostWith(const Facts& facts, NodeId node, std::string_view rule,
                                             event::Cause cause);

/// " With epsilon here hardly any would be lost."; empty where lostWith() says nothing.
[[nodiscard]] std::string lostWithText(const Facts& facts, NodeId node, std::string_view rule, event::Cause cause);

/// A share that is lost, in words: "32 %", "hardly any".
[[nodiscard]] std::string lostText(double share);

} // namespace retro::diagnosis
