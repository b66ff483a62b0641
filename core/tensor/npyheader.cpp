// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npyheader.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace retro::tensor
{

using base::inputError;
using base::Result;

namespace
{

constexpr std::array<std::pair<std::string_view, DType>, 12> kCodes{{{"<f4", DType::Float32},
                                                                     {"<f8", DType::Float64},
                                                                     {"<f2", DType::Float16},
                                                                     {"|i1", DType::Int8},
                                                                     {"|u1", DType::UInt8},
                                                                     {"<i2", DType::Int16},
                                                                     {"<u2", DType::UInt16},
                                                                     {"<i4", DType::Int32},
                                                                     {"<u4", DType::UInt32},
                                                                     {"<i8", DType::Int64},
                                                                     {"<u8", DType::UInt64},
                                                                     {"|b1", DType::Bool}}};

/// Byte order does not matter for types of one byte: "<i1" and "|i1" are the same.
bool isSameCode(std::string_view code, std::string_view known)
{
    return code == known || (known[0] == '|' && code.size() == 3 && code.substr(1) == known.substr(1));
}

Result<DType> typeOfCode(std::string_view code)
{
    for (const auto& [known, dtype] : kCodes) {
        if (isSameCode(code, known)) {
            return dtype;
        }
    }
    if (code == "<V2" || code == "|V2") { // how NumPy writes an array of ml_dtypes.bfloat16
        return DType::BFloat16;
    }
    if (code.starts_with('>')) {
        return inputError("the type '" + std::string(code) +
                          "' is big endian, which is not read; convert it with NumPy: a.astype('<" +
                          std::string(code.substr(1)) + "')");
    }
    return inputError("the type '" + std::string(code) +
                      "' is not read; bool, integers and floats of 2, 4 or 8 bytes are (a.astype('<f4') converts)");
}

/// Cursor over the header's text.
class HeaderReader
{
public:
    explicit HeaderReader(std::string_view text) : m_text(text) {}

    Result<NpyHeader> dictionary()
    {
        if (!take('{')) {
            return inputError("it does not start with '{'");
        }
        while (!take('}')) {
            RETRO_TRY(const std::string_view key, quoted());
            if (!take(':')) {
                return inputError("a ':' is missing after the key '" + std::string(key) + "'");
            }
            RETRO_CHECK(entry(key));
            if (!take(',') && !next('}')) {
                return inputError("a ',' is missing after the entry '" + std::string(key) + "'");
            }
        }
        return complete();
    }

private:
    Result<void> entry(std::string_view key)
    {
        Result<void> read;
        if (key == "descr") {
            read = readType();
        } else if (key == "fortran_order") {
            read = readOrder();
        } else if (key == "shape") {
            read = readShape();
        } else {
            return inputError("the key '" + std::string(key) + "' is not known");
        }
        return read.ok() ? read : base::within(std::move(read).error(), "field '" + std::string(key) + "'");
    }

    Result<void> readType()
    {
        if (next('[')) {
            return inputError("structured types are not read; save one plain array per file");
        }
        RETRO_TRY(const std::string_view code, quoted());
        RETRO_TRY(m_type, typeOfCode(code));
        return {};
    }

    Result<void> readOrder()
    {
        skipSpace();
        for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
            if (m_text.substr(m_at).starts_with(word)) {
                m_at += word.size();
                m_order = value;
                return {};
            }
        }
        return inputError("it is neither True nor False");
    }

    Result<void> readShape()
    {
        if (!take('(')) {
            return inputError("it is not a tuple of numbers");
        }
        Shape shape;
        while (!take(')')) {
            RETRO_TRY(const std::int64_t extent, number());
            shape.push_back(extent);
            if (shape.size() > kMaxRank) {
                return inputError("it has more than " + std::to_string(kMaxRank) + " axes");
            }
            if (!take(',') && !next(')')) {
                return inputError("it is not a tuple of numbers");
            }
        }
        m_shape = std::move(shape);
        return {};
    }

    Result<std::int64_t> number()
    {
        skipSpace();
        std::int64_t value = 0;
        const char* begin = m_text.data() + m_at;
        const auto [end, error] = std::from_chars(begin, m_text.data() + m_text.size(), value);
        if (error != std::errc() || value < 0) {
            return inputError("it holds something that is not a whole number of 0 or more");
        }
        m_at += static_cast<std::size_t>(end - begin);
        return value;
    }

    Result<std::string_view> quoted()
    {
        skipSpace();
        const char quote = m_at < m_text.size() ? m_text[m_at] : '\0';
        const std::size_t end = quote == '\'' || quote == '"' ? m_text.find(quote, m_at + 1) : std::string_view::npos;
        if (end == std::string_view::npos) {
            return inputError("a quoted text is missing");
        }
        const std::string_view text = m_text.substr(m_at + 1, end - m_at - 1);
        m_at = end + 1;
        return text;
    }

    Result<NpyHeader> complete()
    {
        skipSpace();
        if (m_at != m_text.size()) {
            return inputError("something follows the closing '}'");
        }
        if (!m_type || !m_order || !m_shape) {
            return inputError("a field is missing", !m_type    ? "field 'descr'"
                                                    : !m_order ? "field 'fortran_order'"
                                                               : "field 'shape'");
        }
        return NpyHeader{*m_type, *m_order, std::move(*m_shape)};
    }

    void skipSpace()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\n' || m_text[m_at] == '\t')) {
            ++m_at;
        }
    }
    bool next(char c)
    {
        skipSpace();
        return m_at < m_text.size() && m_text[m_at] == c;
    }
    bool take(char c)
    {
        const bool isHere = next(c);
        m_at += isHere ? 1 : 0;
        return isHere;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    std::optional<DType> m_type;
    std::optional<bool> m_order;
    std::optional<Shape> m_shape;
};

} // namespace

Result<NpyHeader> parseNpyHeader(std::string_view text) { return HeaderReader(text).dictionary(); }

std::string_view npyTypeCode(DType dtype)
{
    for (const auto& [code, known] : kCodes) {
        if (known == dtype) {
            return code;
        }
    }
    return "<f4"; // BFloat16
}

} // namespace retro::tensor
