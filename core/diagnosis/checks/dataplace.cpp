// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace retro::diagnosis
{

namespace
{

/// Mean share of positive relevance in one of 5 × 5 fields at an edge, over the first pictures of a folder: > 0.25, and
/// above that in most of them. Objects lie in the middle, and differently in each picture.
constexpr double kMostInField = 0.25;
constexpr double kLeastAlike = 0.6;
constexpr std::size_t kLeastPictures = 4;
constexpr std::size_t kSide = 5;
constexpr double kPlaceBase = 2.4;

bool isAtEdge(std::size_t field)
{
    const std::size_t row = field / kSide;
    const std::size_t column = field % kSide;
    return row == 0 || row + 1 == kSide || column == 0 || column + 1 == kSide;
}

std::string fieldText(std::size_t field)
{
    return fmt::format("row {} of {}, column {} of {} from the top left", field / kSide + 1, kSide, field % kSide + 1,
                       kSide);
}

void findPlace(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    if (all.fields.size() < kLeastPictures) {
        return probe.notRun("there are too few pictures");
    }
    std::vector<double> means(kSide * kSide, 0);
    for (const std::vector<double>& fields : all.fields) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
            means[i] += fields[i] / static_cast<double>(all.fields.size());
        }
    }
    std::size_t most = 0;
    for (std::size_t i = 0; i < means.size(); ++i) {
        most = isAtEdge(i) && means[i] > means[most] ? i : most; // the first one is at the edge, too
    }
    const std::string name = facts.sources().pixels.empty() ? "inputs" : facts.sources().pixels.front().input;
    probe.measured(name, means[most]);
    const auto alike =
        std::ranges::count_if(all.fields, [most](const auto& fields) { return fields[most] > kMostInField; });
    if (!(means[most] > kMostInField) ||
        static_cast<double>(alike) < kLeastAlike * static_cast<double>(all.fields.size())) {
        return;
    }
    Finding& finding = probe.warning(kPlaceBase, means[most], {PlaceKind::Input, name, {}, {}});
    finding.what =
        fmt::format("in {} of {} pictures of the folder, more than a quarter of positive relevance lies in one "
                    "field at the edge ({}), {} on average",
                    alike, all.fields.size(), fieldText(most), percentText(means[most]));
    finding.means = "The model decides by something that lies there in all of them: a mark, a frame, a caption.";
    finding.remedy = "Cover that place in a picture and run again";
    finding.numbers = {{"share_of_positive_R", means[most]}, {"pictures", static_cast<double>(alike)}};
    finding.threshold = kMostInField;
    finding.chart = mapOf("Positive relevance in each field, mean of the folder", means, kSide, false);
    finding.chart.marked = {most};
}

} // namespace

const Check dataPlace{
    "data.place", "mean share of positive relevance in one field of 5 × 5 at the edge of a folder's pictures",
    kMostInField, "up to 0.051 (trained)",
    Need::Folder, true,
    findPlace};

} // namespace retro::diagnosis
