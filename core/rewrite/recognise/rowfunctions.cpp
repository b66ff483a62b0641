// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/rewrite/genericshapes.h"
#include "core/rewrite/recognise/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

using Axes = std::vector<std::int64_t>;

bool isReduction(const Node& node) { return node.op.starts_with("Reduce"); }
bool isByChannel(const Node& node) { return node.op == "InstanceNormalization" || node.op == "GroupNormalization"; }

/// Axes over which a member works, as written; empty: all of a row function without axes, or none.
Axes writtenAxes(const Draft& draft, const Node& node)
{
    if (!isReduction(node)) {
        const std::int64_t fallback = node.op.ends_with("Softmax") && node.opset < 13 ? 1 : -1;
        return {intAttribute(node, "axis", fallback)};
    }
    Axes axes = attributeOr<Axes>(node, "axes", {});
    if (node.inputs.size() > 1 && draft.isConstant(node.inputs[1])) {
        const Tensor& given = draft.value(node.inputs[1]).constant;
        for (std::int64_t i = 0; i < given.size(); ++i) {
            axes.push_back(static_cast<std::int64_t>(given.at(i)));
        }
    }
    return axes;
}

/// What the row functions of a cone say about the axes of its operand.
struct RowAxes
{
    std::set<std::int64_t> axes; ///< as written: from the front or from the back
    bool isFromFront = false;    ///< some are counted from the front
    bool isByChannel = false;    ///< all behind the channels
    bool hasSum = false;         ///< a sum, which a number may divide by the extent
    bool hasReshape = false;
};

RowAxes rowAxesOf(const Cone& cone)
{
    RowAxes rows;
    for (const NodeId member : cone.members()) {
        const Node& node = cone.draft().node(member);
        if (coneStepOf(node) != ConeStep::Row) {
            continue;
        }
        const bool moves = node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze";
        rows.hasReshape = rows.hasReshape || node.op == "Reshape";
        rows.hasSum = rows.hasSum || node.op == "ReduceSum" || node.op == "ReduceSumSquare";
        rows.isByChannel = rows.isByChannel || isByChannel(node);
        if (!moves && !isByChannel(node)) {
            const Axes own = writtenAxes(cone.draft(), node);
            rows.axes.insert(own.begin(), own.end());
        }
    }
    rows.isFromFront = !rows.axes.empty() && *rows.axes.rbegin() >= 0;
    return rows;
}

/// Extents of the operand as far as they are known (0: not), or nothing when not even their number is.
using Extents = std::optional<std::vector<std::int64_t>>;

Extents declaredExtents(const Draft& draft, ValueId value)
{
    if (!draft.value(value).shape) {
        return std::nullopt;
    }
    std::vector<std::int64_t> extents;
    for (const graph::Dimension& dimension : *draft.value(value).shape) {
        extents.push_back(dimension.extent.value_or(0));
    }
    return extents;
}

Extents genericExtents(const Draft& draft, ValueId value)
{
    const std::optional<GenericShape> shape = draft.shapes().of(value);
    if (!shape) {
        return std::nullopt;
    }
    std::vector<std::int64_t> extents;
    for (const GenericExtent& extent : *shape) {
        extents.push_back(extent.isKnown() ? extent.first : 0);
    }
    return extents;
}

/// A shape to try.
struct Trial
{
    Shape shape;
    std::vector<std::int64_t> axes; ///< that row functions work over, from the front
    bool isGuessed = false;         ///< an extent of them is a guess
    bool isCut = false;             ///< constants are cut to a shorter row
};

constexpr std::int64_t kMostElements = 1 << 18;
/// Extent to which rows are cut where nothing depends on it.
constexpr std::int64_t kShortRow = 8;

