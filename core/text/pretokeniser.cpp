// SPDX-License-Identifier: Apache-2.0
#include "core/text/pretokeniser.h"

#include "core/text/characterkinds.h"
#include "core/text/normaliser.h"
#include "core/text/partreading.h"
#include "core/text/pattern.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;
using Pieces = std::vector<AlignedText>;

/// What GPT-2 cuts at.
constexpr const char* kByteLevelWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Result<void> cutPiece(const AlignedText& piece, const Pattern& pattern, Cut cut, bool isInverted, Pieces& into)
{
    RETRO_TRY(const std::vector<Place> matches, pattern.matchesIn(piece.bytes()));
    for (const Place& place : cutAt(piece.bytes().size(), matches, cut, isInverted)) {
        if (place.first < place.second) {
            into.push_back(piece.slice(place.first, place.second));
        }
    }
    return {};
}

PreTokeniser cutting(Pattern pattern, Cut cut, bool isInverted = false)
{
    return [pattern = std::move(pattern), cut, isInverted](Pieces& pieces) -> Result<void> {
        Pieces cutOnes;
        for (const AlignedText& piece : pieces) {
            RETRO_CHECK(cutPiece(piece, pattern, cut, isInverted, cutOnes));
        }
        pieces = std::move(cutOnes);
        return {};
    };
}

PreTokeniser inTurn(std::vector<PreTokeniser> steps)
{
    return [steps = std::move(steps)](Pieces& pieces) -> Result<void> {
        for (const PreTokeniser& step : steps) {
            RETRO_CHECK(step(pieces));
            std::size_t bytes = 0;
            for (const AlignedText& piece : pieces) {
                bytes += piece.bytes().size();
            }
            checkChangedBytes(bytes);
        }
        return {};
    };
}

Result<Cut> readCut(const JsonFields& fields, const char* usual)
{
    constexpr std::array<std::string_view, 5> kNames{"Removed", "Isolated", "Contiguous", "MergedWithPrevious",
                                                     "MergedWithNext"};
    RETRO_TRY(const std::string name, fields.word("behavior", kNames, usual));
    return static_cast<Cut>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

Result<PreTokeniser> readSplit(const JsonFields& fields)
{
    RETRO_TRY(Pattern pattern, readPattern(fields));
    RETRO_TRY(const Cut cut, readCut(fields, "Isolated"));
    RETRO_TRY(const bool isInverted, fields.flag("invert", false));
    return cutting(std::move(pattern), cut, isInverted);
}

Result<PreTokeniser> readByteLevel(const JsonFields& fields)
{
    RETRO_TRY(const bool addsSpace, fields.flag("add_prefix_space", true));
    RETRO_TRY(const bool cuts, fields.flag("use_regex", true));
    RETRO_TRY(Pattern pattern, Pattern::ofExpression(kByteLevelWords));
    return PreTokeniser([addsSpace, cuts, pattern = std::move(pattern)](Pieces& pieces) -> Result<void> {
        Pieces cutOnes;
        for (AlignedText& piece : pieces) {
            if (addsSpace && !piece.bytes().starts_with(' ')) {
                piece.prepend(" ");
            }
            if (!cuts) {
                cutOnes.push_back(std::move(piece));
                continue;
            }
            RETRO_CHECK(cutPiece(piece, pattern, Cut::Isolated, false, cutOnes));
        }
        for (AlignedText& piece : cutOnes) {
            makeBytesVisible(piece);
        }
        pieces = std::move(cutOnes);
        return {};
    });
}

enum class WordKind { Space, Word, Mark };

WordKind wordKindOf(char32_t code)
{
    return isWordPart(code) ? WordKind::Word : isSpace(code) ? WordKind::Space : WordKind::Mark;
}

/// The words of a piece, and what is neither word nor space.
void cutWordsAndMarks(const AlignedText& piece, Pieces& into)
{
    WordKind last = WordKind::Space;
    std::size_t begin = 0;
    std::size_t at = 0;
    const auto end = [&](WordKind next) {
        if (last != WordKind::Space && begin < at) {
            into.push_back(piece.slice(begin, at));
        }
        begin = at;
        last = next;
    };
    while (at < piece.bytes().size()) {
        const Character one = characterAt(piece.bytes(), at);
        const WordKind kind = wordKindOf(one.code);
        if (kind != last) {
            end(kind);
        }
        at += one.bytes;
    }
    end(WordKind::Space);
}

/// Words, and what is neither word nor space.
PreTokeniser wordsAndMarks()
{
    return [](Pieces& pieces) -> Result<void> {
        Pieces cutOnes;
        for (const AlignedText& piece : pieces) {
            cutWordsAndMarks(piece, cutOnes);
        }
        pieces = std::move(cutOnes);
        return {};
    };
}

Result<PreTokeniser> readMetaspace(const JsonFields& fields)
{
    RETRO_TRY(const char32_t sign, readCharacter(fields, "replacement", "▁"));
    RETRO_TRY(const Prepends prepends, readPrepends(fields));
    RETRO_TRY(const bool cuts, fields.flag("split", true));
    std::string mark;
    append(mark, sign);
    return PreTokeniser([mark, prepends, cuts](Pieces& pieces) -> Result<void> {
        const Pattern space = Pattern::ofText(" ");
        const Pattern atMark = Pattern::ofText(mark);
        Pieces cutOnes;
        for (AlignedText& piece : pieces) {
            RETRO_TRY(const std::vector<Place> spaces, space.matchesIn(piece.bytes()));
            piece.replace(spaces, mark);
            const bool begins =
                prepends == Prepends::Always || (prepends == Prepends::First && piece.place().begin == 0);
            if (begins && !piece.bytes().starts_with(mark)) {
                piece.prepend(mark);
            }
            if (!cuts) {
                cutOnes.push_back(std::move(piece));
                continue;
            }
            RETRO_CHECK(cutPiece(piece, atMark, Cut::MergedWithNext, false, cutOnes));
        }
        pieces = std::move(cutOnes);
        return {};
    });
}

} // namespace

