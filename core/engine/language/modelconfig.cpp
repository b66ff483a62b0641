// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/modelconfig.h"

#include "core/base/file.h"
#include "core/base/jsontext.h"

#include <ranges>

namespace retro::engine
{

namespace
{

constexpr std::uint64_t kMostConfigBytes = 4ULL << 20U;
constexpr std::uint64_t kMostConfigNumber = 1U << 20U;

std::optional<std::int64_t> numberOf(const nlohmann::json& config, const char* name, std::int64_t least)
{
    const auto at = config.find(name);
    if (at == config.end() || !at->is_number_unsigned()) {
        return std::nullopt;
    }
    const auto value = at->get<std::uint64_t>();
    const bool fits = value >= static_cast<std::uint64_t>(least) && value <= kMostConfigNumber;
    return fits ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

} // namespace

std::optional<std::int64_t> ModelConfig::number(std::initializer_list<const char*> names, std::int64_t least) const
{
    std::vector<const nlohmann::json*> objects; // from the outer one inwards
    const nlohmann::json* at = &root;
    if (at->is_object()) {
        objects.push_back(at);
    }
    for (const char* const inner : {"model", "decoder", "text_config"}) {
        const auto found = at->is_object() ? at->find(inner) : at->end();
        if (at->is_object() && found != at->end() && found->is_object()) {
            at = &*found;
            objects.push_back(at);
        }
    }
    for (const nlohmann::json* const object : objects | std::views::reverse) {
        for (const char* const name : names) {
            if (const auto number = numberOf(*object, name, least)) {
                return number;
            }
        }
    }
    return std::nullopt;
}

std::vector<ModelConfig> modelConfigs(const LoadedModel& model)
{
    std::vector<ModelConfig> configs;
    for (const char* const name : {"genai_config.json", "config.json"}) {
        auto text = base::readTextFile(model.path.parent_path() / name, kMostConfigBytes);
        const auto json = text ? base::JsonText::parse(std::move(*text), name, {kMostConfigBytes, 32})
                               : base::Result<base::JsonText>(text.error());
        if (json) { // else it is no part of the model
            configs.push_back({name, json->root()});
        }
    }
    return configs;
}

} // namespace retro::engine
