// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace retro::diagnosis
{

namespace
{

/// e of forward.nonfinite (section 4.4): the first node whose result is not finite while what it reads is.
constexpr double kFaultyResultEffect = 0.98;

/// NaN and +inf; −inf alone is what a mask or the logarithm of 0 gives.
std::int64_t faultyIn(const Statistics& statistics) { return statistics.nan + statistics.plusInfinity; }

/// A graph output or the target is not finite: anything else was masked out again.
bool hasFaultyResult(const Facts& facts)
{
    const graph::Graph& graph = facts.graph();
    const ValueId target = facts.pass()->target;
    return (target.isValid() && faultyIn(facts.statistics(target)) > 0) ||
           std::ranges::any_of(graph.outputs(), [&](ValueId output) {
               return tensor::isFloating(graph.value(output).dtype) && faultyIn(facts.statistics(output)) > 0;
           });
}

/// How often something happens at the operands of the elements that are faulty.
template <class F>
std::int64_t countFaulty(const Tensor& a, const Tensor& b, const tensor::Shape& shape, F&& holds)
{
    const std::vector<double> left = numbersIn(ops::algebra::broadcastTo(a, shape));
    const std::vector<double> right = b.isValid() ? numbersIn(ops::algebra::broadcastTo(b, shape)) : left;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
        count += holds(left[i], right[i]) ? 1 : 0;
    }
    return count;
}

std::string divisionText(const Facts& facts, const graph::Node& node)
{
    const Tensor a = facts.value(node.inputs[0]);
    const Tensor b = facts.value(node.inputs[1]);
    const tensor::Shape shape = facts.value(node.outputs[0]).shape();
    const auto none = countFaulty(a, b, shape, [](double x, double y) { return x == 0 && y == 0; });
    const auto all = countFaulty(a, b, shape, [](double, double y) { return y == 0; });
    if (all == 0) {
        return "its quotients are larger than the largest number of their type";
    }
    return fmt::format("{} in {} of {} elements: the divisor {} is 0 there", none > 0 ? "0/0" : "a division by 0",
                       none > 0 ? none : all, tensor::elementCount(shape), facts.graph().value(node.inputs[1]).name);
}

/// Of operators that are not defined for negative numbers; empty for all others. `share` says how many elements.
std::string negativeText(const graph::Node& node, const Statistics& reads, const std::string& share)
{
    std::string_view what;
    if (node.op == "Sqrt") {
        what = "the root";
    } else if (node.op == "Log") {
        what = "the logarithm";
    } else if (node.op == "Pow") {
        what = "a power";
    }
    if (what.empty() || !(reads.least < 0)) {
        return {};
    }
    return fmt::format("{} of a negative number {} (the least is {})", what, share, numberText(reads.least));
}

/// Of operators whose results grow too large; empty for all others.
std::string overflowText(const graph::Node& node, const Statistics& reads, const std::string& share)
{
    if (ops::isCast(node)) {
        return fmt::format("overflow {}: numbers up to {} do not fit the type that is cast to", share,
                           numberText(std::max(std::abs(reads.largest), std::abs(reads.least))));
    }
    return node.op == "Exp" ? fmt::format("overflow {}: the exponential of {}", share, numberText(reads.largest))
                            : std::string();
}

/// Of a node that normalises what has no variance; empty for all others.
std::string varianceText(const graph::Node& node, const Statistics& reads, const std::string& share)
{
    const bool isNormalisation = node.op.ends_with("Normalization");
    const double epsilon = isNormalisation ? graph::floatAttribute(node, "epsilon", 0) : 0;
    if (isNormalisation && reads.variance == 0) {
        return fmt::format("0/0 {}: what it normalises has variance 0, and its epsilon is {}", share,
                           numberText(epsilon));
    }
    if (isNormalisation && epsilon == 0) {
        return fmt::format("0/0 {}: what it normalises has variance 0 there, and its epsilon is 0", share);
    }
    return {};
}

/// Why the result of a node is not finite; `faulty` of `count` elements are.
std::string reasonOf(const Facts& facts, const graph::Node& node, std::int64_t faulty, std::int64_t count)
{
    const std::string share = fmt::format("in {} of {} elements", faulty, count);
    if (ops::areElements(node, {ops::Elements::Divided}) && node.inputs.size() == 2) {
        return divisionText(facts, node);
    }
    if (node.op == "Reciprocal") {
        return fmt::format("1/0 {}: {} is 0 there", share, facts.graph().value(node.inputs[0]).name);
    }
    const bool hasOperand = !node.inputs.empty() && node.inputs[0].isValid();
    const Statistics reads = hasOperand ? facts.statistics(node.inputs[0]) : Statistics();
    for (const auto& tell : {negativeText, overflowText, varianceText}) {
        if (const std::string text = tell(node, reads, share); !text.empty()) {
            return text;
        }
    }
    if (node.op == "Softmax" && reads.minusInfinity > 0) {
        return fmt::format("NaN {}: a row of it reads −inf alone, all of it is masked", share);
    }
    if (reads.minusInfinity > 0) {
        return fmt::format("not finite {}: it reads −inf, {} of {}", share, reads.minusInfinity, reads.count);
    }
    return fmt::format("not finite {}, though what it reads is", share);
}

/// A constant of the pass that is not finite; the file's may be, where a merge made it.
ValueId faultyConstant(const Facts& facts, const graph::Node& node)
{
    for (const ValueId input : node.inputs) {
        const bool isConstant = input.isValid() && facts.graph().nodeOf(input) == NodeId();
        if (isConstant && faultyIn(facts.statistics(input)) > 0) {
            return input;
        }
    }
    return {};
}

bool readsFaulty(const Facts& facts, const graph::Node& node)
{
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
        return input.isValid() && facts.graph().nodeOf(input).isValid() && faultyIn(facts.statistics(input)) > 0;
    });
}

