// SPDX-License-Identifier: Apache-2.0
#include "core/text/pattern.h"

#include "core/text/icuexpression.h"
#include "core/text/utf8.h"

#include <fmt/format.h>
#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace retro::text
{

namespace
{

using base::inputError;
using base::Result;

/// ICU counts the branches of its machine by ten thousand, about five of these steps a millisecond. The expressions of
/// known tokenisers take one step for two thousand bytes.
constexpr std::int64_t kMostSteps = 2'000;
constexpr std::int64_t kBytesOfStep = 200;
thread_local std::int64_t* stepsLeft = nullptr; ///< of the innermost MatchBudget
constexpr std::int32_t kMostStack = 64 << 20;   // bytes
constexpr std::size_t kMostExpression = 1U << 16;

/// Lines end at "\n" alone, for ^, $ and the dot.
constexpr std::uint32_t kFlags = UREGEX_MULTILINE | UREGEX_UNIX_LINES | UREGEX_ERROR_ON_UNKNOWN_ESCAPES;

/// A text in UTF-16, and the byte of the text in UTF-8 at which each unit begins.
struct Units
{
    icu::UnicodeString text;
    std::vector<std::uint32_t> bytes; ///< empty for plain ASCII, where they are equal

    [[nodiscard]] std::size_t byteOf(std::int32_t unit) const
    {
        return bytes.empty() ? static_cast<std::size_t>(unit) : bytes[static_cast<std::size_t>(unit)];
    }
};

Units unitsOf(std::string_view utf8)
{
    Units units;
    units.text = icu::UnicodeString::fromUTF8(icu::StringPiece(utf8.data(), static_cast<std::int32_t>(utf8.size())));
    if (static_cast<std::size_t>(units.text.length()) != utf8.size()) {
        units.bytes.reserve(static_cast<std::size_t>(units.text.length()) + 1);
        for (std::size_t at = 0; at < utf8.size();) {
            const std::uint32_t length = characterAt(utf8, at).bytes;
            units.bytes.insert(units.bytes.end(), length == 4 ? 2 : 1, static_cast<std::uint32_t>(at));
            at += length;
        }
        units.bytes.push_back(static_cast<std::uint32_t>(utf8.size()));
    }
    return units;
}

constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

UBool countStep(const void* taken, std::int32_t steps)
{
    // ICU hands the pointer on as it got it, which was to a number that may be written.
    *static_cast<std::int32_t*>(const_cast<void*>(taken)) = steps;
    return 1;
}

std::vector<Place> placesOf(std::string_view text, std::string_view part)
{
    std::vector<Place> places;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) {
        places.emplace_back(at, at + part.size());
    }
    return places;
}

std::vector<Place> placesOf(std::string_view text, const std::function<bool(char32_t)>& kind)
{
    std::vector<Place> places;
    for (std::size_t at = 0; at < text.size();) {
        const Character one = characterAt(text, at);
        if (kind(one.code)) {
            places.emplace_back(at, at + one.bytes);
        }
        at += one.bytes;
    }
    return places;
}

/// A part of a text that is cut at matches.
struct CutPiece
{
    Place place;
    bool isMatch;
};

/// The matches and what lies between them, in turn.
std::vector<CutPiece> matchesAndRest(std::size_t size, const std::vector<Place>& matches, bool isInverted)
{
    std::vector<CutPiece> pieces;
    std::size_t done = 0;
    for (const Place& match : matches) {
        if (done != match.first) {
            pieces.push_back({{done, match.first}, isInverted});
        }
        pieces.push_back({match, !isInverted});
        done = match.second;
    }
    if (done != size) {
        pieces.push_back({{done, size}, isInverted});
    }
    return pieces;
}

/// Each match begins the piece behind it.
std::vector<Place> mergedWithNext(const std::vector<CutPiece>& pieces)
{
    std::vector<Place> places; // from the last one to the first
    bool wasMatch = false;
    std::for_each(pieces.rbegin(), pieces.rend(), [&](const CutPiece& piece) {
        if (!piece.isMatch || wasMatch || places.empty()) {
            places.push_back(piece.place);
        } else {
            places.back().first = piece.place.first;
        }
        wasMatch = piece.isMatch;
    });
    std::reverse(places.begin(), places.end());
    return places;
}

/// Whether a piece becomes part of the one before it.
bool joinsPrevious(Cut cut, bool isMatch, bool wasMatch)
{
    return (cut == Cut::Contiguous && isMatch == wasMatch) || (cut == Cut::MergedWithPrevious && isMatch && !wasMatch);
}

} // namespace

