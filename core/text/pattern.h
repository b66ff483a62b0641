// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/text/alignedtext.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::text
{

/// Bytes `first` up to `second` of a text.
using Place = std::pair<std::size_t, std::size_t>;

/// While it exists, the expressions that this thread looks for take no more steps together than a text of so many bytes
/// calls for: a step of a tokenizer.json looks in every piece of the text, and each could take long.
class MatchBudget
{
public:
    explicit MatchBudget(std::size_t textBytes);
    ~MatchBudget();
    MatchBudget(const MatchBudget&) = delete;
    MatchBudget& operator=(const MatchBudget&) = delete;

private:
    std::int64_t m_left; ///< steps
    std::int64_t* m_outer;
};

/// What is looked for in a text: a string, an expression, or single characters of a kind.
class Pattern
{
public:
    /// Finds this text; an empty one nowhere.
    [[nodiscard]] static Pattern ofText(std::string text);
    /// Finds each character of this kind.
    [[nodiscard]] static Pattern ofKind(std::function<bool(char32_t)> kind);
    /// Errors (Input): not an expression, or one that ICU does not know.
    [[nodiscard]] static base::Result<Pattern> ofExpression(const std::string& expression);

    /// Every match, from left to right, without overlap. Errors (Input): an expression that takes too long, by itself
    /// or with others under a MatchBudget.
    [[nodiscard]] base::Result<std::vector<Place>> matchesIn(std::string_view text) const;

private:
    struct Expression;

    std::string m_text;
    std::function<bool(char32_t)> m_kind;
    std::shared_ptr<const Expression> m_expression;
};

/// What becomes of the matches when a text is cut at them.
enum class Cut {
    Removed,            ///< they go
    Isolated,           ///< each is a piece
    Contiguous,         ///< neighbours are one piece
    MergedWithPrevious, ///< each ends the piece before it
    MergedWithNext,     ///< each begins the piece behind it
};

/// The pieces of a text of `size` bytes; inverted, what lies between matches counts as match.
[[nodiscard]] std::vector<Place> cutAt(std::size_t size, const std::vector<Place>& matches, Cut cut, bool isInverted);

} // namespace retro::text
