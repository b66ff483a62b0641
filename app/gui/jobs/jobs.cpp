// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs/jobs.h"

#include "app/common/decodepicture.h"
#include "core/engine/question/resolve.h"
#include "core/tensor/npy.h"

#include <QFile>

#include <array>
#include <span>

namespace retro::app
{

using base::Result;

namespace
{

/// An array that is built into the program; the file system does not know it.
Result<tensor::Tensor> builtInArray(const std::string& path)
{
    QFile file(QString::fromStdString(path));
    if (!file.open(QIODevice::ReadOnly)) {
        return base::inputError("the program has no such array built in", path);
    }
    const QByteArray bytes = file.readAll();
    return tensor::parseNpy(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))), path);
}

Result<std::vector<tensor::Tensor>> inputsOf(const ExplainJob& job, const engine::PictureOptions& options)
{
    const auto isBuiltInArray = [](const std::string& s) { return s.starts_with(":/") && s.ends_with(".npy"); };
    if (job.question.inputs.size() == 1 && isBuiltInArray(job.question.inputs.front())) {
        RETRO_TRY(tensor::Tensor array, builtInArray(job.question.inputs.front()));
        return std::vector{std::move(array)};
    }
    return engine::resolveInputs(job.question.inputs, *job.model, options, decodePicture);
}

} // namespace

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
    return engine::languageQuestion(*job.model, job.question, decodePicture);
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
    RETRO_TRY(model, engine::takeOptionalInputs(model, job.question.inputs, decodePicture, stop));
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
            RETRO_TRY(job.tensors, inputsOf(job, options));
        }
    }
    std::vector<tensor::Tensor> inputs = job.tensors;
    if (job.cover && inputs.size() == 1) {
        RETRO_TRY(inputs.front(), engine::coverInput(inputs.front(), *job.cover, options));
    }
    return inputs;
}

} // namespace retro::app
