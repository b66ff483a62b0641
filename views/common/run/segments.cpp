// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/segments.h"

#include "core/trace/targetplace.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

namespace retro::views
{

namespace
{

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
constexpr std::int64_t kMostClasses = 100'000;

/// Where class and place of a sample lie in memory of row-major order.
struct Strides
{
    std::int64_t classes = 0;
    std::int64_t classStride = 0;
    std::int64_t height = 0;
    std::int64_t rowStride = 0;
    std::int64_t width = 0;
    std::int64_t columnStride = 0;
};

/// None where the value has no classes at the places of a picture.
std::optional<Strides> stridesOf(const std::vector<std::string>& names, const tensor::Shape& shape)
{
    if (shape.size() != 4 || names.size() != 4 || shape[0] < 1) {
        return std::nullopt;
    }
    Strides strides;
    std::int64_t stride = 1;
    for (std::size_t axis = 4; axis-- > 1;) {
        if (names[axis] == "class") {
            strides.classes = shape[axis];
            strides.classStride = stride;
        } else if (names[axis] == "row") {
            strides.height = shape[axis];
            strides.rowStride = stride;
        } else if (names[axis] == "column") {
            strides.width = shape[axis];
            strides.columnStride = stride;
        }
        stride *= shape[axis];
    }
    const bool isPicture = strides.height > 1 && strides.width > 1 && strides.height <= kMostPixels / strides.width;
    return isPicture && strides.classes > 1 && strides.classes <= kMostClasses ? std::optional(strides) : std::nullopt;
}

std::optional<Strides> stridesOf(const trace::Run& run, base::ValueId value)
{
    if (!run.graph || !value.isValid() || value.index() >= run.values.size() || !run.values[value.index()].isValid()) {
        return std::nullopt;
    }
    const tensor::Tensor& kept = run.values[value.index()];
    if (!tensor::isFloating(kept.dtype())) {
        return std::nullopt;
    }
    return stridesOf(trace::axisNames(*run.graph, value, kept.rank()), kept.shape());
}

/// The class that a run explains in a value with one row of so many classes.
std::optional<std::int64_t> askedInRow(const trace::Run& run, std::int64_t classes)
{
    const base::ValueId value = run.facts.targetValue;
    const bool isRow = value.isValid() && value.index() < run.shapes.size() && run.shapes[value.index()].size() == 2 &&
                       run.shapes[value.index()][1] == classes;
    const bool isOne = !run.facts.targetIndex.empty() && run.facts.targetIndex.front() >= 0;
    return isRow && isOne ? std::optional(run.facts.targetIndex.front()) : std::nullopt;
}

/// The class with the largest finite score at a place, and that score; −1 where no score is finite.
std::pair<int, double> bestAt(std::span<const double> scores, const Strides& strides, std::int64_t x, std::int64_t y)
{
    int best = -1;
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t c = 0; c < strides.classes; ++c) {
        const double score = scores[static_cast<std::size_t>(c * strides.classStride + y * strides.rowStride +
                                                             x * strides.columnStride)];
        if (score > most && std::isfinite(score)) {
            most = score;
            best = static_cast<int>(c);
        }
    }
    return {best, most};
}

/// What an outline parts: whether the wanted class is at a place, else which class. 0 outside of the picture.
int kindAt(const Segments& segments, std::optional<std::int64_t> wanted, int x, int y)
{
    const bool isInside = x >= 0 && y >= 0 && x < segments.width() && y < segments.height();
    const int one = isInside ? segments.classAt(x, y) : -1;
    return wanted ? static_cast<int>(one == *wanted) : one + 1;
}

} // namespace

base::ValueId maskValue(const trace::Run& run)
{
    if (stridesOf(run, run.facts.targetValue)) {
        return run.facts.targetValue;
    }
    if (run.graph && run.facts.targetValue.isValid() && !trace::hasDenseTarget(run)) {
        for (const base::ValueId output : run.graph->outputs()) {
            if (stridesOf(run, output)) {
                return output;
            }
        }
    }
    return {};
}

Segments::Segments(const trace::Run& run)
{
    m_value = maskValue(run);
    const auto strides = stridesOf(run, m_value);
    if (!strides) {
        return;
    }
    const tensor::Tensor plain = run.values[m_value.index()].to(tensor::DType::Float64).contiguous();
    const auto scores = plain.span<double>();
    m_width = static_cast<int>(strides->width);
    m_height = static_cast<int>(strides->height);
    m_classes = strides->classes;
    m_classAt.reserve(static_cast<std::size_t>(strides->width * strides->height));
    std::vector<One> all(static_cast<std::size_t>(m_classes));
    for (std::int64_t y = 0; y < strides->height; ++y) {
        for (std::int64_t x = 0; x < strides->width; ++x) {
            const auto [best, most] = bestAt(scores, *strides, x, y);
            m_classAt.push_back(best);
            if (best >= 0) {
                One& one = all[static_cast<std::size_t>(best)];
                one.index = best;
                ++one.places;
                one.score += most;
            }
        }
    }
    std::ranges::copy_if(all, std::back_inserter(m_found), [](const One& one) { return one.places > 0; });
    std::ranges::stable_sort(m_found, [](const One& a, const One& b) { return a.places > b.places; });
    m_asked = m_value == run.facts.targetValue ? trace::segmentOf(run) : askedInRow(run, m_classes);
}

QString classLabel(const RunModel& model, std::int64_t index)
{
    const auto at = static_cast<std::size_t>(index);
    const std::vector<std::string>& labels = model.run().facts.labels;
    if (index >= 0 && at < labels.size() && !labels[at].empty()) {
        return QString::fromStdString(labels[at]);
    }
    const bool isKnown = index >= 0 && index < model.input().labels.size();
    return isKnown ? model.input().labels[static_cast<qsizetype>(index)] : RunModel::tr("class %1").arg(index);
}

QList<QLineF> Segments::outline(std::optional<std::int64_t> wanted) const
{
    QList<QLineF> lines;
    const auto at = [&](int x, int y) { return kindAt(*this, wanted, x, y); };
    for (int y = 0; y <= m_height; ++y) {
        for (int x = 0; x <= m_width; ++x) {
            if (at(x, y) != at(x - 1, y) && y < m_height && (wanted || (x > 0 && x < m_width))) {
                lines.append(QLineF(x, y, x, y + 1));
            }
            if (at(x, y) != at(x, y - 1) && x < m_width && (wanted || (y > 0 && y < m_height))) {
                lines.append(QLineF(x, y, x + 1, y));
            }
        }
    }
    return lines;
}

} // namespace retro::views