Result<Prepends> readPrepends(const JsonFields& fields)
{
    constexpr std::array<std::string_view, 3> kNames{"always", "first", "never"};
    RETRO_TRY(const bool addsSpace, fields.flag("add_prefix_space", true)); // of older files
    RETRO_TRY(const std::string name, fields.word("prepend_scheme", kNames, addsSpace ? "always" : "never"));
    return static_cast<Prepends>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

Result<PreTokeniser> readPreTokeniser(const JsonFields& fields)
{
    RETRO_TRY(const std::string type, fields.text("type"));
    if (type == "Split") {
        return readSplit(fields);
    }
    if (type == "ByteLevel") {
        return readByteLevel(fields);
    }
    if (type == "Metaspace") {
        return readMetaspace(fields);
    }
    if (type == "Whitespace") {
        return wordsAndMarks();
    }
    if (type == "WhitespaceSplit") {
        return cutting(Pattern::ofKind(isSpace), Cut::Removed);
    }
    if (type == "Digits") {
        RETRO_TRY(const bool each, fields.flag("individual_digits", false));
        return cutting(Pattern::ofKind(isNumber), each ? Cut::Isolated : Cut::Contiguous);
    }
    if (type == "Punctuation") {
        RETRO_TRY(const Cut cut, readCut(fields, "Isolated"));
        return cutting(Pattern::ofKind(isPunctuation), cut);
    }
    if (type == "CharDelimiterSplit") {
        RETRO_TRY(const char32_t delimiter, readCharacter(fields, "delimiter", ""));
        return cutting(Pattern::ofKind([delimiter](char32_t code) { return code == delimiter; }), Cut::Removed);
    }
    if (type == "BertPreTokenizer") {
        return inTurn(
            {cutting(Pattern::ofKind(isSpace), Cut::Removed), cutting(Pattern::ofKind(isPunctuation), Cut::Isolated)});
    }
    if (type == "Sequence") {
        RETRO_TRY(std::vector<PreTokeniser> steps, readParts<PreTokeniser>(fields, "pretokenizers", readPreTokeniser));
        return inTurn(std::move(steps));
    }
    return notSupported(fields, "pre-tokeniser", type);
}

} // namespace retro::text