/// Constants of the file are finite, those of the graph that ran are not: what was merged into a node.
std::string mergedText(const Facts& facts, const std::string& node)
{
    for (const rewrite::RewriteStep& step : facts.sources().steps) {
        if (!step.isNote && std::ranges::find(step.added, node) != step.added.end()) {
            return fmt::format(" ({}: {})", step.rewrite, step.text);
        }
    }
    return {};
}

/// model.weight-nonfinite says so of a constant of the file: NaN anywhere, infinity of two axes and more.
bool isSaidOfFile(const ModelFacts& model, ValueId constant)
{
    const Statistics& statistics = model.statistics(constant);
    const bool isWeight = model.graph().value(constant).constant.rank() > 1;
    return statistics.nan > 0 || (isWeight && statistics.plusInfinity > 0);
}

/// What is wrong with a constant of the pass is said of the file: of itself, or of what was merged into it.
bool isSaidElsewhere(const Facts& facts, ValueId constant)
{
    const ModelFacts* model = facts.model();
    if (model == nullptr) {
        return false;
    }
    const std::span<const graph::Value> values = model->graph().values();
    const std::optional<ValueId> own = model->graph().findValue(facts.graph().value(constant).name);
    if (own && values[own->index()].constant.isValid()) {
        return isSaidOfFile(*model, *own);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].constant.isValid() && isSaidOfFile(*model, ValueId(i))) {
            return true;
        }
    }
    return false;
}