/// Takes the extents that the constants of a cone ask for, from the last axis on; those of normalisations by channel at
/// axis 1. `longest`: what they are cut to. False: the operand is known to have another one there.
bool takeConstantExtents(const Cone& cone, const Extents& known, std::int64_t longest, Trial& trial,
                         std::vector<bool>& isGiven)
{
    const Draft& draft = cone.draft();
    const std::size_t rank = trial.shape.size();
    bool fits = true;
    const auto take = [&](std::size_t axis, std::int64_t extent) {
        if (axis < rank && extent > 1) {
            fits = fits && (!known || (*known)[axis] == 0 || (*known)[axis] == extent);
            trial.isCut = trial.isCut || extent > longest;
            trial.shape[axis] = std::min(extent, longest);
            isGiven[axis] = true;
        }
    };
    for (const NodeId member : cone.members()) {
        const Node& node = draft.node(member);
        for (const ValueId input : node.inputs) {
            const Tensor data = draft.isConstant(input) ? draft.value(input).constant : Tensor();
            if (!data.isValid() || !tensor::isFloating(data.dtype()) || data.rank() > rank) {
                continue;
            }
            for (std::size_t i = 0; i < data.rank(); ++i) {
                take(isByChannel(node) ? 1 : rank - data.rank() + i, data.shape()[i]);
            }
        }
    }
    return fits;
}

/// Axes that row functions work over, from the front; nothing where they are none of `rank`.
std::optional<std::set<std::int64_t>> axesOf(const RowAxes& rows, std::size_t rank)
{
    std::set<std::int64_t> axes;
    for (const std::int64_t axis : rows.axes) {
        axes.insert(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
    }
    for (std::size_t axis = 2; rows.isByChannel && axis < rank; ++axis) {
        axes.insert(static_cast<std::int64_t>(axis));
    }
    const bool areAxes = !axes.empty() && *axes.begin() >= 0 && *axes.rbegin() < static_cast<std::int64_t>(rank);
    return areAxes ? std::optional(std::move(axes)) : std::nullopt;
}

/// At least as many axes as constants and row functions need.
std::size_t leastRank(const Cone& cone, const RowAxes& rows)
{
    std::size_t rank = 2;
    for (const ValueId constant : cone.constants()) {
        rank = std::max(rank, cone.draft().value(constant).constant.rank());
    }
    return rows.axes.empty() ? rank : std::max(rank, static_cast<std::size_t>(1 - *rows.axes.begin()));
}

/// Axes without a part in it are kept short; others too, unless `isWhole` or a sum may be divided by their extent.
/// `guess`: for extents that nobody knows.
std::optional<Trial> trialFor(const Cone& cone, const RowAxes& rows, const Extents& known, std::int64_t guess,
                              bool isWhole = false)
{
    const std::size_t rank = known ? known->size() : leastRank(cone, rows);
    const std::optional<std::set<std::int64_t>> axes = axesOf(rows, rank);
    if (!axes) {
        return std::nullopt;
    }
    const bool counts = isWhole || rows.hasSum || rows.hasReshape || rows.isByChannel;
    Trial trial{Shape(rank, 2), {axes->begin(), axes->end()}};
    std::vector<bool> isGiven(rank, false);
    if (!rows.hasReshape && !takeConstantExtents(cone, known, counts ? kMostElements : kShortRow, trial, isGiven)) {
        return std::nullopt;
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const bool isPart = rows.hasReshape || axes->contains(static_cast<std::int64_t>(axis));
        const bool isKnown = counts && known && (*known)[axis] > 0;
        if (isPart && !isGiven[axis]) {
            trial.shape[axis] = isKnown ? (*known)[axis] : guess + static_cast<std::int64_t>(axis);
            trial.isGuessed = trial.isGuessed || !isKnown;
        }
    }
    return tensor::elementCount(trial.shape) <= kMostElements ? std::optional(std::move(trial)) : std::nullopt;
}

/// The cone at a shape, with what is looked up often.
struct RowProbe
{
    const Cone& cone;
    const Trial& trial;
    Probe function;
    Tensor x;
    double tolerance;

    [[nodiscard]] const graph::Graph& graph() const { return cone.draft().before(); }
    [[nodiscard]] std::int64_t fromBack(std::int64_t axis) const
    {
        return axis - static_cast<std::int64_t>(trial.shape.size());
    }
    /// The operator gives what the cone gives for these operands.
    [[nodiscard]] bool isClose(const KnownOperator& known, std::initializer_list<Tensor> operands) const
    {
        const std::optional<Probe> own = Probe::of(graph(), known, trial.shape);
        return own && std::ranges::all_of(operands, [&](const Tensor& operand) {
                   return distance(function(operand), (*own)(operand)) < tolerance;
               });
    }
};

constexpr std::array<std::string_view, 2> kSoftmaxes{"Softmax", "LogSoftmax"};

std::optional<Recognised> asSoftmax(const RowProbe& row)
{
    if (row.trial.axes.size() != 1) {
        return std::nullopt;
    }
    for (const std::string_view op : kSoftmaxes) {
        KnownOperator known{op, 13, {{"axis", row.fromBack(row.trial.axes[0])}}};
        if (row.isClose(known, {row.x})) {
            return Recognised{std::move(known), {}};
        }
    }
    return std::nullopt;
}

/// A row divided by its size: x/‖x‖.
std::optional<Recognised> asLpNorm(const RowProbe& row)
{
    for (const std::int64_t p : {2, 1}) {
        KnownOperator known{"LpNormalization", 1, {{"axis", row.fromBack(row.trial.axes[0])}, {"p", p}}};
        if (row.trial.axes.size() == 1 && row.isClose(known, {row.x})) {
            return Recognised{std::move(known), {}};
        }
    }
    return std::nullopt;
}

/// A normalisation with a scale and maybe a shift per place of some axes.
struct NormForm
{
    KnownOperator known; ///< without parameters and epsilon
    Axes places;         ///< axes that scale and shift have, from the front
    bool mayShift = true;
    bool needsShift = false;
};

/// Element of a tensor of `shape` that belongs to place `j` of `axes`: index 0 along the others.
std::size_t elementOf(const Shape& shape, const Axes& axes, std::int64_t j)
{
    std::int64_t offset = 0;
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end()) {
            offset += j % shape[axis] * stride;
            j /= shape[axis];
        }
        stride *= shape[axis];
    }
    return static_cast<std::size_t>(offset);
}

