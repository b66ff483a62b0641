// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxtextforms.h"

#include "core/formats/graphjsonnames.h"
#include "core/formats/onnxdiagnosis.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtextreader.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace retro::formats
{

using base::inputError;
using base::Result;
using onnxschema::ModelProto;

namespace
{

/// Messages and texts that are read, each counted as this many numbers; numbers are small, messages are not.
constexpr std::uint64_t kNumbersPerField = 4;
constexpr std::uint64_t kMostNumbers = 4'000'000;
constexpr int kMaxTextNesting = 100;

/// Names that a model's outermost fields have, as text format and both spellings of JSON write them.
constexpr std::array<std::string_view, 15> kModelFields{
    "ir_version",      "irVersion",     "producer_name",  "producerName", "producer_version",
    "producerVersion", "model_version", "modelVersion",   "doc_string",   "graph",
    "opset_import",    "opsetImport",   "metadata_props", "functions",    "domain"};

bool isModelField(std::string_view name)
{
    return std::find(kModelFields.begin(), kModelFields.end(), name) != kModelFields.end();
}

/// Names in JSON that nothing but a model has on its outermost level.
bool tellsOnnx(std::string_view name) { return name != "domain" && isModelField(name); }

std::string_view textOf(std::span<const std::byte> data)
{
    std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    if (text.starts_with("\xEF\xBB\xBF")) {
        text.remove_prefix(3); // a byte order mark
    }
    return text;
}

bool isBlankChar(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

bool isWordChar(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Without blanks and lines that begin with #.
std::string_view withoutBlanks(std::string_view text)
{
    while (!text.empty() && (isBlankChar(text.front()) || text.front() == '#')) {
        const std::size_t line = text.front() == '#' ? text.find('\n') : 0;
        text.remove_prefix(line == std::string_view::npos ? text.size() : line + 1);
    }
    return text;
}

/// Takes a word from the front.
std::string_view takeWord(std::string_view& text)
{
    const auto* end = std::find_if_not(text.begin(), text.end(), isWordChar);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    return word;
}

/// Walks over JSON without decoding it.
class JsonOutline
{
public:
    explicit JsonOutline(std::string_view text) : m_text(text) {}

    TextForm form()
    {
        for (; m_at < m_text.size(); ++m_at) {
            const char c = m_text[m_at];
            m_depth += depthStep(c);
            if (c != '"') {
                continue;
            }
            const std::string_view word = takeText();
            if (m_depth != 1 || !isName()) {
                continue;
            }
            if (const auto told = formOf(word)) {
                return *told;
            }
        }
        return TextForm::OtherJson;
    }

private:
    /// How much deeper the text behind this character is.
    static int depthStep(char c) { return c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0; }

    /// The form that a name on the outermost level, which has been read, tells.
    [[nodiscard]] std::optional<TextForm> formOf(std::string_view name) const
    {
        if (name == "format") {
            return formatIsOurs() ? TextForm::GraphJson : TextForm::OtherJson;
        }
        return tellsOnnx(name) ? std::optional(TextForm::OnnxJson) : std::nullopt;
    }

    /// From one quote to the next; stays on the latter.
    std::string_view takeText()
    {
        const std::size_t begin = ++m_at;
        while (m_at < m_text.size() && m_text[m_at] != '"') {
            m_at += m_text[m_at] == '\\' ? 2 : 1;
        }
        return m_text.substr(std::min(begin, m_text.size()), m_at - begin);
    }

    [[nodiscard]] std::string_view rest() const
    {
        std::string_view text = m_text.substr(std::min(m_at + 1, m_text.size()));
        while (!text.empty() && isBlankChar(text.front())) {
            text.remove_prefix(1);
        }
        return text;
    }

    [[nodiscard]] bool isName() const { return rest().starts_with(':'); }

    [[nodiscard]] bool formatIsOurs() const
    {
        std::string_view text = rest().substr(1);
        while (!text.empty() && isBlankChar(text.front())) {
            text.remove_prefix(1);
        }
        return text.starts_with("\"" + std::string(kGraphJsonName));
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    int m_depth = 0;
};

/// Walks over a text and counts what it makes.
class Weight
{
public:
    explicit Weight(std::string_view text) : m_text(text) {}

    [[nodiscard]] std::uint64_t numbers()
    {
        for (; m_at < m_text.size() && m_numbers <= kMostNumbers; ++m_at) {
            const char c = m_text[m_at];
            if (c == '"' || c == '\'') {
                skipText(c);
            } else if (c == '#') {
                const std::size_t end = m_text.find('\n', m_at);
                m_at = end == std::string_view::npos ? m_text.size() : end;
            } else if (c == ':' || c == ',' || c == '{' || c == '(' || c == '=' || c == '<' || c == '[') {
                m_numbers += isBeforeNumber() ? 1 : kNumbersPerField;
            }
        }
        return m_numbers;
    }

private:
    void skipText(char quote)
    {
        for (++m_at; m_at < m_text.size() && m_text[m_at] != quote && m_text[m_at] != '\n'; ++m_at) {
            m_at += m_text[m_at] == '\\' ? 1 : 0;
        }
    }

    [[nodiscard]] bool isBeforeNumber() const
    {
        std::size_t next = m_at + 1;
        while (next < m_text.size() && isBlankChar(m_text[next])) {
            ++next;
        }
        const char c = next < m_text.size() ? m_text[next] : '\0';
        return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    std::uint64_t m_numbers = 0;
};

/// Keeps the first fault that protobuf finds.
class FirstFault final : public google::protobuf::io::ErrorCollector
{
public:
    void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override
    {
        if (m_text.empty()) {
            m_text = message;
            m_where = fmt::format("line {}, column {}", line + 1, column + 1);
        }
    }
    void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}

    [[nodiscard]] base::Error error() const
    {
        const std::string text = m_text.empty() ? std::string("it is not complete") : m_text;
        return inputError("this text cannot be read as an ONNX model in protobuf's text format: " + text, m_where);
    }

private:
    std::string m_text;
    std::string m_where;
};

Result<void> parseTextProto(std::string_view text, ModelProto& model)
{
    google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    FirstFault fault;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&fault);
    parser.AllowPartialMessage(true);
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMaxTextNesting);
    return parser.Parse(&stream, &model) ? Result<void>() : fault.error();
}

Result<void> parseOnnxJson(std::string_view text, ModelProto& model)
{
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const auto status = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &model, options);
    if (status.ok()) {
        return {};
    }
    std::string message(status.message().data(), status.message().size());
    std::replace(message.begin(), message.end(), '\n', ' ');
    return inputError("this JSON cannot be read as an ONNX model: " + message);
}

} // namespace

std::string_view nameOf(TextForm form)
{
    switch (form) {
    case TextForm::OnnxJson:
        return "ONNX as JSON";
    case TextForm::TextProto:
        return "ONNX in protobuf's text format";
    case TextForm::OnnxText:
        return "the ONNX text form";
    case TextForm::GraphJson:
    case TextForm::OtherJson:
        return "JSON";
    case TextForm::None:
        break;
    }
    return "no text form of a model";
}

TextForm textFormOf(std::span<const std::byte> data)
{
    if (!beginsAsText(data)) {
        return TextForm::None;
    }
    std::string_view text = withoutBlanks(textOf(data));
    if (text.starts_with('{')) {
        return JsonOutline(text).form();
    }
    const bool hasHead = text.starts_with('<');
    text = hasHead ? withoutBlanks(text.substr(1)) : text;
    if (hasHead && text.starts_with('>')) {
        return TextForm::OnnxText;
    }
    const std::string_view word = takeWord(text);
    text = withoutBlanks(text);
    if (hasHead) {
        return isModelField(word) && text.starts_with(':') ? TextForm::OnnxText : TextForm::None;
    }
    if (isModelField(word) && (text.starts_with(':') || text.starts_with('{') || text.starts_with('<'))) {
        return TextForm::TextProto;
    }
    return !word.empty() && text.starts_with('(') ? TextForm::OnnxText : TextForm::None;
}

Result<void> parseTextModel(std::span<const std::byte> data, TextForm form, ModelProto& model)
{
    const std::string_view text = textOf(data);
    if (text.size() > kMaxTextModelBytes || Weight(text).numbers() > kMostNumbers) {
        return inputError(fmt::format("a model as text of more than {} MiB, {} fields or {} numbers is not read; save "
                                      "it as a binary ONNX file",
                                      kMaxTextModelBytes >> 20U, kMostNumbers / kNumbersPerField, kMostNumbers),
                          std::string(nameOf(form)));
    }
    if (form == TextForm::OnnxJson) {
        RETRO_CHECK(parseOnnxJson(text, model));
    } else if (form == TextForm::TextProto) {
        RETRO_CHECK(parseTextProto(text, model));
    } else if (Result<void> read = OnnxTextReader(text).model(model); !read) {
        return base::inputError("this text cannot be read as an ONNX model: " + read.error().message,
                                read.error().where);
    }
    return model.has_graph() ? Result<void>()
                             : inputError("it holds no graph; it may have been cut off", std::string(nameOf(form)));
}

} // namespace retro::formats
