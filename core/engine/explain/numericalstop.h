// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/target.h"
#include "core/event/event.h"
#include "core/execute/boundmodel.h"
#include "core/trace/run.h"

#include <memory>
#include <span>
#include <stop_token>

namespace retro::engine
{

/// A forward pass that can be made again, to look at all its values.
struct ForwardPass
{
    const std::shared_ptr<const execute::BoundModel>& model;
    std::span<const tensor::Tensor> inputs;      ///< in the model's precision
    std::span<const trace::NodeRule> rules = {}; ///< by NodeId, for the words; may be empty
    std::stop_token stop = {};
};

/// A finished relevance pass, as far as the search for its first wrong number needs it.
struct FinishedRelevance
{
    ForwardPass forward;
    std::span<const tensor::Tensor> relevance;  ///< by ValueId; invalid where nothing arrived
    std::span<const event::LedgerEntry> ledger; ///< in the order of the pass
};

/// Errors (Engine): relevance is NaN or infinite somewhere. The message names the first node in the order of the pass
/// whose rule made it so, the rule, the value, the element and its number, and where the forward pass had gone wrong
/// before; where relevance started like that, the input or the first node that the forward pass went wrong at. Costs
/// one look at each row of the ledger when all is well; else a forward pass, which keeps no value longer than its last
/// reader.
[[nodiscard]] base::Result<void> checkFinite(const FinishedRelevance& pass);

/// The same error without its advice to go on, for callers that cannot.
[[nodiscard]] base::Error withoutAdvice(base::Error error);

/// Errors (Engine): an input times the gradient that arrived there is NaN or infinite. `products` by ValueId.
[[nodiscard]] base::Result<void> checkProducts(const ForwardPass& forward, std::span<const tensor::Tensor> products);

/// As resolveTarget(). Where the output has no finite score that argmax could choose, the message names where the
/// forward pass went wrong.
[[nodiscard]] base::Result<ResolvedTarget> resolveTargetOf(const ForwardPass& forward, const TargetRequest& request,
                                                           const StartRequest& start, base::ValueId value,
                                                           const tensor::Tensor& known);

} // namespace retro::engine