std::int64_t placeCount(const Shape& shape, const Axes& axes)
{
    const auto extent = [&](std::int64_t count, std::int64_t axis) {
        return count * shape[static_cast<std::size_t>(axis)];
    };
    return std::accumulate(axes.begin(), axes.end(), std::int64_t{1}, extent);
}

/// `known` with these parameters: floats over `shape`.
KnownOperator withParameters(const NormForm& form, const Shape& shape, const std::vector<double>& scale,
                             const std::vector<double>& shift, double epsilon)
{
    KnownOperator whole = form.known;
    whole.attributes["epsilon"] = epsilon;
    whole.parameters.push_back(Tensor::of<double>(shape, scale));
    const bool isShifted = std::ranges::any_of(shift, [](double each) { return std::abs(each) > 1e-12; });
    if (form.needsShift || (form.mayShift && isShifted)) {
        whole.parameters.push_back(Tensor::of<double>(shape, shift));
    }
    return whole;
}

/// Normalisations add less than that to a variance.
constexpr double kMostEpsilon = 0.1;

/// The epsilon that is added to the variance: read from the result for a tiny operand, where it is all that counts.
double epsilonOf(const RowProbe& row, const Tensor& plain, const Tensor& atZero, std::size_t element, double scale)
{
    constexpr double kTiny = 1e-9;
    const double* x = row.x.data<double>();
    const double* n = plain.data<double>();
    const auto width = static_cast<std::size_t>(row.trial.shape.back()); // at least 2, of one row
    const std::size_t beside = element % width + 1 < width ? element + 1 : element - 1;
    const double deviation = (x[element] - x[beside]) / (n[element] - n[beside]);
    const Tensor tiny = row.function(scaled(row.x, kTiny));
    const double share = (tiny.data<double>()[element] - atZero.data<double>()[element]) / (scale * n[element]);
    const double variance = deviation * deviation * kTiny * kTiny;
    const double epsilon = variance * (1 / (share * share) - 1);
    return epsilon > 1e-15 ? asWritten(row.cone, epsilon) : 0;
}

/// A constant of the cone that has these numbers, in another shape maybe.
ValueId constantWith(const RowProbe& row, const Tensor& numbers)
{
    for (const ValueId constant : row.cone.constants()) {
        const Tensor& whole = row.cone.draft().value(constant).constant;
        const bool isShorter = row.trial.isCut && whole.rank() < numbers.rank();
        if (isShorter || !tensor::isFloating(whole.dtype()) || tensor::isNarrow(whole.dtype())) {
            continue;
        }
        const Tensor data = row.trial.isCut ? cutTo(row.trial.shape, whole) : whole;
        if (data.size() == numbers.size() &&
            distance(data.to(DType::Float64).contiguous().reshaped(numbers.shape()), numbers) < 1e-9) {
            return constant;
        }
    }
    return {};
}

