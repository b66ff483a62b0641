// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/text/tokenmodel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retro::text
{

/// Texts of tokens, byte by byte.
class TextTrie
{
public:
    /// One more text; of equal ones the last is kept. Throws base::Failure (Input) where it would have more than
    /// kMostNodes.
    void add(std::string_view text, TokenId id)
    {
        if (text.size() > kMostNodes - std::min(m_ids.size(), kMostNodes)) {
            throw base::Failure(base::inputError(
                fmt::format("the texts of the tokens are longer than {} MB together, which is as much as is searched",
                            kMostNodes / 1'000'000)));
        }
        std::uint32_t node = 0;
        for (const char byte : text) {
            const auto next = m_next.emplace(keyOf(node, byte), static_cast<std::uint32_t>(m_ids.size()));
            if (next.second) {
                m_ids.emplace_back();
            }
            node = next.first->second;
        }
        m_ids[node] = id;
    }

    /// Calls f(length, id) for every token that `text` begins with, the shortest first.
    template <class F>
    void prefixesOf(std::string_view text, const F& f) const
    {
        std::uint32_t node = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto next = m_next.find(keyOf(node, text[i]));
            if (next == m_next.end()) {
                return;
            }
            node = next->second;
            if (m_ids[node]) {
                f(i + 1, *m_ids[node]);
            }
        }
    }

private:
    /// Vocabularies have one or two million; a node takes some 60 bytes.
    static constexpr std::size_t kMostNodes = 8'000'000;

    static std::uint64_t keyOf(std::uint32_t node, char byte)
    {
        return static_cast<std::uint64_t>(node) << 8U | static_cast<unsigned char>(byte);
    }

    struct Hash
    {
        [[nodiscard]] std::size_t operator()(std::uint64_t key) const
        {
            const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
            return static_cast<std::size_t>(mixed ^ mixed >> 31U);
        }
    };

    std::unordered_map<std::uint64_t, std::uint32_t, Hash> m_next; ///< by node and byte
    std::vector<std::optional<TokenId>> m_ids{std::nullopt};
};

} // namespace retro::text
