// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/openedforward.h"
#include "core/diagnosis/statistics.h"
#include "core/diagnosis/tokenrelevance.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::diagnosis
{

namespace
{

/// Share of Σ|R| of tokens behind the position of the target, in a model with a causal mask: > 1e-6.
constexpr double kMostBehind = 1e-6;
constexpr double kBehindBase = 2.6;

/// A square softmax without any weight above the diagonal.
bool isCausalMap(const Tensor& weights)
{
    const tensor::Shape& shape = weights.shape();
    if (shape.size() < 2 || shape.back() < 2 || shape.back() != shape[shape.size() - 2]) {
        return false;
    }
    const auto extent = static_cast<std::size_t>(shape.back());
    const std::vector<double> numbers = numbersIn(weights);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i % extent > i / extent % extent && numbers[i] != 0) {
            return false;
        }
    }
    return true;
}

/// A softmax inside of an attention that looks at nothing behind; empty where there is none.
std::string causalInside(const Facts& facts, NodeId id)
{
    const auto opened = openedForward(facts, id);
    if (!opened) {
        return {};
    }
    for (const graph::Node& inside : opened->graph().nodes()) {
        const Tensor weights = inside.op == "Softmax" ? opened->value(inside.outputs.front()) : Tensor();
        if (weights.isValid() && isCausalMap(weights)) {
            return inside.name;
        }
    }
    return {};
}

/// What shows that the model must not look at later tokens; empty where nothing does.
std::string causalMark(const Facts& facts)
{
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const graph::Node& node = facts.graph().node(NodeId(i));
        if (node.op == "Trilu" || graph::isSet(node, "is_causal")) {
            return node.name;
        }
        const Tensor weights = node.op == "Softmax" ? facts.value(node.outputs.front()) : Tensor();
        if (weights.isValid() && isCausalMap(weights)) {
            return node.name;
        }
        const std::string inside = ops::isAttention(node) ? causalInside(facts, NodeId(i)) : std::string();
        if (!inside.empty()) {
            return inside;
        }
    }
    return {};
}

void findBehind(const Facts& facts, Probe& probe)
{
    const auto tokens = tokenRelevance(facts);
    if (!tokens || !(tokens->all > 0) || tokens->position + 1 >= std::ssize(tokens->magnitudes)) {
        return;
    }
    const auto first = static_cast<std::size_t>(tokens->position) + 1;
    double behind = 0;
    std::size_t largest = first;
    for (std::size_t i = first; i < tokens->magnitudes.size(); ++i) {
        behind += tokens->magnitudes[i];
        largest = tokens->magnitudes[i] > tokens->magnitudes[largest] ? i : largest;
    }
    const double share = behind / tokens->all;
    const std::string mark = causalMark(facts);
    if (mark.empty()) {
        return probe.notRun("nothing shows that the model must not look at later tokens");
    }
    probe.measured(facts.graph().value(tokens->input).name, share);
    if (!(share > kMostBehind)) {
        return;
    }
    Finding& finding = probe.warning(kBehindBase, 0.5 + share / 2, facts.place(tokens->input));
    finding.what = fmt::format("tokens behind position {} have {} of Σ|R|, most of it token {}; {} is causal",
                               tokens->position, percentText(share), largest, mark);
    finding.means = "A mask leaks: the word at this position was computed from what comes after it.";
    finding.remedy = "Compare the masks of the attentions";
    finding.numbers = {{"share_behind_position", share}};
    finding.threshold = kMostBehind;
    std::vector<std::size_t> marked(tokens->magnitudes.size() - first);
    std::iota(marked.begin(), marked.end(), first);
    finding.chart = barsOf("Σ|R| of each token; marked: behind the position", tokens->magnitudes, marked);
    finding.action = {"go to node", {{"node", facts.graph().value(tokens->input).name}}, {}};
}

} // namespace

const Check tokenBehind{"token.behind",  "share of Σ|R| of tokens behind the position of the target, in a causal model",
                        kMostBehind,     "0",
                        Need::Relevance, true,
                        findBehind};

} // namespace retro::diagnosis
