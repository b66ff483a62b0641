// SPDX-License-Identifier: Apache-2.0
#include "core/text/tokenmodel.h"

#include "core/text/partreading.h"

#include <fmt/format.h>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;

constexpr TokenId kMostIds = 1U << 24; // numbers of one vocabulary

/// The kind of a model of an older file, which does not name it: by the fields that it has.
std::string typeByFields(const JsonFields& fields)
{
    if (fields.has("merges")) {
        return "BPE";
    }
    if (fields.has("unk_id")) {
        return "Unigram";
    }
    if (fields.has("continuing_subword_prefix") || fields.has("max_input_chars_per_word")) {
        return "WordPiece";
    }
    return fields.has("vocab") ? "WordLevel" : "";
}

} // namespace

Result<Vocabulary> Vocabulary::read(const JsonFields& model)
{
    const nlohmann::json* const members = model.find("vocab");
    if (members == nullptr || !members->is_object()) {
        return model.error("vocab", "the model has no \"vocab\" of the form {token: number, …}");
    }
    Vocabulary vocabulary;
    vocabulary.m_ids.reserve(members->size());
    for (const auto& [text, id] : members->items()) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostIds) {
            return model.error("vocab", fmt::format("the number of '{}' must be a whole one below {}", text, kMostIds));
        }
        vocabulary.add(text, id.get<TokenId>());
    }
    return vocabulary;
}

void Vocabulary::add(std::string text, TokenId id)
{
    const auto place = m_ids.insert_or_assign(std::move(text), id).first;
    if (id >= m_texts.size()) {
        m_texts.resize(id + 1, nullptr);
    }
    m_texts[id] = &place->first;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const
{
    const auto at = m_ids.find(text);
    return at == m_ids.end() ? std::nullopt : std::optional(at->second);
}

const std::string* Vocabulary::textOf(TokenId id) const { return id < m_texts.size() ? m_texts[id] : nullptr; }

ByteTokens::ByteTokens(const Vocabulary& vocabulary)
{
    for (int byte = 0; byte < 256; ++byte) {
        m_ids.push_back(vocabulary.find(fmt::format("<0x{:02X}>", byte)));
    }
}

std::optional<std::vector<TokenId>> ByteTokens::of(std::string_view bytes) const
{
    std::vector<TokenId> ids;
    for (const char byte : bytes) {
        const auto at = static_cast<std::size_t>(static_cast<unsigned char>(byte));
        if (at >= m_ids.size() || !m_ids[at]) {
            return std::nullopt;
        }
        ids.push_back(*m_ids[at]);
    }
    return ids;
}

Result<std::unique_ptr<TokenModel>> readTokenModel(const JsonFields& fields)
{
    RETRO_TRY(std::string type, fields.text("type"));
    if (type.empty()) {
        type = typeByFields(fields);
    }
    if (type == "BPE") {
        return readBytePairs(fields);
    }
    if (type == "Unigram") {
        return readUnigram(fields);
    }
    if (type == "WordPiece") {
        return readWordPiece(fields);
    }
    if (type == "WordLevel") {
        return readWordLevel(fields);
    }
    return notSupported(fields, "model", type);
}

} // namespace retro::text
