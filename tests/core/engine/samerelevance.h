// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <string>

namespace retro::tests
{

/// First value whose relevance is another; empty when none is.
inline std::string differenceOf(const engine::ExplainResult& a, const engine::ExplainResult& b)
{
    for (std::size_t i = 0; i < a.relevance.size(); ++i) {
        const bool isSame = a.relevance[i].isValid() == b.relevance[i].isValid() &&
                            (!a.relevance[i].isValid() || a.relevance[i].bitEqual(b.relevance[i]));
        if (!isSame) {
            return a.model->graph().value(base::ValueId(i)).name;
        }
    }
    return {};
}

} // namespace retro::tests
