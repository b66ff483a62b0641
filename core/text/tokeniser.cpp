// SPDX-License-Identifier: Apache-2.0
#include "core/text/tokeniser.h"

#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/base/jsonfields.h"
#include "core/text/addedtokens.h"
#include "core/text/normaliser.h"
#include "core/text/partreading.h"
#include "core/text/pattern.h"
#include "core/text/pretokeniser.h"
#include "core/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

namespace retro::text
{

using base::inputError;
using base::JsonFields;
using base::JsonText;
using base::Result;

namespace
{

/// A step from the texts of tokens to the text that they stand for, which is all that is left, put together.
using Decoder = std::function<base::Result<std::vector<std::string>>(std::vector<std::string>)>;

using Texts = std::vector<std::string>;

constexpr std::string_view kUnknownSign = "\xEF\xBF\xBD";

std::string joined(const Texts& texts)
{
    std::string all;
    for (const std::string& text : texts) {
        all += text;
    }
    return all;
}

/// Each text by itself.
Decoder each(std::function<std::string(std::string, bool isFirst, bool isLast)> change)
{
    return [change = std::move(change)](Texts texts) -> Result<Texts> {
        for (std::size_t i = 0; i < texts.size(); ++i) {
            texts[i] = change(std::move(texts[i]), i == 0, i + 1 == texts.size());
        }
        return texts;
    };
}

std::string replaced(std::string text, std::string_view from, std::string_view to)
{
    for (std::size_t at = text.find(from); !from.empty() && at != std::string::npos; at = text.find(from, at)) {
        text.replace(at, from.size(), to);
        at += to.size();
    }
    return text;
}

/// The bytes that a token of visible bytes stands for; the text itself when it is none.
std::string bytesOfVisible(const std::string& text)
{
    std::string bytes;
    for (std::size_t at = 0; at < text.size();) {
        const Character one = characterAt(text, at);
        const int byte = byteOfVisible(one.code);
        if (byte < 0) {
            return text;
        }
        bytes.push_back(static_cast<char>(byte));
        at += one.bytes;
    }
    return bytes;
}

Result<Texts> decodeVisible(Texts texts)
{
    std::string bytes;
    for (const std::string& text : texts) {
        bytes += bytesOfVisible(text);
    }
    return Texts{lossyUtf8(bytes)};
}

/// The byte of "<0x1F>".
std::optional<char> fallbackByte(const std::string& text)
{
    constexpr std::size_t kLength = 6;
    unsigned byte = 0;
    if (text.size() != kLength || !text.starts_with("<0x") || text.back() != '>') {
        return std::nullopt;
    }
    const auto read = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
    return read.ec == std::errc() && read.ptr == text.data() + 5 ? std::optional(static_cast<char>(byte))
                                                                 : std::nullopt;
}

Result<Texts> decodeFallback(Texts texts)
{
    Texts whole;
    std::string bytes;
    const auto flush = [&] {
        if (!bytes.empty() && !invalidUtf8(bytes)) {
            whole.push_back(bytes);
        } else {
            whole.insert(whole.end(), bytes.size(), std::string(kUnknownSign));
        }
        bytes.clear();
    };
    for (std::string& text : texts) {
        if (const auto byte = fallbackByte(text)) {
            bytes.push_back(*byte);
            continue;
        }
        flush();
        whole.push_back(std::move(text));
    }
    flush();
    return whole;
}

/// English as it was before its marks were set apart.
std::string tidied(std::string text)
{
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPairs{{{" .", "."},
                                                                                    {" ?", "?"},
                                                                                    {" !", "!"},
                                                                                    {" ,", ","},
                                                                                    {" ' ", "'"},
                                                                                    {" n't", "n't"},
                                                                                    {" 'm", "'m"},
                                                                                    {" do not", " don't"},
                                                                                    {" 's", "'s"},
                                                                                    {" 've", "'ve"},
                                                                                    {" 're", "'re"}}};
    for (const auto& [from, to] : kPairs) {
        text = replaced(std::move(text), from, to);
    }
    return text;
}

Result<Decoder> readWordPieceDecoder(const JsonFields& fields)
{
    RETRO_TRY(std::string prefix, fields.text("prefix", "##"));
    RETRO_TRY(const bool tidies, fields.flag("cleanup", true));
    return each([prefix = std::move(prefix), tidies](std::string text, bool isFirst, bool) {
        if (!isFirst) {
            const bool goesOn = text.starts_with(prefix);
            text = goesOn ? text.substr(prefix.size()) : " " + text;
        }
        return tidies ? tidied(std::move(text)) : text;
    });
}

Result<Decoder> readMetaspaceDecoder(const JsonFields& fields)
{
    RETRO_TRY(const char32_t sign, readCharacter(fields, "replacement", "▁"));
    RETRO_TRY(const Prepends prepends, readPrepends(fields));
    std::string mark;
    append(mark, sign);
    return each([mark, prepends](std::string text, bool isFirst, bool) {
        return replaced(std::move(text), mark, isFirst && prepends != Prepends::Never ? "" : " ");
    });
}

Result<Decoder> readStripDecoder(const JsonFields& fields)
{
    constexpr std::int64_t kMost = 1 << 20;
    RETRO_TRY(const char32_t content, readCharacter(fields, "content", " "));
    RETRO_TRY(const auto start, fields.whole("start", 0, kMost));
    RETRO_TRY(const auto stop, fields.whole("stop", 0, kMost));
    std::string mark;
    append(mark, content);
    return each([=](std::string text, bool, bool) {
        std::int64_t left = start.value_or(0);
        std::int64_t right = stop.value_or(0);
        std::string_view rest = text;
        for (; left > 0 && rest.starts_with(mark); --left) {
            rest.remove_prefix(mark.size());
        }
        for (; right > 0 && rest.ends_with(mark); --right) {
            rest.remove_suffix(mark.size());
        }
        return std::string(rest);
    });
}

Result<Decoder> readReplaceDecoder(const JsonFields& fields)
{
    RETRO_TRY(Pattern pattern, readPattern(fields));
    RETRO_TRY(std::string content, fields.text("content"));
    return Decoder([pattern = std::move(pattern), content = std::move(content)](Texts texts) -> Result<Texts> {
        std::size_t bytes = 0; // of all texts
        for (std::string& text : texts) {
            RETRO_TRY(const std::vector<Place> places, pattern.matchesIn(text));
            std::string changed;
            std::size_t done = 0;
            bytes += text.size() + places.size() * content.size();
            checkChangedBytes(bytes);
            for (const Place& place : places) {
                changed += text.substr(done, place.first - done) + content;
                done = place.second;
            }
            text = changed + text.substr(done);
        }
        return texts;
    });
}

Result<Decoder> readSuffixDecoder(const JsonFields& fields)
{
    RETRO_TRY(std::string suffix, fields.text("suffix", "</w>"));
    return each([suffix = std::move(suffix)](std::string text, bool, bool isLast) {
        return replaced(std::move(text), suffix, isLast ? "" : " ");
    });
}

/// The decoder of a tokenizer.json: ByteLevel, Metaspace, WordPiece, ByteFallback, BPEDecoder, Fuse, Strip, Replace,
/// Sequence. Errors (Input): another one, by its name; fields that are wrong.
Result<Decoder> readDecoder(const JsonFields& fields)
{
    RETRO_TRY(const std::string type, fields.text("type"));
    if (type == "ByteLevel") {
        return Decoder(decodeVisible);
    }
    if (type == "ByteFallback") {
        return Decoder(decodeFallback);
    }
    if (type == "Fuse") {
        return Decoder([](Texts texts) -> Result<Texts> { return Texts{joined(texts)}; });
    }
    if (type == "Metaspace") {
        return readMetaspaceDecoder(fields);
    }
    if (type == "WordPiece") {
        return readWordPieceDecoder(fields);
    }
    if (type == "BPEDecoder") {
        return readSuffixDecoder(fields);
    }
    if (type == "Strip") {
        return readStripDecoder(fields);
    }
    if (type == "Replace") {
        return readReplaceDecoder(fields);
    }
    if (type == "Sequence") {
        RETRO_TRY(std::vector<Decoder> steps, readParts<Decoder>(fields, "decoders", readDecoder));
        return Decoder([steps = std::move(steps)](Texts texts) -> Result<Texts> {
            for (const Decoder& step : steps) {
                RETRO_TRY(texts, step(std::move(texts)));
            }
            return texts;
        });
    }
    return notSupported(fields, "decoder", type);
}

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
    bool isByteLevel = false;       ///< tokens are written in visible bytes
    bool writesSpacesAs = false;    ///< spaces are written as "▁"
    std::optional<TokenId> padding; ///< that the file names

