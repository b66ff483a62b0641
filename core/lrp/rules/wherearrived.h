// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"

#include <functional>
#include <span>
#include <vector>

namespace retro::lrp
{

/// Rule::apply(), with 0 handed on where 0 arrived, whatever the forward values are: NaN and infinity in branches that
/// a mask replaces touch nothing else. Bits are those of apply() where that gives finite relevance. Where the result
/// depends on a forward value that is not finite, it is what apply() gives.
[[nodiscard]] std::vector<Tensor> applyWhereArrived(const Rule& rule, const RuleContext& context);

/// Makes tensors of the forward values of a node: operands, then outputs.
using MakeOfValues = std::function<std::vector<Tensor>(std::span<const Tensor>, std::span<const Tensor>)>;
/// The same care for what else is made of what arrived: the last call of `make` is the one that counts.
void makeWhereArrived(const RuleContext& context, const MakeOfValues& make);

} // namespace retro::lrp
