// SPDX-License-Identifier: Apache-2.0
#include "core/text/tokeniser.h"

#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/text/addedtokens.h"
#include "core/text/decoder.h"
#include "core/text/pattern.h"
#include "core/text/pretokeniser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace retro::text
{

using base::inputError;
using base::JsonFields;
using base::JsonText;
using base::Result;

namespace
{

/// Files of large vocabularies take some 150 MiB.
constexpr base::JsonLimits kTokenizerLimits{kMostTokenizerBytes, 32, 768U << 20};
/// Most objects of a normaliser, pre-tokeniser, post-processor or decoder: each is a step over the whole text.
constexpr std::size_t kMostObjects = 500;
/// Longest piece whose tokens are remembered, and how many are.
constexpr std::size_t kMostRemembered = 256;
constexpr std::size_t kMostMemories = 100'000;

constexpr std::string_view kSpaceSign = "▁";

std::string exchanged(std::string text, std::string_view from, std::string_view to)
{
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

// Recursion: as deep as the limits of the text allow.
std::size_t objectsIn(const nlohmann::json& value)
{
    std::size_t count = value.is_object() ? 1 : 0;
    if (value.is_structured()) {
        for (const nlohmann::json& item : value) {
            count += objectsIn(item);
        }
    }
    return count;
}

/// A part of the file that may be null.
template <class Part>
Result<std::optional<Part>> readPart(const JsonFields& root, const char* name, Result<Part> (*read)(const JsonFields&))
{
    RETRO_TRY(const auto fields, root.object(name));
    if (!fields) {
        return std::optional<Part>();
    }
    if (const std::size_t count = objectsIn(fields->members()); count > kMostObjects) {
        return root.error(name, fmt::format("it has {} parts; at most {} are read", count, kMostObjects));
    }
    RETRO_TRY(Part part, read(*fields));
    return std::optional<Part>(std::move(part));
}

} // namespace

struct Tokeniser::Parts
{
    std::optional<Normaliser> normaliser;
    std::optional<PreTokeniser> preTokeniser;
    std::unique_ptr<TokenModel> model;
    std::optional<PostProcessor> postProcessor;
    std::optional<Decoder> decoder;
    std::optional<base::Error> undecodable; ///< why there is no decoder although the file has one
    AddedTokens added;
    bool isByteLevel = false;    ///< tokens are written in visible bytes
    bool writesSpacesAs = false; ///< spaces are written as "▁"

    [[nodiscard]] const Normaliser* normaliserOrNone() const { return normaliser ? &*normaliser : nullptr; }
};

Tokeniser::Tokeniser(std::unique_ptr<const Parts> parts) : m_parts(std::move(parts)) {}
Tokeniser::Tokeniser(Tokeniser&&) noexcept = default;
Tokeniser& Tokeniser::operator=(Tokeniser&&) noexcept = default;
Tokeniser::~Tokeniser() = default;

Result<Tokeniser> Tokeniser::read(const std::filesystem::path& path)
{
    RETRO_TRY(std::string contents, base::readTextFile(path, kMostTokenizerBytes));
    return parse(std::move(contents), path.string());
}

Result<Tokeniser> Tokeniser::parse(std::string contents, const std::string& where)
{
    RETRO_TRY(const JsonText text, JsonText::parse(std::move(contents), where, kTokenizerLimits));
    const MatchBudget budget(static_cast<std::size_t>(kMostTextBytes));
    return base::caught([&] { return ofText(text); });
}

Result<Tokeniser> Tokeniser::ofText(const JsonText& text)
{
    RETRO_TRY(const JsonFields root, JsonFields::of(text, text.root(), ""));
    RETRO_TRY(const auto model, root.object("model"));
    if (!model) {
        return root.error("model", "there is no \"model\": this is no tokenizer.json");
    }
    auto parts = std::make_unique<Parts>();
    RETRO_TRY(parts->normaliser, readPart<Normaliser>(root, "normalizer", readNormaliser));
    RETRO_TRY(parts->preTokeniser, readPart<PreTokeniser>(root, "pre_tokenizer", readPreTokeniser));
    RETRO_TRY(parts->model, readTokenModel(*model));
    RETRO_TRY(parts->postProcessor, readPart<PostProcessor>(root, "post_processor", readPostProcessor));
    Result<std::optional<Decoder>> decoder = readPart<Decoder>(root, "decoder", readDecoder);
    if (decoder.ok()) {
        parts->decoder = std::move(decoder).value();
    } else {
        parts->undecodable = decoder.error();
    }
    for (const char* const name : {"normalizer", "pre_tokenizer", "decoder"}) {
        const nlohmann::json* const part = root.find(name);
        const std::string written = part != nullptr ? part->dump() : std::string();
        parts->isByteLevel = parts->isByteLevel || written.find("\"ByteLevel\"") != std::string::npos;
        parts->writesSpacesAs = parts->writesSpacesAs || written.find(kSpaceSign) != std::string::npos;
    }
    RETRO_TRY(parts->added, AddedTokens::read(root, parts->model->vocabulary(), parts->normaliserOrNone()));
    return Tokeniser(std::move(parts));
}

Token Tokeniser::tokenOf(const AlignedText& piece, const PieceToken& found) const
{
    Token token{found.id, piece.rangeOf(found.begin, found.end)};
    const std::string* const written = m_parts->model->vocabulary().textOf(found.id);
    const auto text = std::string_view(piece.bytes())
                          .substr(std::min<std::size_t>(found.begin, piece.bytes().size()), found.end - found.begin);
    const bool isByte = written != nullptr && written->starts_with("<0x") && text != *written;
    if (m_parts->model->writesText() && !isByte) {
        countSpaces(text, token);
    } else if (written != nullptr) {
        countSpaces(*written, token);
    }
    return token;
}

Result<std::vector<Token>> Tokeniser::encode(std::string_view text, bool withSpecials) const
{
    if (text.size() > kMostTextBytes) {
        return inputError(fmt::format("the text has {} bytes; at most {} are read", text.size(), kMostTextBytes));
    }
    if (const auto wrong = invalidUtf8(text)) {
        return inputError(fmt::format("the text is no UTF-8: byte {:#04x} at offset {} belongs to no character; save "
                                      "it as UTF-8",
                                      static_cast<unsigned char>(text[*wrong]), *wrong));
    }
    const MatchBudget budget(text.size());
    return base::caught([&] { return tokensOf(text, withSpecials); });
}

Result<std::vector<Token>> Tokeniser::tokensOf(std::string_view text, bool withSpecials) const
{
    RETRO_TRY(std::vector<TextPart> textParts, m_parts->added.cut(text, m_parts->normaliserOrNone()));
    std::vector<Token> tokens;
    std::unordered_map<std::string, std::vector<PieceToken>, TextHash, std::equal_to<>> known;
    std::vector<PieceToken> found;
    for (TextPart& part : textParts) {
        if (part.token) {
            Token token{*part.token, part.text.rangeOf(0, part.text.bytes().size())};
            countSpaces(part.text.bytes(), token);
            tokens.push_back(token);
            continue;
        }
        std::vector<AlignedText> pieces;
        pieces.push_back(std::move(part.text));
        if (m_parts->preTokeniser) {
            RETRO_CHECK((*m_parts->preTokeniser)(pieces));
        }
        for (const AlignedText& piece : pieces) {
            if (piece.isEmpty()) {
                continue;
            }
            const auto memory = known.find(piece.bytes());
            const std::vector<PieceToken>* its = memory == known.end() ? nullptr : &memory->second;
            if (its == nullptr) {
                found.clear();
                RETRO_CHECK(m_parts->model->tokenise(piece.bytes(), found));
                const bool remembers = piece.bytes().size() <= kMostRemembered && known.size() < kMostMemories;
                its = remembers ? &known.emplace(piece.bytes(), found).first->second : &found;
            }
            for (const PieceToken& token : *its) {
                tokens.push_back(tokenOf(piece, token));
            }
        }
    }
    if (m_parts->postProcessor) {
        (*m_parts->postProcessor)(tokens, withSpecials);
    }
    return tokens;
}

Result<std::string> Tokeniser::decode(std::span<const TokenId> ids, bool skipsSpecials) const
{
    if (m_parts->undecodable) {
        return *m_parts->undecodable;
    }
    std::vector<std::string> texts;
    for (const TokenId id : ids) {
        const std::string* const written = writtenOf(id);
        if (written != nullptr && !(skipsSpecials && m_parts->added.isSpecial(*written))) {
            texts.push_back(*written);
        }
    }
    std::string all;
    if (!m_parts->decoder) {
        for (std::size_t i = 0; i < texts.size(); ++i) {
            all += (i == 0 ? "" : " ") + texts[i];
        }
        return all;
    }
    const MatchBudget budget(0);
    RETRO_TRY(texts, base::caught([&] { return (*m_parts->decoder)(std::move(texts)); }));
    for (const std::string& text : texts) {
        all += text;
    }
    return all;
}

const std::string* Tokeniser::writtenOf(TokenId id) const
{
    const std::string* const added = m_parts->added.textOf(id);
    return added != nullptr ? added : m_parts->model->vocabulary().textOf(id);
}

std::string Tokeniser::bytesOf(TokenId id) const
{
    const std::string* const written = writtenOf(id);
    if (written == nullptr || m_parts->added.textOf(id) != nullptr) {
        return written == nullptr ? std::string() : *written;
    }
    if (m_parts->isByteLevel) {
        std::string bytes;
        for (const char32_t code : toCodes(*written)) {
            const int byte = byteOfVisible(code);
            if (byte < 0) {
                return *written;
            }
            bytes.push_back(static_cast<char>(byte));
        }
        return bytes;
    }
    unsigned byte = 0;
    constexpr std::size_t kByteLength = 6; // <0x1F>
    const char* const digits = written->data() + 3;
    if (written->size() == kByteLength && written->starts_with("<0x") && written->back() == '>' &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        return {static_cast<char>(byte)};
    }
    return m_parts->writesSpacesAs ? exchanged(*written, kSpaceSign, " ") : *written;
}

std::optional<TokenId> Tokeniser::findBytes(std::string_view bytes) const
{
    std::string written(bytes);
    if (m_parts->isByteLevel) {
        written.clear();
        for (const char byte : bytes) {
            append(written, visibleByte(static_cast<unsigned char>(byte)));
        }
    } else if (m_parts->writesSpacesAs) {
        written = exchanged(std::move(written), " ", kSpaceSign);
    }
    return m_parts->model->vocabulary().find(written);
}

std::optional<TokenId> Tokeniser::find(std::string_view written) const
{
    const auto added = m_parts->added.find(written);
    return added ? added : m_parts->model->vocabulary().find(written);
}

bool Tokeniser::isSpecial(TokenId id) const
{
    const std::string* const written = writtenOf(id);
    return written != nullptr && m_parts->added.isSpecial(*written);
}

std::size_t Tokeniser::size() const { return std::max(m_parts->added.end(), m_parts->model->vocabulary().end()); }

} // namespace retro::text
