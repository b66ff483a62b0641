// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs/jobs.h"

#include "core/engine/question/resolve.h"

namespace retro::app
{

using base::Result;

engine::PictureOptions ExplainJob::options() const
{
    const auto options = model ? engine::pictureOptions(question, *model) : engine::pictureOptions(question, nullptr);
    return options ? *options : engine::pictureOptions(card());
}

ExplainJob ExplainJob::gradientBy(engine::ForwardingOptions wish) const
{
    ExplainJob job = *this;
    job.question.composite = "gradient";
    job.question.rules.clear();
    job.question.start = "one";
    job.question.checkpoints.clear();
    job.plan.reset();
    job.forwarding = std::move(wish);
    job.isLive = job.isChoice = false;
    return job;
}

Result<std::optional<engine::LanguageQuestion>> languageOf(const ExplainJob& job)
{
    return engine::languageQuestion(*job.model, job.question);
}

Result<engine::ExplainRequest> requestOf(const ExplainJob& job)
{
    engine::Question asked = job.question;
    asked.goOn = true; // the window shows where it began: that is what it is for
    asked.stopAtCheckpoints = asked.stopAtCheckpoints && !asked.checkpoints.empty();
    RETRO_TRY(const auto language, languageOf(job));
    if (!language) {
        return engine::resolve(asked, *job.model);
    }
    RETRO_TRY(engine::ExplainRequest request,
              engine::resolve(engine::withoutLanguage(std::move(asked), *language), *job.model));
    RETRO_CHECK(engine::takeLanguage(*language, request));
    return request;
}

Result<engine::LoadedModelPointer> modelOf(const ExplainJob& job, const std::stop_token& stop)
{
    RETRO_TRY(engine::LoadedModelPointer model, engine::withInputShapes(job.model, job.question.shapes, stop));
    RETRO_TRY(model, engine::takeOptionalInputs(model, job.question.inputs, stop));
    if (job.setsRewrites) {
        RETRO_TRY(engine::LoadOptions options, engine::loadOptions(job.question));
        options.rewrites.passThrough = job.model->rewritten.options.passThrough;
        RETRO_TRY(model, engine::withRewrites(model, options.rewrites, stop));
    }
    return engine::onLutBackend(model, job.question);
}

Result<std::vector<tensor::Tensor>> readInputs(ExplainJob& job)
{
    const engine::PictureOptions options = job.options();
    if (job.tensors.empty()) {
        RETRO_TRY(auto language, languageOf(job));
        if (language) {
            job.tensors = std::move(language->inputs);
        } else {
            RETRO_TRY(job.tensors, engine::resolveInputs(job.question.inputs, *job.model, options));
        }
    }
    std::vector<tensor::Tensor> inputs = job.tensors;
    if (job.cover && inputs.size() == 1) {
        RETRO_TRY(inputs.front(), engine::coverInput(inputs.front(), *job.cover, options));
    }
    return inputs;
}

} // namespace retro::app
