// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace retro::engine
{

/// True where the rules of a composite (`ExplainRequest::composite`: a built-in one or a file, with the rules put
/// before it) give a row of a value alone the relevance that they give it among all rows: none asks all elements
/// (`filter`, `stabiliser=rms`) or places in a triangle (`causal`), and none is for nodes that pick rows, which the
/// whole model does not have, but to hand relevance on. False where the composite cannot be read.
[[nodiscard]] bool hasRulesOfRows(const std::string& composite);

} // namespace retro::engine
