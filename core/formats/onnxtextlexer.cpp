// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxtextlexer.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::formats
{

namespace
{

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

/// Numbers that are written as words.
bool isNumberWord(std::string_view word)
{
    std::string lower(word);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return lower == "inf" || lower == "infinity" || lower == "nan";
}

} // namespace

void OnnxTextLexer::skipBlanks()
{
    while (m_next < m_text.size()) {
        if (isBlank(m_text[m_next])) {
            ++m_next;
        } else if (m_text[m_next] == '#') {
            const std::size_t end = m_text.find('\n', m_next);
            m_next = end == std::string_view::npos ? m_text.size() : end;
        } else {
            return;
        }
    }
}

void OnnxTextLexer::advance()
{
    skipBlanks();
    m_begin = m_next;
    m_token.clear();
    const char c = at(m_next);
    if (m_next >= m_text.size()) {
        m_kind = OnnxToken::End;
    } else if (isNameStart(c)) {
        readName();
    } else if (isDigit(c) || c == '-' || c == '+' || (c == '.' && isDigit(at(m_next + 1)))) {
        readNumber();
    } else if (c == '"') {
        readText();
    } else {
        m_kind = OnnxToken::Mark;
        m_token = m_text.substr(m_next, c == '=' && at(m_next + 1) == '>' ? 2 : 1);
        m_next += m_token.size();
    }
}

void OnnxTextLexer::readName()
{
    while (isNamePart(at(m_next))) {
        ++m_next;
    }
    m_token = m_text.substr(m_begin, m_next - m_begin);
    m_kind = OnnxToken::Name;
}

void OnnxTextLexer::readNumber()
{
    m_next += at(m_next) == '-' || at(m_next) == '+' ? 1 : 0;
    const std::size_t start = m_next;
    while (isNamePart(at(m_next)) || at(m_next) == '.' ||
           ((at(m_next) == '-' || at(m_next) == '+') && (at(m_next - 1) == 'e' || at(m_next - 1) == 'E'))) {
        ++m_next;
    }
    m_token = m_text.substr(m_begin, m_next - m_begin);
    const std::string_view digits = m_text.substr(start, m_next - start);
    const bool isWhole = !digits.empty() && std::all_of(digits.begin(), digits.end(), isDigit);
    m_kind = isWhole ? OnnxToken::Whole : OnnxToken::Float;
    if (digits.empty() || (isNameStart(digits.front()) && !isNumberWord(digits))) {
        m_kind = OnnxToken::Mark; // a sign alone
        m_token = m_text.substr(m_begin, 1);
        m_next = m_begin + 1;
    }
}

void OnnxTextLexer::readText()
{
    for (++m_next; m_next < m_text.size() && m_text[m_next] != '"'; ++m_next) {
        m_next += m_text[m_next] == '\\' && m_next + 1 < m_text.size() ? 1 : 0;
        m_token += m_text[m_next];
    }
    const bool isClosed = m_next < m_text.size();
    m_kind = isClosed ? OnnxToken::Text : OnnxToken::End;
    m_next += isClosed ? 1 : 0;
}

bool OnnxTextLexer::accept(std::string_view mark)
{
    if (!isMark(mark)) {
        return false;
    }
    advance();
    return true;
}

base::Result<void> OnnxTextLexer::expect(std::string_view mark)
{
    if (accept(mark)) {
        return {};
    }
    return error(fmt::format("'{}' is expected here", mark));
}

base::Error OnnxTextLexer::error(const std::string& message) const
{
    const std::string_view before = m_text.substr(0, m_begin);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = m_begin - (start == std::string_view::npos ? 0 : start + 1) + 1;
    return base::inputError(message + (m_kind == OnnxToken::End ? ", but the text ends" : ""),
                            fmt::format("line {}, column {}", line, column));
}

} // namespace retro::formats
