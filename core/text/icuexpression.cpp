// SPDX-License-Identifier: Apache-2.0
#include "core/text/icuexpression.h"

#include "core/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace retro::text
{

namespace
{

using base::inputError;
using base::Result;

constexpr int kDeepestSet = 32;

/// Kinds of characters that have one name for both, as members of a set of ICU.
struct NamedKind
{
    std::string_view name;
    std::string_view members;
};
constexpr std::array kNamedKinds{
    NamedKind{"alnum", R"(\p{Alphabetic}\p{Nd})"},
    NamedKind{"alpha", R"(\p{Alphabetic})"},
    NamedKind{"ascii", R"(\u0000-\u007F)"},
    NamedKind{"blank", R"(\t\p{Zs})"},
    NamedKind{"cntrl", R"(\p{Cc})"},
    NamedKind{"digit", R"(\p{Nd})"},
    NamedKind{"graph", R"([^\p{White_Space}\p{Cc}\p{Cn}\p{Cs}])"},
    NamedKind{"lower", R"(\p{Lowercase})"},
    NamedKind{"print", R"([^\p{Cc}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]\p{Zs})"},
    NamedKind{"punct", R"(\p{P}\p{S})"},
    NamedKind{"space", R"(\p{White_Space})"},
    NamedKind{"upper", R"(\p{Uppercase})"},
    NamedKind{"word", R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})"},
    NamedKind{"xdigit", "0-9A-Fa-f"},
};
constexpr std::string_view kAnything = R"([\u0000-\U0010FFFF])"; // ICU's dot takes "\r\n" as one
constexpr std::string_view kHexMembers = "0-9A-Fa-f";
constexpr std::string_view kWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
/// Of \w and \p{Word} that stand outside brackets.
constexpr std::string_view kWordAlone = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u00B2\u00B3\u00B9\u00BC-\u00BE)";

std::optional<std::string_view> membersOf(std::string_view name)
{
    const auto at = std::ranges::find(kNamedKinds, name, &NamedKind::name);
    return at == kNamedKinds.end() ? std::nullopt : std::optional(at->members);
}

