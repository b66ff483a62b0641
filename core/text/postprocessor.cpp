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

/// What a step hands on: a template leaves its pieces apart, and the steps behind it work on each of them.
using TokenLists = std::vector<std::vector<Token>>;
using TokenStep = std::function<void(TokenLists& pieces, bool withSpecials)>;

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

void trimAll(TokenLists& pieces, bool addedSpace)
{
    for (std::vector<Token>& tokens : pieces) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            trim(tokens[i], i == 0, addedSpace);
        }
    }
}

Result<TokenStep> readTrimming(const JsonFields& fields)
{
    RETRO_TRY(const bool trims, fields.flag("trim_offsets", true));
    RETRO_TRY(const bool addedSpace, fields.flag("add_prefix_space", true));
    return TokenStep([trims, addedSpace](TokenLists& pieces, bool) {
        if (trims) {
            trimAll(pieces, addedSpace);
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

/// `before` and `behind` around the first piece. Later pieces get `behind` at the end, and in the Roberta form at the
/// start as well.
Result<TokenStep> readAround(const JsonFields& fields, bool isRoberta)
{
    RETRO_TRY(const TokenId before, readPair(fields, "cls"));
    RETRO_TRY(const TokenId behind, readPair(fields, "sep"));
    RETRO_TRY(const bool trims, fields.flag("trim_offsets", isRoberta));
    RETRO_TRY(const bool addedSpace, fields.flag("add_prefix_space", true));
    return TokenStep([=](TokenLists& pieces, bool withSpecials) {
        if (isRoberta && trims) {
            trimAll(pieces, addedSpace);
        }
        for (std::size_t i = 0; withSpecials && i < pieces.size(); ++i) {
            if (i == 0 || isRoberta) {
                pieces[i].insert(pieces[i].begin(), special(i == 0 ? before : behind));
            }
            pieces[i].push_back(special(behind));
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

/// A piece of a template: special tokens, or the place of one of the sequences that come in.
struct TemplatePiece
{
    std::vector<Token> specials;
    std::optional<std::size_t> sequence; ///< 0: A, 1: B
};

/// The list `name` of a template, for `count` sequences.
Result<std::vector<TemplatePiece>> readPieces(const JsonFields& fields, const char* name, std::size_t count)
{
    RETRO_TRY(const nlohmann::json* const items, fields.list(name));
    std::vector<TemplatePiece> pieces;
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
        RETRO_TRY(const JsonFields piece, fields.item(name, i));
        RETRO_TRY(const auto sequence, piece.object("Sequence"));
        RETRO_TRY(const auto token, piece.object("SpecialToken"));
        if (token) {
            RETRO_TRY(const std::string id, token->text("id"));
            RETRO_TRY(std::vector<Token> tokens, readSpecial(fields, id));
            pieces.push_back({std::move(tokens), std::nullopt});
            continue;
        }
        RETRO_TRY(const std::string which, sequence ? sequence->text("id") : Result<std::string>(std::string()));
        if (which != "A" && !(which == "B" && count > 1)) {
            return fields.error(fmt::format("{}[{}]", name, i),
                                count > 1 ? "a template for two texts has special tokens and the sequences A and B"
                                          : "a template for one text has special tokens and the sequence A");
        }
        pieces.push_back({{}, which == "A" ? 0U : 1U});
    }
    return pieces;
}

std::size_t countTokens(const TokenLists& pieces)
{
    std::size_t count = 0;
    for (const std::vector<Token>& piece : pieces) {
        count += piece.size();
    }
    return count;
}

[[noreturn]] void refuseLength()
{
    throw base::Failure(base::inputError(
        fmt::format("the post-processor of the tokenizer makes more than {} tokens of this text", kMostTokens)));
}

void fillTemplate(const std::vector<TemplatePiece>& pieces, TokenLists& texts, bool withSpecials)
{
    TokenLists all;
    std::size_t count = 0;
    for (const TemplatePiece& piece : pieces) {
        if (!piece.sequence && !withSpecials) {
            continue;
        }
        const std::vector<Token>& tokens = piece.sequence ? texts[*piece.sequence] : piece.specials;
        count += tokens.size();
        if (count > kMostTokens) {
            refuseLength();
        }
        all.push_back(tokens);
    }
    texts = std::move(all);
}

Result<TokenStep> readTemplate(const JsonFields& fields)
{
    RETRO_TRY(std::vector<TemplatePiece> single, readPieces(fields, "single", 1));
    // Read by templates behind others alone; what is wrong in it matters there.
    Result<std::vector<TemplatePiece>> pair = readPieces(fields, "pair", 2);
    return TokenStep([single = std::move(single), pair = std::move(pair)](TokenLists& pieces, bool withSpecials) {
        if (pieces.empty() || pieces.size() > 2) {
            throw base::Failure(base::inputError(
                fmt::format("the post-processor of the tokenizer has a template behind one that makes {} pieces; a "
                            "template takes one or two",
                            pieces.size())));
        }
        if (pieces.size() == 2 && !pair.ok()) {
            throw base::Failure(pair.error());
        }
        fillTemplate(pieces.size() == 1 ? single : *pair, pieces, withSpecials);
    });
}

Result<TokenStep> readTokenStep(const JsonFields& fields)
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
        RETRO_TRY(std::vector<TokenStep> steps, readParts<TokenStep>(fields, "processors", readTokenStep));
        return TokenStep([steps = std::move(steps)](TokenLists& pieces, bool withSpecials) {
            for (const TokenStep& step : steps) {
                step(pieces, withSpecials);
                if (countTokens(pieces) > kMostTokens) {
                    refuseLength();
                }
            }
        });
    }
    return notSupported(fields, "post-processor", type);
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
    RETRO_TRY(TokenStep step, readTokenStep(fields));
    return PostProcessor([step = std::move(step)](std::vector<Token>& tokens, bool withSpecials) {
        TokenLists pieces;
        pieces.push_back(std::move(tokens));
        step(pieces, withSpecials);
        tokens.clear();
        for (const std::vector<Token>& piece : pieces) {
            tokens.insert(tokens.end(), piece.begin(), piece.end());
        }
    });
}

} // namespace retro::text
