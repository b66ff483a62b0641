// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/replacement.h"
#include "core/diagnosis/siblings.h"
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

namespace retro::diagnosis
{

namespace
{

/// Where at most so many of the first inputs are right, each node is tried as conversions get it wrong; at most
/// kMostRepairs of them.
constexpr double kMostRight = 0.9;
constexpr std::size_t kMostRepairs = 160;
constexpr double kRepairBase = 2.8;
constexpr double kBestBase = 2.95; // it makes more right than other inputs do: before data.preparation

/// A node as it may have been meant.
struct Repair
{
    Replacement replacement;
    std::string words; ///< behind "with"
    const char* means = "This node is not as it was trained: it was written or converted otherwise.";
    const char* remedy = "Compare it with the source of the model, and how the file was made";
};

/// Mean and deviation that the channels of the layers have over a folder, of all layers but one: medians. Nothing of
/// fewer than two others, or where they do not vary.
std::optional<std::pair<double, double>> usualBeside(const std::vector<Watched>& watched, const Watched& one)
{
    constexpr std::size_t kLeastOthers = 2;
    std::vector<double> means;
    std::vector<double> deviations;
    for (const Watched& other : watched) {
        if (other.as != WatchedAs::Linear || &other == &one || other.channels.empty()) {
            continue;
        }
        std::vector<double> ofChannels;
        std::vector<double> spreads;
        for (const ChannelSums& channel : other.channels) {
            ofChannels.push_back(channel.mean());
            spreads.push_back(channel.deviation());
        }
        means.push_back(median(ofChannels));
        deviations.push_back(median(spreads));
    }
    const std::pair usual(median(means), median(deviations));
    return means.size() >= kLeastOthers && usual.second > 0 ? std::optional(usual) : std::nullopt;
}

/// Each index along `axis` times its factor, plus its shift.
Tensor scaledAlong(const Tensor& tensor, std::size_t axis, const std::vector<double>& factors,
                   const std::vector<double>& shifts)
{
    std::vector<double> numbers = numbersIn(tensor);
    const std::int64_t stride = tensor::rowMajorStrides(tensor.shape())[axis];
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(i) / stride % tensor.shape()[axis]);
        numbers[i] = numbers[i] * factors[at] + shifts[at];
    }
    return Tensor::of<double>(tensor.shape(), numbers).to(tensor.dtype());
}

/// Collects what may be tried at the nodes of a model.
class Repairs
{
public:
    /// `watched`: values of the model over a folder.
    Repairs(const ModelFacts& model, const std::vector<Watched>& watched) : m_model(model)
    {
        for (const Watched& layer : watched) {
            const auto usual = layer.as == WatchedAs::Linear ? usualBeside(watched, layer) : std::nullopt;
            const auto id = usual ? model.graph().findNode(layer.node) : std::nullopt;
            if (id) {
                addStatistics(*id, layer, usual->first, usual->second);
            }
        }
        for (const std::vector<NodeId>& stack : siblingsOf(model.graph())) {
            addOddOnes(stack);
        }
        for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
            const graph::Node& node = model.graph().node(NodeId(i));
            if (!node.domain.empty()) {
                continue;
            }
            addWeights(NodeId(i), node);
            addGates(NodeId(i), node);
            addNormalisation(NodeId(i), node);
            addRows(NodeId(i), node);
            addAttributes(NodeId(i), node);
        }
    }

    [[nodiscard]] const std::vector<Repair>& all() const { return m_all; }

