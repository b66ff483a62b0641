// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs.h"

#include "app/common/decodepicture.h"
#include "core/engine/inputs.h"
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
    if (job.inputs.size() == 1 && isBuiltInArray(job.inputs.front())) {
        RETRO_TRY(tensor::Tensor array, builtInArray(job.inputs.front()));
        return std::vector{std::move(array)};
    }
    return engine::resolveInputs(job.inputs, *job.model, options, decodePicture);
}

} // namespace

engine::PictureOptions ExplainJob::options() const
{
    return preparation ? *preparation : engine::pictureOptions(model && model->card ? &*model->card : nullptr);
}

ExplainJob ExplainJob::gradientBy(engine::ForwardingWish wish) const
{
    ExplainJob job = *this;
    job.composite = "gradient";
    job.start = "one";
    job.checkpoints.clear();
    job.plan.reset();
    job.forwarding = std::move(wish);
    job.isLive = job.isChoice = false;
    return job;
}

std::string ExplainJob::compositeOrUsual() const
{
    if (!composite.empty()) {
        return composite;
    }
    return model && model->card && !model->card->composite.empty() ? model->card->composite : "auto";
}

std::string ExplainJob::targetOrUsual() const
{
    if (target != "argmax" || !model || !model->card || model->card->target.empty()) {
        return target;
    }
    const auto asked = engine::parseTarget(model->card->target, model->card->labels);
    return asked && asked->kind == engine::TargetRequest::Kind::Class ? std::to_string(asked->classIndex)
                                                                      : model->card->target;
}

Result<engine::LoadedModelPointer> modelOf(const ExplainJob& job, const std::stop_token& stop)
{
    RETRO_TRY(engine::LoadedModelPointer model,
              job.shapes ? engine::withInputShapes(job.model, *job.shapes, stop) : job.model);
    RETRO_TRY(model, engine::takeOptionalInputs(model, job.inputs, decodePicture, stop));
    if (!job.noRewrite) {
        return model;
    }
    rewrite::RewriteOptions options;
    options.passThrough = job.model->rewritten.options.passThrough;
    for (const std::string& name : *job.noRewrite) { // as views::Question has them
        const bool isOn = name.starts_with('+');
        const std::array<std::string, 1> one{isOn ? name.substr(1) : name};
        RETRO_CHECK(isOn ? rewrite::switchOn(options, one) : rewrite::switchOff(options, one));
    }
    return engine::withRewrites(model, options, stop);
}

Result<std::vector<tensor::Tensor>> readInputs(ExplainJob& job)
{
    const engine::PictureOptions options = job.options();
    if (job.tensors.empty()) {
        RETRO_TRY(job.tensors, inputsOf(job, options));
    }
    std::vector<tensor::Tensor> inputs = job.tensors;
    if (job.cover && inputs.size() == 1) {
        RETRO_TRY(inputs.front(), engine::coverInput(inputs.front(), *job.cover, options));
    }
    return inputs;
}

} // namespace retro::app
