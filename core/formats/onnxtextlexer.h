// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace retro::formats
{

/// What a piece of the ONNX text form is.
enum class OnnxToken : std::uint8_t {
    End,
    Name,  ///< a letter or '_', then letters, digits and '_'
    Whole, ///< 12, -3
    Float, ///< 1.5, 1e-3, inf, -nan
    Text,  ///< in double quotes
    Mark   ///< one character, or "=>"
};

/// Takes the ONNX text form apart. White space separates; `#` begins a comment that ends with its line. The text must
/// outlive the lexer.
class OnnxTextLexer
{
public:
    explicit OnnxTextLexer(std::string_view text) : m_text(text) { advance(); }

    [[nodiscard]] OnnxToken kind() const { return m_kind; }
    /// The present token as it is written; a text without its quotes, escapes resolved.
    [[nodiscard]] const std::string& token() const { return m_token; }
    /// True when the present token is this mark.
    [[nodiscard]] bool isMark(std::string_view mark) const { return m_kind == OnnxToken::Mark && m_token == mark; }
    /// True when the present token is this name.
    [[nodiscard]] bool isName(std::string_view name) const { return m_kind == OnnxToken::Name && m_token == name; }
    /// Goes to the next token.
    void advance();
    /// Goes on when the present token is this mark; false = it is another one.
    bool accept(std::string_view mark);
    /// As accept(), but another token is an error.
    [[nodiscard]] base::Result<void> expect(std::string_view mark);
    /// An error (Input) at the present token, with its line and column.
    [[nodiscard]] base::Error error(const std::string& message) const;

private:
    void skipBlanks();
    void readName();
    void readNumber();
    void readText();
    [[nodiscard]] char at(std::size_t position) const { return position < m_text.size() ? m_text[position] : '\0'; }

    std::string_view m_text;
    std::size_t m_begin = 0; // of the present token
    std::size_t m_next = 0;
    OnnxToken m_kind = OnnxToken::End;
    std::string m_token;
};

} // namespace retro::formats