bool isAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isAsciiDigit(char c) { return c >= '0' && c <= '9'; }
bool isHexDigit(char c) { return isAsciiDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isOctalDigit(char c) { return c >= '0' && c <= '7'; }
bool isAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool isOfPropertyName(char c) { return isAsciiLetter(c) || isAsciiDigit(c) || c == '_' || c == ' ' || c == '-'; }

/// Blanks, _ and - count for nothing in the name of a property, and neither does case.
std::string plainName(std::string_view name)
{
    std::string plain;
    for (const char c : name) {
        if (c != ' ' && c != '_' && c != '-') {
            plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
        }
    }
    return plain;
}

/// Of \p{…}: punct has not the symbols that [:punct:] has.
std::optional<std::string_view> membersOfProperty(std::string_view plain, bool isInSet)
{
    if (plain == "punct") {
        return R"(\p{P})";
    }
    return plain == "word" && !isInSet ? kWordAlone : membersOf(plain);
}

/// A character that stands for itself, inside and outside sets.
std::string literal(char32_t code)
{
    const bool isPlain =
        code > 0x7F ||
        (code < 0x80 && (isAsciiLetter(static_cast<char>(code)) || isAsciiDigit(static_cast<char>(code))));
    std::string text;
    if (isPlain) {
        append(text, code);
    } else {
        text = fmt::format("\\x{{{:X}}}", static_cast<std::uint32_t>(code));
    }
    return text;
}

/// Reads an expression from left to right and writes it anew.
class IcuWriter
{
public:
    explicit IcuWriter(const std::string& expression) : m_text(expression) {}

    Result<std::string> write()
    {
        m_levels.push_back({});
        while (m_at < m_text.size()) {
            RETRO_CHECK(writeNext());
        }
        closeOptions();
        return std::move(m_out);
    }

private:
    struct Level
    {
        std::size_t begin = 0; ///< of the group, in what is written
        bool foldsCase = false;
        bool isDotAll = false; ///< the dot matches line ends
        bool isExtended = false;
        int options = 0; ///< groups that (?i) and the like have opened
    };
    /// A member of a set: one character, or several in ICU's words.
    struct Member
    {
        std::optional<char32_t> code;
        std::string members;
    };

    [[nodiscard]] bool has(std::size_t ahead = 0) const { return m_at + ahead < m_text.size(); }
    [[nodiscard]] char peek(std::size_t ahead = 0) const { return has(ahead) ? m_text[m_at + ahead] : '\0'; }
    [[nodiscard]] bool startsWith(std::string_view part) const
    {
        return std::string_view(m_text).substr(m_at).starts_with(part);
    }
    [[nodiscard]] base::Error refused(std::string_view what) const
    {
        return inputError(
            fmt::format("the expression '{}' has {}, which is not supported; write it without", m_text, what));
    }

    void atom(std::string_view written)
    {
        m_atom = m_out.size();
        m_isRepeated = false;
        m_out += written;
    }
    char32_t takeCharacter()
    {
        const Character one = characterAt(m_text, m_at);
        m_at += std::max<std::uint32_t>(one.bytes, 1);
        return one.code;
    }

    Result<void> writeNext()
    {
        const char c = peek();
        if (m_levels.back().isExtended && isAsciiSpace(c)) {
            ++m_at;
            return {};
        }
        if (m_levels.back().isExtended && c == '#') {
            m_at = std::min(m_text.find('\n', m_at), m_text.size());
            return {};
        }
        switch (c) {
        case '\\':
            return writeEscape();
        case '[': {
            RETRO_TRY(const std::string set, set(0));
            atom(set);
            return {};
        }
        case '(':
            return openGroup();
        case ')':
            return closeGroup();
        case '*':
        case '+':
        case '?':
            repeat(std::string(1, c), 1, true);
            return {};
        case '{':
            return writeInterval();
        case '|':
            ++m_at;
            m_out += '|';
            m_atom = std::string::npos;
            return {};
        case '.':
            ++m_at;
            atom(m_levels.back().isDotAll ? kAnything : ".");
            return {};
        case '^':
        case '$':
            ++m_at;
            atom(std::string_view(&c, 1));
            return {};
        default:
            atom(literal(takeCharacter()));
            return {};
        }
    }

    /// What was written last is repeated.
    void repeat(std::string_view mark, std::size_t length, bool mayBePossessive)
    {
        m_at += length;
        std::string whole(mark);
        if (peek() == '?' || (peek() == '+' && mayBePossessive)) {
            whole += m_text[m_at++];
        }
        writeMark(whole);
    }

    /// A repetition of a repetition is put into a group.
    void writeMark(std::string_view mark)
    {
        if (m_isRepeated && m_atom != std::string::npos) {
            m_out.insert(m_atom, "(?:");
            m_out += ')';
        }
        m_isRepeated = true;
        m_out += mark;
    }

    /// {n}, {n,}, {,m} and {n,m}; other braces stand for themselves.
    Result<void> writeInterval()
    {
        std::size_t end = m_at + 1;
        const auto digits = [&] {
            const std::size_t begin = end;
            while (end < m_text.size() && isAsciiDigit(m_text[end])) {
                ++end;
            }
            return m_text.substr(begin, end - begin);
        };
        const std::string least = digits();
        const bool isRange = end < m_text.size() && m_text[end] == ',';
        end += isRange ? 1 : 0;
        const std::string most = isRange ? digits() : least;
        if (end >= m_text.size() || m_text[end] != '}' || (least.empty() && most.empty())) {
            atom(literal(takeCharacter()));
            return {};
        }
        const std::string mark =
            !isRange ? fmt::format("{{{}}}", least) : fmt::format("{{{},{}}}", least.empty() ? "0" : least, most);
        const std::size_t length = end + 1 - m_at;
        if (isRange) { // a + behind it repeats the interval
            repeat(mark, length, false);
        } else { // and so does a ?
            m_at += length;
            writeMark(mark);
        }
        return {};
    }

    Result<void> openGroup()
    {
        Level level = m_levels.back();
        level.begin = m_out.size();
        level.options = 0;
        if (startsWith("(?#")) {
            const std::size_t end = m_text.find(')', m_at);
            m_at = end == std::string::npos ? m_text.size() : end + 1;
            return {};
        }
        for (const std::string_view start : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"}) {
            if (startsWith(start)) {
                return pushGroup(level, start, start.size());
            }
        }
        if (startsWith("(?<")) {
            const std::size_t end = m_text.find('>', m_at);
            if (end == std::string::npos) {
                return refused("a group whose name does not end");
            }
            const std::string name = m_text.substr(m_at, end + 1 - m_at);
            return pushGroup(level, name, name.size());
        }
        return startsWith("(?") ? writeOptions() : pushGroup(level, "(", 1);
    }

    Result<void> pushGroup(const Level& level, std::string_view start, std::size_t length)
    {
        m_out += start;
        m_at += length;
        m_levels.push_back(level);
        m_atom = std::string::npos;
        m_isRepeated = false;
        return {};
    }

    /// (?imx-imx) holds up to the end of the group, also behind a |; m lets the dot match line ends.
    Result<void> writeOptions()
    {
        std::size_t end = m_at + 2;
        Level level = m_levels.back();
        bool isOn = true;
        for (; end < m_text.size() && m_text[end] != ':' && m_text[end] != ')'; ++end) {
            const char c = m_text[end];
            if (c == '-' && isOn) {
                isOn = false;
            } else if (c == 'i') {
                level.foldsCase = isOn;
            } else if (c == 'm') {
                level.isDotAll = isOn;
            } else if (c == 'x') {
                level.isExtended = isOn;
            } else {
                return refused(fmt::format("the group '(?{}'", m_text.substr(m_at + 2, end - m_at - 1)));
            }
        }
        const std::string start = level.foldsCase ? "(?i:" : "(?-i:";
        const bool isWhole = end < m_text.size() && m_text[end] == ')';
        level.begin = m_out.size();
        if (isWhole) { // the rest of the group it stands in
            Level& own = m_levels.back();
            own.foldsCase = level.foldsCase;
            own.isDotAll = level.isDotAll;
            own.isExtended = level.isExtended;
            ++own.options;
            m_out += start;
            m_at = end + 1;
            m_atom = std::string::npos;
            m_isRepeated = false;
            return {};
        }
        level.options = 0;
        return pushGroup(level, start, std::min(end + 1, m_text.size()) - m_at);
    }

    void closeOptions() { m_out.append(static_cast<std::size_t>(m_levels.back().options), ')'); }

    Result<void> closeGroup()
    {
        ++m_at;
        if (m_levels.size() == 1) {
            m_out += ')'; // ICU says what is wrong
            return {};
        }
        closeOptions();
        m_atom = m_levels.back().begin;
        m_isRepeated = false;
        m_levels.pop_back();
        m_out += ')';
        return {};
    }

    /// What folds no case, though letters around it do.
    void unfolded(std::string_view written)
    {
        atom(m_levels.back().foldsCase ? fmt::format("(?-i:{})", written) : std::string(written));
    }

    Result<void> writeEscape()
    {
        if (!has(1)) {
            m_out += m_text[m_at++]; // ICU says what is wrong
            return {};
        }
        const char c = peek(1);
        if (isAsciiDigit(c) && c != '0') {
            return writeReference();
        }
        switch (c) {
        case 'w':
        case 'W':
            return writeAlone(fmt::format("[{}{}]", c == 'W' ? "^" : "", kWordAlone));
        case 'h':
        case 'H':
            return writeAlone(fmt::format("[{}{}]", c == 'H' ? "^" : "", kHexMembers));
        case 'b':
            return writeAlone(fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", kWordAlone));
        case 'B':
            return writeAlone(fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", kWordAlone));
        case 'N':
            return writeAlone("[^\\n]");
        case 'O':
            return writeAlone(std::string(kAnything));
        case 'Z':
            return writeAlone("(?=\\n?\\z)");
        case 'd':
        case 'D':
        case 's':
        case 'S':
        case 'A':
        case 'z':
        case 'R':
            return writeAlone(std::string{'\\', c});
        case 'G':
        case 'K':
        case 'X':
        case 'y':
        case 'Y':
            return refused(fmt::format("'\\{}'", c));
        case 'g':
        case 'k':
            return writeNamed(c);
        default:
            break;
        }
        RETRO_TRY(const Member member, escaped(false));
        if (member.code) {
            atom(literal(*member.code));
        } else {
            unfolded(member.members);
        }
        return {};
    }

    /// An escape of two characters.
    Result<void> writeAlone(const std::string& written)
    {
        m_at += 2;
        atom(written);
        return {};
    }

    /// \1 to \9.
    Result<void> writeReference()
    {
        if (isAsciiDigit(peek(2))) {
            return refused(fmt::format("'\\{}{}'", peek(1), peek(2)));
        }
        return writeAlone(fmt::format("(?:\\{})", peek(1)));
    }

    /// \k<name>; a call of a group is refused. Without a name, the letter stands for itself.
    Result<void> writeNamed(char letter)
    {
        const std::size_t end = peek(2) == '<' ? m_text.find('>', m_at) : std::string::npos;
        const bool isName = letter == 'k' && end != std::string::npos && isAsciiLetter(peek(3)) &&
                            std::all_of(m_text.begin() + static_cast<std::ptrdiff_t>(m_at) + 3,
                                        m_text.begin() + static_cast<std::ptrdiff_t>(end),
                                        [](char c) { return isAsciiLetter(c) || isAsciiDigit(c); });
        if (isName) {
            atom(m_text.substr(m_at, end + 1 - m_at));
            m_at = end + 1;
            return {};
        }
        if (peek(2) == '<' || peek(2) == '\'') {
            return refused(fmt::format("'\\{}{}'", letter, peek(2)));
        }
        return writeAlone(std::string(1, letter));
    }

    /// An escape that stands for one character or for a kind of them, in sets too.
    Result<Member> escaped(bool isInSet)
    {
        const char c = peek(1);
        if (static_cast<unsigned char>(c) > 0x7F) {
            ++m_at;
            return Member{takeCharacter(), {}};
        }
        m_at += 2;
        constexpr std::string_view kLetters = "abefnrtv";
        constexpr std::string_view kCodes = "\a\b\x1B\f\n\r\t\v";
        if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
            return Member{static_cast<char32_t>(kCodes[known]), {}};
        }
        if (isOctalDigit(c)) {
            return octal(c);
        }
        switch (c) {
        case 'x':
            return hexadecimal();
        case 'u':
            return fourDigits();
        case 'c':
            return control();
        case 'C':
        case 'M':
            return refused(fmt::format("'\\{}'", c));
        case 'p':
        case 'P':
            return peek() == '{' ? property(c == 'P', isInSet) : Member{static_cast<char32_t>(c), {}};
        default:
            return isInSet ? kindInSet(c) : Member{static_cast<char32_t>(c), {}};
        }
    }

    static Member kindInSet(char c)
    {
        switch (c) {
        case 'w':
            return {std::nullopt, std::string(kWordMembers)};
        case 'W':
            return {std::nullopt, fmt::format("[^{}]", kWordMembers)};
        case 'h':
            return {std::nullopt, std::string(kHexMembers)};
        case 'H':
            return {std::nullopt, fmt::format("[^{}]", kHexMembers)};
        case 'd':
        case 'D':
        case 's':
        case 'S':
            return {std::nullopt, std::string{'\\', c}};
        default:
            return {static_cast<char32_t>(c), {}};
        }
    }

    /// The first digit, and up to two more.
    Member octal(char first)
    {
        auto code = static_cast<char32_t>(first - '0');
        for (int i = 0; i < 2 && isOctalDigit(peek()); ++i) {
            code = code * 8 + static_cast<char32_t>(m_text[m_at++] - '0');
        }
        return {code, {}};
    }

    /// As many digits as there are, up to `most`.
    char32_t digitsOf(std::size_t most, std::size_t& count)
    {
        char32_t code = 0;
        for (count = 0; count < most && isHexDigit(peek()); ++count) {
            const char c = m_text[m_at++];
            code = code * 16 + static_cast<char32_t>(isAsciiDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return code;
    }

    Result<Member> hexadecimal()
    {
        std::size_t count = 0;
        if (peek() == '{') {
            ++m_at;
            const char32_t code = digitsOf(8, count);
            if (count == 0 || peek() != '}' || code > 0x10FFFF) {
                return refused("'\\x{' with no number of a character behind it");
            }
            ++m_at;
            return Member{code, {}};
        }
        const char32_t code = digitsOf(2, count);
        if (code > 0x7F) {
            return refused("'\\x' with a byte that is no character");
        }
        return Member{count == 0 ? U'x' : code, {}};
    }

    Result<Member> fourDigits()
    {
        const std::size_t begin = m_at;
        std::size_t count = 0;
        const char32_t code = digitsOf(4, count);
        if (count == 4) {
            return Member{code, {}};
        }
        m_at = begin;
        return Member{U'u', {}};
    }

    Result<Member> control()
    {
        if (!isAsciiLetter(peek())) {
            return refused("'\\c'");
        }
        return Member{static_cast<char32_t>(m_text[m_at++] & 0x1F), {}};
    }

    /// \p{name}, whose braces come next; blanks, _ and - count for nothing in a name.
    Result<Member> property(bool isNegated, bool isInSet)
    {
        const std::size_t end = m_text.find('}', m_at);
        if (end == std::string::npos) {
            return refused("'\\p{' without an end");
        }
        std::string name = m_text.substr(m_at + 1, end - m_at - 1);
        m_at = end + 1;
        if (name.starts_with('^')) {
            isNegated = !isNegated;
            name.erase(0, 1);
        }
        if (const std::optional<std::string_view> members = membersOfProperty(plainName(name), isInSet)) {
            const bool isBare = isInSet && !isNegated;
            return Member{std::nullopt,
                          isBare ? std::string(*members) : fmt::format("[{}{}]", isNegated ? "^" : "", *members)};
        }
        if (!std::ranges::all_of(name, isOfPropertyName)) {
            return refused(fmt::format("the property '{}'", name));
        }
        return Member{std::nullopt, fmt::format("\\{}{{{}}}", isNegated ? 'P' : 'p', name)};
    }

    /// A set, brackets and all.
    Result<std::string> set(int depth)
    {
        if (depth == kDeepestSet) {
            return refused(fmt::format("brackets inside each other, deeper than {}", kDeepestSet));
        }
        ++m_at;
        const bool isNegated = peek() == '^';
        m_at += isNegated ? 1 : 0;
        std::vector<std::string> parts(1); // between &&
        bool isFirst = true;
        for (; has() && (peek() != ']' || isFirst); isFirst = false) {
            if (startsWith("&&")) {
                m_at += 2;
                parts.emplace_back();
                continue;
            }
            RETRO_TRY(const Member member, setMember(depth));
            RETRO_TRY(std::string written, withRange(member, depth));
            parts.back() += written;
        }
        if (!has()) {
            return refused("a bracket that does not end");
        }
        ++m_at;
        if (std::ranges::any_of(parts, [](const std::string& part) { return part.empty(); })) {
            return refused("brackets with nothing in them, or beside '&&'");
        }
        const std::string_view sign = isNegated ? "^" : "";
        if (parts.size() == 1) {
            return fmt::format("[{}{}]", sign, parts.front());
        }
        std::string common;
        for (const std::string& part : parts) {
            common += fmt::format("{}[{}]", common.empty() ? "" : "&&", part);
        }
        return isNegated ? fmt::format("[^[{}]]", common) : fmt::format("[{}]", common);
    }

    /// The member, or the range that begins with it.
    Result<std::string> withRange(const Member& member, int depth)
    {
        if (!member.code) {
            return member.members;
        }
        const bool isRange = peek() == '-' && has(1) && peek(1) != ']';
        if (!isRange) {
            return literal(*member.code);
        }
        ++m_at;
        RETRO_TRY(const Member last, setMember(depth));
        if (!last.code) { // then the hyphen stands for itself
            return literal(*member.code) + literal(U'-') + last.members;
        }
        return fmt::format("{}-{}", literal(*member.code), literal(*last.code));
    }

    Result<Member> setMember(int depth)
    {
        if (peek() == '\\' && has(1)) {
            return escaped(true);
        }
        if (startsWith("[:")) {
            if (const std::size_t end = m_text.find(":]", m_at + 2); end != std::string::npos) {
                return namedKind(end);
            }
        }
        if (peek() == '[') {
            RETRO_TRY(std::string inner, set(depth + 1));
            return Member{std::nullopt, std::move(inner)};
        }
        return Member{takeCharacter(), {}};
    }

    /// [:name:], which ends there.
    Result<Member> namedKind(std::size_t end)
    {
        std::string name = m_text.substr(m_at + 2, end - m_at - 2);
        m_at = end + 2;
        const bool isNegated = name.starts_with('^');
        name.erase(0, isNegated ? 1 : 0);
        const std::optional<std::string_view> members = membersOf(name);
        if (!members) {
            return refused(fmt::format("'[:{}:]'", name));
        }
        return Member{std::nullopt, isNegated ? fmt::format("[^{}]", *members) : std::string(*members)};
    }

    const std::string& m_text;
    std::size_t m_at = 0;
    std::string m_out;
    std::vector<Level> m_levels;
    std::size_t m_atom = std::string::npos; ///< where what a repetition repeats begins, in what is written
    bool m_isRepeated = false;              ///< and whether it ends with one
};

} // namespace

Result<std::string> icuExpression(const std::string& expression) { return IcuWriter(expression).write(); }

} // namespace retro::text
