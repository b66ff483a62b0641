// SPDX-License-Identifier: Apache-2.0
#include "core/text/tokenmodel.h"

#include "core/text/texttrie.h"
#include "core/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;

/// What makes a text without a token cost more than any with one.
constexpr double kUnknownPenalty = 10;

/// The best way to cut a text from its start to a byte.
struct BestCut
{
    double score = 0;
    std::int64_t from = -1; ///< where its last token begins; -1: there is no way yet
    TokenId id = 0;
};

class Unigram final : public TokenModel
{
public:
    Result<void> tokenise(std::string_view piece, std::vector<PieceToken>& into) const override
    {
        RETRO_TRY(const std::vector<BestCut> cuts, cutsOf(piece));
        std::vector<PieceToken> found; // from the end
        bool joins = false;
        for (std::size_t end = piece.size(); end > 0;) {
            const BestCut& cut = cuts[end];
            const auto begin = static_cast<std::uint32_t>(cut.from);
            const bool isUnknown = m_unknown && cut.id == *m_unknown;
            if (joins && isUnknown) {
                found.back().begin = begin;
            } else {
                found.push_back({cut.id, begin, static_cast<std::uint32_t>(end)});
            }
            joins = isUnknown;
            end = begin;
        }
        std::reverse(found.begin(), found.end());
        for (const PieceToken& token : found) {
            RETRO_CHECK(put(piece, token, into));
        }
        return {};
    }

    bool writesText() const override { return true; }

    Result<void> read(const JsonFields& fields)
    {
        RETRO_TRY(const nlohmann::json* const items, fields.list("vocab"));
        if (items == nullptr) {
            return fields.error("vocab", "the model has no \"vocab\" of the form [[token, score], …]");
        }
        m_least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < items->size(); ++i) {
            const nlohmann::json& item = (*items)[i];
            if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number()) {
                return fields.error(fmt::format("vocab[{}]", i), "an entry is [token, score]");
            }
            m_scores.push_back(item[1].get<double>());
            m_least = std::min(m_least, m_scores.back());
            const auto& text = item[0].get_ref<const std::string&>();
            m_vocabulary.add(text, static_cast<TokenId>(i));
            if (!text.empty()) {
                m_trie.add(text, static_cast<TokenId>(i));
            }
        }
        const auto most = static_cast<std::int64_t>(m_scores.size()) - 1;
        RETRO_TRY(const auto unknown, fields.whole("unk_id", 0, std::max<std::int64_t>(most, 0)));
        if (unknown) {
            m_unknown = static_cast<TokenId>(*unknown);
        }
        RETRO_TRY(const bool fallsBack, fields.flag("byte_fallback", false));
        m_bytes = fallsBack ? std::optional(ByteTokens(m_vocabulary)) : std::nullopt;
        return {};
    }

private:
    static base::Error noUnknown()
    {
        return base::inputError("the text has characters without a token, and the tokenizer names none for unknown "
                                "ones (\"unk_id\")");
    }

    Result<void> put(std::string_view piece, const PieceToken& token, std::vector<PieceToken>& into) const
    {
        const std::string_view text = piece.substr(token.begin, token.end - token.begin);
        if (const auto id = m_vocabulary.find(text)) {
            into.push_back({*id, token.begin, token.end});
            return {};
        }
        if (const auto bytes = m_bytes ? m_bytes->of(text) : std::nullopt) {
            for (const TokenId id : *bytes) {
                into.push_back({id, token.begin, token.end});
            }
            return {};
        }
        if (!m_unknown) {
            return noUnknown();
        }
        into.push_back({*m_unknown, token.begin, token.end});
        return {};
    }

    Result<std::vector<BestCut>> cutsOf(std::string_view piece) const
    {
        std::vector<BestCut> cuts(piece.size() + 1);
        for (std::size_t at = 0; at < piece.size();) {
            const std::uint32_t bytes = characterAt(piece, at).bytes;
            const double here = cuts[at].score;
            bool hasOne = false; // a token of this one character
            const auto offer = [&](std::size_t length, TokenId id, double score) {
                BestCut& cut = cuts[at + length];
                if (cut.from < 0 || score + here > cut.score) {
                    cut = {score + here, static_cast<std::int64_t>(at), id};
                }
            };
            m_trie.prefixesOf(piece.substr(at), [&](std::size_t length, TokenId id) {
                offer(length, id, m_scores[id]);
                hasOne = hasOne || length == bytes;
            });
            if (!hasOne) {
                if (!m_unknown) {
                    return noUnknown();
                }
                offer(bytes, *m_unknown, m_least - kUnknownPenalty);
            }
            at += bytes;
        }
        return cuts;
    }

    std::vector<double> m_scores;
    double m_least = 0;
    TextTrie m_trie;
    std::optional<TokenId> m_unknown;
    std::optional<ByteTokens> m_bytes;
};

} // namespace

Result<std::unique_ptr<TokenModel>> readUnigram(const JsonFields& fields)
{
    auto model = std::make_unique<Unigram>();
    RETRO_CHECK(model->read(fields));
    return std::unique_ptr<TokenModel>(std::move(model));
}

} // namespace retro::text