/// What a faulty constant is, in words: a merged one, or one of the file.
std::string constantText(const Facts& facts, const graph::Node& node, ValueId constant)
{
    const std::string& name = facts.graph().value(constant).name;
    const ModelFacts* model = facts.model();
    const std::optional<ValueId> own = model != nullptr ? model->graph().findValue(name) : std::nullopt;
    if (model != nullptr && !(own && model->graph().value(*own).constant.isValid())) {
        return fmt::format("its weights hold NaN or infinity after they were merged{}", mergedText(facts, node.name));
    }
    const auto slot = static_cast<std::size_t>(std::ranges::find(node.inputs, constant) - node.inputs.begin());
    const Statistics& statistics = facts.statistics(constant);
    return fmt::format("its {} ({}) is {} in {} of {} elements", roleOf(node, slot), name,
                       statistics.nan > 0 ? "NaN" : "infinite", faultyIn(statistics), statistics.count);
}

void fillNonfinite(Finding& finding, const Statistics& statistics, const tensor::Shape& shape)
{
    finding.chart =
        barsOf("How many elements are numbers, NaN or infinite",
               {static_cast<double>(statistics.finite()), static_cast<double>(statistics.nan),
                static_cast<double>(statistics.plusInfinity), static_cast<double>(statistics.minusInfinity)},
               {1, 2});
    finding.chart.names = {"finite", "NaN", "+∞", "−∞"};
    finding.numbers = {{"not_finite", static_cast<double>(faultyIn(statistics))},
                       {"elements", static_cast<double>(statistics.count)}};
    finding.action = {"go to node", {{"node", finding.place.name}}, {}};
    if (statistics.firstNotFinite >= 0 && !shape.empty()) {
        finding.evidence = {{finding.place.name, indexAt(statistics.firstNotFinite, shape)}};
        finding.action.arguments["element"] = indexText(finding.evidence.front().index);
    }
}

void reportInput(const Facts& facts, ValueId input, Probe& probe)
{
    const Statistics& statistics = facts.statistics(input);
    Finding& finding = probe.error(kFaultyResultEffect, facts.place(input));
    finding.what = fmt::format("holds NaN or infinity in {} of {} elements", faultyIn(statistics), statistics.count);
    finding.means = "Everything that is computed from it is not finite either.";
    finding.remedy = "Give an input of finite numbers";
    fillNonfinite(finding, statistics, facts.value(input).shape());
}

/// True when the node is where it begins.
bool reportNode(const Facts& facts, NodeId id, Probe& probe)
{
    const graph::Node& node = facts.graph().node(id);
    for (const ValueId output : node.outputs) {
        const Statistics& statistics = facts.statistics(output);
        if (!output.isValid() || faultyIn(statistics) == 0 || readsFaulty(facts, node)) {
            continue;
        }
        const ValueId constant = faultyConstant(facts, node);
        if (constant.isValid() && isSaidElsewhere(facts, constant)) {
            return true;
        }
        Finding& finding = probe.error(kFaultyResultEffect, facts.place(id));
        finding.what = constant.isValid() ? constantText(facts, node, constant)
                                          : reasonOf(facts, node, faultyIn(statistics), statistics.count);
        finding.means = "NaN and infinity go on to everything behind it, and no relevance can be computed.";
        finding.remedy = constant.isValid()
                             ? "Look at that constant in the file; of what was merged, for a variance below 0"
                             : "Keep the operand away from there, as an epsilon does";
        fillNonfinite(finding, statistics, facts.value(output).shape());
        return true;
    }
    return false;
}

void findNonfinite(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    const bool isFaulty = hasFaultyResult(facts);
    probe.measured("outputs", isFaulty ? 1 : 0);
    if (!isFaulty) {
        return;
    }
    for (const ValueId input : graph.inputs()) {
        if (tensor::isFloating(graph.value(input).dtype) && faultyIn(facts.statistics(input)) > 0) {
            return reportInput(facts, input, probe);
        }
    }
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        if (facts.stop().stop_requested() || reportNode(facts, NodeId(i), probe)) {
            return;
        }
    }
}

} // namespace

const Check forwardNonfinite{"forward.nonfinite",
                             "an output or the target is not finite (1: it is); where that begins",
                             0,
                             "0",
                             Need::Forward,
                             true,
                             findNonfinite};

} // namespace retro::diagnosis
