// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/input/inputs.h"
#include "core/engine/model/loadmodel.h"

#include <filesystem>
#include <string>

namespace retro::tests
{

/// A sample of the tree and a request about it, with random numbers as input.
template <class Request>
struct SampleQuestion
{
    engine::LoadedModelPointer model;
    Request request;
};

/// A sample with its card, by folder and model; null when it cannot be read.
inline engine::LoadedModelPointer loadSample(const QString& name)
{
    const std::filesystem::path samples = std::filesystem::path(RETRO_SOURCE_DIR) / "samples";
    const auto model = engine::loadModel(samples / (name.toStdString() + ".onnx"));
    return model.ok() && (*model)->card ? *model : nullptr;
}

/// Of "clever-hans/clever-hans"; without a model where it cannot be read.
template <class Request>
SampleQuestion<Request> questionOf(const char* sample)
{
    const auto path = std::filesystem::path(RETRO_SOURCE_DIR) / "samples" / (std::string(sample) + ".onnx");
    SampleQuestion<Request> question;
    const auto model = engine::loadModel(path);
    question.model = model.ok() ? *model : nullptr;
    if (question.model) {
        const auto inputs = engine::resolveInputs({"random:1"}, *question.model->graph(), {});
        question.request.inputs = inputs.ok() ? *inputs : std::vector<tensor::Tensor>();
    }
    return question;
}

} // namespace retro::tests
