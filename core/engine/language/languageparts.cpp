// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languageparts.h"

#include "core/base/file.h"
#include "core/base/jsonfields.h"

#include <fmt/format.h>

#include <algorithm>

#if __has_include("core/engine/language/residualstreams.h")
#include "core/engine/language/residualstreams.h"
#define RETRO_FINDS_STREAMS
#endif

namespace retro::engine
{

using base::JsonFields;
using base::Result;
using tensor::Tensor;

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

} // namespace

Result<LanguageParts> readLanguageParts(const std::string& file, const graph::Graph& graph)
{
    RETRO_TRY(std::string contents, base::readTextFile(file, kMostPartsBytes));
    RETRO_TRY(const base::JsonText text, base::JsonText::parse(std::move(contents), file, {}));
    RETRO_TRY(const JsonFields root, JsonFields::of(text, text.root(), ""));
    RETRO_CHECK(root.onlyKnown({"streams", "heads"}));
    RETRO_TRY(const std::vector<std::string> streams, root.texts("streams"));
    LanguageParts parts;
    for (const std::string& name : streams) {
        RETRO_TRY(parts.streams.emplace_back(), namedValue(root, "streams", name, graph));
    }
    RETRO_TRY(const nlohmann::json* const heads, root.list("heads"));
    for (std::size_t i = 0; heads != nullptr && i < heads->size(); ++i) {
        RETRO_TRY(const JsonFields item, root.item("heads", i));
        RETRO_CHECK(item.onlyKnown({"value", "count", "by_head"}));
        RETRO_TRY(const std::string name, item.text("value"));
        LanguageParts::Heads one;
        RETRO_TRY(one.value, namedValue(item, "value", name, graph));
        RETRO_TRY(const auto count, item.whole("count", 1, kMostHeads));
        one.count = count.value_or(1);
        RETRO_TRY(one.isByHead, item.flag("by_head", false));
        parts.heads.push_back(one);
    }
    return parts;
}

LanguageParts findLanguageParts([[maybe_unused]] const execute::BoundModel& model)
{
    LanguageParts parts;
#ifdef RETRO_FINDS_STREAMS
    if (const auto found = residualStreams(model)) {
        parts.streams = found->streams;
        for (const HeadValues& heads : found->heads) {
            parts.heads.push_back({heads.value, heads.heads, heads.isByHead});
        }
    }
#endif
    return parts;
}

Tensor relevanceOfStreams(const LanguageParts& parts, std::span<const Tensor> relevance, std::int64_t tokens)
{
    if (parts.streams.empty()) {
        return {};
    }
    tensor::TensorBuffer buffer(tensor::DType::Float64, {std::ssize(parts.streams), tokens});
    buffer.clear();
    const std::span<double> out = buffer.span<double>();
    for (std::size_t layer = 0; layer < parts.streams.size(); ++layer) {
        const Tensor& stream = relevance[parts.streams[layer].index()];
        if (!stream.isValid() || tokens == 0 || stream.size() % tokens != 0) {
            continue;
        }
        const Tensor plain = stream.to(tensor::DType::Float64).contiguous();
        const std::int64_t features = plain.size() / tokens;
        for (std::int64_t i = 0; i < plain.size(); ++i) {
            out[layer * static_cast<std::size_t>(tokens) + static_cast<std::size_t>(i / features)] +=
                plain.data<double>()[i];
        }
    }
    return std::move(buffer).freeze();
}

Tensor relevanceOfHeads(const LanguageParts& parts, std::span<const Tensor> relevance, std::int64_t tokens)
{
    std::int64_t most = 0;
    for (const LanguageParts::Heads& heads : parts.heads) {
        most = std::max(most, heads.count);
    }
    if (most == 0 || tokens == 0) {
        return {};
    }
    tensor::TensorBuffer buffer(tensor::DType::Float64, {std::ssize(parts.heads), tokens, most});
    buffer.clear();
    const std::span<double> out = buffer.span<double>();
    for (std::size_t layer = 0; layer < parts.heads.size(); ++layer) {
        const LanguageParts::Heads& heads = parts.heads[layer];
        const Tensor& values = relevance[heads.value.index()];
        if (!values.isValid() || values.size() % (tokens * heads.count) != 0) {
            continue;
        }
        const Tensor plain = values.to(tensor::DType::Float64).contiguous();
        const std::int64_t width = plain.size() / (tokens * heads.count);
        for (std::int64_t i = 0; i < plain.size(); ++i) {
            const std::int64_t group = i / width; // a head of a token
            const std::int64_t token = heads.isByHead ? group % tokens : group / heads.count;
            const std::int64_t head = heads.isByHead ? group / tokens : group % heads.count;
            out[static_cast<std::size_t>((static_cast<std::int64_t>(layer) * tokens + token) * most + head)] +=
                plain.data<double>()[i];
        }
    }
    return std::move(buffer).freeze();
}

} // namespace retro::engine
