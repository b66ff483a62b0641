// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/targetscores.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace retro::diagnosis
{

namespace
{

/// Share of positive relevance in the best window at an edge (section 4.2, input.concentrated: > 0.25), and e = .9x.
constexpr double kMostInWindow = 0.25;
constexpr double kConcentratedEffect = 0.9;
/// Side of the window: the n-th part of the picture's, about 4 % of the area (section 4.2).
constexpr std::int64_t kWindowPart = 5;
/// Covering the window is a warning where the score falls so many times as much as for windows elsewhere, of which so
/// many are tried (section 4.2).
constexpr double kLeastFallRatio = 5;
constexpr std::size_t kOtherWindows = 8;

struct Window
{
    std::int64_t row = 0;
    std::int64_t column = 0;
    std::int64_t height = 1;
    std::int64_t width = 1;
    double share = 0;

    [[nodiscard]] bool overlaps(const Window& other) const
    {
        return row < other.row + other.height && other.row < row + height && column < other.column + other.width &&
               other.column < column + width;
    }
};

/// Positive relevance per pixel of the first sample, channels added, with sums from the corner.
class PixelSums
{
public:
    PixelSums(const Tensor& relevance, const ImageAxes& axes)
        : m_rows(relevance.shape()[axes.row]), m_columns(relevance.shape()[axes.column])
    {
        const std::array<std::int64_t, 4> order{0, static_cast<std::int64_t>(axes.channel),
                                                static_cast<std::int64_t>(axes.row),
                                                static_cast<std::int64_t>(axes.column)};
        const std::vector<double> numbers = numbersIn(relevance.permuted(order));
        const std::int64_t pixels = m_rows * m_columns;
        m_sums.resize(static_cast<std::size_t>((m_rows + 1) * (m_columns + 1)));
        for (std::int64_t row = 0; row < m_rows; ++row) {
            double line = 0;
            for (std::int64_t column = 0; column < m_columns; ++column) {
                double pixel = 0;
                for (std::int64_t channel = 0; channel < relevance.shape()[axes.channel]; ++channel) {
                    pixel += numbers[static_cast<std::size_t>(channel * pixels + row * m_columns + column)];
                }
                line += std::max(0.0, pixel);
                at(row + 1, column + 1) = at(row, column + 1) + line;
            }
        }
    }

    [[nodiscard]] double all() const { return m_sums.back(); }

    /// Of the windows that touch an edge, the one with most.
    [[nodiscard]] Window best() const
    {
        Window window{0, 0, std::max<std::int64_t>(1, m_rows / kWindowPart),
                      std::max<std::int64_t>(1, m_columns / kWindowPart), -1};
        Window best = window;
        for (window.row = 0; window.row + window.height <= m_rows; ++window.row) {
            const bool isRowEdge = window.row == 0 || window.row + window.height == m_rows;
            for (window.column = 0; window.column + window.width <= m_columns; ++window.column) {
                const bool isEdge = isRowEdge || window.column == 0 || window.column + window.width == m_columns;
                window.share = isEdge && all() > 0 ? within(window) / all() : 0;
                best = isEdge && window.share > best.share ? window : best;
            }
        }
        return best;
    }

    /// Windows of that size elsewhere, spread over the picture.
    [[nodiscard]] std::vector<Window> elsewhere(const Window& window) const
    {
        constexpr std::int64_t kSteps = 4;
        std::vector<Window> others;
        for (std::int64_t i = 0; i < kSteps * kSteps && others.size() < kOtherWindows; ++i) {
            const std::int64_t place = (i * 7) % (kSteps * kSteps); // over the whole picture, whatever their number
            Window other = window;
            other.row = (m_rows - window.height) * (place / kSteps) / (kSteps - 1);
            other.column = (m_columns - window.width) * (place % kSteps) / (kSteps - 1);
            if (!other.overlaps(window)) {
                others.push_back(other);
            }
        }
        return others;
    }

private:
    double& at(std::int64_t row, std::int64_t column)
    {
        return m_sums[static_cast<std::size_t>(row * (m_columns + 1) + column)];
    }
    [[nodiscard]] double sum(std::int64_t row, std::int64_t column) const
    {
        return m_sums[static_cast<std::size_t>(row * (m_columns + 1) + column)];
    }
    [[nodiscard]] double within(const Window& window) const
    {
        const std::int64_t bottom = window.row + window.height;
        const std::int64_t right = window.column + window.width;
        return sum(bottom, right) - sum(window.row, right) - sum(bottom, window.column) +
               sum(window.row, window.column);
    }

    std::int64_t m_rows;
    std::int64_t m_columns;
    std::vector<double> m_sums;
};

/// A picture with a window of its first sample set to the mean of each channel.
Tensor covered(const Tensor& picture, const ImageAxes& axes, const Window& window)
{
    const tensor::Shape& shape = picture.shape();
    std::vector<double> numbers = numbersIn(picture);
    const tensor::Shape strides = tensor::rowMajorStrides(shape);
    for (std::int64_t channel = 0; channel < shape[axes.channel]; ++channel) {
        const auto position = [&](std::int64_t row, std::int64_t column) {
            return static_cast<std::size_t>(channel * strides[axes.channel] + row * strides[axes.row] +
                                            column * strides[axes.column]);
        };
        double sum = 0;
        for (std::int64_t row = 0; row < shape[axes.row]; ++row) {
            for (std::int64_t column = 0; column < shape[axes.column]; ++column) {
                sum += numbers[position(row, column)];
            }
        }
        const double mean = sum / static_cast<double>(shape[axes.row] * shape[axes.column]);
        for (std::int64_t row = window.row; row < window.row + window.height; ++row) {
            for (std::int64_t column = window.column; column < window.column + window.width; ++column) {
                numbers[position(row, column)] = mean;
            }
        }
    }
    return Tensor::of<double>(shape, numbers).to(picture.dtype());
}

/// What covering windows does to the score of the class.
struct CoverTest
{
    bool isOtherClass = false;
    double ratio = 0; ///< how much more the score falls than for windows elsewhere
};

/// Scores of the target's row for another picture; empty where the model cannot be run again.
std::vector<double> scoresWith(const Facts& facts, ValueId input, const Tensor& picture)
{
    std::vector<Tensor> inputs;
    for (const ValueId one : facts.graph().inputs()) {
        inputs.push_back(one == input ? picture : facts.value(one));
    }
    const ValueId target = facts.pass()->target;
    const std::vector<ValueId> kept{target};
    const auto forward =
        execute::forward(facts.pass()->model, inputs, execute::SavePolicy::Nothing, facts.stop(), {}, kept);
    return forward.ok() ? scoresOf(facts, forward->value(target)).scores : std::vector<double>();
}

CoverTest coverTest(const Facts& facts, ValueId input, const ImageAxes& axes, const Window& window,
                    const std::vector<Window>& others)
{
    const TargetScores before = scoresOf(facts, facts.value(facts.pass()->target));
    const Tensor picture = facts.value(input);
    CoverTest test;
    const auto fall = [&](const Window& at, bool isTheOne) {
        const std::vector<double> after = scoresWith(facts, input, covered(picture, axes, at));
        if (before.chosen < 0 || after.size() != before.scores.size()) {
            return 0.0;
        }
        if (isTheOne) {
            test.isOtherClass = std::ranges::max_element(after) - after.begin() != before.best();
        }
        const auto chosen = static_cast<std::size_t>(before.chosen);
        return before.scores[chosen] - after[chosen];
    };
    const double own = fall(window, true);
    if (!test.isOtherClass || !(own > 0)) {
        return test;
    }
    std::vector<double> falls;
    for (const Window& other : others) {
        falls.push_back(fall(other, false));
    }
    const double usual = std::max(median(falls), 0.0);
    test.ratio = usual > 0 ? own / usual : std::numeric_limits<double>::max();
    return test;
}

/// True where the model can be run again with another picture, and its answer is one class.
bool canCover(const Facts& facts, ValueId input)
{
    const bool isOneRow = facts.shape(facts.pass()->target).size() <= 2; // of every pixel there is no one class
    return isOneRow && facts.sources().makesPasses && facts.pass()->model && facts.value(input).isValid();
}

/// `area` is the share of the picture that the window covers.
void noteConcentrated(const Facts& facts, Probe& probe, ValueId input, const Window& window, double area,
                      const CoverTest& test)
{
    const std::string& name = facts.graph().value(input).name;
    const bool isDecisive = test.isOtherClass && test.ratio > kLeastFallRatio;
    const double effect = kConcentratedEffect * window.share;
    Finding& finding =
        isDecisive ? probe.warning(2, effect, facts.place(input)) : probe.note(effect, facts.place(input));
    finding.what = fmt::format("{} of positive relevance lies in {} of its area, at an edge: rows {} … {}, columns "
                               "{} … {}{}",
                               percentText(window.share), percentText(area), window.row, window.row + window.height - 1,
                               window.column, window.column + window.width - 1,
                               isDecisive ? "; covered, the class is another" : "");
    finding.means = isDecisive ? "The prediction rests on a mark in this corner, not on what the picture shows."
                               : "For this input a small patch at an edge has most of it.";
    finding.remedy = "Cover it and run again";
    finding.numbers = {{"share_of_positive_R", window.share}, {"share_of_area", area}};
    if (test.isOtherClass) {
        finding.numbers.emplace_back("fall_beside_other_windows", test.ratio);
    }
    finding.threshold = kMostInWindow;
    finding.action = {"cover and run again",
                      {{"input", name},
                       {"row", std::to_string(window.row)},
                       {"column", std::to_string(window.column)},
                       {"height", std::to_string(window.height)},
                       {"width", std::to_string(window.width)}},
                      {}};
    finding.evidence = {{name, {window.row, window.column}}};
}

void findConcentrated(const Facts& facts, Probe& probe)
{
    for (const ValueId input : facts.graph().inputs()) {
        const Tensor relevance = facts.relevance(input);
        const auto axes = relevance.isValid() ? imageAxesOf(relevance.shape(), facts.card()) : std::nullopt;
        const bool isLargeEnough = axes && relevance.size() > 0 && relevance.shape()[axes->row] >= kWindowPart &&
                                   relevance.shape()[axes->column] >= kWindowPart;
        if (!isLargeEnough) {
            continue;
        }
        const PixelSums sums(relevance, *axes);
        const Window window = sums.best();
        probe.measured(facts.graph().value(input).name, window.share);
        if (window.share > kMostInWindow) {
            const double area = static_cast<double>(window.height * window.width) /
                                static_cast<double>(relevance.shape()[axes->row] * relevance.shape()[axes->column]);
            const CoverTest test =
                canCover(facts, input) ? coverTest(facts, input, *axes, window, sums.elsewhere(window)) : CoverTest();
            noteConcentrated(facts, probe, input, window, area, test);
        }
    }
}

} // namespace

const Check inputConcentrated{"input.concentrated",
                              "share of positive relevance of a picture in the best window of 4 % of its area at an "
                              "edge",
                              kMostInWindow,
                              "none (trained); up to 0.51 (random weights), where covering it changes nothing",
                              Need::Conserved,
                              true,
                              findConcentrated};

} // namespace retro::diagnosis
