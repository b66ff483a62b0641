// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <functional>

namespace retro::engine
{

/// True when `auto` put rules before those that it chose, as in `result`.
[[nodiscard]] bool addsRules(const ExplainRequest& request, const ExplainResult& result);

/// Makes a pass as asked. Errors as explain().
using PassOfRequest = std::function<base::Result<ExplainResult>(const ExplainRequest&)>;

/// What `auto` comes to after its first pass `first`. Where relevance grows from node to node by more than two decades,
/// rules are tried before those that it chose, behind those that a person put there; the ones that save most decades
/// are taken, and the reason of the composite says so. Else `first` itself. The rest of the request decides nothing but
/// what is asked of the pass: a condition, a recorded run or a way of computing gets the rules of the plain pass.
/// Errors: Cancelled, and those of the pass that is made with the rules that were taken.
[[nodiscard]] base::Result<ExplainResult> withAutomaticRules(const ExplainRequest& request, ExplainResult first,
                                                             const PassOfRequest& explain);

} // namespace retro::engine
