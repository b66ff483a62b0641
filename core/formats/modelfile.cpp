// SPDX-License-Identifier: Apache-2.0
#include "core/formats/modelfile.h"

#include "core/base/file.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"
#include "core/formats/onnxdiagnosis.h"
#include "core/formats/onnxtextforms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

namespace retro::formats
{

using base::Result;

namespace
{

/// What a file is told by.
constexpr std::size_t kProbedBytes = 1U << 20U;

/// The beginning of a file; nothing of one that cannot be read, which its reader says.
std::vector<std::byte> beginningOf(const std::filesystem::path& path)
{
    std::error_code ec;
    if (!std::filesystem::is_regular_file(path, ec)) {
        return {};
    }
    std::ifstream file(path, std::ios::binary);
    std::vector<std::byte> data(kProbedBytes);
    file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()));
    data.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    return data;
}

/// Ours, or JSON that is no ONNX: what is wrong with that is said where the ending is ours.
bool isGraphJson(const std::filesystem::path& path, std::span<const std::byte> beginning)
{
    const TextForm form = textFormOf(beginning);
    const bool isBinary = form == TextForm::None && !beginning.empty() && !beginsAsText(beginning);
    const bool isCalledSo = path.extension() == ".json" && !isBinary;
    return form == TextForm::GraphJson || (isCalledSo && form <= TextForm::OtherJson);
}

std::string endingOf(const std::filesystem::path& path)
{
    std::string ending = path.extension().string();
    ending.erase(0, ending.empty() ? 0 : 1);
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return ending;
}

bool isCalled(const ModelFormat& format, const std::filesystem::path& path)
{
    return std::ranges::find(format.endings, endingOf(path)) != format.endings.end();
}

std::vector<ModelFormat>& table()
{
    using Path = std::filesystem::path;
    static std::vector<ModelFormat> formats{
        {.title = "graph JSON",
         .endings = {"json"},
         .isOne = isGraphJson,
         .read = [](const Path& path, const std::stop_token&, FileNotes*,
                    const ReadOptions&) { return readGraphJson(path); },
         .write = [](const graph::Graph& graph) -> Result<std::vector<std::byte>> {
             const std::string text = toGraphJson(graph);
             const auto bytes = std::as_bytes(std::span(text));
             return std::vector<std::byte>(bytes.begin(), bytes.end());
         }},
        {.title = "ONNX model",
         .endings = {"onnx", "onnxtxt", "textproto", "pbtxt", "prototxt"},
         .read = readOnnx,
         .write = [](const graph::Graph& graph) { return toOnnx(graph); }},
    };
    return formats;
}

/// What a file is that people name in place of a model, by how it begins; empty where it is none of these.
std::string_view dataIn(std::span<const std::byte> beginning)
{
    using namespace std::string_view_literals;
    constexpr std::array kBeginnings{std::pair{"\x89PNG"sv, "a picture"sv}, std::pair{"\xff\xd8\xff"sv, "a picture"sv},
                                     std::pair{"\x93NUMPY"sv, "an array of numbers"sv},
                                     std::pair{"SQLite format 3"sv, "a recorded run"sv}};
    const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
    const auto* found = std::ranges::find_if(kBeginnings, [&](const auto& one) { return text.starts_with(one.first); });
    return found == kBeginnings.end() ? std::string_view() : found->second;
}

} // namespace

std::span<const ModelFormat> modelFormats() { return table(); }

void addModelFormat(ModelFormat format) { table().insert(table().begin(), std::move(format)); }

std::string modelFormatsText()
{
    std::vector<std::string> texts;
    for (const ModelFormat& format : table()) {
        texts.push_back(fmt::format("{} (.{})", format.title, fmt::join(format.endings, " .")));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

bool hasModelEnding(const std::filesystem::path& path)
{
    return std::ranges::any_of(table(), [&](const ModelFormat& format) { return isCalled(format, path); });
}

Result<std::shared_ptr<const graph::Graph>> readModelFile(const std::filesystem::path& path,
                                                          const std::stop_token& stop, FileNotes* notes,
                                                          const ReadOptions& options)
{
    if (path.extension() == ".dot" || path.extension() == ".gv") {
        return base::inputError(
            "DOT graphs are read by way of graph JSON; make one first: retrograde-layout --to-json < "
            "GRAPH.dot > GRAPH.json",
            path.string());
    }
    const std::vector<std::byte> beginning = beginningOf(path);
    if (const std::string_view what = dataIn(beginning); !what.empty()) {
        return base::inputError(
            fmt::format("this is {}, no model; name the model first, and behind it what it is given", what),
            path.string());
    }
    const auto isOne = [&](const ModelFormat& format) {
        return format.isOne != nullptr ? format.isOne(path, beginning) : isCalled(format, path);
    };
    const auto found = std::ranges::find_if(table(), isOne);
    return (found == table().end() ? table().back() : *found).read(path, stop, notes, options);
}

Result<void> writeModelFile(const std::filesystem::path& path, const graph::Graph& graph)
{
    std::vector<std::string> written;
    for (const ModelFormat& format : table()) {
        if (format.write == nullptr) {
            continue;
        }
        written.push_back(fmt::format(".{}", format.endings.front()));
        if (path.extension() == written.back()) {
            RETRO_TRY(const std::vector<std::byte> bytes, format.write(graph));
            return base::writeFile(path, bytes);
        }
    }
    return base::usageError(fmt::format("a graph is written as {}; end the name so", fmt::join(written, " or ")),
                            path.string());
}

} // namespace retro::formats
