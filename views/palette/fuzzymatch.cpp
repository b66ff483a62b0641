// SPDX-License-Identifier: Apache-2.0
#include "views/palette/fuzzymatch.h"

#include <algorithm>
#include <cstddef>

namespace retro::views
{

namespace
{

constexpr int kLetter = 16;
constexpr int kWordStart = 12;
constexpr int kNextToLast = 10;
constexpr int kGap = 1;
constexpr int kLongestGap = 12;   // a longer gap costs no more
constexpr int kLengthDivisor = 8; // one point per so many letters of text
constexpr int kImpossible = -1'000'000;

template <class Char>
Char lower(Char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<Char>(c - 'A' + 'a') : c;
}

template <class Char>
bool isSmall(Char c)
{
    return c >= 'a' && c <= 'z';
}

template <class Char>
bool isDigit(Char c)
{
    return c >= '0' && c <= '9';
}

template <class Char>
bool isWordLetter(Char c)
{
    return isSmall(lower(c)) || isDigit(c) || static_cast<unsigned>(c) > 127;
}

template <class Char>
bool startsWord(std::basic_string_view<Char> text, std::size_t at)
{
    if (at == 0) {
        return true;
    }
    const Char before = text[at - 1];
    const Char here = text[at];
    const bool isCapital = here >= 'A' && here <= 'Z';
    return isWordLetter(here) &&
           (!isWordLetter(before) || (isCapital && isSmall(before)) || (isDigit(here) && !isDigit(before)));
}

template <class Char>
bool isSubsequence(std::basic_string_view<Char> pattern, std::basic_string_view<Char> text)
{
    std::size_t found = 0;
    for (std::size_t i = 0; i < text.size() && found < pattern.size(); ++i) {
        found += lower(text[i]) == lower(pattern[found]) ? 1 : 0;
    }
    return found == pattern.size();
}

/// One row of the table: best score with pattern letter i at text letter j, and where the letter before it was then.
struct Row
{
    std::vector<int> score;
    std::vector<int> from;
};

/// Best place for the letter before, seen from text letter j: right beside, or some letters back.
class Before
{
public:
    explicit Before(const std::vector<int>& scores) : m_scores(scores) {}

    /// Text letter j − 1 is passed; j counts up from 1.
    void pass(int j)
    {
        if (m_far >= 0 && j - m_far <= kLongestGap) {
            m_farScore -= kGap;
        }
        const int near = m_scores[static_cast<std::size_t>(j - 1)];
        m_near = j - 1;
        m_nearScore = near;
    }
    [[nodiscard]] std::pair<int, int> best() const
    {
        const int near = m_nearScore > kImpossible ? m_nearScore + kNextToLast : kImpossible;
        return near >= m_farScore ? std::pair(near, m_near) : std::pair(m_farScore, m_far);
    }
    /// Letter j − 1 is no longer beside.
    void leave()
    {
        if (m_nearScore > kImpossible && m_nearScore - kGap > m_farScore) {
            m_farScore = m_nearScore - kGap;
            m_far = m_near;
        }
    }

private:
    const std::vector<int>& m_scores;
    int m_near = -1;
    int m_nearScore = kImpossible;
    int m_far = -1;
    int m_farScore = kImpossible;
};

template <class Char>
int letterScore(std::basic_string_view<Char> text, std::size_t at)
{
    return kLetter + (startsWord(text, at) ? kWordStart : 0);
}

template <class Char>
Row firstRow(Char letter, std::basic_string_view<Char> text)
{
    Row row{std::vector<int>(text.size(), kImpossible), std::vector<int>(text.size(), -1)};
    for (std::size_t j = 0; j < text.size(); ++j) {
        if (lower(text[j]) == letter) {
            row.score[j] = letterScore(text, j) - std::min(static_cast<int>(j), kLongestGap) * kGap;
        }
    }
    return row;
}

template <class Char>
Row nextRow(const Row& before, Char letter, std::basic_string_view<Char> text)
{
    Row row{std::vector<int>(text.size(), kImpossible), std::vector<int>(text.size(), -1)};
    Before walk(before.score);
    for (std::size_t j = 1; j < text.size(); ++j) {
        walk.pass(static_cast<int>(j));
        const auto [score, from] = walk.best();
        if (lower(text[j]) == letter && score > kImpossible) {
            row.score[j] = score + letterScore(text, j);
            row.from[j] = from;
        }
        walk.leave();
    }
    return row;
}

template <class Char>
std::optional<FuzzyMatch> match(std::basic_string_view<Char> pattern, std::basic_string_view<Char> text)
{
    if (!isSubsequence(pattern, text)) {
        return std::nullopt;
    }
    FuzzyMatch found;
    if (pattern.empty()) {
        return found;
    }
    std::vector<Row> rows{firstRow(lower(pattern[0]), text)};
    for (std::size_t i = 1; i < pattern.size(); ++i) {
        rows.push_back(nextRow(rows.back(), lower(pattern[i]), text));
    }
    const std::vector<int>& last = rows.back().score;
    auto at = static_cast<int>(std::max_element(last.begin(), last.end()) - last.begin());
    found.score = last[static_cast<std::size_t>(at)] - static_cast<int>(text.size()) / kLengthDivisor;
    found.places.resize(pattern.size());
    for (std::size_t i = pattern.size(); i-- > 0;) {
        found.places[i] = at;
        at = rows[i].from[static_cast<std::size_t>(at)];
    }
    return found;
}

} // namespace

std::optional<FuzzyMatch> fuzzyMatch(std::u16string_view pattern, std::u16string_view text)
{
    return match(pattern, text);
}

std::optional<int> fuzzyScore(std::string_view pattern, std::string_view text)
{
    const auto found = match(pattern, text);
    return found ? std::optional(found->score) : std::nullopt;
}

} // namespace retro::views
