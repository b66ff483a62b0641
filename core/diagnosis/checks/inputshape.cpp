// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/inputshape.h"

#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of input.shape (section 4.2).
constexpr double kShapeEffect = 0.9;

std::string shapeRemedy(const Misfit& misfit)
{
    if (misfit.given.size() + 1 == misfit.wanted.size()) {
        return fmt::format("It lacks an axis, most often the batch: numpy.expand_dims({}, 0)", misfit.name);
    }
    if (misfit.given.size() == misfit.wanted.size() + 1 && misfit.given.front() == 1) {
        return fmt::format("It has an axis too many: numpy.squeeze({}, 0)", misfit.name);
    }
    return "Choose the input that belongs to this model";
}

void findShapes(const Facts& facts, Probe& probe)
{
    for (std::size_t i = 0; i < comparedInputs(facts); ++i) {
        probe.measured(facts.model()->graph().value(facts.model()->graph().inputs()[i]).name, 0);
    }
    for (const Misfit& misfit : misfitsOf(facts)) {
        if (!misfit.order.empty()) {
            continue;
        }
        probe.measured(misfit.name, 1);
        Finding& finding = probe.error(kShapeEffect, {PlaceKind::Input, misfit.name, {}, {}});
        finding.what = fmt::format("has the shape {}, the model wants {}, and no order of its axes fits",
                                   extentsText(misfit.given), wantedText(misfit.wanted));
        finding.means = "The model cannot run on it.";
        finding.remedy = shapeRemedy(misfit);
        finding.numbers = {{"axes", static_cast<double>(misfit.given.size())}};
        finding.chart = rowsOf("Axes", {{"given", extentsText(misfit.given)}, {"wanted", wantedText(misfit.wanted)}});
        finding.action = {"choose input", {{"input", misfit.name}}, {}};
    }
}

} // namespace

const Check inputShape{"input.shape",
                       "an input that fits the model in no order of its axes (1: there is one)",
                       0,
                       "0",
                       Need::Model | Need::Inputs,
                       true,
                       findShapes};

} // namespace retro::diagnosis
