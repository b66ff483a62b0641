// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/inputshape.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retro::diagnosis
{

namespace
{

/// e of input.layout (section 4.2).
constexpr double kLayoutEffect = 0.95;

std::string layoutWords(const std::vector<std::int64_t>& order)
{
    using Order = std::vector<std::int64_t>;
    if (order == Order{0, 3, 1, 2}) {
        return ": its layout is NHWC, the model wants NCHW";
    }
    return order == Order{0, 2, 3, 1} ? ": its layout is NCHW, the model wants NHWC" : "";
}

void findLayouts(const Facts& facts, Probe& probe)
{
    for (std::size_t i = 0; i < comparedInputs(facts); ++i) {
        probe.measured(facts.model()->graph().value(facts.model()->graph().inputs()[i]).name, 0);
    }
    for (const Misfit& misfit : misfitsOf(facts)) {
        if (misfit.order.empty()) {
            continue;
        }
        probe.measured(misfit.name, 1);
        const std::string order = fmt::format("({})", fmt::join(misfit.order, ", "));
        Finding& finding = probe.error(kLayoutEffect, {PlaceKind::Input, misfit.name, {}, {}});
        finding.what =
            fmt::format("has the shape {}, the model wants {}; with its axes in the order {} it fits{}",
                        extentsText(misfit.given), wantedText(misfit.wanted), order, layoutWords(misfit.order));
        finding.means = "The axes stand in another order than the model reads them.";
        finding.remedy = fmt::format("Transpose it: numpy.transpose({}, {})", misfit.name, order);
        finding.numbers = {{"axes_out_of_place", 1}};
        finding.chart = rowsOf("Axes", {{"given", extentsText(misfit.given)}, {"wanted", wantedText(misfit.wanted)}});
        finding.action = {"transpose input",
                          {{"input", misfit.name}, {"order", fmt::format("{}", fmt::join(misfit.order, ","))}},
                          {}};
    }
}

} // namespace

const Check inputLayout{"input.layout",
                        "an input that fits the model once its axes are in another order (1: there is one)",
                        0,
                        "0",
                        Need::Model | Need::Inputs,
                        true,
                        findLayouts};

} // namespace retro::diagnosis
