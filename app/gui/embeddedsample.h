// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"

#include <QString>

#include <span>
#include <string>
#include <vector>

namespace retro::app
{

/// A sample that is built into the program: a folder of samples/ with models, cards and inputs.
struct EmbeddedSample
{
    const char* action; ///< id of the action that opens it
    const char* model;  ///< path of the model, to be opened as any other
    const char* title;  ///< to be translated in the context "retro::app::samples"
    const char* words;  ///< what is to be seen in it, likewise
};

/// All of them; the first is clever-hans, which the program opens when nothing else is named.
[[nodiscard]] std::span<const EmbeddedSample> embeddedSamples();
/// Title and words of a sample in the user's language.
[[nodiscard]] QString titleOf(const EmbeddedSample& sample);
[[nodiscard]] QString wordsOf(const EmbeddedSample& sample);

/// Lets the samples be read like files (base::setBuiltInFiles).
void knowBuiltInFiles();
/// True for paths of built-in files; the empty path is the first sample.
[[nodiscard]] bool isEmbeddedPath(const QString& path);
/// A built-in model with its card. Errors (Input): there is none of that path.
[[nodiscard]] base::Result<engine::LoadedModelPointer> loadEmbedded(const QString& path);

/// The control model that a card names: beside the model, or built in for an embedded sample.
[[nodiscard]] base::Result<engine::LoadedModelPointer> loadControl(const engine::LoadedModel& model);

/// Inputs to explain when none was given: the first picture of the card, else none.
[[nodiscard]] std::vector<std::string> defaultInputs(const engine::LoadedModel& model);

/// Path of a picture that the model's card names (beside the model, or built in).
[[nodiscard]] std::string picturePath(const engine::LoadedModel& model, const std::string& file);

/// Resource path of the first sample's first picture.
[[nodiscard]] QString samplePicture();

/// True when the model came from the program itself.
[[nodiscard]] bool isEmbedded(const engine::LoadedModel& model);

} // namespace retro::app
