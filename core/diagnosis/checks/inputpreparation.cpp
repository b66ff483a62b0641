// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/usualpreparation.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of input.preparation: the picture is another one than the model was trained with.
constexpr double kPreparationEffect = 0.92;

void findPreparation(const Facts& facts, Probe& probe)
{
    if (facts.sources().pixels.empty()) {
        return probe.notRun("no input is a picture");
    }
    for (const PixelPreparation& pixels : facts.sources().pixels) {
        const auto expected = expectedPreparation(*facts.model(), pixels);
        probe.measured(pixels.input, expected ? 1 : 0);
        if (!expected) {
            continue;
        }
        Finding& finding = probe.warning(2, kPreparationEffect, {PlaceKind::Input, pixels.input, {}, {}});
        finding.what =
            fmt::format("is a picture whose pixels became numbers as usual, because nobody said how, but the "
                        "model expects others: {}",
                        expected->why);
        finding.means = fmt::format("The usual choice is {}.", expected->name);
        finding.numbers = {{"other_than_expected", 1}};
        finding.remedy = "Say how pixels become numbers, or --mean none if that is right";
        finding.action = {"prepare input", {{"input", pixels.input}, {"option", expected->option}}, expected->option};
    }
}

} // namespace

const Check inputPreparation{"input.preparation",
                             "a picture that becomes other numbers than the model shows to expect (1: it does)",
                             0,
                             "0",
                             Need::Model | Need::Inputs,
                             true,
                             findPreparation};

} // namespace retro::diagnosis
