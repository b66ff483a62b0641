// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/prepare.h"

#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/model/binding.h"
#include "core/execute/control/unroll.h"
#include "core/lrp/composite/ruleoverride.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

std::vector<trace::NodeRule> inWords(const lrp::RuleAssignment& rules, const execute::BoundModel& model)
{
    std::vector<trace::NodeRule> words;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        words.push_back({rules[i].rule ? rules[i].rule->text() : "", rules[i].matcher,
                         std::string(ops::nameOf(model.op(base::NodeId(i)).structure().kind()))});
    }
    return words;
}

Result<PreparedFor> preparedFor(const ExplainRequest& request, const ProgramCache* cache)
{
    PreparedFor wanted{{}, request.precision, request.composite};
    for (const tensor::Tensor& input : request.inputs) {
        wanted.inputs.push_back({input.dtype(), input.shape()});
    }
    lrp::Specification named = lrp::splitSpecification(request.composite);
    if (cache != nullptr && named.base.ends_with(".json")) {
        RETRO_TRY(named.base, base::readTextFile(named.base, kMaxCompositeFileBytes));
        wanted.composite = lrp::joinSpecification(named);
    }
    return wanted;
}

bool hasCheckpoints(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.nodes(), [](const graph::Node& node) {
        return node.op == "Checkpoint" && node.domain == "ai.retrograde";
    });
}

/// Binds the model unless that is done, and gives every node its rule.
Result<void> fill(Prepared& made, const LoadedModel& model, const ExplainRequest& request, const std::stop_token& stop)
{
    if (!made.model) {
        const std::vector<TargetRequest> targets = targetsOf(request);
        RETRO_TRY(made.model, bindModel(model, request.inputs, request.precision, &made.writtenOut, stop,
                                        bindOptionsFor(targets, request.checkpoints), &made.leftOut));
    }
    RETRO_TRY(made.composite, resolveComposite(request.composite, *made.model));
    lrp::EntryUse use;
    RETRO_TRY(lrp::RuleAssignment rules,
              lrp::assignRules(made.composite, *made.model, model.rewritten.fused, stop, &use, &model.rewritten));
    made.unused = lrp::unusedEntries(made.composite, use);
    RETRO_CHECK(base::checkStop(stop));
    made.words = inWords(rules, *made.model);
    made.rules = std::make_shared<const lrp::RuleAssignment>(std::move(rules));
    made.hasCheckpoints = hasCheckpoints(made.model->graph());
    return {};
}

} // namespace

Result<std::shared_ptr<const Prepared>> prepare(const LoadedModel& model, const ExplainRequest& request,
                                                ProgramCache* cache, const std::stop_token& stop)
{
    RETRO_TRY(const PreparedFor wanted, preparedFor(request, cache));
    if (cache != nullptr) {
        if (std::shared_ptr<const Prepared> found = cache->find(wanted)) {
            return found;
        }
    }
    auto made = std::make_shared<Prepared>();
    made->model = cache != nullptr ? cache->findModel(wanted) : nullptr;
    if (Result<void> done = fill(*made, model, request, stop); !done) {
        base::Leftovers::add(made); // 100,000 bound nodes are long to take apart
        return done.error();
    }
    if (cache != nullptr) {
        // A part of a model is of these targets alone.
        cache->keep(wanted, made, execute::hasControlFlow(*model.graph()) || !made->leftOut.empty());
    }
    return std::shared_ptr<const Prepared>(std::move(made));
}

Result<void> takeRules(const Prepared& prepared, ExplainResult& result)
{
    result.model = prepared.model;
    result.composite = prepared.composite;
    result.rules = prepared.words;
    result.assigned = prepared.rules;
    result.warnings.insert(result.warnings.end(), prepared.leftOut.begin(), prepared.leftOut.end());
    result.warnings.insert(result.warnings.end(), prepared.unused.begin(), prepared.unused.end());
    result.unusedRules = prepared.unused;
    result.writtenOut = prepared.writtenOut;
    return checkTimesInput(result.composite, result.rules, *result.model);
}

} // namespace retro::engine
