// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.weight; e of more constants than that: another training, not a fault (section 4.8).
constexpr double kWeightBase = 2.7;
constexpr double kWeightEffect = 0.9;
constexpr double kTrainingApartEffect = 0.4;
constexpr std::size_t kMostFaultyConstants = 3;
/// Relative spread up to which factors of elements are one factor.
constexpr double kFactorTolerance = 1e-3;

/// The index along an axis that all positions have; nothing where they have several.
std::optional<std::int64_t> commonIndex(const std::vector<std::int64_t>& positions, const tensor::Shape& shape,
                                        std::size_t axis)
{
    std::optional<std::int64_t> common;
    for (const std::int64_t position : positions) {
        const std::int64_t at = indexAt(position, shape)[axis];
        if (common && *common != at) {
            return std::nullopt;
        }
        common = at;
    }
    return common;
}

/// Own elements over those of the reference where that is one number; nothing else.
std::optional<double> commonFactor(const std::vector<std::int64_t>& positions, const Tensor& own, const Tensor& other)
{
    std::optional<double> common;
    for (const std::int64_t position : positions) {
        const double theirs = other.at(position);
        const double factor = own.at(position) / theirs;
        const bool isOne = theirs != 0 && std::isfinite(factor) &&
                           (!common || std::abs(factor - *common) <= kFactorTolerance * std::abs(*common));
        if (!isOne) {
            return std::nullopt;
        }
        common = common.value_or(factor);
    }
    return common;
}

/// "all in gate f" of a recurrent weight.
std::string gateText(const graph::Node& node, const std::vector<std::int64_t>& positions, const tensor::Shape& shape)
{
    static constexpr std::array<std::string_view, 4> kLstmGates{"i (input)", "o (output)", "f (forget)", "c (cell)"};
    static constexpr std::array<std::string_view, 3> kGruGates{"z (update)", "r (reset)", "h (hidden)"};
    const std::size_t gates = node.op == "LSTM" ? kLstmGates.size() : (node.op == "GRU" ? kGruGates.size() : 0);
    const std::int64_t hidden = graph::intAttribute(node, "hidden_size", 0);
    if (gates == 0 || hidden <= 0 || shape.size() < 2) {
        return {};
    }
    std::optional<std::int64_t> common;
    for (const std::int64_t position : positions) {
        const std::int64_t gate = indexAt(position, shape)[1] / hidden % static_cast<std::int64_t>(gates);
        if (common && *common != gate) {
            return {};
        }
        common = gate;
    }
    const auto at = static_cast<std::size_t>(common.value_or(0));
    return fmt::format(": all in gate {}", node.op == "LSTM" ? kLstmGates[at] : kGruGates[at]);
}

std::string whereText(const Compared& compared, const graph::Node& node, const ConstantDifference& difference,
                      const Tensor& own, const Tensor& other)
{
    if (difference.positions.size() == 1 && difference.elements == 1) {
        return fmt::format("is {}, in the reference {}", numberText(own.at(0)), numberText(other.at(0)));
    }
    std::string text = fmt::format("differs in {} of {} elements", difference.positions.size(), difference.elements);
    if (difference.positions.size() == 1) {
        const std::int64_t at = difference.positions.front();
        return text + fmt::format(", at {}: {}, in the reference {}", indexText(indexAt(at, own.shape())),
                                  numberText(own.at(at)), numberText(other.at(at)));
    }
    if (const std::string gate = gateText(node, difference.positions, own.shape()); !gate.empty()) {
        text += gate;
    } else if (own.rank() > 0) {
        const auto linear = linearWeightOf(*compared.own, node);
        const std::size_t axis = linear && linear->slot == difference.slot ? linear->outputAxis : 0;
        const auto channel = commonIndex(difference.positions, own.shape(), axis);
        text += channel && own.shape()[axis] > 1 ? fmt::format(": all in channel {}", *channel) : "";
    }
    const auto factor = commonFactor(difference.positions, own, other);
    return text + (factor ? fmt::format(", factor {}", numberText(*factor)) : "");
}

