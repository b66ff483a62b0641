// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.input where what was done is known, and where it is not (section 4.8).
constexpr double kInputBase = 2.9;
constexpr double kInputEffect = 0.95;
constexpr double kUnknownInputBase = 2.5;
constexpr double kUnknownInputEffect = 0.4;
/// Correlation from which on an input is a·x + b of the other, and the most channels that are permuted (section 4.8).
constexpr double kLeastCorrelation = 0.9999;
constexpr std::int64_t kMostPermutedChannels = 4;
constexpr double kInputTolerance = 1e-6; ///< of the largest element
constexpr std::size_t kMostTurnedAxes = 5;

bool isClose(const std::vector<double>& a, const std::vector<double>& b)
{
    double largest = 0;
    for (const double x : b) {
        largest = std::max(largest, std::abs(x));
    }
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [largest](double x, double y) {
               return x == y || std::abs(x - y) <= kInputTolerance * largest;
           });
}

/// Elements of `tensor` read by an index that `turn` changes.
template <class F>
std::vector<double> reread(const Tensor& tensor, const tensor::Shape& shape, F&& turn)
{
    const std::vector<double> numbers = numbersIn(tensor);
    const tensor::Shape strides = tensor::rowMajorStrides(tensor.shape());
    std::vector<double> turned(numbers.size());
    for (std::size_t i = 0; i < turned.size(); ++i) {
        std::vector<std::int64_t> index = indexAt(static_cast<std::int64_t>(i), shape);
        turn(index);
        std::int64_t at = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
            at += index[axis] * strides[axis];
        }
        turned[i] = numbers[static_cast<std::size_t>(at)];
    }
    return turned;
}

/// What was done to the reference's input to make this one; `undo` is the way back.
struct Deed
{
    std::string what;
    std::string means;
    std::string undo;
};

std::string channelWords(const std::vector<std::int64_t>& order)
{
    using Order = std::vector<std::int64_t>;
    return order == Order{2, 1, 0} ? " (reversed: BGR for RGB)" : "";
}

std::optional<Deed> permutedChannels(const Tensor& own, const Tensor& other, std::size_t axis)
{
    const std::int64_t channels = own.shape()[axis];
    if (channels < 2 || channels > kMostPermutedChannels) {
        return std::nullopt;
    }
    const std::vector<double> wanted = numbersIn(own);
    std::vector<std::int64_t> order(static_cast<std::size_t>(channels));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    while (std::next_permutation(order.begin(), order.end())) {
        const std::vector<double> turned = reread(other, own.shape(), [&](std::vector<std::int64_t>& index) {
            index[axis] = order[static_cast<std::size_t>(index[axis])];
        });
        if (isClose(wanted, turned)) {
            return Deed{fmt::format("is that of the reference with its channels in the order [{}]{}",
                                    fmt::join(order, ", "), channelWords(order)),
                        "The model was trained on the other order.", "Put the channels back in order"};
        }
    }
    return std::nullopt;
}

std::optional<Deed> mirrored(const Tensor& own, const Tensor& other)
{
    const std::vector<double> wanted = numbersIn(own);
    for (std::size_t axis = 0; axis < own.rank(); ++axis) {
        const std::int64_t last = own.shape()[axis] - 1;
        const bool isMirror =
            last > 0 &&
            isClose(wanted, reread(other, own.shape(), [&](auto& index) { index[axis] = last - index[axis]; }));
        if (isMirror) {
            return Deed{fmt::format("is that of the reference mirrored along axis {}", axis),
                        "Things stand on the other side than in the reference.", "Mirror it back"};
        }
    }
    return std::nullopt;
}

