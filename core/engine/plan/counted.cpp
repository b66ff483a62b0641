// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/counted.h"

#include "core/ops/layerkind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace retro::engine
{

using base::Result;

namespace
{

/// Operands of BatchNormalization that are measured and not trained.
constexpr std::size_t kFirstStatistic = 3;

constexpr std::array<std::string_view, 8> kCounted{"inputs",   "weights", "gradients", "sgd",
                                                   "momentum", "adam",    "mixed",     "workspace"};

bool isOptimiser(std::string_view name) { return name == "sgd" || name == "momentum" || name == "adam"; }

std::vector<std::string> namesApart(std::span<const std::string> given)
{
    std::vector<std::string> names;
    for (const std::string& text : given) {
        for (std::size_t from = 0; from <= text.size();) {
            const std::size_t comma = std::min(text.find(',', from), text.size());
            names.push_back(text.substr(from, comma - from));
            from = comma + 1;
        }
    }
    return names;
}

/// One of the names.
Result<void> checkCounted(const std::string& name, std::span<const std::string> names, bool trains)
{
    if (std::ranges::find(kCounted, name) == kCounted.end()) {
        return base::usageError(fmt::format("what can be counted: {}", fmt::join(kCounted, ", ")), "--count " + name);
    }
    if (std::ranges::count(names, name) > 1) {
        return base::usageError("it stands there twice", "--count " + name);
    }
    if (!trains && (isOptimiser(name) || name == "gradients" || name == "mixed")) {
        return base::usageError("nothing is trained without gradients of parameters; add --parameters",
                                "--count " + name);
    }
    return {};
}

/// The names, apart and checked.
Result<std::vector<std::string>> countedNames(std::span<const std::string> given, bool trains)
{
    std::vector<std::string> names = namesApart(given);
    for (const std::string& name : names) {
        RETRO_CHECK(checkCounted(name, names, trains));
    }
    const auto holds = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
    if (holds("mixed") && (holds("weights") || holds("gradients") || std::ranges::any_of(names, isOptimiser))) {
        return base::usageError("it stands for weights, gradients and Adam together; leave those out", "--count mixed");
    }
    if (std::ranges::count_if(names, isOptimiser) > 1) {
        return base::usageError("a step has one optimiser; leave the others out", "--count");
    }
    return names;
}

std::uint64_t inputBytes(const analysis::OpGraph& graph)
{
    std::uint64_t bytes = 0;
    for (const analysis::OpValue& value : graph.values()) {
        bytes += value.isPinned ? value.bytes : 0;
    }
    return bytes;
}

/// What is measured and not trained.
std::set<base::ValueId> measuredValues(const graph::Graph& graph)
{
    std::set<base::ValueId> statistics;
    for (const graph::Node& node : graph.nodes()) {
        for (std::size_t i = kFirstStatistic; ops::isBatchNormalisation(node) && i < node.inputs.size(); ++i) {
            statistics.insert(node.inputs[i]);
        }
    }
    return statistics;
}

/// A constant, as its data has it or, without data, as it is declared.
void addTrained(const graph::Value& value, TrainedParameters& found)
{
    const bool isTyped = value.constant.isValid() || !value.constant.shape().empty();
    tensor::Shape shape = value.constant.shape();
    if (!isTyped && value.shape) {
        std::ranges::transform(*value.shape, std::back_inserter(shape),
                               [](const graph::Dimension& one) { return one.extent.value_or(0); });
    }
    const tensor::DType dtype = isTyped ? value.constant.dtype() : value.dtype;
    if (tensor::isFloating(dtype) && !shape.empty()) {
        const auto elements = static_cast<std::uint64_t>(tensor::elementCount(shape));
        found.elements += elements;
        found.bytes += elements * tensor::sizeOf(value.dtype);
    }
}

} // namespace

TrainedParameters trainedParameters(const graph::Graph& graph)
{
    const std::set<base::ValueId> statistics = measuredValues(graph);
    TrainedParameters found;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(base::ValueId(i));
        const bool isRead = !graph.uses(base::ValueId(i)).empty() && !statistics.contains(base::ValueId(i));
        if (value.kind == graph::ValueKind::Constant && isRead) {
            addTrained(value, found);
        }
    }
    return found;
}

Result<std::vector<CountedBand>> countedBands(std::span<const std::string> names, const LoadedModel& model,
                                              const analysis::PlanningGraph& planning, bool trains)
{
    RETRO_TRY(const std::vector<std::string> counted, countedNames(names, trains));
    const TrainedParameters trained =
        counted.empty() ? TrainedParameters() : trainedParameters(*model.rewritten.before);
    std::vector<CountedBand> bands;
    for (const std::string& name : counted) {
        CountedBand band{name, 0};
        if (name == "inputs") {
            band.bytes = inputBytes(planning.graph);
        } else if (name == "weights") {
            band.bytes = planning.constantBytes;
        } else if (name == "gradients") {
            band.bytes = trained.bytes;
        } else if (name == "momentum") {
            band.bytes = 4 * trained.elements;
        } else if (name == "adam") {
            band.bytes = 8 * trained.elements;
        } else if (name == "mixed") {
            band.bytes = 16 * trained.elements;
        }
        bands.push_back(std::move(band));
    }
    return bands;
}

std::uint64_t totalOf(std::span<const CountedBand> bands)
{
    std::uint64_t bytes = 0;
    for (const CountedBand& band : bands) {
        bytes += band.bytes;
    }
    return bytes;
}

} // namespace retro::engine
