// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/loadmodel.h"

#include <QString>

#include <string>
#include <vector>

namespace retro::app
{

/// The sample that is built into the program: samples/clever-hans with its card and pictures.
[[nodiscard]] base::Result<engine::LoadedModelPointer> loadEmbeddedSample();

/// The control model that a card names: beside the model, or built in for the embedded sample.
[[nodiscard]] base::Result<engine::LoadedModelPointer> loadControl(const engine::LoadedModel& model);

/// Inputs to explain when none was given: the first picture of the card, else none.
[[nodiscard]] std::vector<std::string> defaultInputs(const engine::LoadedModel& model);

/// Path of a picture that the model's card names (beside the model, or built in).
[[nodiscard]] std::string picturePath(const engine::LoadedModel& model, const std::string& file);

/// Resource path of the sample's first picture.
[[nodiscard]] QString samplePicture();

/// True when the model came from the program itself.
[[nodiscard]] bool isEmbedded(const engine::LoadedModel& model);

} // namespace retro::app