std::optional<Deed> turned(const Tensor& own, const Tensor& other)
{
    if (own.rank() != other.rank() || own.rank() > kMostTurnedAxes || own.rank() < 2) {
        return std::nullopt;
    }
    std::vector<std::int64_t> order(own.rank());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const std::vector<double> wanted = numbersIn(own);
    while (std::next_permutation(order.begin(), order.end())) {
        const Tensor view = other.permuted(order);
        if (view.shape() == own.shape() && isClose(wanted, numbersIn(view))) {
            return Deed{fmt::format("is that of the reference with its axes in the order ({})", fmt::join(order, ", ")),
                        "The axes stand in another order.", "Transpose it back"};
        }
    }
    return std::nullopt;
}

/// By `quarters` in the plane of the axes `row` and `row` + 1; `wanted` are the numbers of `own`.
bool isRotatedBy(int quarters, std::size_t row, const Tensor& own, const Tensor& other,
                 const std::vector<double>& wanted)
{
    std::vector<std::int64_t> axes(own.rank());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
    if (quarters != 2) {
        std::swap(axes[row], axes[row + 1]);
    }
    const Tensor view = other.permuted(axes).contiguous();
    const auto turn = [&](std::vector<std::int64_t>& index) {
        index[row] = quarters == 3 ? index[row] : own.shape()[row] - 1 - index[row];
        index[row + 1] = quarters == 1 ? index[row + 1] : own.shape()[row + 1] - 1 - index[row + 1];
    };
    return view.shape() == own.shape() && isClose(wanted, reread(view, own.shape(), turn));
}

/// By quarters, in the plane of the last two axes; of a channels-last picture of the two before.
std::optional<Deed> rotated(const Tensor& own, const Tensor& other)
{
    if (own.rank() < 2 || own.rank() != other.rank()) {
        return std::nullopt;
    }
    const std::vector<double> wanted = numbersIn(own);
    for (std::size_t row = own.rank() - 2; row + 3 >= own.rank(); --row) {
        for (const int quarters : {1, 2, 3}) {
            if (isRotatedBy(quarters, row, own, other, wanted)) {
                constexpr int kQuarter = 90;
                return Deed{fmt::format("is that of the reference rotated by {}° in its axes {} and {}",
                                        quarters * kQuarter, row, row + 1),
                            "Things stand elsewhere than in the reference.", "Rotate it back"};
            }
        }
        if (row == 0) {
            break;
        }
    }
    return std::nullopt;
}

std::optional<Deed> scaled(const Tensor& own, const Tensor& other)
{
    const std::vector<double> y = numbersIn(own);
    const std::vector<double> x = numbersIn(other);
    const Statistics ofX = statisticsOf(other);
    const Statistics ofY = statisticsOf(own);
    double together = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        together += (x[i] - ofX.mean) * (y[i] - ofY.mean);
    }
    together /= static_cast<double>(std::max<std::size_t>(1, x.size()));
    if (!(ofX.variance > 0) || !(ofY.variance > 0) ||
        std::abs(together) / std::sqrt(ofX.variance * ofY.variance) < kLeastCorrelation) {
        return std::nullopt;
    }
    const double a = together / ofX.variance;
    const double b = ofY.mean - a * ofX.mean;
    return Deed{fmt::format("is {}·x + {} of the x of the reference", numberText(a), numberText(b)),
                "It was scaled in another way.", "Apply the same scale, mean and deviation"};
}

std::optional<Deed> deedOf(const Facts& facts, const Tensor& own, const Tensor& other)
{
    if (own.shape() == other.shape() && own.rank() > 0 && own.size() > 0) {
        const auto axes = imageAxesOf(own.shape(), facts.card());
        std::vector<std::size_t> channelAxes{axes ? axes->channel : std::min<std::size_t>(1, own.rank() - 1)};
        channelAxes.push_back(own.rank() - 1);
        for (const std::size_t axis : channelAxes) {
            if (auto deed = permutedChannels(own, other, axis)) {
                return deed;
            }
        }
        if (auto deed = mirrored(own, other)) {
            return deed;
        }
    }
    if (auto deed = turned(own, other)) {
        return deed;
    }
    if (auto deed = rotated(own, other)) {
        return deed;
    }
    return own.shape() == other.shape() && tensor::isFloating(own.dtype()) ? scaled(own, other) : std::nullopt;
}

