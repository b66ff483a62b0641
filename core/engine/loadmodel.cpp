// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loadmodel.h"

#include "core/engine/stopwatch.h"
#include "core/formats/onnx.h"

namespace retro::engine
{

base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const rewrite::RewriteOptions& rewrites)
{
    const Stopwatch watch;
    auto model = std::make_shared<LoadedModel>();
    model->path = path;
    model->name = path.filename().string();
    RETRO_TRY(const std::shared_ptr<const graph::Graph> graph, formats::readOnnx(path));
    auto rewritten = rewrite::rewrite(graph, rewrites);
    if (!rewritten) {
        return base::within(std::move(rewritten).error(), path.string());
    }
    model->rewritten = std::move(rewritten).value();
    RETRO_TRY(model->card, formats::cardOf(path));
    model->seconds = watch.seconds();
    return LoadedModelPointer(std::move(model));
}

} // namespace retro::engine
