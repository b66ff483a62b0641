// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/tokenrelevance.h"

#include "core/diagnosis/statistics.h"

#include <cmath>

namespace retro::diagnosis
{

std::optional<TokenRelevance> tokenRelevance(const Facts& facts)
{
    const Pass& pass = *facts.pass();
    const tensor::Shape scores = facts.shape(pass.target);
    const std::int64_t index = pass.targetIndex.size() == 1 ? pass.targetIndex.front() : -1;
    if (scores.size() != 3 || scores[0] != 1 || scores[2] < 1 || index < 0) {
        return std::nullopt;
    }
    for (const ValueId input : facts.graph().inputs()) {
        const tensor::Shape shape = facts.shape(input);
        const Tensor relevance = facts.relevance(input);
        const bool isText = !tensor::isFloating(facts.graph().value(input).dtype) && shape.size() == 2 &&
                            shape[0] == 1 && shape[1] == scores[1];
        if (!isText || !relevance.isValid() || relevance.size() != shape[1]) {
            continue;
        }
        TokenRelevance tokens{input, numbersIn(relevance), 0, index / scores[2]};
        for (double& one : tokens.magnitudes) {
            one = std::abs(one);
            tokens.all += one;
        }
        return tokens;
    }
    return std::nullopt;
}

} // namespace retro::diagnosis