std::size_t differingElements(const Tensor& own, const Tensor& other)
{
    const std::vector<double> a = numbersIn(own);
    const std::vector<double> b = numbersIn(other);
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        count += a[i] != b[i] ? 1 : 0;
    }
    return count;
}

/// How far the elements are from each other, by index along the second axis (channels), or the last one.
Chart inputChart(const Tensor& own, const Tensor& other)
{
    if (own.shape() != other.shape() || own.rank() == 0 || own.size() == 0) {
        return rowsOf("Shapes", {{"here", extentsText(own.shape())}, {"reference", extentsText(other.shape())}});
    }
    const std::vector<double> a = numbersIn(own);
    const std::vector<double> b = numbersIn(other);
    const std::size_t axis = own.rank() > 2 ? 1 : own.rank() - 1;
    const auto extent = static_cast<std::size_t>(own.shape()[axis]);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < own.rank(); ++i) {
        inner *= static_cast<std::size_t>(own.shape()[i]);
    }
    std::vector<double> sums(extent, 0);
    std::vector<std::size_t> marked;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sums[i / inner % extent] += std::abs(a[i] - b[i]) * static_cast<double>(extent) / static_cast<double>(a.size());
    }
    for (std::size_t i = 0; i < extent; ++i) {
        if (sums[i] != 0) {
            marked.push_back(i);
        }
    }
    return barsOf(own.rank() > 2 ? "Mean distance of the elements, by channel" : "Distance of the elements", sums,
                  marked);
}

/// How an input differs for which no deed is known.
std::string differenceText(const Tensor& own, const Tensor& other)
{
    return own.shape() == other.shape() ? fmt::format("differs from that of the reference in {} of {} elements",
                                                      differingElements(own, other), own.size())
                                        : fmt::format("has the shape {}, that of the reference {}",
                                                      extentsText(own.shape()), extentsText(other.shape()));
}

void noteInput(const Facts& facts, Probe& probe, const std::string& name, const Tensor& own, const Tensor& other)
{
    const Place place{PlaceKind::Input, name, {}, {}};
    const auto deed = deedOf(facts, own, other);
    Finding& finding = deed ? probe.difference(kInputBase, kInputEffect, place)
                            : probe.difference(kUnknownInputBase, kUnknownInputEffect, place);
    finding.what = deed ? deed->what : differenceText(own, other);
    finding.means = deed ? deed->means : "It is another input.";
    finding.remedy = deed ? deed->undo : "";
    finding.numbers = {{"inputs", 1}};
    finding.chart = inputChart(own, other);
    finding.action = {"undo it", {{"input", name}}, {}};
}

void findInputs(const Facts& facts, Probe& probe)
{
    const Facts& reference = *facts.reference();
    if (facts.inputs().empty() || facts.inputs().size() != reference.inputs().size()) {
        return probe.notRun("the two have not the same inputs");
    }
    const graph::Graph& graph = facts.model() != nullptr ? facts.model()->graph() : facts.graph();
    for (std::size_t i = 0; i < facts.inputs().size(); ++i) {
        const Tensor& own = facts.inputs()[i];
        const Tensor other = reference.inputs()[i].to(own.dtype());
        const std::string& name = graph.value(graph.inputs()[i]).name;
        const bool isSame = own.shape() == other.shape() && isClose(numbersIn(own), numbersIn(other));
        probe.measured(name, isSame ? 0 : 1);
        if (!isSame) {
            noteInput(facts, probe, name, own, other);
        }
    }
}

} // namespace

const Check diffInput{"diff.input",
                      "inputs that are not those of the reference (1: there is one)",
                      0,
                      "0",
                      Need::Reference | Need::Inputs,
                      true,
                      findInputs};

} // namespace retro::diagnosis
