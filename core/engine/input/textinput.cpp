// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/textinput.h"

#include "core/base/file.h"
#include "core/formats/onnxnames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kShownBytes = 40; // of a word in a message

bool isPunctuation(char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; }

std::string lower(std::string_view word)
{
    std::string small(word);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return small;
}

/// A word for a message: not longer than a line.
std::string shown(std::string_view word)
{
    std::size_t end = std::min(word.size(), kShownBytes);
    while (end < word.size() && end > 0 && (static_cast<unsigned char>(word[end]) & 0xC0U) == 0x80U) {
        --end; // not inside a character
    }
    return std::string(word.substr(0, end)) + (end < word.size() ? "…" : "");
}

/// Looks words up and collects their numbers.
class Tokeniser
{
public:
    explicit Tokeniser(const formats::ModelCard& card)
    {
        for (std::size_t i = 0; i < card.vocabulary.size(); ++i) {
            m_numbers.emplace(card.vocabulary[i], static_cast<std::int64_t>(i)); // the first of equal words
        }
        m_unknown = card.unknown.empty() ? std::nullopt : find(card.unknown);
    }

    /// A piece between white space.
    Result<void> add(std::string_view piece)
    {
        if (const auto whole = findAnyCase(piece)) {
            return take(*whole);
        }
        const auto first = std::find_if_not(piece.begin(), piece.end(), isPunctuation);
        const auto last = std::find_if_not(piece.rbegin(), std::make_reverse_iterator(first), isPunctuation).base();
        RETRO_CHECK(addMarks({piece.begin(), first}));
        if (first != last) {
            RETRO_CHECK(addWord({first, last}));
        }
        return addMarks({last, piece.end()});
    }

    std::vector<std::int64_t> tokens;

private:
    std::optional<std::int64_t> find(std::string_view word) const
    {
        const auto at = m_numbers.find(word);
        return at == m_numbers.end() ? std::nullopt : std::optional(at->second);
    }

    std::optional<std::int64_t> findAnyCase(std::string_view word) const
    {
        const auto exact = find(word);
        return exact ? exact : find(lower(word));
    }

    Result<void> addWord(std::string_view word)
    {
        const auto number = findAnyCase(word);
        if (number || m_unknown) {
            return take(number ? *number : *m_unknown);
        }
        return inputError(fmt::format("the word '{}' is not in the vocabulary of the model's card; write another one, "
                                      "or name the word for unknown ones in the card (\"input.unknown\")",
                                      shown(word)));
    }

    Result<void> addMarks(std::string_view marks)
    {
        for (const char& mark : marks) {
            if (const auto number = find(std::string_view(&mark, 1))) {
                RETRO_CHECK(take(*number));
            }
        }
        return {};
    }

    Result<void> take(std::int64_t number)
    {
        if (tokens.size() >= kMostTokens) {
            return inputError(fmt::format("the text has more than {} words; give a shorter one", kMostTokens));
        }
        tokens.push_back(number);
        return {};
    }

    std::map<std::string, std::int64_t, std::less<>> m_numbers;
    std::optional<std::int64_t> m_unknown;
};

/// Number of tokens that the input wants; none = any. Errors: it is no row of integers.
Result<std::optional<std::int64_t>> wantedLength(const graph::Value& input)
{
    const std::size_t rank = input.shape ? input.shape->size() : 2;
    const bool hasBatch = rank == 2 && input.shape && input.shape->front().extent && *input.shape->front().extent != 1;
    const bool isWhole = !tensor::isFloating(input.dtype) && tensor::sizeOf(input.dtype) >= sizeof(std::int32_t);
    if (!isWhole || rank < 1 || rank > 2 || hasBatch) {
        const std::string wants =
            hasBatch ? "several rows" : fmt::format("{} axes of {}", rank, tensor::nameOf(input.dtype));
        return inputError(
            fmt::format("a text becomes one row of integers, and this input wants {}; give an .npy file", wants),
            "input '" + input.name + "'");
    }
    return input.shape ? input.shape->back().extent : std::nullopt;
}

Result<tensor::Tensor> rowOf(const std::string& text, const graph::Value& input, const formats::ModelCard& card)
{
    RETRO_TRY(const std::optional<std::int64_t> wanted, wantedLength(input));
    RETRO_TRY(const std::vector<std::int64_t> tokens, tokensOf(text, card));
    const auto count = static_cast<std::int64_t>(tokens.size());
    if (wanted && *wanted != count) {
        return inputError(fmt::format("the text has {} words and this input wants exactly {}; write as many, or give "
                                      "an .npy file",
                                      count, *wanted),
                          "input '" + input.name + "'");
    }
    const bool isFlat = input.shape && input.shape->size() == 1;
    const tensor::Shape shape = isFlat ? tensor::Shape{count} : tensor::Shape{1, count};
    return tensor::Tensor::of<std::int64_t>(shape, std::span<const std::int64_t>(tokens)).to(input.dtype);
}

} // namespace

Result<std::vector<std::int64_t>> tokensOf(std::string_view text, const formats::ModelCard& card)
{
    if (card.vocabulary.empty()) {
        return inputError("the model's card has no vocabulary, so words have no numbers; add \"input.vocabulary\" to "
                          "the card, or give an .npy file");
    }
    if (!formats::isUtf8(text)) {
        return inputError("this is no text in UTF-8; save it as UTF-8");
    }
    text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
    Tokeniser tokeniser(card);
    std::size_t at = text.find_first_not_of(kSpace);
    while (at != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
        RETRO_CHECK(tokeniser.add(text.substr(at, end - at)));
        at = text.find_first_not_of(kSpace, end);
    }
    if (tokeniser.tokens.empty()) {
        return inputError("there are no words in this text; write some");
    }
    return std::move(tokeniser.tokens);
}

Result<tensor::Tensor> textToInput(const std::filesystem::path& path, const graph::Value& input,
                                   const formats::ModelCard* card)
{
    if (card == nullptr) {
        return base::usageError("a text becomes numbers by the vocabulary of a model card, and this model has no card; "
                                "write one (docs/formats/card.md), or give an .npy file",
                                path.string());
    }
    RETRO_TRY(const std::string text, base::readTextFile(path, kMostTextBytes));
    Result<tensor::Tensor> row = rowOf(text, input, *card);
    return row.ok() ? std::move(row) : base::within(std::move(row).error(), path.string());
}

} // namespace retro::engine
