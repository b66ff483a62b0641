// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/replacement.h"

#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/targetscores.h"
#include "core/execute/forward.h"
#include "core/rewrite/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

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

/// The graph with the replacement, on one input after the other; bound anew where shapes change.
class ReplacedModel
{
public:
    ReplacedModel(const Facts& facts, std::shared_ptr<const graph::Graph> graph)
        : m_facts(facts), m_graph(std::move(graph)),
          m_target(m_graph ? m_graph->findValue(facts.graph().value(facts.pass()->target).name) : std::nullopt)
    {}

    /// Scores of the target; none where they cannot be had. `inputs` are those of the model's file, of any type.
    [[nodiscard]] std::vector<double> scores(const std::vector<Tensor>& inputs)
    {
        std::vector<Tensor> own;
        for (std::size_t i = 0; m_target && i < inputs.size() && i < m_graph->inputs().size(); ++i) {
            const ValueId input = m_facts.valueOfPass(m_graph->value(m_graph->inputs()[i]).name);
            const Tensor used = input.isValid() ? m_facts.value(input) : Tensor();
            own.push_back(used.isValid() && inputs[i].isValid() ? inputs[i].to(used.dtype()) : Tensor());
        }
        const bool areThere = m_target && own.size() == m_graph->inputs().size() &&
                              std::ranges::all_of(own, &Tensor::isValid) && bindFor(own);
        if (!areThere) {
            return {};
        }
        const auto run =
            execute::forward(m_bound, own, execute::SavePolicy::Nothing, m_facts.stop(), {}, std::array{*m_target});
        return run.ok() ? scoresOf(m_facts, run->value(*m_target)).scores : std::vector<double>();
    }

private:
    bool bindFor(const std::vector<Tensor>& inputs)
    {
        if (m_bound != nullptr && std::ranges::equal(m_shapes, inputs, {}, {}, &Tensor::shape)) {
            return true;
        }
        std::vector<ops::TensorType> types;
        m_shapes.clear();
        for (const Tensor& input : inputs) {
            types.push_back({input.dtype(), input.shape()});
            m_shapes.push_back(input.shape());
        }
        const auto bound =
            execute::BoundModel::bind(m_graph, types, m_facts.pass()->model->precision(), inputs, m_facts.stop());
        m_bound = bound.ok() ? *bound : nullptr;
        return bound.ok();
    }

    const Facts& m_facts;
    std::shared_ptr<const graph::Graph> m_graph; // null: the replacement does not hang together
    std::optional<ValueId> m_target;
    std::shared_ptr<const execute::BoundModel> m_bound;
    std::vector<tensor::Shape> m_shapes; // that it was bound for
};

std::int64_t bestOf(const std::vector<double>& scores)
{
    return scores.empty() ? -1 : std::ranges::max_element(scores) - scores.begin();
}

/// What the first inputs of a folder get.
void askFolder(const Population& folder, ReplacedModel& model, ReplacedAnswer& answer)
{
    for (std::size_t i = 0; i < folder.inputs.size(); ++i) {
        const std::int64_t best = bestOf(model.scores(folder.inputs[i]));
        if (best < 0) {
            continue;
        }
        const std::int64_t given = folder.asGiven.best[i];
        ++answer.asked;
        answer.others += best != given ? 1 : 0;
        if (folder.hasTruth()) {
            answer.rightBefore += given == folder.truth[i] ? 1 : 0;
            answer.rightAfter += best == folder.truth[i] ? 1 : 0;
        }
    }
}

} // namespace

bool ReplacedAnswer::isOther() const
{
    return classAfter != classBefore || std::abs(after - before) > kMostChange ||
           static_cast<double>(others) > kMostChange * static_cast<double>(asked);
}

std::optional<ReplacedAnswer> replacedAnswer(const Facts& facts, const Replacement& replacement)
{
    const Pass* pass = facts.sources().makesPasses && facts.model() != nullptr ? facts.pass() : nullptr;
    if (pass == nullptr || !pass->model || !pass->hasForward || !pass->target.isValid()) {
        return std::nullopt;
    }
    const TargetScores own = scoresOf(facts, facts.value(pass->target));
    ReplacedModel model(facts, own.scores.size() < 2 ? nullptr : graphWith(facts, replacement));
    const std::vector<double> changed = model.scores(facts.inputs());
    if (changed.empty() || changed.size() != own.scores.size()) {
        return std::nullopt;
    }
    const auto best = static_cast<std::size_t>(own.best());
    ReplacedAnswer answer{own.best(), bestOf(changed), probabilityIn(own.scores, best), probabilityIn(changed, best)};
    if (const Population* folder = facts.sources().population.get(); folder != nullptr && folder->why.empty()) {
        askFolder(*folder, model, answer);
    }
    return answer;
}

RightGain gainOf(const Facts& facts, const Replacement& replacement)
{
    constexpr std::size_t kFew = 3;
    constexpr std::size_t kLeastOfFew = 2;
    const Population& folder = *facts.sources().population;
    const auto isWrong = [&folder](std::size_t i) { return folder.asGiven.best[i] != folder.truth[i]; };
    std::vector<std::size_t> order(folder.inputs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rest = std::ranges::stable_partition(order, isWrong);
    ReplacedModel model(facts, graphWith(facts, replacement));
    RightGain gain{static_cast<std::size_t>(rest.size())};
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto truth = static_cast<std::size_t>(folder.truth[order[k]]);
        const std::vector<double> scores = model.scores(folder.inputs[order[k]]);
        if (truth >= scores.size() || (k == kFew && gain.after < kLeastOfFew)) {
            return {};
        }
        gain.after += bestOf(scores) == folder.truth[order[k]] ? 1 : 0;
        gain.sure += probabilityIn(scores, truth) / static_cast<double>(order.size());
    }
    gain.share = gain.after > gain.before
                     ? static_cast<double>(gain.after - gain.before) / static_cast<double>(order.size())
                     : 0;
    return gain;
}

std::string replacedText(const Facts& facts, const ReplacedAnswer& answer)
{
    if (answer.asked > 1) {
        const bool hasTruth = facts.sources().population->hasTruth();
        return hasTruth ? fmt::format("made like them, {} of {} inputs get their class; as it is, {}",
                                      answer.rightAfter, answer.asked, answer.rightBefore)
                        : fmt::format("made like them, {} of {} inputs get another class", answer.others, answer.asked);
    }
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
    if (answer->asked > 1) {
        finding.numbers.emplace_back("inputs_of_another_class", static_cast<double>(answer->others));
    }
}

} // namespace retro::diagnosis
