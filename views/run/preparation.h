// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/question/question.h"

#include <QString>
#include <QStringList>

#include <vector>

namespace retro::views
{

/// How the pixels of a picture become the numbers that a model is given: pixel values 0 and 255 become `low` and
/// `high`, then (value − mean) / deviation.
struct Preparation
{
    QString layout = QStringLiteral("NCHW");   ///< NCHW or NHWC
    QString channels = QStringLiteral("RGB");  ///< RGB, BGR or GRAY
    QString pixels = QStringLiteral("shown");  ///< as browsers show a picture, or "stored"
    QString frame = QStringLiteral("stretch"); ///< how a picture of other sides fits: formats::isFrame()
    double low = 0;
    double high = 1;
    std::vector<double> mean;      ///< none, one, or one per channel
    std::vector<double> deviation; ///< none, one, or one per channel; above 0
    bool operator==(const Preparation&) const = default;
};

/// Writes a preparation into the fields of a question.
void setPreparation(const Preparation& preparation, engine::Question& question);
/// The preparation of a question that says all of it; what it does not say is as in `usual`.
[[nodiscard]] Preparation preparationOf(const engine::Question& question, Preparation usual);

/// Presets of mean and deviation.
enum class Normalisation {
    None,
    ImageNet, ///< mean 0.485, 0.456, 0.406 and deviation 0.229, 0.224, 0.225 of pixels in 0…1, in the order RGB
    Centred,  ///< −1…1
    Custom
};

/// The preset that a preparation follows, whatever its scale.
[[nodiscard]] Normalisation normalisationOf(const Preparation& preparation);
/// Sets mean and deviation of a preset for the preparation's scale and order of channels; Custom changes nothing.
void normalise(Preparation& preparation, Normalisation preset);

/// "0.485, 0.456, 0.406".
[[nodiscard]] QString numbersText(const std::vector<double>& numbers);
/// Reads such a text (commas or spaces). False when it holds anything else than 0, 1 or 3 finite numbers.
[[nodiscard]] bool parseNumbers(const QString& text, std::vector<double>& numbers);

} // namespace retro::views
