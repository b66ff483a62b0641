// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/lastpass.h"

#include <algorithm>

namespace retro::engine
{

bool LastPass::isOf(const std::shared_ptr<const execute::BoundModel>& other,
                    std::span<const tensor::Tensor> otherInputs, execute::SavePolicy policy,
                    std::span<const base::ValueId> wanted) const
{
    const auto isEqual = [](const tensor::Tensor& a, const tensor::Tensor& b) { return a.bitEqual(b); };
    const auto isKept = [this](base::ValueId value) { return std::ranges::find(kept, value) != kept.end(); };
    return model == other && save == policy && std::ranges::all_of(wanted, isKept) &&
           std::ranges::equal(inputs, otherInputs, isEqual);
}

void LastPass::take(const std::vector<base::ValueId>& values, std::vector<tensor::Tensor>& others)
{
    if (targets != values) {
        memory = lrp::PassMemory();
        targets = values;
        starts = others;
        return;
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (starts[i].bitEqual(others[i])) {
            others[i] = starts[i];
        }
    }
    starts = others;
}

} // namespace retro::engine
