// SPDX-License-Identifier: Apache-2.0
#include "core/text/postprocessor.h"

#include "core/base/failure.h"
#include "core/text/characterkinds.h"
#include "core/text/normaliser.h"
#include "core/text/partreading.h"
#include "core/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;

constexpr TokenId kMostSpecialId = 1U << 24;
constexpr std::size_t kMostIdsOfSpecial = 64;
/// Tokens of a text with what is put around it: one for each byte of the longest text, and some.
constexpr std::size_t kMostTokens = 17U << 20;

Token special(TokenId id) { return {id, {}, true, 0, 0}; }

bool isWrittenSpace(char32_t code) { return code == visibleByte(' ') || isSpace(code); }

/// Leaves the spaces around a token out of its place.
void trim(Token& token, bool isFirst, bool addedSpace)
{
    Range& place = token.place;
    // One space at the start of the text is the one that was put there.
    const bool isAdded = addedSpace && (isFirst || place.begin == 0) && token.spacesBefore == 1;
    if (!isAdded) {
        place.begin = std::min(place.begin + token.spacesBefore, place.end);
    }
    if (place.end >= token.spacesBehind) {
        place.end = std::max(place.end - token.spacesBehind, place.begin);
    }
}

void trimAll(std::vector<Token>& tokens, bool addedSpace)
{
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        trim(tokens[i], i == 0, addedSpace);
    }
}

Result<PostProcessor> readTrimming(const JsonFields& fields)
{
    RETRO_TRY(const bool trims, fields.flag("trim_offsets", true));
    RETRO_TRY(const bool addedSpace, fields.flag("add_prefix_space", true));
    return PostProcessor([trims, addedSpace](std::vector<Token>& tokens, bool) {
        if (trims) {
            trimAll(tokens, addedSpace);
        }
    });
}

/// [token, number]
Result<TokenId> readPair(const JsonFields& fields, const char* name)
{
    const nlohmann::json* const item = fields.find(name);
    const bool isPair = item != nullptr && item->is_array() && item->size() == 2 && (*item)[1].is_number_unsigned() &&
                        (*item)[1].get<std::uint64_t>() < kMostSpecialId;
    return isPair ? Result<TokenId>((*item)[1].get<TokenId>())
                  : fields.error(name, fmt::format("\"{}\" is [token, number]", name));
}

Result<PostProcessor> readAround(const JsonFields& fields, bool mayTrim)
{
    RETRO_TRY(const TokenId before, readPair(fields, "cls"));
    RETRO_TRY(const TokenId behind, readPair(fields, "sep"));
    RETRO_TRY(const bool trims, fields.flag("trim_offsets", mayTrim));
    RETRO_TRY(const bool addedSpace, fields.flag("add_prefix_space", true));
    return PostProcessor([=](std::vector<Token>& tokens, bool withSpecials) {
        if (mayTrim && trims) {
            trimAll(tokens, addedSpace);
        }
        if (withSpecials) {
            tokens.insert(tokens.begin(), special(before));
            tokens.push_back(special(behind));
        }
    });
}

/// The numbers that a special token of a template stands for.
Result<std::vector<Token>> readSpecial(const JsonFields& fields, const std::string& name)
{
    RETRO_TRY(const auto all, fields.object("special_tokens"));
    const nlohmann::json* const entry = all ? all->find(name) : nullptr;
    if (entry == nullptr || !entry->is_object() || !entry->contains("ids") || !(*entry)["ids"].is_array()) {
        return fields.error("special_tokens", fmt::format("the template names '{}', which has no \"ids\" here", name));
    }
    if ((*entry)["ids"].size() > kMostIdsOfSpecial) {
        return fields.error("special_tokens", fmt::format("'{}' has more than {} \"ids\"", name, kMostIdsOfSpecial));
    }
    std::vector<Token> tokens;
    for (const nlohmann::json& id : (*entry)["ids"]) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostSpecialId) {
            return fields.error("special_tokens", fmt::format("the \"ids\" of '{}' must be whole numbers", name));
        }
        tokens.push_back(special(id.get<TokenId>()));
    }
    return tokens;
}

Result<PostProcessor> readTemplate(const JsonFields& fields)
{
    RETRO_TRY(const nlohmann::json* const pieces, fields.list("single"));
    std::vector<std::optional<std::vector<Token>>> parts; // nothing: the text
    for (std::size_t i = 0; pieces != nullptr && i < pieces->size(); ++i) {
        RETRO_TRY(const JsonFields piece, fields.item("single", i));
        RETRO_TRY(const auto sequence, piece.object("Sequence"));
        RETRO_TRY(const auto token, piece.object("SpecialToken"));
        if (token) {
            RETRO_TRY(const std::string name, token->text("id"));
            RETRO_TRY(std::vector<Token> tokens, readSpecial(fields, name));
            parts.emplace_back(std::move(tokens));
            continue;
        }
        RETRO_TRY(const std::string which, sequence ? sequence->text("id") : Result<std::string>(std::string()));
        if (which != "A") {
            return fields.error(fmt::format("single[{}]", i), "a template for one text has special tokens and the "
                                                              "sequence A");
        }
        parts.emplace_back(std::nullopt);
    }
    return PostProcessor([parts = std::move(parts)](std::vector<Token>& tokens, bool withSpecials) {
        std::vector<Token> all;
        for (const auto& part : parts) {
            if (all.size() + (part ? part->size() : tokens.size()) > kMostTokens) {
                throw base::Failure(base::inputError(
                    fmt::format("the template of the tokenizer makes more than {} tokens of this text", kMostTokens)));
            }
            if (!part) {
                all.insert(all.end(), tokens.begin(), tokens.end());
            } else if (withSpecials) {
                all.insert(all.end(), part->begin(), part->end());
            }
        }
        tokens = std::move(all);
    });
}

} // namespace

void countSpaces(std::string_view written, Token& token)
{
    for (std::size_t at = 0; at < written.size() && isWrittenSpace(characterAt(written, at).code);) {
        at += characterAt(written, at).bytes;
        ++token.spacesBefore;
    }
    for (std::size_t end = written.size(); end > 0 && isWrittenSpace(characterBefore(written, end).code);) {
        end -= characterBefore(written, end).bytes;
        ++token.spacesBehind;
    }
}

Result<PostProcessor> readPostProcessor(const JsonFields& fields)
{
    RETRO_TRY(const std::string type, fields.text("type"));
    if (type == "TemplateProcessing") {
        return readTemplate(fields);
    }
    if (type == "ByteLevel") {
        return readTrimming(fields);
    }
    if (type == "BertProcessing") {
        return readAround(fields, false);
    }
    if (type == "RobertaProcessing") {
        return readAround(fields, true);
    }
    if (type == "Sequence") {
        RETRO_TRY(std::vector<PostProcessor> steps, readParts<PostProcessor>(fields, "processors", readPostProcessor));
        return PostProcessor([steps = std::move(steps)](std::vector<Token>& tokens, bool withSpecials) {
            for (const PostProcessor& step : steps) {
                step(tokens, withSpecials);
            }
        });
    }
    return notSupported(fields, "post-processor", type);
}

} // namespace retro::text
