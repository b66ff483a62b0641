// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/cardcheck.h"

#include "core/base/file.h"
#include "core/engine/explain/target.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/model/prepare.h"
#include "core/formats/insidefolder.h"
#include "core/lrp/composite/builtincheck.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/composite/ruleoverride.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <variant>

namespace retro::engine
{

namespace fs = std::filesystem;

using base::inputError;
using base::Result;

namespace
{

Result<void> checkFile(const std::string& file, const fs::path& card)
{
    const fs::path folder = card.parent_path();
    std::error_code ec;
    if (!formats::leavesFolder(file) && !fs::exists(folder / file, ec)) {
        return inputError(fmt::format("there is no file '{}' in the card's folder; put it there, or name another "
                                      "composite",
                                      file));
    }
    if (formats::leavesFolder(file) || !formats::isInsideFolder(file, folder)) {
        return inputError(fmt::format("the composite '{}' is not inside the card's folder; only files beside or below "
                                      "the card are read",
                                      file));
    }
    const fs::path path = folder / file;
    const Result<std::string> json = base::readTextFile(path, kMaxCompositeFileBytes);
    const auto composite = json.ok() ? lrp::parseComposite(*json, path.string()) : json.error();
    return composite.ok() ? Result<void>() : inputError(composite.error().text()); // its own place and the card's
}

Result<void> checkComposite(const formats::ModelCard& card)
{
    if (card.composite.empty()) {
        return {};
    }
    const lrp::Specification named = lrp::splitSpecification(card.composite);
    RETRO_CHECK(named.base.ends_with(".json") ? checkFile(named.base, card.file) : lrp::checkBuiltin(named.base));
    for (const std::string& rule : named.overrides) {
        RETRO_CHECK(lrp::parseOverride(rule));
    }
    return {};
}

/// Elements of a sample of a value; nothing where the file does not say it.
std::optional<std::int64_t> declaredClasses(const graph::Value& value)
{
    if (!value.shape || value.shape->empty()) {
        return std::nullopt;
    }
    std::int64_t count = 1;
    for (std::size_t axis = value.shape->size() < 2 ? 0 : 1; axis < value.shape->size(); ++axis) {
        const std::optional<std::int64_t> extent = (*value.shape)[axis].extent;
        if (!extent || *extent < 1 || count > std::numeric_limits<std::int64_t>::max() / *extent) {
            return std::nullopt;
        }
        count *= *extent;
    }
    return count;
}

/// True where running the model makes values that it does not name: If, Loop and Scan are written out.
bool makesValues(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.nodes(), [](const graph::Node& node) {
        return std::ranges::any_of(node.attributes, [](const auto& attribute) {
            return std::holds_alternative<graph::Subgraph>(attribute.second);
        });
    });
}

/// A name that the tokenizer of a language model knows, or that is known when the model is written out, is not looked
/// at here.
Result<void> checkTarget(const formats::ModelCard& card, const LoadedModel& model)
{
    if (card.target.empty()) {
        return {};
    }
    const graph::Graph& graph = *model.rewritten.before;
    if (graph.findValue(card.target) || model.graph()->findValue(card.target)) {
        return {};
    }
    RETRO_TRY(const TargetRequest target, parseTarget(card.target, card.labels));
    const bool isKnown =
        !target.namesValue() || graph.findValue(target.value) || model.graph()->findValue(target.value);
    const auto language = languageModel(model);
    const bool takesWords = language && language->asksWords;
    if (!isKnown && !makesValues(graph) && !takesWords) {
        return inputError(
            fmt::format("'{}' is no label of the card, no class number and no value of the model", card.target));
    }
    if (target.kind != TargetRequest::Kind::Class || graph.outputs().size() != 1) {
        return {}; // which of several outputs is explained shows when the model is bound
    }
    RETRO_TRY(const base::ValueId value, targetValue(target, graph));
    const std::optional<std::int64_t> classes = declaredClasses(graph.value(value));
    if (classes && target.classIndex >= *classes) {
        return inputError(fmt::format("there is no class {}; the output '{}' has {}", target.classIndex,
                                      graph.value(value).name, *classes));
    }
    return {};
}

/// With the card and the field as its place.
base::Error ofCard(const base::Error& error, const formats::ModelCard& card, const LoadedModel& model,
                   const char* field)
{
    const fs::path file = card.file.empty() ? model.path : card.file;
    return inputError(error.message, fmt::format("{}, field '{}' of the model card", file.string(), field));
}

} // namespace

Result<void> checkCard(const LoadedModel& model)
{
    if (!model.card) {
        return {};
    }
    if (const Result<void> composite = checkComposite(*model.card); !composite.ok()) {
        return ofCard(composite.error(), *model.card, model, "composite");
    }
    if (const Result<void> target = checkTarget(*model.card, model); !target.ok()) {
        return ofCard(target.error(), *model.card, model, "target");
    }
    return {};
}

} // namespace retro::engine
