// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/positionlimit.h"

#include "core/engine/language/modelconfig.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace retro::engine
{

namespace
{

using base::Result;
using base::ValueId;
using graph::Graph;
using graph::Node;
using tensor::Tensor;

std::int64_t rowsOfConstant(const Graph& graph, ValueId value)
{
    if (!value.isValid() || graph.value(value).kind != graph::ValueKind::Constant) {
        return 0;
    }
    const graph::Value& table = graph.value(value);
    if (table.constant.isValid()) {
        return table.constant.rank() == 2 ? table.constant.shape()[0] : 0;
    }
    const bool isKnown = table.shape && table.shape->size() == 2 && table.shape->front().extent;
    return isKnown ? *table.shape->front().extent : 0;
}

/// Rows of the caches of a rotation that picks its rows by positions.
std::int64_t rowsOfCache(const Graph& graph, const Node& node)
{
    constexpr std::size_t kOwnPositions = 3; // of the standard operator; without them the caches are picked already
    const bool isFused = node.domain == "com.microsoft";
    const bool picks = isFused || (node.inputs.size() > kOwnPositions && node.inputs[kOwnPositions].isValid());
    const std::size_t slot = isFused ? 2 : 1;
    return picks && node.inputs.size() > slot ? rowsOfConstant(graph, node.inputs[slot]) : 0;
}

/// Whole numbers that differ, so that one for each token can be cut out of them (0, 1, 2 …).
bool isRow(const Tensor& constant)
{
    const bool isOfMany = constant.isValid() && !tensor::isFloating(constant.dtype()) && constant.size() > 1;
    return isOfMany && constant.at(0) != constant.at(constant.size() - 1);
}

/// Operands that a node takes its numbers from; the others say how many, or which.
std::span<const ValueId> numbersOf(const Node& node)
{
    using enum ops::Elements;
    const bool isMove = ops::areElements(node, {Reshaped, Taken, Repeated});
    const std::size_t count = node.op == "ConstantOfShape" ? 0 : isMove ? 1 : node.inputs.size();
    return std::span(node.inputs).first(std::min(count, node.inputs.size()));
}

/// Whether a value that no other makes says places; none where it cannot.
std::optional<bool> saysPlaces(const graph::Value& value)
{
    if (value.kind == graph::ValueKind::Constant) {
        return isRow(value.constant);
    }
    return value.name.find("position") == std::string::npos ? std::nullopt : std::optional(true);
}

/// Numbers that say places: the input of positions, or counted from the number of tokens alone.
bool arePositions(const Graph& graph, ValueId indices)
{
    bool isCounted = false;
    std::set<ValueId> seen;
    std::vector<ValueId> open{indices};
    while (!open.empty()) {
        const ValueId at = open.back();
        open.pop_back();
        if (!at.isValid() || !seen.insert(at).second) {
            continue;
        }
        const graph::Value& value = graph.value(at);
        if (value.kind != graph::ValueKind::Result) {
            const std::optional<bool> says = saysPlaces(value);
            if (!says) {
                return false;
            }
            isCounted = isCounted || *says;
            continue;
        }
        const Node& node = graph.node(graph.nodeOf(at));
        const bool isCount = ops::readsShapeAlone(node);
        const auto numbers = isCount ? std::span<const ValueId>() : numbersOf(node);
        open.insert(open.end(), numbers.begin(), numbers.end());
        isCounted = isCounted || isCount;
    }
    return isCounted;
}

/// Rows of a table of which positions choose some.
std::int64_t rowsOfTable(const Graph& graph, const Node& node)
{
    const bool picksRows = node.inputs.size() == 2 && !graph::isSet(node, "axis");
    const std::int64_t rows = picksRows ? rowsOfConstant(graph, node.inputs[0]) : 0;
    const bool isTable = rows > 0 && tensor::isFloating(graph.value(node.inputs[0]).dtype);
    return isTable && arePositions(graph, node.inputs[1]) ? rows : 0;
}

std::string nameOf(const Node& node) { return fmt::format("node \"{}\"", node.name.empty() ? node.op : node.name); }

void take(std::int64_t count, std::string source, std::optional<PositionLimit>& least)
{
    if (count > 0 && (!least || count < least->count)) {
        least = {count, std::move(source)};
    }
}

/// Position of the last token, counted from 1: by the positions that are given, else by a mask, else by the tokens and
/// the past.
std::int64_t lastPosition(const Graph& graph, const LanguageModel& language, std::span<const Tensor> inputs)
{
    const std::int64_t tokens = inputs[language.input].shape().back();
    std::int64_t behindMask = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        const Tensor& given = inputs[i];
        if (!given.isValid()) {
            continue;
        }
        const auto has = [&input](const char* part) { return input.name.find(part) != std::string::npos; };
        if (has("position_ids") && !tensor::isFloating(given.dtype()) && given.size() > 0) {
            std::int64_t last = 0;
            for (std::int64_t k = 0; k < given.size(); ++k) {
                last = std::max(last, static_cast<std::int64_t>(given.at(k)));
            }
            return last + 1;
        }
        if (has("attention_mask") && given.rank() == 2) {
            behindMask = given.shape()[1];
        }
    }
    return std::max(tokens, behindMask);
}

} // namespace

std::optional<PositionLimit> positionLimit(const LoadedModel& model)
{
    const Graph& graph = *model.graph();
    std::optional<PositionLimit> least;
    for (const Node& node : graph.nodes()) {
        if (node.op == "RotaryEmbedding") {
            take(rowsOfCache(graph, node), "the cos_cache of " + nameOf(node), least);
        } else if (node.op == "Gather") {
            take(rowsOfTable(graph, node), "the table of positions of " + nameOf(node), least);
        }
    }
    for (const ModelConfig& config : modelConfigs(model)) {
        for (const char* const name : {"max_position_embeddings", "n_positions", "n_ctx", "context_length"}) {
            take(config.number({name}).value_or(0), fmt::format("{} of {}", name, config.file), least);
        }
    }
    return least;
}

Result<void> checkPositions(const LoadedModel& model, const LanguageModel& language, std::span<const Tensor> inputs,
                            std::int64_t steps)
{
    const std::optional<PositionLimit> limit = positionLimit(model);
    if (!limit) {
        return {};
    }
    const std::int64_t tokens = inputs[language.input].shape().back();
    const std::int64_t last = lastPosition(*model.graph(), language, inputs);
    const std::string before =
        last > tokens ? fmt::format(" behind {} others", last - tokens) : std::string(); // a past
    if (last > limit->count) {
        return base::inputError(fmt::format("the text has {} tokens{}, and the model has {} positions ({}); give a "
                                            "shorter text",
                                            tokens, before, limit->count, limit->source));
    }
    // The last word that is made is read by nobody.
    if (steps > 0 && last + steps - 1 > limit->count) {
        return base::usageError(fmt::format("the text has {} tokens{}, {} more are asked for, and the model has {} "
                                            "positions ({}); ask for at most {}",
                                            tokens, before, steps, limit->count, limit->source,
                                            limit->count - last + 1),
                                "--generate");
    }
    return {};
}

} // namespace retro::engine