    [[nodiscard]] const Normaliser* normaliserOrNone() const { return normaliser ? &*normaliser : nullptr; }
};

/// The tokens of pieces; those of short ones are remembered.
class Tokeniser::PieceMemory
{
public:
    explicit PieceMemory(const TokenModel& model) : m_model(model) {}

    /// They are there up to the next call.
    Result<const std::vector<PieceToken>*> tokensOf(const std::string& piece)
    {
        if (const auto memory = m_known.find(piece); memory != m_known.end()) {
            return &memory->second;
        }
        m_found.clear();
        RETRO_CHECK(m_model.tokenise(piece, m_found));
        const bool remembers = piece.size() <= kMostRemembered && m_known.size() < kMostMemories;
        return remembers ? &m_known.emplace(piece, m_found).first->second : &m_found;
    }

private:
    const TokenModel& m_model;
    std::unordered_map<std::string, std::vector<PieceToken>, TextHash, std::equal_to<>> m_known;
    std::vector<PieceToken> m_found;
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
    const nlohmann::json* const padding = root.find("padding");
    const bool saysPadding = padding != nullptr && padding->is_object() && padding->contains("pad_id") &&
                             padding->at("pad_id").is_number_unsigned();
    parts->padding = saysPadding ? std::optional(padding->at("pad_id").get<TokenId>()) : std::nullopt;
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
    PieceMemory memory(*m_parts->model);
    for (TextPart& part : textParts) {
        RETRO_CHECK(addTokens(part, memory, tokens));
    }
    if (m_parts->postProcessor) {
        (*m_parts->postProcessor)(tokens, withSpecials);
    }
    return tokens;
}

Result<void> Tokeniser::addTokens(TextPart& part, PieceMemory& memory, std::vector<Token>& tokens) const
{
    if (part.token) {
        Token token{*part.token, part.text.rangeOf(0, part.text.bytes().size())};
        countSpaces(part.text.bytes(), token);
        tokens.push_back(token);
        return {};
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
        RETRO_TRY(const std::vector<PieceToken>* const its, memory.tokensOf(piece.bytes()));
        for (const PieceToken& token : *its) {
            tokens.push_back(tokenOf(piece, token));
        }
    }
    return {};
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

std::optional<TokenId> Tokeniser::padding() const
{
    std::optional<TokenId> id = m_parts->padding;
    for (const char* const written : {"[PAD]", "<pad>", "<|pad|>"}) {
        id = id ? id : find(written);
    }
    return id;
}

bool Tokeniser::isSpecial(TokenId id) const
{
    const std::string* const written = writtenOf(id);
    return written != nullptr && m_parts->added.isSpecial(*written);
}

std::size_t Tokeniser::size() const { return std::max(m_parts->added.end(), m_parts->model->vocabulary().end()); }

} // namespace retro::text