std::optional<Recognised> asNorm(const RowProbe& row, const NormForm& form)
{
    const Shape& shape = row.trial.shape;
    const std::int64_t count = placeCount(shape, form.places);
    Shape places;
    for (const std::int64_t axis : form.places) {
        places.push_back(shape[static_cast<std::size_t>(axis)]);
    }
    const std::vector<double> ones(static_cast<std::size_t>(count), 1);
    const std::vector<double> zeros(static_cast<std::size_t>(count), 0);
    const std::optional<Probe> plainNorm = Probe::of(row.graph(), withParameters(form, places, ones, zeros, 0), shape);
    if (!plainNorm) {
        return std::nullopt;
    }
    constexpr double kLarge = 1e4;
    const Tensor plain = (*plainNorm)(row.x);
    Tensor atZero = row.function(scaled(row.x, 0));
    if (std::ranges::any_of(atZero.span<double>(), [](double each) { return !std::isfinite(each); })) {
        atZero = scaled(row.x, 0); // no epsilon: 0/0
    }
    const Tensor large = row.function(scaled(row.x, kLarge));
    std::vector<double> scale(ones.size());
    std::vector<double> shift(ones.size());
    for (std::size_t j = 0; j < scale.size(); ++j) {
        const std::size_t at = elementOf(shape, form.places, static_cast<std::int64_t>(j));
        shift[j] = atZero.data<double>()[at];
        scale[j] = (large.data<double>()[at] - shift[j]) / plain.data<double>()[at];
    }
    const auto widest = std::ranges::max_element(scale, {}, [](double each) { return std::abs(each); });
    const std::size_t place = static_cast<std::size_t>(widest - scale.begin());
    const double epsilon =
        epsilonOf(row, plain, atZero, elementOf(shape, form.places, static_cast<std::int64_t>(place)), *widest);
    KnownOperator whole = withParameters(form, places, scale, shift, epsilon);
    // Without an epsilon a row of equal numbers is 0/0, which is to be seen at the node that divides; with a large one
    // nothing is divided.
    const bool divides = epsilon > 0 && epsilon < kMostEpsilon;
    if (!divides || !row.isClose(whole, {row.x, scaled(scattered(shape, 7), 0.03)})) {
        return std::nullopt;
    }
    Recognised found{std::move(whole)};
    for (const Tensor& parameter : found.known.parameters) {
        found.parameters.push_back(constantWith(row, parameter));
    }
    return found;
}

/// Axes first … rank − 1.
Axes axesFrom(std::int64_t first, std::size_t rank)
{
    Axes axes;
    for (std::int64_t axis = first; axis < static_cast<std::int64_t>(rank); ++axis) {
        axes.push_back(axis);
    }
    return axes;
}

/// Groups that a Reshape of the cone makes of the channels: the second extent of what it makes.
std::set<std::int64_t> groupsOf(const RowProbe& row)
{
    std::set<std::int64_t> groups;
    for (const ValueId constant : row.cone.constants()) {
        const Tensor& data = row.cone.draft().value(constant).constant;
        if (data.dtype() == DType::Int64 && data.rank() == 1 && data.size() >= 3 && data.at(1) > 0) {
            groups.insert(static_cast<std::int64_t>(data.at(1)));
        }
    }
    return groups;
}

std::optional<Recognised> asChannelNorm(const RowProbe& row)
{
    const std::size_t rank = row.trial.shape.size();
    if (rank < 3) {
        return std::nullopt;
    }
    if (row.trial.axes == axesFrom(2, rank)) {
        const NormForm instance{{"InstanceNormalization", 6}, {1}, true, true};
        if (std::optional<Recognised> found = asNorm(row, instance)) {
            return found;
        }
    }
    for (const std::int64_t groups : groupsOf(row)) {
        const NormForm group{{"GroupNormalization", 21, {{"num_groups", groups}}}, {1}, true, true};
        if (std::optional<Recognised> found = asNorm(row, group)) {
            return found;
        }
    }
    return std::nullopt;
}

/// LayerNormalization and RMSNormalization are over the last axes.
std::optional<Recognised> asTrailingNorm(const RowProbe& row, NormForm form)
{
    const std::size_t rank = row.trial.shape.size();
    const std::int64_t first = row.trial.axes.front();
    if (row.trial.axes != axesFrom(first, rank)) {
        return std::nullopt;
    }
    form.known.attributes["axis"] = row.fromBack(first);
    form.places = row.trial.axes;
    return asNorm(row, form);
}

