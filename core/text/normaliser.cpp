// SPDX-License-Identifier: Apache-2.0
#include "core/text/normaliser.h"

#include "core/base/failure.h"
#include "core/text/characterkinds.h"
#include "core/text/partreading.h"
#include "core/text/pattern.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace retro::text
{

namespace
{

/// Unicode's normal forms.
enum class NormalForm { C, D, Kc, Kd };

constexpr char32_t kFirstDecomposed = 0xA0;

/// ICU's tables; null when its data cannot be had.
const icu::Normalizer2* decomposer(bool isCompatible)
{
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* const table =
        isCompatible ? icu::Normalizer2::getNFKCInstance(status) : icu::Normalizer2::getNFCInstance(status);
    return U_SUCCESS(status) != 0 ? table : nullptr;
}

int classOf(char32_t code)
{
    return code < 0x300 || !isOfNormalisation(code) ? 0 : u_getCombiningClass(static_cast<UChar32>(code));
}

std::vector<Change> decomposed(std::string_view text, const icu::Normalizer2& table)
{
    std::vector<Change> changes;
    changes.reserve(text.size());
    icu::UnicodeString parts;
    std::size_t marks = 0; // where the marks behind the last base character begin
    const auto sortMarks = [&] {
        std::stable_sort(changes.begin() + static_cast<std::ptrdiff_t>(marks), changes.end(),
                         [](const Change& a, const Change& b) { return classOf(a.code) < classOf(b.code); });
    };
    const auto put = [&](char32_t code, bool isFirst) {
        if (classOf(code) == 0) {
            sortMarks();
            marks = changes.size() + 1;
        }
        changes.push_back({code, isFirst ? 0 : 1});
        checkChangedBytes(changes.size());
    };
    for (std::size_t at = 0; at < text.size();) {
        const Character one = characterAt(text, at);
        at += one.bytes;
        if (one.code < kFirstDecomposed || !isOfNormalisation(one.code) ||
            table.getDecomposition(static_cast<UChar32>(one.code), parts) == 0) {
            put(one.code, true);
            continue;
        }
        for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
            put(static_cast<char32_t>(parts.char32At(i)), i == 0);
        }
    }
    sortMarks();
    return changes;
}

std::optional<char32_t> composedPair(char32_t a, char32_t b, const icu::Normalizer2& table)
{
    const UChar32 both =
        b < kFirstDecomposed ? U_SENTINEL : table.composePair(static_cast<UChar32>(a), static_cast<UChar32>(b));
    return both < 0 || !isOfNormalisation(static_cast<char32_t>(both)) ? std::nullopt
                                                                       : std::optional(static_cast<char32_t>(both));
}

std::vector<Change> composed(const std::vector<Change>& parts, const icu::Normalizer2& table)
{
    std::vector<Change> changes;
    changes.reserve(parts.size());
    std::optional<std::size_t> base; // the last character that others may join
    int last = -1;                   // class of the last one that did not
    for (const Change& part : parts) {
        const int its = classOf(part.code);
        if (base && last < (its == 0 ? 0 : its)) {
            if (const auto both = composedPair(changes[*base].code, part.code, table)) {
                changes[*base] = {*both, changes[*base].taken + part.taken - 1};
                continue;
            }
        }
        changes.push_back(part);
        if (its == 0) {
            base = changes.size() - 1;
            last = -1;
        } else {
            last = its;
        }
    }
    return changes;
}

/// The changes that bring a text into a normal form: decomposed, marks in their order, composed for C and KC.
std::vector<Change> changesTo(NormalForm form, std::string_view text)
{
    const icu::Normalizer2* const table = decomposer(form == NormalForm::Kc || form == NormalForm::Kd);
    if (table == nullptr) {
        throw base::Failure(base::engineError("the Unicode tables of ICU cannot be read; install libicu72 again"));
    }
    std::vector<Change> changes = decomposed(text, *table);
    const bool composes = form == NormalForm::C || form == NormalForm::Kc;
    return composes ? composed(changes, *table) : changes;
}

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
