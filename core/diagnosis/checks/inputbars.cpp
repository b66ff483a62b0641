// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Share of Σ|R| on what holds nothing: bars at the edges of a picture, silence at the ends of a series. It has to be
/// more than a tenth, and more than 1.5 times its share of the elements: what a model does with a plain border is seen
/// there in any case.
constexpr double kMostOnBars = 0.1;
constexpr double kTimesItsArea = 1.5;
/// Lines that hold one number are bars from that many on, of all sides together, and no more of them than this share.
constexpr std::int64_t kLeastLines = 2;
constexpr double kMostOfSide = 0.9;
constexpr double kBarsBase = 2;

/// Runs of lines at both ends of an axis that hold, per channel, one number.
struct Bars
{
    std::int64_t first = 0; ///< lines at its beginning
    std::int64_t last = 0;  ///< and at its end
    std::int64_t extent = 0;

    [[nodiscard]] bool holds(std::int64_t line) const { return line < first || line >= extent - last; }
};

/// Lines of the first sample of an input across one axis.
class Lines
{
public:
    Lines(const Tensor& input, std::size_t axis, std::size_t channelAxis)
        : m_stride(tensor::rowMajorStrides(input.shape())[axis]), m_extent(input.shape()[axis])
    {
        const tensor::Shape strides = tensor::rowMajorStrides(input.shape());
        const std::vector<double> numbers = numbersIn(input);
        const auto last = static_cast<std::size_t>(m_extent - 1);
        m_isLikeFirst.assign(last + 1, true);
        m_isLikeLast.assign(last + 1, true);
        for (std::int64_t i = 0; i < strides.front(); ++i) { // the first sample
            const std::int64_t channel = i / strides[channelAxis] % input.shape()[channelAxis] * strides[channelAxis];
            const auto line = static_cast<std::size_t>(lineOf(static_cast<std::size_t>(i)));
            const double number = numbers[static_cast<std::size_t>(i)];
            const auto ofLast = static_cast<std::size_t>(channel + (m_extent - 1) * m_stride);
            m_isLikeFirst[line] = m_isLikeFirst[line] && number == numbers[static_cast<std::size_t>(channel)];
            m_isLikeLast[line] = m_isLikeLast[line] && number == numbers[ofLast];
        }
    }

    [[nodiscard]] Bars bars() const
    {
        Bars bars{std::ranges::find(m_isLikeFirst, false) - m_isLikeFirst.begin(),
                  std::find(m_isLikeLast.rbegin(), m_isLikeLast.rend(), false) - m_isLikeLast.rbegin(), m_extent};
        // One line alone is what it is.
        bars.first = bars.first < kLeastLines ? 0 : bars.first;
        bars.last = bars.last < kLeastLines ? 0 : bars.last;
        return bars;
    }

    [[nodiscard]] std::int64_t lineOf(std::size_t position) const
    {
        return static_cast<std::int64_t>(position) / m_stride % m_extent;
    }

private:
    std::int64_t m_stride;
    std::int64_t m_extent;
    std::vector<bool> m_isLikeFirst; ///< by line: per channel, every element is the first one of the first line
    std::vector<bool> m_isLikeLast;  ///< of the last line
};

/// Axes along which an input may have bars, and that of its channels; none where it is neither a picture nor a series.
struct InputAxes
{
    std::vector<std::size_t> along;
    std::size_t channel = 1;
    bool isPicture = false;
};

std::optional<InputAxes> axesOf(const Tensor& input, const formats::ModelCard* card)
{
    if (!input.isValid() || input.size() == 0 || !tensor::isFloating(input.dtype())) {
        return std::nullopt;
    }
    if (const auto picture = imageAxesOf(input.shape(), card); picture && input.rank() == 4) {
        return InputAxes{{picture->row, picture->column}, picture->channel, true};
    }
    return input.rank() == 3 ? std::optional(InputAxes{{2}, 1, false}) : std::nullopt;
}

