// SPDX-License-Identifier: Apache-2.0
#include "core/formats/modelfile.h"

#include "core/base/file.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"

namespace retro::formats
{

using base::Result;

Result<std::shared_ptr<const graph::Graph>>
readModelFile(const std::filesystem::path& path, const std::stop_token& stop, std::vector<InlinedFunction>* inlined)
{
    if (path.extension() == ".dot" || path.extension() == ".gv") {
        return base::inputError(
            "DOT graphs are read by way of graph JSON; make one first: retrograde-layout --to-json < "
            "GRAPH.dot > GRAPH.json",
            path.string());
    }
    return path.extension() == ".json" ? readGraphJson(path) : readOnnx(path, stop, inlined);
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