/// Both numbers of a single element; else how large the differences are, by index along the first axis.
Chart constantChart(const ConstantDifference& difference, const Tensor& own, const Tensor& other)
{
    if (difference.isOtherShape || difference.positions.empty() || own.rank() == 0) {
        return rowsOf("What is here, and in the reference",
                      {{"here", extentsText(own.shape())}, {"reference", extentsText(other.shape())}});
    }
    if (difference.positions.size() == 1) {
        const std::int64_t at = difference.positions.front();
        return rowsOf(fmt::format("The element {}", indexText(indexAt(at, own.shape()))),
                      {{"here", numberText(own.at(at))}, {"reference", numberText(other.at(at))}});
    }
    std::vector<double> largest(static_cast<std::size_t>(own.shape().front()), 0);
    std::vector<std::size_t> marked;
    for (const std::int64_t position : difference.positions) {
        const auto at = static_cast<std::size_t>(position / (own.size() / own.shape().front()));
        largest[at] = std::max(largest[at], std::abs(own.at(position) - other.at(position)));
        if (marked.empty() || marked.back() != at) {
            marked.push_back(at);
        }
    }
    return barsOf("Largest difference, by index along the first axis", std::move(largest), marked);
}

/// What differs in a constant.
std::string weightText(const Compared& compared, const ConstantDifference& difference, const Tensor& own,
                       const Tensor& other)
{
    const graph::Node& node = compared.own->graph().node(difference.node);
    return fmt::format("its {} ({}) {}", roleOf(node, difference.slot),
                       compared.own->constantName(node, difference.slot),
                       difference.isOtherShape ? fmt::format("has the shape {}, in the reference {}",
                                                             extentsText(own.shape()), extentsText(other.shape()))
                                               : whereText(compared, node, difference, own, other));
}

/// What that says of the two models.
std::string weightMeaning(const Compared& compared, bool isTraining)
{
    if (isTraining) {
        return fmt::format("{} constants differ: the models were trained apart.", compared.constants.size());
    }
    return compared.equalConstants == 0 ? std::string("There is no other constant.")
                                        : fmt::format("{} other constants are the same.", compared.equalConstants);
}

void findWeights(const Facts& facts, Probe& probe)
{
    const Compared* compared = facts.compared();
    if (compared == nullptr || !compared->isComparable()) {
        return probe.notRun("the two have no common structure");
    }
    probe.measured(facts.sources().modelName, static_cast<double>(compared->constants.size()));
    const bool isTraining = compared->constants.size() > kMostFaultyConstants;
    for (const ConstantDifference& difference : compared->constants) {
        const graph::Node& node = compared->own->graph().node(difference.node);
        const NodeId partner = compared->match.toOther[difference.node.index()];
        const Tensor own = compared->own->constantOperand(node, difference.slot);
        const Tensor other = compared->other->constantOperand(compared->other->graph().node(partner), difference.slot);
        const std::string name = compared->own->constantName(node, difference.slot);
        Finding& finding = probe.difference(kWeightBase, isTraining ? kTrainingApartEffect : kWeightEffect,
                                            {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = weightText(*compared, difference, own, other);
        finding.means = weightMeaning(*compared, isTraining);
        finding.remedy = isTraining ? "" : "Take it from the reference, if that is the good one";
        finding.numbers = {{"differing", static_cast<double>(difference.positions.size())},
                           {"elements", static_cast<double>(difference.elements)},
                           {"equal_constants", static_cast<double>(compared->equalConstants)}};
        finding.chart = constantChart(difference, own, other);
        finding.action = {"go to weights", {{"node", node.name}, {"value", name}}, {}};
        if (!difference.positions.empty()) {
            finding.evidence = {{node.name, indexAt(difference.positions.front(), own.shape())}};
        }
    }
}

} // namespace

const Check diffWeight{
    "diff.weight", "constants that differ from those of the reference", 0, "0", Need::Reference, true, findWeights};

} // namespace retro::diagnosis
