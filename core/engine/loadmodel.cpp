// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loadmodel.h"

#include "core/engine/stopwatch.h"
#include "core/formats/modelfile.h"
#include "core/formats/onnx.h"

namespace retro::engine
{

namespace
{

/// A rewrite that the card names and nobody knows is a fault of the card.
base::Result<void> chooseByCard(const std::optional<formats::ModelCard>& card, rewrite::RewriteOptions& rewrites)
{
    if (!card) {
        return {};
    }
    if (const auto known = rewrite::switchOn(rewrites, card->rewrite); !known) {
        return base::inputError(known.error().message, "field 'rewrite' of the model card");
    }
    const auto known = rewrite::switchOff(rewrites, card->noRewrite);
    return known ? known : base::inputError(known.error().message, "field 'no_rewrite' of the model card");
}

base::Result<LoadedModelPointer> finish(std::shared_ptr<const graph::Graph> graph, const std::filesystem::path& path,
                                        std::optional<formats::ModelCard> card, rewrite::RewriteOptions rewrites,
                                        const std::stop_token& stop, const Stopwatch& watch)
{
    if (auto known = chooseByCard(card, rewrites); !known) {
        return base::within(std::move(known).error(), path.string());
    }
    auto model = std::make_shared<LoadedModel>();
    model->path = path;
    model->name = path.filename().string();
    model->card = std::move(card);
    rewrites.keepDigits = false;
    auto rewritten = rewrite::rewrite(std::move(graph), rewrites, stop);
    if (!rewritten) {
        return base::within(std::move(rewritten).error(), path.string());
    }
    model->rewritten = std::move(rewritten).value();
    model->seconds = watch.seconds();
    return LoadedModelPointer(std::move(model));
}

} // namespace

base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const rewrite::RewriteOptions& rewrites,
                                           const std::stop_token& stop)
{
    const Stopwatch watch;
    RETRO_TRY(std::shared_ptr<const graph::Graph> graph, formats::readModelFile(path, stop));
    RETRO_TRY(std::optional<formats::ModelCard> card, formats::cardOf(path));
    return finish(std::move(graph), path, std::move(card), rewrites, stop, watch);
}

base::Result<LoadedModelPointer> parseModel(std::span<const std::byte> data, const std::filesystem::path& path,
                                            const std::string& card, const rewrite::RewriteOptions& rewrites,
                                            const std::stop_token& stop)
{
    const Stopwatch watch;
    RETRO_TRY(std::shared_ptr<const graph::Graph> graph, formats::parseOnnx(data, path.string(), {}, stop));
    std::optional<formats::ModelCard> parsed;
    if (!card.empty()) {
        RETRO_TRY(parsed, formats::parseCard(card, path.string()));
    }
    return finish(std::move(graph), path, std::move(parsed), rewrites, stop, watch);
}

base::Result<LoadedModelPointer> withRewrites(const LoadedModelPointer& model, const rewrite::RewriteOptions& rewrites,
                                              const std::stop_token& stop)
{
    rewrite::RewriteOptions wanted = rewrites;
    wanted.keepDigits = model->rewritten.options.keepDigits; // no rewrite: it stays as the model was loaded
    if (model->rewritten.options == wanted) {
        return model;
    }
    auto rewritten = rewrite::rewrite(model->rewritten.before, wanted, stop);
    if (!rewritten) {
        return base::within(std::move(rewritten).error(), model->path.string());
    }
    auto changed = std::make_shared<LoadedModel>(*model);
    changed->rewritten = std::move(rewritten).value();
    return LoadedModelPointer(std::move(changed));
}

} // namespace retro::engine
