// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace retro::ops
{

/// Words of a text attribute with what they mean.
template <class E>
using Choices = std::initializer_list<std::pair<std::string_view, E>>;

/// What a text attribute says, `fallback` when the node has none. An Input error for another word.
template <class E>
[[nodiscard]] base::Result<E> choice(const BindContext& context, std::string_view name, std::string_view fallback,
                                     Choices<E> choices)
{
    const std::string text = context.textAttribute(name, std::string(fallback));
    std::string known;
    for (const auto& [word, value] : choices) {
        if (word == text) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    return context.error(fmt::format("{} '{}' is unknown; it must be one of {}", name, text, known));
}

} // namespace retro::ops
