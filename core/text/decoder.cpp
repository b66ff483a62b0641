// SPDX-License-Identifier: Apache-2.0
#include "core/text/decoder.h"

#include "core/text/normaliser.h"
#include "core/text/partreading.h"
#include "core/text/pretokeniser.h"
#include "core/text/utf8.h"

#include <array>
#include <charconv>
#include <optional>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;
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

} // namespace

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

} // namespace retro::text
