// SPDX-License-Identifier: Apache-2.0
#include "core/text/addedtokens.h"

#include "core/text/characterkinds.h"

#include <algorithm>

namespace retro::text
{

using base::JsonFields;
using base::Result;

namespace
{

constexpr TokenId kMostAddedIds = 1U << 24;

std::size_t withSpacesBefore(std::string_view text, std::size_t begin)
{
    while (begin > 0 && isSpace(characterBefore(text, begin).code)) {
        begin -= characterBefore(text, begin).bytes;
    }
    return begin;
}

std::size_t withSpacesBehind(std::string_view text, std::size_t end)
{
    while (end < text.size() && isSpace(characterAt(text, end).code)) {
        end += characterAt(text, end).bytes;
    }
    return end;
}

/// Whether part of a word stands right before or right behind these bytes.
bool touchesWord(std::string_view text, std::size_t begin, std::size_t end)
{
    return (begin > 0 && isWordPart(characterBefore(text, begin).code)) ||
           (end < text.size() && isWordPart(characterAt(text, end).code));
}

/// What lies between tokens, where there is something.
void addBetween(const AlignedText& text, std::size_t begin, std::size_t end, std::vector<TextPart>& into)
{
    if (begin < end) {
        into.push_back({text.slice(begin, end), std::nullopt});
    }
}

/// A token's text as it is looked for; without a normaliser, as it is.
Result<std::string> searchedText(const std::string& text, const Normaliser* normaliser)
{
    AlignedText searched(text);
    if (normaliser != nullptr) {
        RETRO_CHECK((*normaliser)(searched));
    }
    return searched.bytes();
}

} // namespace

void AddedTokens::Search::add(std::string_view text, const Added& token)
{
    if (!text.empty()) {
        begins[static_cast<unsigned char>(text.front())] = true;
        bool isKnown = false;
        trie.prefixesOf(text, [&](std::size_t length, TokenId) { isKnown = isKnown || length == text.size(); });
        if (!isKnown) { // the first of equal texts
            trie.add(text, static_cast<TokenId>(tokens.size()));
        }
        tokens.push_back(token);
    }
}

std::pair<const AddedTokens::Added*, std::size_t> AddedTokens::Search::longestAt(std::string_view text) const
{
    std::pair<const Added*, std::size_t> found{nullptr, 1};
    if (begins[static_cast<unsigned char>(text.front())]) {
        trie.prefixesOf(text, [&](std::size_t length, TokenId place) { found = {&tokens[place], length}; });
    }
    return found;
}

void AddedTokens::Search::cut(const AlignedText& text, std::vector<TextPart>& into) const
{
    const std::string& bytes = text.bytes();
    std::size_t done = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto [found, length] = longestAt(std::string_view(bytes).substr(at));
        const std::size_t first = at;
        const std::size_t end = at + length;
        at = end;
        if (found == nullptr) {
            continue;
        }
        const Added& token = *found;
        if (token.isSingleWord && touchesWord(bytes, first, end)) {
            continue;
        }
        const std::size_t from = token.stripsLeft ? std::max(withSpacesBefore(bytes, first), done) : first;
        const std::size_t to = token.stripsRight ? withSpacesBehind(bytes, end) : end;
        if (from >= to) {
            continue; // the token before it took all of its text
        }
        addBetween(text, done, from, into);
        into.push_back({text.slice(from, to), token.id});
        done = to;
    }
    addBetween(text, done, bytes.size(), into);
}

Result<AddedTokens::Added> AddedTokens::readAdded(const JsonFields& fields)
{
    Added token;
    RETRO_TRY(token.isSingleWord, fields.flag("single_word", false));
    RETRO_TRY(token.stripsLeft, fields.flag("lstrip", false));
    RETRO_TRY(token.stripsRight, fields.flag("rstrip", false));
    RETRO_CHECK(fields.whole("id", 0, kMostAddedIds));
    return token;
}

TokenId AddedTokens::idFor(std::string_view text, const Vocabulary& model) const
{
    if (const auto known = find(text)) {
        return *known;
    }
    const auto ofModel = model.find(text);
    return ofModel ? *ofModel : static_cast<TokenId>(std::max(end(), model.size()));
}

Result<AddedTokens> AddedTokens::read(const JsonFields& root, const Vocabulary& model, const Normaliser* normaliser)
{
    AddedTokens all;
    RETRO_TRY(const nlohmann::json* const items, root.list("added_tokens"));
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
        RETRO_TRY(const JsonFields fields, root.item("added_tokens", i));
        RETRO_TRY(const std::string text, fields.text("content"));
        RETRO_TRY(const bool isSpecial, fields.flag("special", false));
        RETRO_TRY(const bool isNormalised, fields.flag("normalized", !isSpecial));
        RETRO_TRY(Added token, readAdded(fields));
        if (text.empty()) {
            continue;
        }
        token.id = all.idFor(text, model);
        all.m_ids.emplace(text, token.id);
        if (isSpecial) {
            all.m_special.insert(text);
        }
        RETRO_TRY(const std::string searched, searchedText(text, isNormalised ? normaliser : nullptr));
        all.m_texts.emplace(token.id, searched);
        (isNormalised ? all.m_normalised : all.m_asGiven).add(searched, token);
    }
    return all;
}

Result<std::vector<TextPart>> AddedTokens::cut(std::string_view text, const Normaliser* normaliser) const
{
    std::vector<TextPart> given;
    m_asGiven.cut(AlignedText(std::string(text)), given);
    std::vector<TextPart> parts;
    for (TextPart& part : given) {
        if (part.token) {
            parts.push_back(std::move(part));
            continue;
        }
        if (normaliser != nullptr) {
            RETRO_CHECK((*normaliser)(part.text));
        }
        m_normalised.cut(part.text, parts);
    }
    return parts;
}

const std::string* AddedTokens::textOf(TokenId id) const
{
    const auto at = m_texts.find(id);
    return at == m_texts.end() ? nullptr : &at->second;
}

std::optional<TokenId> AddedTokens::find(std::string_view text) const
{
    const auto at = m_ids.find(text);
    return at == m_ids.end() ? std::nullopt : std::optional(at->second);
}

} // namespace retro::text
