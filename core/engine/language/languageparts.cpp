// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languageparts.h"

#include "core/base/file.h"
#include "core/base/jsonfields.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::JsonFields;
using base::Result;

namespace
{

constexpr std::uint64_t kMostPartsBytes = 1U << 20;
constexpr std::int64_t kMostHeads = 1 << 16;

Result<base::ValueId> namedValue(const JsonFields& fields, const std::string& field, const std::string& name,
                                 const graph::Graph& graph)
{
    const auto value = graph.findValue(name);
    return value ? Result<base::ValueId>(*value)
                 : fields.error(field, fmt::format("the model has no value '{}'", name));
}

/// Axes of a stream, or of heads.
Result<void> expectAxes(const JsonFields& fields, const std::string& field, const execute::BoundModel& model,
                        base::ValueId value, const HeadValues* heads)
{
    const tensor::Shape& shape = model.typeOf(value).shape;
    const bool isByHead = heads != nullptr && heads->isByHead;
    const bool isFlat = isByHead && shape.size() == 3 && shape[0] % heads->heads == 0; // batch and heads in one axis
    const bool fits =
        isFlat || (shape.size() == (isByHead ? 4U : 3U) &&
                   (heads == nullptr || (isByHead ? shape[1] == heads->heads : shape[2] % heads->heads == 0)));
    return fits ? Result<void>()
                : fields.error(field, fmt::format("'{}' is {}, which is not {}", model.graph().value(value).name,
                                                  tensor::toText(shape),
                                                  heads == nullptr ? "batch × tokens × features"
                                                  : isByHead       ? "batch × heads × tokens × width"
                                                                   : "batch × tokens × (heads · width)"));
}

} // namespace

Result<ResidualStreams> readLanguageParts(const std::string& file, const execute::BoundModel& model)
{
    const graph::Graph& graph = model.graph();
    RETRO_TRY(std::string contents, base::readTextFile(file, kMostPartsBytes));
    RETRO_TRY(const base::JsonText text, base::JsonText::parse(std::move(contents), file, {}));
    RETRO_TRY(const JsonFields root, JsonFields::of(text, text.root(), ""));
    RETRO_CHECK(root.onlyKnown({"streams", "heads"}));
    RETRO_TRY(const std::vector<std::string> streams, root.texts("streams"));
    ResidualStreams parts;
    for (const std::string& name : streams) {
        RETRO_TRY(parts.streams.emplace_back(), namedValue(root, "streams", name, graph));
        RETRO_CHECK(expectAxes(root, "streams", model, parts.streams.back(), nullptr));
    }
    if (parts.streams.empty()) {
        return root.error("streams", "no value is named");
    }
    RETRO_TRY(const nlohmann::json* const heads, root.list("heads"));
    for (std::size_t i = 0; heads != nullptr && i < heads->size(); ++i) {
        RETRO_TRY(const JsonFields item, root.item("heads", i));
        RETRO_CHECK(item.onlyKnown({"value", "count", "by_head"}));
        RETRO_TRY(const std::string name, item.text("value"));
        HeadValues one;
        RETRO_TRY(one.value, namedValue(item, "value", name, graph));
        RETRO_TRY(const auto count, item.whole("count", 1, kMostHeads));
        one.heads = count.value_or(1);
        RETRO_TRY(one.isByHead, item.flag("by_head", false));
        RETRO_CHECK(expectAxes(item, "value", model, one.value, &one));
        parts.heads.push_back(one);
    }
    return parts;
}

} // namespace retro::engine
