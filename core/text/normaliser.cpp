// SPDX-License-Identifier: Apache-2.0
#include "core/text/normaliser.h"

#include "core/text/characterkinds.h"
#include "core/text/normalforms.h"
#include "core/text/partreading.h"
#include "core/text/pattern.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <array>
#include <map>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;

Normaliser plain(std::function<void(AlignedText&)> change)
{
    return [change = std::move(change)](AlignedText& text) -> Result<void> {
        change(text);
        return {};
    };
}

void lower(AlignedText& text)
{
    constexpr char32_t kDottedI = 0x130;
    constexpr char32_t kDot = 0x307;
    std::vector<Change> changes;
    changes.reserve(text.bytes().size());
    for (std::size_t at = 0; at < text.bytes().size();) {
        const Character one = characterAt(text.bytes(), at);
        at += one.bytes;
        if (one.code == kDottedI) {
            changes.insert(changes.end(), {Change{'i', 0}, Change{kDot, 1}});
        } else {
            changes.push_back({static_cast<char32_t>(u_tolower(static_cast<UChar32>(one.code))), 0});
        }
    }
    text.change(changes);
}

void setChineseApart(AlignedText& text)
{
    std::vector<Change> changes;
    for (std::size_t at = 0; at < text.bytes().size();) {
        const Character one = characterAt(text.bytes(), at);
        at += one.bytes;
        if (isChinese(one.code)) {
            changes.insert(changes.end(), {Change{' ', 0}, Change{one.code, 1}, Change{' ', 1}});
        } else {
            changes.push_back({one.code, 0});
        }
    }
    text.change(changes);
}

bool isLineOrTab(char32_t code) { return code == '\t' || code == '\n' || code == '\r'; }

void clean(AlignedText& text)
{
    constexpr char32_t kReplacement = 0xFFFD;
    text.filter(
        [](char32_t code) { return code != 0 && code != kReplacement && (isLineOrTab(code) || !isControl(code)); });
    text.map([](char32_t code) { return isSpace(code) ? U' ' : code; });
}

void dropLowMarks(AlignedText& text)
{
    text.change(changesTo(NormalForm::D, text.bytes()));
    text.filter([](char32_t code) { return !isLowMark(code); });
}

Result<Normaliser> readBert(const JsonFields& fields)
{
    RETRO_TRY(const bool cleans, fields.flag("clean_text", true));
    RETRO_TRY(const bool apart, fields.flag("handle_chinese_chars", true));
    RETRO_TRY(const bool isLower, fields.flag("lowercase", true));
    RETRO_TRY(const bool strips, fields.flag("strip_accents", isLower));
    return plain([=](AlignedText& text) {
        if (cleans) {
            clean(text);
        }
        if (apart) {
            setChineseApart(text);
        }
        if (strips) {
            dropLowMarks(text);
        }
        if (isLower) {
            lower(text);
        }
    });
}

Result<Normaliser> readReplace(const JsonFields& fields)
{
    RETRO_TRY(Pattern pattern, readPattern(fields));
    RETRO_TRY(std::string content, fields.text("content"));
    return Normaliser([pattern = std::move(pattern), content = std::move(content)](AlignedText& text) -> Result<void> {
        RETRO_TRY(const std::vector<Place> places, pattern.matchesIn(text.bytes()));
        text.replace(places, content);
        return {};
    });
}

Result<Normaliser> readStrip(const JsonFields& fields)
{
    RETRO_TRY(const bool left, fields.flag("strip_left", true));
    RETRO_TRY(const bool right, fields.flag("strip_right", true));
    return plain([left, right](AlignedText& text) {
        std::size_t begin = 0;
        std::size_t end = text.bytes().size();
        while (left && begin < end && isSpace(characterAt(text.bytes(), begin).code)) {
            begin += characterAt(text.bytes(), begin).bytes;
        }
        while (right && end > begin && isSpace(characterBefore(text.bytes(), end).code)) {
            end -= characterBefore(text.bytes(), end).bytes;
        }
        if (end - begin < text.bytes().size()) {
            std::size_t at = 0;
            text.filter([&](char32_t code) {
                std::string one;
                append(one, code);
                const bool keeps = at >= begin && at < end;
                at += one.size();
                return keeps;
            });
        }
    });
}

Result<Normaliser> readSequence(const JsonFields& fields)
{
    RETRO_TRY(std::vector<Normaliser> steps, readParts<Normaliser>(fields, "normalizers", readNormaliser));
    return Normaliser([steps = std::move(steps)](AlignedText& text) -> Result<void> {
        for (const Normaliser& step : steps) {
            RETRO_CHECK(step(text));
        }
        return {};
    });
}

Normaliser formOf(NormalForm form)
{
    return plain([form](AlignedText& text) { text.change(changesTo(form, text.bytes())); });
}

} // namespace

Result<Normaliser> readNormaliser(const JsonFields& fields)
{
    static const std::map<std::string, NormalForm, std::less<>> forms{
        {"NFC", NormalForm::C}, {"NFD", NormalForm::D}, {"NFKC", NormalForm::Kc}, {"NFKD", NormalForm::Kd}};
    RETRO_TRY(const std::string type, fields.text("type"));
    if (const auto form = forms.find(type); form != forms.end()) {
        return formOf(form->second);
    }
    if (type == "Lowercase") {
        return plain(lower);
    }
    if (type == "StripAccents") {
        return plain([](AlignedText& text) { text.filter([](char32_t code) { return !isMark(code); }); });
    }
    if (type == "Prepend") {
        RETRO_TRY(std::string before, fields.text("prepend"));
        return plain([before = std::move(before)](AlignedText& text) { text.prepend(before); });
    }
    if (type == "ByteLevel") {
        return plain(makeBytesVisible);
    }
    if (type == "Replace") {
        return readReplace(fields);
    }
    if (type == "Strip") {
        return readStrip(fields);
    }
    if (type == "BertNormalizer") {
        return readBert(fields);
    }
    if (type == "Sequence") {
        return readSequence(fields);
    }
    return notSupported(fields, "normaliser", type);
}

namespace
{

constexpr char32_t kFirstMoved = 0x100;

std::array<char32_t, 256> visibleBytes()
{
    std::array<char32_t, 256> codes{};
    char32_t moved = kFirstMoved;
    for (char32_t byte = 0; byte < codes.size(); ++byte) {
        const bool isSeen = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        codes[byte] = isSeen ? byte : moved++;
    }
    return codes;
}

} // namespace

char32_t visibleByte(unsigned char byte)
{
    static const std::array<char32_t, 256> codes = visibleBytes();
    return codes[byte];
}

int byteOfVisible(char32_t code)
{
    static const std::map<char32_t, int> bytes = [] {
        std::map<char32_t, int> made;
        for (int byte = 0; byte < 256; ++byte) {
            made[visibleByte(static_cast<unsigned char>(byte))] = byte;
        }
        return made;
    }();
    const auto at = bytes.find(code);
    return at == bytes.end() ? -1 : at->second;
}

void makeBytesVisible(AlignedText& text)
{
    std::vector<Change> changes;
    changes.reserve(text.bytes().size());
    for (const char c : text.bytes()) {
        const auto byte = static_cast<unsigned char>(c);
        changes.push_back({visibleByte(byte), (byte & 0xC0U) == 0x80U ? 1 : 0});
    }
    text.change(changes);
}

} // namespace retro::text
