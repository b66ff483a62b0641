// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs.h"

#include "app/common/decodepicture.h"
#include "core/engine/inputs.h"

namespace retro::app
{

using base::Result;

engine::PictureOptions ExplainJob::options() const
{
    return preparation ? *preparation : engine::pictureOptions(model && model->card ? &*model->card : nullptr);
}

std::string ExplainJob::compositeOrUsual() const
{
    if (!composite.empty()) {
        return composite;
    }
    return model && model->card && !model->card->composite.empty() ? model->card->composite : "auto";
}

Result<std::vector<tensor::Tensor>> readInputs(ExplainJob& job)
{
    const engine::PictureOptions options = job.options();
    if (job.tensors.empty()) {
        RETRO_TRY(job.tensors, engine::resolveInputs(job.inputs, *job.model->graph(), options, decodePicture));
    }
    std::vector<tensor::Tensor> inputs = job.tensors;
    if (job.cover && inputs.size() == 1) {
        RETRO_TRY(inputs.front(), engine::coverInput(inputs.front(), *job.cover, options));
    }
    return inputs;
}

bool isPictureFile(const std::string& source)
{
    const QString name = QString::fromStdString(source).toLower();
    return name.endsWith(QLatin1String(".png")) || name.endsWith(QLatin1String(".jpg")) ||
           name.endsWith(QLatin1String(".jpeg"));
}

} // namespace retro::app
