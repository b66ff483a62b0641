// SPDX-License-Identifier: Apache-2.0
#include "core/formats/modelfile.h"

#include "core/base/file.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"
#include "core/formats/onnxdiagnosis.h"
#include "core/formats/onnxtextforms.h"

#include <algorithm>
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
bool isGraphJson(const std::filesystem::path& path)
{
    const std::vector<std::byte> beginning = beginningOf(path);
    const TextForm form = textFormOf(beginning);
    const bool isBinary = form == TextForm::None && !beginning.empty() && !beginsAsText(beginning);
    const bool isCalledSo = path.extension() == ".json" && !isBinary;
    return form == TextForm::GraphJson || (isCalledSo && form <= TextForm::OtherJson);
}

} // namespace

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
    return isGraphJson(path) ? readGraphJson(path) : readOnnx(path, stop, notes, options);
}

Result<void> writeModelFile(const std::filesystem::path& path, const graph::Graph& graph)
{
    if (path.extension() == ".json") {
        return base::writeFile(path, toGraphJson(graph));
    }
    if (path.extension() != ".onnx") {
        return base::usageError("a graph is written as .json or .onnx; end the name so", path.string());
    }
    RETRO_TRY(const std::vector<std::byte> bytes, toOnnx(graph));
    return base::writeFile(path, bytes);
}

} // namespace retro::formats