std::optional<Recognised> functionOf(FunctionGroup group, const RowProbe& row)
{
    switch (group) {
    case FunctionGroup::Softmax:
        return asSoftmax(row);
    case FunctionGroup::LayerNorm:
        return asTrailingNorm(row, {{"LayerNormalization", 17}, {}});
    case FunctionGroup::RmsNorm:
        return asLpNorm(row) ? std::nullopt : asTrailingNorm(row, {{"RMSNormalization", 23}, {}, false});
    case FunctionGroup::Norm:
        break;
    case FunctionGroup::Activation:
        return std::nullopt;
    }
    std::optional<Recognised> found = asLpNorm(row);
    return found ? found : asChannelNorm(row);
}

std::optional<Recognised> foundAt(FunctionGroup group, const Cone& cone, const std::optional<Trial>& trial)
{
    std::optional<Probe> function = trial ? Probe::of(cone, trial->shape, false) : std::nullopt;
    if (!function || function->resultShape() != trial->shape) {
        return std::nullopt;
    }
    return functionOf(group, {cone, *trial, std::move(*function), scattered(trial->shape, 5), toleranceOf(cone)});
}

/// A parameter is no constant of the model, but computed of some: it is needed in full length.
bool isPartial(const Recognised& found, const Trial& trial)
{
    return trial.isCut && std::ranges::any_of(found.parameters, [](ValueId own) { return !own.isValid(); });
}

std::optional<Recognised> foundBy(FunctionGroup group, const Cone& cone, const RowAxes& rows, const Extents& known)
{
    const std::optional<Trial> trial = trialFor(cone, rows, known, 11);
    std::optional<Recognised> found = foundAt(group, cone, trial);
    if (found && trial->isGuessed && rows.hasSum) { // another number of addends must give the same
        return foundAt(group, cone, trialFor(cone, rows, known, 14));
    }
    if (found && isPartial(*found, *trial)) {
        return foundAt(group, cone, trialFor(cone, rows, known, 11, true));
    }
    return found;
}

std::optional<Recognised> findRowFunction(const Cone& cone, FunctionGroup group)
{
    const RowAxes rows = rowAxesOf(cone);
    const bool needsShape = rows.isFromFront || rows.isByChannel || rows.hasReshape;
    const Extents declared = declaredExtents(cone.draft(), cone.leaf());
    std::optional<Recognised> found;
    if (declared || !needsShape) {
        found = foundBy(group, cone, rows, declared);
    }
    const bool isWhole = declared && std::ranges::find(*declared, 0) == declared->end();
    if (found || isWhole || !(needsShape || rows.hasSum)) {
        return found;
    }
    const Extents generic = genericExtents(cone.draft(), cone.leaf());
    return generic ? foundBy(group, cone, rows, generic) : std::nullopt;
}

} // namespace

bool RowFunctions::mayKnow(const Cone& cone) const
{
    constexpr int kEnough = 2;
    const auto failures = m_failures.find(cone.form());
    return failures == m_failures.end() || failures->second < kEnough;
}

std::optional<Recognised> RowFunctions::find(const Cone& cone)
{
    std::optional<Recognised> found = findRowFunction(cone, m_group);
    int& failures = m_failures[cone.form()];
    failures = found ? -1 : failures < 0 ? failures : failures + 1;
    return found;
}

bool keepsShape(const Cone& cone)
{
    const Draft& draft = cone.draft();
    const auto isNumber = [](const Tensor& data) { return data.size() == 1 && data.rank() <= 1; };
    Extents extents;
    for (const ValueId constant : cone.constants()) {
        const Tensor& data = draft.value(constant).constant;
        if (isNumber(data)) {
            continue;
        }
        extents = extents ? extents : genericExtents(draft, cone.leaf());
        if (!extents || extents->size() < data.rank()) {
            return false;
        }
        for (std::size_t i = 0; i < data.rank(); ++i) {
            const std::int64_t own = (*extents)[extents->size() - data.rank() + i];
            if (data.shape()[i] != 1 && data.shape()[i] != own) {
                return false;
            }
        }
    }
    return true;
}

} // namespace retro::rewrite