MatchBudget::MatchBudget(std::size_t textBytes)
    : m_left(kMostSteps + static_cast<std::int64_t>(textBytes) / kBytesOfStep),
      m_outer(std::exchange(stepsLeft, &m_left))
{}

MatchBudget::~MatchBudget() { stepsLeft = m_outer; }

struct Pattern::Expression
{
    std::string text;
    std::unique_ptr<icu::RegexPattern> pattern;
};

Pattern Pattern::ofText(std::string text)
{
    Pattern pattern;
    pattern.m_text = std::move(text);
    return pattern;
}

Pattern Pattern::ofKind(std::function<bool(char32_t)> kind)
{
    Pattern pattern;
    pattern.m_kind = std::move(kind);
    return pattern;
}

Result<Pattern> Pattern::ofExpression(const std::string& expression)
{
    if (expression.size() > kMostExpression) {
        return inputError(
            fmt::format("the expression has {} bytes; at most {} are read", expression.size(), kMostExpression));
    }
    RETRO_TRY(const std::string written, icuExpression(expression));
    auto made = std::make_shared<Expression>();
    made->text = expression;
    UErrorCode status = U_ZERO_ERROR;
    UParseError place{};
    made->pattern.reset(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(written), kFlags, place, status));
    if (U_FAILURE(status) != 0 || !made->pattern) {
        return inputError(
            fmt::format("the expression '{}' cannot be used ({}); simplify it", expression, u_errorName(status)));
    }
    Pattern pattern;
    pattern.m_expression = std::move(made);
    return pattern;
}

Result<std::vector<Place>> Pattern::matchesIn(std::string_view text) const
{
    if (m_kind) {
        return placesOf(text, m_kind);
    }
    if (!m_expression) {
        return m_text.empty() ? std::vector<Place>() : placesOf(text, m_text);
    }
    UErrorCode status = U_ZERO_ERROR;
    const Units units = unitsOf(text);
    const std::unique_ptr<icu::RegexMatcher> matcher(m_expression->pattern->matcher(units.text, status));
    std::vector<Place> places;
    const std::int64_t allowed = std::clamp<std::int64_t>(stepsLeft != nullptr ? *stepsLeft : kMostSteps, 1, kMostInt);
    std::int32_t taken = 0;
    if (U_SUCCESS(status) != 0) {
        matcher->setTimeLimit(static_cast<std::int32_t>(allowed), status);
        matcher->setStackLimit(kMostStack, status);
        matcher->setMatchCallback(countStep, &taken, status);
    }
    std::optional<std::size_t> last; // end of the match before
    while (U_SUCCESS(status) != 0 && matcher->find(status) != 0) {
        const std::size_t begin = units.byteOf(matcher->start(status));
        const std::size_t end = units.byteOf(matcher->end(status));
        if (begin != end || last != end) {
            places.emplace_back(begin, end);
        }
        last = end;
    }
    if (stepsLeft != nullptr) {
        *stepsLeft -= taken;
    }
    if (U_FAILURE(status) != 0) {
        return inputError(fmt::format("the expression '{}' takes too long on this text ({}); give a shorter text",
                                      m_expression->text, u_errorName(status)));
    }
    return places;
}

std::vector<Place> cutAt(std::size_t size, const std::vector<Place>& matches, Cut cut, bool isInverted)
{
    const std::vector<CutPiece> pieces = matchesAndRest(size, matches, isInverted);
    if (cut == Cut::MergedWithNext) {
        return mergedWithNext(pieces);
    }
    std::vector<Place> places;
    bool wasMatch = false;
    for (const CutPiece& piece : pieces) {
        if (cut == Cut::Removed && piece.isMatch) {
            continue;
        }
        if (joinsPrevious(cut, piece.isMatch, wasMatch) && !places.empty()) {
            places.back().second = piece.place.second;
        } else {
            places.push_back(piece.place);
        }
        wasMatch = piece.isMatch;
    }
    return places;
}

} // namespace retro::text
