// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text/normaliser.h"
#include "core/text/texttrie.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::text
{

/// A part of a text: a token that was found whole, or what is still to be cut.
struct TextPart
{
    AlignedText text;
    std::optional<TokenId> token;
};

/// The tokens that are cut out of a text before anything else is done with it, such as <|begin_of_text|>.
class AddedTokens
{
public:
    /// The member "added_tokens" of a tokenizer.json. A token that the model has keeps the model's number, any other
    /// takes the next one. Errors (Input): fields that are wrong.
    [[nodiscard]] static base::Result<AddedTokens> read(const base::JsonFields& root, const Vocabulary& model,
                                                        const Normaliser* normaliser);

    /// Cuts the tokens that stand in the text as it is given, then what stands in it after `normaliser`, which it
    /// applies to the rest.
    [[nodiscard]] base::Result<std::vector<TextPart>> cut(std::string_view text, const Normaliser* normaliser) const;

    /// As it is looked for: normalised, where the token says so. Null for another number.
    [[nodiscard]] const std::string* textOf(TokenId id) const;
    [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;
    /// Whether a token of this text is one of those that decoding may leave out.
    [[nodiscard]] bool isSpecial(std::string_view text) const { return m_special.contains(text); }
    /// Largest number, and one; 0 without tokens.
    [[nodiscard]] std::size_t end() const { return m_texts.empty() ? 0 : m_texts.rbegin()->first + 1; }

private:
    struct Added
    {
        TokenId id = 0;
        bool isSingleWord = false;
        bool stripsLeft = false;
        bool stripsRight = false;
    };
    /// Tokens that are looked for together.
    struct Search
    {
        std::vector<Added> tokens;
        TextTrie trie; ///< of places in `tokens`
        std::array<bool, 256> begins{};

        void add(std::string_view text, const Added& token);
        /// The longest token that the text, which is not empty, begins with, and its bytes; none, and 1.
        [[nodiscard]] std::pair<const Added*, std::size_t> longestAt(std::string_view text) const;
        void cut(const AlignedText& text, std::vector<TextPart>& into) const;
    };

    /// The number that a token of this text has: its own where it is known, that of the model, or the next one.
    [[nodiscard]] TokenId idFor(std::string_view text, const Vocabulary& model) const;
    /// All of a token but its number.
    [[nodiscard]] static base::Result<Added> readAdded(const base::JsonFields& fields);

    std::map<TokenId, std::string> m_texts;
    std::map<std::string, TokenId, std::less<>> m_ids;
    std::set<std::string, std::less<>> m_special;
    Search m_asGiven;
    Search m_normalised;
};

} // namespace retro::text
