// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// A file beside a model that says how it is made.
struct ModelConfig
{
    std::string file;    ///< its name
    nlohmann::json root; ///< as read

    /// The first of these that is a whole number from `least` to 2^20: of the decoder where the file has one, else of
    /// the object around it.
    [[nodiscard]] std::optional<std::int64_t> number(std::initializer_list<const char*> names,
                                                     std::int64_t least = 1) const;
};

/// genai_config.json, then config.json, of the folder of the model, as far as they are there and can be read.
[[nodiscard]] std::vector<ModelConfig> modelConfigs(const LoadedModel& model);

} // namespace retro::engine