struct OnBars
{
    double relevance = 0; ///< share of Σ|R|
    double area = 0;      ///< share of the elements
};

OnBars shareOn(const std::vector<Bars>& bars, const std::vector<Lines>& lines, const std::vector<double>& relevance)
{
    double on = 0;
    double all = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < relevance.size(); ++i) {
        bool isOn = false;
        for (std::size_t k = 0; k < bars.size(); ++k) {
            isOn = isOn || bars[k].holds(lines[k].lineOf(i));
        }
        all += std::abs(relevance[i]);
        on += isOn ? std::abs(relevance[i]) : 0;
        count += isOn ? 1 : 0;
    }
    return {all > 0 ? on / all : 0, static_cast<double>(count) / static_cast<double>(relevance.size())};
}

std::string barsText(const std::vector<Bars>& bars, bool isPicture)
{
    static constexpr std::array<std::string_view, 2> kSides{"rows", "columns"};
    std::string text;
    for (std::size_t k = 0; k < bars.size(); ++k) {
        const std::string_view name = isPicture ? kSides[k] : "steps";
        if (bars[k].first > 0) {
            text += fmt::format("{}{} 0 … {}", text.empty() ? "" : ", ", name, bars[k].first - 1);
        }
        if (bars[k].last > 0) {
            text += fmt::format("{}{} {} … {}", text.empty() ? "" : ", ", name, bars[k].extent - bars[k].last,
                                bars[k].extent - 1);
        }
    }
    return text;
}

void findBars(const Facts& facts, Probe& probe)
{
    for (const ValueId input : facts.graph().inputs()) {
        const Tensor numbers = facts.value(input);
        const Tensor relevance = facts.relevance(input);
        const auto axes = axesOf(numbers, facts.card());
        if (!axes || !relevance.isValid() || relevance.shape() != numbers.shape()) {
            continue;
        }
        std::vector<Lines> lines;
        std::vector<Bars> bars;
        for (const std::size_t axis : axes->along) {
            lines.emplace_back(numbers, axis, axes->channel);
            bars.push_back(lines.back().bars());
        }
        const bool isPlain = std::ranges::any_of(bars, [](const Bars& bar) {
            return static_cast<double>(bar.first + bar.last) > kMostOfSide * static_cast<double>(bar.extent);
        });
        std::vector<double> arrived = numbersIn(relevance);
        arrived.resize(static_cast<std::size_t>(tensor::rowMajorStrides(numbers.shape()).front()));
        const OnBars share = isPlain ? OnBars() : shareOn(bars, lines, arrived);
        probe.measured(facts.graph().value(input).name, share.relevance);
        if (!(share.relevance > kMostOnBars && share.relevance > kTimesItsArea * share.area)) {
            continue;
        }
        Finding& finding = probe.warning(kBarsBase, share.relevance, facts.place(input));
        finding.what =
            fmt::format("{} of Σ|R| lies on {} that hold nothing ({}), {} of the input", percentText(share.relevance),
                        axes->isPicture ? "bars" : "steps", barsText(bars, axes->isPicture), percentText(share.area));
        finding.means = axes->isPicture ? "The model reads the frame that the picture was put in, not the picture."
                                        : "The model reads the silence around what was recorded.";
        finding.remedy = axes->isPicture ? "Cut the bars off, or fill the frame as in the training"
                                         : "Cut it off, or fill up as in the training";
        finding.numbers = {{"share_of_sum_abs_R", share.relevance}, {"share_of_elements", share.area}};
        finding.threshold = kMostOnBars;
    }
}

} // namespace

const Check inputBars{"input.bars",
                      "share of Σ|R| on bars at the edges of a picture, or on silence at the ends of a series",
                      kMostOnBars,
                      "0: none of their inputs had bars",
                      Need::Relevance | Need::Forward,
                      true,
                      findBars};

} // namespace retro::diagnosis
