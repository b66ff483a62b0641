// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/choseninputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::engine
{

namespace
{

base::Result<void> expectKnown(std::span<const std::string> names, const std::vector<std::string>& known)
{
    for (const std::string& name : names) {
        if (std::ranges::find(known, name) == known.end()) {
            return base::usageError(
                fmt::format("the model has no floating input of this name; it has {}",
                            known.empty() ? "none at all" : fmt::format("{}", fmt::join(known, ", "))),
                "--from " + name);
        }
    }
    return {};
}

} // namespace

base::Result<std::vector<base::ValueId>> chosenInputs(const graph::Graph& graph, std::span<const std::string> names)
{
    std::vector<base::ValueId> chosen;
    std::vector<std::string> known;
    for (const base::ValueId input : graph.inputs()) {
        const graph::Value& value = graph.value(input);
        if (!tensor::isFloating(value.dtype)) {
            continue;
        }
        known.push_back(value.name);
        if (names.empty() || std::ranges::find(names, value.name) != names.end()) {
            chosen.push_back(input);
        }
    }
    RETRO_CHECK(expectKnown(names, known));
    return chosen;
}

} // namespace retro::engine
