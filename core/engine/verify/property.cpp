// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/property.h"

namespace retro::engine
{

std::string nameOf(PropertyState state)
{
    if (state == PropertyState::NotApplicable) {
        return "not applicable";
    }
    return state == PropertyState::Held ? "held" : "violated";
}

PropertyResult judged(std::string id, std::string statement, const Counterexample& counterexample, std::string compared)
{
    const bool isHeld = counterexample.text.empty();
    return {std::move(id), std::move(statement), isHeld ? PropertyState::Held : PropertyState::Violated,
            isHeld ? std::move(compared) : counterexample.text, isHeld ? std::string() : counterexample.node};
}

} // namespace retro::engine
