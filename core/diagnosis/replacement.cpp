// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/replacement.h"

#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/targetscores.h"
#include "core/execute/forward.h"
#include "core/rewrite/draft.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>

namespace retro::diagnosis
{

namespace
{

constexpr double kMostChange = 0.1; ///< of a probability

/// The graph of the file with the replacement; null where it does not hang together.
std::shared_ptr<const graph::Graph> graphWith(const Facts& facts, const Replacement& replacement)
{
    const graph::Graph& graph = facts.model()->graph();
    rewrite::Draft draft(graph, true, facts.stop());
    graph::Node node = replacement.node;
    node.outputs = graph.node(replacement.id).outputs;
    node.inputs = graph.node(replacement.id).inputs;
    for (const auto& [slot, constant] : replacement.constants) {
        node.inputs[slot] = draft.addConstant(node.name + "_like_others", constant, constant.dtype());
    }
    draft.replaceNode(replacement.id, std::move(node));
    base::Result<graph::Graph> built = draft.build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

/// The target's value with another graph; invalid where it cannot be had.
Tensor targetOf(const Facts& facts, const std::shared_ptr<const graph::Graph>& graph)
{
    const auto target = graph->findValue(facts.graph().value(facts.pass()->target).name);
    std::vector<Tensor> inputs;
    std::vector<ops::TensorType> types;
    for (const ValueId input : graph->inputs()) {
        const ValueId own = facts.valueOfPass(graph->value(input).name);
        inputs.push_back(own.isValid() ? facts.value(own) : Tensor());
        if (!inputs.back().isValid()) {
            return {};
        }
        types.push_back({inputs.back().dtype(), inputs.back().shape()});
    }
    if (!target) {
        return {};
    }
    const auto bound = execute::BoundModel::bind(graph, types, facts.pass()->model->precision(), inputs, facts.stop());
    if (!bound.ok()) {
        return {};
    }
    const auto run =
        execute::forward(*bound, inputs, execute::SavePolicy::Nothing, facts.stop(), {}, std::array{*target});
    return run.ok() ? run->value(*target) : Tensor();
}

} // namespace

bool ReplacedAnswer::isOther() const { return classAfter != classBefore || std::abs(after - before) > kMostChange; }

std::optional<ReplacedAnswer> replacedAnswer(const Facts& facts, const Replacement& replacement)
{
    const Pass* pass = facts.sources().makesPasses && facts.model() != nullptr ? facts.pass() : nullptr;
    if (pass == nullptr || !pass->model || !pass->hasForward || !pass->target.isValid()) {
        return std::nullopt;
    }
    const TargetScores own = scoresOf(facts, facts.value(pass->target));
    const auto graph = own.scores.size() < 2 ? nullptr : graphWith(facts, replacement);
    const Tensor value = graph ? targetOf(facts, graph) : Tensor();
    const TargetScores changed = scoresOf(facts, value);
    if (changed.scores.size() != own.scores.size()) {
        return std::nullopt;
    }
    const auto best = static_cast<std::size_t>(own.best());
    return ReplacedAnswer{own.best(), changed.best(), probabilityIn(own.scores, best),
                          probabilityIn(changed.scores, best)};
}

std::string replacedText(const Facts& facts, const ReplacedAnswer& answer)
{
    return answer.classAfter == answer.classBefore
               ? fmt::format("made like them, class {} has {}, not {}", classText(facts, answer.classBefore),
                             percentText(answer.after), percentText(answer.before))
               : fmt::format("made like them, the class is {}, not {}", classText(facts, answer.classAfter),
                             classText(facts, answer.classBefore));
}

void raiseByEffect(const Facts& facts, const Replacement& replacement, double base, Finding& finding)
{
    const auto answer = replacedAnswer(facts, replacement);
    if (!answer || !answer->isOther()) {
        return;
    }
    finding.level = Level::Warning;
    finding.base = base;
    finding.what += "; " + replacedText(facts, *answer);
    finding.numbers.emplace_back("probability_like_others", answer->after);
}

} // namespace retro::diagnosis
