// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/statistics.h"

#include "core/lrp/rules/linearform.h"
#include "core/ops/stabiliseddivision.h"

#include <algorithm>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

constexpr std::size_t kDeviation = 2; ///< the output 1/deviation

} // namespace

bool hasStatistics(const ops::BoundOperator& op)
{
    return op.structure().kind() == ops::StructureKind::SelfNormalisation && op.outputTypes().size() > 1;
}

ops::Reads statisticsReads(const ops::BoundOperator& op)
{
    return hasStatistics(op) ? op.savedForGradient() : ops::Reads::nothing();
}

Tensor withStatistics(const RuleContext& context, const algebra::Stabiliser& stabiliser, Balance& balance, Tensor part)
{
    const auto isValid = [](const Tensor& t) { return t.isValid(); };
    if (!hasStatistics(context.op) || std::ranges::none_of(context.relevance.subspan(1), isValid)) {
        return part;
    }
    const std::vector<Tensor> z = context.op.run(context.operands);
    std::vector<Tensor> divided(context.relevance.size());
    for (std::size_t k = 1; k < divided.size(); ++k) {
        if (context.relevance[k].isValid()) {
            divided[k] = algebra::stabilisedQuotient(context.relevance[k], z[k], stabiliser);
            balance.bookDivision(context.relevance[k], divided[k], z[k]);
            divided[k] = k == kDeviation ? algebra::scale(divided[k], -1) : divided[k];
        }
    }
    const auto& function = as<ops::Differentiable>(context.op.structure());
    const Tensor own = algebra::multiply(function.pullback(divided, context.operands, z, 0), context.operands[0]);
    return part.isValid() ? algebra::add(part, own) : own;
}

} // namespace retro::lrp
