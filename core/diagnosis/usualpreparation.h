// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/modelfacts.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace retro::diagnosis
{

/// How the pixels of a picture became the numbers of an input.
struct PixelPreparation
{
    std::string input; ///< of the model, by name
    bool isChannelsLast = false;
    double high = 1;       ///< what 255 became, before mean and std
    bool isChosen = false; ///< a card or a person said it; else it is what is usual where nobody does
};

/// A usual choice of how pixels become numbers.
struct UsualChoice
{
    std::string_view name;          ///< "ImageNet's mean and std"
    std::string_view mean{};        ///< "0.485,0.456,0.406"; empty: as it is asked for
    std::string_view deviation{};   ///< likewise
    std::string_view scale = "0,1"; ///< what 0 and 255 become before that

    /// "--mean 0.5 --std 0.5"
    [[nodiscard]] std::string option() const;
};
/// All of them.
[[nodiscard]] std::span<const UsualChoice> usualChoices();

/// Another preparation that a model shows to expect.
struct ExpectedPreparation
{
    std::string why;    ///< "its first normalisation has seen numbers around 0", "it has 1000 classes"
    std::string name;   ///< of the usual choice: "ImageNet's mean and std"
    std::string option; ///< "--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225"
};

/// What a model shows of the pixels that it was trained with, where that is not numbers from 0 to 1 without mean and
/// std: constants in front of the first layer, the running mean of the first normalisation behind it, the size of the
/// input with the number of classes, names of model collections. None where nothing shows, where the graph scales by
/// itself, for inputs of other than three channels, and where somebody chose.
[[nodiscard]] std::optional<ExpectedPreparation> expectedPreparation(const ModelFacts& model,
                                                                     const PixelPreparation& pixels);

} // namespace retro::diagnosis