private:
    void add(NodeId id, std::string words, std::vector<std::pair<std::size_t, Tensor>> constants,
             const graph::Attributes* attributes = nullptr)
    {
        Repair repair{{id, m_model.graph().node(id), std::move(constants)}, std::move(words)};
        if (attributes != nullptr) {
            repair.replacement.node.attributes = *attributes;
        }
        m_all.push_back(std::move(repair));
    }

    /// Weights and bias of a layer such that each of its channels has the usual mean and deviation: what a
    /// normalisation that was merged into it would make of sound statistics.
    void addStatistics(NodeId id, const Watched& layer, double mean, double deviation)
    {
        const graph::Node& node = m_model.graph().node(id);
        const auto linear = linearWeightOf(m_model, node);
        const Tensor bias = linear && node.inputs.size() > 2 ? m_model.constantOperand(node, 2) : Tensor();
        const auto channels = std::ssize(layer.channels);
        if (!bias.isValid() || bias.size() != channels || linear->weight.shape()[linear->outputAxis] != channels) {
            return;
        }
        std::vector<double> factors;
        std::vector<double> shifts;
        for (const ChannelSums& channel : layer.channels) {
            factors.push_back(channel.deviation() > 0 ? deviation / channel.deviation() : 1);
            shifts.push_back(mean - channel.mean() * factors.back());
        }
        const std::vector<double> none(layer.channels.size(), 0);
        add(id, "its channels at the mean and deviation that those of other layers have",
            {{linear->slot, scaledAlong(linear->weight, linear->outputAxis, factors, none)},
             {2, scaledAlong(bias, bias.rank() - 1, factors, shifts)}});
        m_all.back().means = "A normalisation was merged into it whose running mean and variance are not those of the "
                             "training: lost, or never loaded.";
        m_all.back().remedy = "Load the statistics of its BatchNormalization again and export the model anew";
    }

    /// What most nodes of a stack say in their attributes, where one says something else.
    void addOddOnes(const std::vector<NodeId>& stack)
    {
        std::map<std::string, std::vector<NodeId>> texts;
        for (const NodeId id : stack) {
            const graph::Attributes& attributes = m_model.graph().node(id).attributes;
            std::string text;
            for (const auto& [name, value] : attributes) {
                if (const auto* number = std::get_if<std::int64_t>(&value)) {
                    text += fmt::format("{}={};", name, *number);
                } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
                    text += fmt::format("{}={};", name, fmt::join(*list, ","));
                }
            }
            texts[text].push_back(id);
        }
        const auto usual = std::ranges::max_element(texts, {}, [](const auto& one) { return one.second.size(); });
        for (const auto& [text, nodes] : texts) {
            if (nodes.size() == 1 && usual->second.size() > 1) {
                add(nodes.front(), "the attributes of the others like it", {},
                    &m_model.graph().node(usual->second.front()).attributes);
            }
        }
    }

    /// Numbers of the last two axes in the opposite order.
    static Tensor turnedByHalf(const Tensor& kernel)
    {
        std::vector<double> numbers = numbersIn(kernel);
        const auto inner =
            static_cast<std::ptrdiff_t>(kernel.shape()[kernel.rank() - 1] * kernel.shape()[kernel.rank() - 2]);
        for (auto at = numbers.begin(); inner > 0 && at != numbers.end(); at += inner) {
            std::reverse(at, at + inner);
        }
        return Tensor::of<double>(kernel.shape(), numbers).to(kernel.dtype());
    }

    static Tensor exchanged(const Tensor& weight, std::size_t a, std::size_t b)
    {
        std::vector<std::int64_t> order(weight.rank());
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::swap(order[a], order[b]);
        return weight.permuted(order).contiguous();
    }

    void addWeights(NodeId id, const graph::Node& node)
    {
        const auto linear = linearWeightOf(m_model, node);
        if (!linear) {
            return;
        }
        const Tensor& weight = linear->weight;
        const tensor::Shape& shape = weight.shape();
        const auto other = [&](std::string words, Tensor changed) {
            add(id, std::move(words), {{linear->slot, std::move(changed)}});
        };
        if (shape[linear->inputAxis] == shape[linear->outputAxis] && linear->group == 1) {
            other("inputs and outputs of its weights exchanged",
                  exchanged(weight, linear->inputAxis, linear->outputAxis));
        }
        const std::size_t rank = shape.size();
        if (ops::isConvolution(node) && rank == 4 && shape[2] == shape[3] && shape[2] > 1) {
            other("rows and columns of its kernel exchanged", exchanged(weight, 2, 3));
            other("its kernel turned by half", turnedByHalf(weight));
        }
        other("the sign of its weights turned", ops::algebra::scale(weight, -1));
    }

    /// Blocks of `count` along an axis in another order.
    static Tensor reordered(const Tensor& tensor, std::size_t axis, const std::vector<std::size_t>& order)
    {
        const tensor::Shape& shape = tensor.shape();
        const std::int64_t block = shape[axis] / std::ssize(order);
        const std::int64_t inner = std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end(),
                                                   std::int64_t{1}, std::multiplies<>()) *
                                   block;
        const std::vector<double> from = numbersIn(tensor);
        std::vector<double> to(from.size());
        for (std::int64_t i = 0; inner > 0 && i < std::ssize(to); ++i) {
            const std::int64_t at = i / inner % std::ssize(order);
            const auto source = static_cast<std::int64_t>(order[static_cast<std::size_t>(at)]);
            to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i + (source - at) * inner)];
        }
        return Tensor::of<double>(shape, to).to(tensor.dtype());
    }

    /// Gates of a recurrent cell in every other order.
    void addGates(NodeId id, const graph::Node& node)
    {
        const std::size_t gates = node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 0;
        std::array<Tensor, 4> operands;
        for (std::size_t slot = 1; gates > 0 && slot < std::min(operands.size(), node.inputs.size()); ++slot) {
            operands[slot] = m_model.constantOperand(node, slot);
        }
        if (!operands[1].isValid() || !operands[2].isValid()) {
            return;
        }
        std::vector<std::size_t> order(gates);
        std::iota(order.begin(), order.end(), std::size_t{0});
        while (std::ranges::next_permutation(order).found) {
            std::vector<std::pair<std::size_t, Tensor>> constants;
            for (std::size_t slot = 1; slot < operands.size(); ++slot) {
                if (operands[slot].isValid()) {
                    std::vector<std::size_t> blocks = order;
                    if (slot == 3) { // biases of the input, then those of the state
                        std::ranges::transform(order, std::back_inserter(blocks),
                                               [gates](std::size_t gate) { return gate + gates; });
                    }
                    constants.emplace_back(slot, reordered(operands[slot], 1, blocks));
                }
            }
            const std::string_view names = gates == 4 ? "iofc" : "zrh";
            std::string text;
            for (const std::size_t gate : order) {
                text += fmt::format("{}{}", text.empty() ? "" : ", ", names[gate]);
            }
            add(id, fmt::format("its gates read in the order {}", text), std::move(constants));
        }
    }

    void addNormalisation(NodeId id, const graph::Node& node)
    {
        const bool isIt = ops::isBatchNormalisation(node) || node.op == "LayerNormalization" ||
                          node.op == "GroupNormalization" || node.op == "InstanceNormalization";
        const Tensor scale = isIt ? m_model.constantOperand(node, 1) : Tensor();
        const Tensor bias = isIt && node.inputs.size() > 2 ? m_model.constantOperand(node, 2) : Tensor();
        if (scale.isValid() && bias.isValid() && scale.shape() == bias.shape()) {
            add(id, "its scale and bias exchanged", {{1, bias}, {2, scale}});
            add(id, "the sign of its scale turned", {{1, ops::algebra::scale(scale, -1)}});
        }
    }

    /// Rows of a table, or of positions that are added, moved by a few.
    void addRows(NodeId id, const graph::Node& node)
    {
        constexpr std::int64_t kLeastRows = 4;
        const bool isTable = node.op == "Gather" && graph::intAttribute(node, "axis", 0) == 0;
        for (std::size_t slot = 0; (isTable || node.op == "Add") && slot < (isTable ? 1 : node.inputs.size()); ++slot) {
            const Tensor table = m_model.constantOperand(node, slot);
            const std::size_t axis = !table.isValid() || table.rank() < 2 ? 0 : table.rank() - 2;
            if (!table.isValid() || table.rank() < 2 || !tensor::isFloating(table.dtype()) ||
                table.shape()[axis] < kLeastRows || table.shape()[axis + 1] < 2) {
                continue;
            }
            const auto rows = static_cast<std::size_t>(table.shape()[axis]);
            for (const int moved : {-2, -1, 1, 2}) {
                std::vector<std::size_t> order(rows);
                std::iota(order.begin(), order.end(), std::size_t{0});
                std::ranges::rotate(order, order.begin() + (moved > 0 ? moved : std::ssize(order) + moved));
                add(id, fmt::format("its rows moved by {}", -moved), {{slot, reordered(table, axis, order)}});
            }
        }
    }

    void addAttributes(NodeId id, const graph::Node& node)
    {
        graph::Attributes changed = node.attributes;
        if (node.op == "Softmax" || node.op == "LogSoftmax") {
            const std::int64_t axis = graph::intAttribute(node, "axis", -1);
            changed["axis"] = axis == -1 ? std::int64_t{-2} : std::int64_t{-1};
            add(id, fmt::format("its axis {}, not {}", axis == -1 ? -2 : -1, axis), {}, &changed);
        }
        const std::vector<std::int64_t> dilations = graph::intsAttribute(node, "dilations");
        const std::vector<std::int64_t> kernel = graph::intsAttribute(node, "kernel_shape");
        if (std::ranges::any_of(dilations, [](std::int64_t by) { return by != 1; }) &&
            kernel.size() == dilations.size()) {
            std::vector<std::int64_t> pads;
            std::ranges::transform(kernel, std::back_inserter(pads), [](std::int64_t side) { return (side - 1) / 2; });
            pads.insert(pads.end(), pads.begin(), pads.begin() + std::ssize(kernel));
            changed["dilations"] = std::vector<std::int64_t>(kernel.size(), 1);
            changed["pads"] = pads;
            add(id, "its kernel without dilation", {}, &changed);
        }
        addEvenPads(id, node);
    }

    /// As wide before as behind: of a layer, and of a Pad.
    void addEvenPads(NodeId id, const graph::Node& node)
    {
        const Tensor operand = node.op == "Pad" && node.inputs.size() > 1 ? m_model.constantOperand(node, 1) : Tensor();
        std::vector<std::int64_t> pads = graph::intsAttribute(node, "pads");
        for (std::int64_t i = 0; operand.isValid() && i < operand.size(); ++i) {
            pads.push_back(static_cast<std::int64_t>(operand.at(i)));
        }
        std::vector<std::int64_t> even = pads;
        const std::size_t half = pads.size() / 2;
        for (std::size_t i = 0; i < half; ++i) {
            even[i] = (pads[i] + pads[i + half]) / 2;
            even[i + half] = pads[i] + pads[i + half] - even[i];
        }
        if (even == pads) {
            return;
        }
        if (operand.isValid()) {
            return add(id, "as much before as behind", {{1, Tensor::of<std::int64_t>({std::ssize(even)}, even)}});
        }
        graph::Attributes changed = node.attributes;
        changed["pads"] = even;
        add(id, "its pads as wide before as behind", {}, &changed);
    }

    const ModelFacts& m_model;
    std::vector<Repair> m_all;
};

