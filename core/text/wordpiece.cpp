// SPDX-License-Identifier: Apache-2.0
#include "core/text/tokenmodel.h"

#include "core/text/texttrie.h"
#include "core/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;

base::Error noUnknownWord(const std::string& unknown)
{
    return base::inputError(fmt::format("the text has a word without a token, and the token for those, '{}', is not in "
                                        "the vocabulary of the tokenizer",
                                        unknown));
}

/// The longest token first, from the start of a word to its end.
class WordPiece final : public TokenModel
{
public:
    Result<void> tokenise(std::string_view piece, std::vector<PieceToken>& into) const override
    {
        const std::size_t known = into.size();
        const bool isShort = characterCount(piece) <= m_mostCharacters;
        if (isShort && putParts(piece, into)) {
            return {};
        }
        into.resize(known);
        const auto unknown = m_vocabulary.find(m_unknown);
        if (!unknown) {
            return noUnknownWord(m_unknown);
        }
        into.push_back({*unknown, 0, static_cast<std::uint32_t>(piece.size())});
        return {};
    }

    Result<void> read(const JsonFields& fields)
    {
        RETRO_TRY(m_vocabulary, Vocabulary::read(fields));
        RETRO_TRY(m_unknown, fields.text("unk_token", "[UNK]"));
        RETRO_TRY(m_prefix, fields.text("continuing_subword_prefix", "##"));
        constexpr std::int64_t kMostWord = 1 << 12; // the search is quadratic in it
        m_vocabulary.forEach([this](std::string_view text, TokenId id) {
            m_beginning.add(text, id);
            if (text.starts_with(m_prefix)) {
                m_goingOn.add(text.substr(m_prefix.size()), id);
            }
        });
        RETRO_TRY(const auto most, fields.whole("max_input_chars_per_word", 0, kMostWord));
        m_mostCharacters = static_cast<std::size_t>(most.value_or(100));
        return {};
    }

private:
    bool putParts(std::string_view piece, std::vector<PieceToken>& into) const
    {
        for (std::size_t begin = 0; begin < piece.size();) {
            std::optional<TokenId> id;
            std::size_t end = begin;
            (begin > 0 ? m_goingOn : m_beginning)
                .prefixesOf(piece.substr(begin), [&](std::size_t length, TokenId longer) {
                    end = begin + length;
                    id = longer;
                });
            if (!id) {
                return false;
            }
            into.push_back({*id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
            begin = end;
        }
        return true;
    }

    std::string m_unknown;
    std::string m_prefix;
    TextTrie m_beginning; ///< tokens that a word may begin with
    TextTrie m_goingOn;   ///< those behind another one, without the prefix
    std::size_t m_mostCharacters = 0;
};

/// A piece is a token, or unknown.
class WordLevel final : public TokenModel
{
public:
    Result<void> tokenise(std::string_view piece, std::vector<PieceToken>& into) const override
    {
        const auto word = m_vocabulary.find(piece);
        const auto id = word ? word : m_vocabulary.find(m_unknown);
        if (!id) {
            return noUnknownWord(m_unknown);
        }
        into.push_back({*id, 0, static_cast<std::uint32_t>(piece.size())});
        return {};
    }

    Result<void> read(const JsonFields& fields)
    {
        RETRO_TRY(m_vocabulary, Vocabulary::read(fields));
        RETRO_TRY(m_unknown, fields.text("unk_token", "<unk>"));
        return {};
    }

private:
    std::string m_unknown;
};

} // namespace

Result<std::unique_ptr<TokenModel>> readWordPiece(const JsonFields& fields)
{
    auto model = std::make_unique<WordPiece>();
    RETRO_CHECK(model->read(fields));
    return std::unique_ptr<TokenModel>(std::move(model));
}

Result<std::unique_ptr<TokenModel>> readWordLevel(const JsonFields& fields)
{
    auto model = std::make_unique<WordLevel>();
    RETRO_CHECK(model->read(fields));
    return std::unique_ptr<TokenModel>(std::move(model));
}

} // namespace retro::text
