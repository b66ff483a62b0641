// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/text/tokeniser.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// A token as people read it.
struct LanguageToken
{
    text::TokenId id = 0;
    std::string text; ///< "⟨E2 82⟩" where its bytes are no whole character; "#12" where nobody knows
    std::optional<text::Range> place; ///< characters of the text, where there is a text
};

/// The words of a model: its tokeniser, or nothing but numbers.
class LanguageWords
{
public:
    LanguageWords() = default;
    explicit LanguageWords(std::shared_ptr<const text::Tokeniser> tokeniser) : m_tokeniser(std::move(tokeniser)) {}

    [[nodiscard]] const text::Tokeniser* tokeniser() const { return m_tokeniser.get(); }
    /// Text of a token; empty without words.
    [[nodiscard]] std::string textOf(text::TokenId id) const;
    /// `" Paris" (12366)`; without words the number alone.
    [[nodiscard]] std::string quoted(text::TokenId id) const;
    /// The token that a person means: a number, a word as it stands inside a text, or a token as the vocabulary writes
    /// it; `takesFirst`: of a word of several tokens the first. `option` is for messages. Errors (Usage): a word that
    /// is several tokens (they are named), or none; a word without a tokeniser; a number that no token has.
    [[nodiscard]] base::Result<text::TokenId> idOf(const std::string& word, bool takesFirst, std::int64_t words,
                                                   const std::string& option) const;
    /// The tokens of a text. Errors: as Tokeniser::encode(); Usage: no tokeniser.
    [[nodiscard]] base::Result<std::vector<LanguageToken>> tokensOf(const std::string& text, bool withSpecials) const;
    [[nodiscard]] std::vector<LanguageToken> tokensOf(std::span<const std::int64_t> ids) const;

    /// The token that stands for a word that is not there: of the vocabulary's [MASK], <mask>, [UNK], <unk>, <pad>,
    /// ends of texts the first; none without any.
    [[nodiscard]] std::optional<text::TokenId> blank() const;

private:
    std::shared_ptr<const text::Tokeniser> m_tokeniser;
};

/// The words of the model in `model`: by the file `named`, else by tokenizer.json beside the model, else none. A file
/// beside the model that cannot be read is no error where no text needs it: `warning` then says why there are no words.
[[nodiscard]] base::Result<LanguageWords> languageWords(const std::filesystem::path& model, const std::string& named,
                                                        bool isNeeded, std::string& warning);

/// A text for one line: control characters escaped, "␣" for a token of spaces alone, "⏎" for ends of lines.
[[nodiscard]] std::string lineText(const std::string& text);

} // namespace retro::engine