/// The most that other inputs make right.
std::size_t rightOtherwise(const Population& all, std::size_t asked)
{
    std::size_t most = 0;
    for (const Answers& answers : all.otherwise) {
        most = answers.best.size() == asked ? std::max(most, answers.right(all.truth)) : most;
    }
    return most;
}

void report(const Facts& facts, const Repair& repair, const RightGain& gain, std::size_t asked, Probe& probe)
{
    const std::string& name = repair.replacement.node.name;
    const bool isBest = gain.after > rightOtherwise(*facts.sources().population, asked);
    Finding& finding =
        probe.warning(isBest ? kBestBase : kRepairBase, gain.share, {PlaceKind::Node, name, facts.nodeOfPass(name)});
    finding.what = fmt::format("with {}, {} of {} inputs get their class; as it is, {}", repair.words, gain.after,
                               asked, gain.before);
    finding.means = repair.means;
    finding.remedy = repair.remedy;
    finding.numbers = {{"share_gained", gain.share}, {"right_otherwise", static_cast<double>(gain.after)}};
    finding.threshold = kMostOfGain;
    finding.action = {"go to node", {{"node", name}}, {}};
}

void findRepair(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    const std::size_t asked = all.inputs.size();
    const auto isMost = [asked](std::size_t right) {
        return static_cast<double>(right) > kMostRight * static_cast<double>(asked);
    };
    std::size_t right = 0;
    for (std::size_t i = 0; i < asked && all.hasTruth(); ++i) {
        right += all.asGiven.best[i] == all.truth[i] ? 1 : 0;
    }
    if (!all.hasTruth() || asked < kLeastOfFolder || isMost(right) || isMost(rightOtherwise(all, asked)) ||
        !facts.sources().makesPasses) {
        return probe.notRun("enough inputs are right, as they are or made otherwise, or no labels are known");
    }
    const Repairs repairs(*facts.model(), all.watched);
    const Repair* best = nullptr;
    RightGain most;
    for (std::size_t i = 0; i < std::min(repairs.all().size(), kMostRepairs) && !facts.stop().stop_requested(); ++i) {
        const Repair& repair = repairs.all()[i];
        const RightGain gain = gainOf(facts, repair.replacement);
        probe.measured(repair.replacement.node.name, gain.share);
        // Of two that make as many right, the one that makes the model surer is the exact one.
        if (best == nullptr || std::pair(gain.share, gain.sure) > std::pair(most.share, most.sure)) {
            best = &repair;
            most = gain;
        }
    }
    if (best != nullptr && most.isClear()) {
        report(facts, *best, most, asked, probe);
    }
}

} // namespace

const Check dataRepair{
    "data.repair",
    "share of labelled inputs that get their class only when one node is another, as conversions get "
    "it wrong",
    kMostOfGain,
    "not tried: most inputs are right",
    Need::Labels | Need::Model | Need::Weights | Need::Forward,
    true,
    findRepair};

} // namespace retro::diagnosis
