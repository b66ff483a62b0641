// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/conditions.h"

#include "core/engine/explain/placetext.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/graph/reach.h"
#include "core/lrp/rules/conditionedrule.h"
#include "core/ops/algebra.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace retro::engine
{

namespace algebra = ops::algebra;
using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

constexpr std::string_view kAxis = ":axis=";
constexpr std::string_view kMask = ":mask=";

Result<ValueId> valueNamed(const std::string& name, const execute::BoundModel& model, const std::string& text)
{
    const auto value = model.graph().findValue(name);
    if (!value) {
        return base::usageError(
            fmt::format("the graph has no value \"{}\"; retrograde-cli info --shapes lists them", name),
            "--condition " + text);
    }
    if (!model.isTracked(*value)) {
        return base::inputError(fmt::format("the value \"{}\" carries no relevance", name), "--condition " + text);
    }
    return *value;
}

Result<Tensor> maskAlong(const std::string& places, const tensor::Shape& shape, const std::string& text)
{
    const std::size_t colon = places.find(':');
    std::size_t axis = 0;
    const auto read = std::from_chars(places.data(), places.data() + std::min(colon, places.size()), axis);
    if (colon == std::string::npos || read.ec != std::errc() || read.ptr != places.data() + colon) {
        return base::usageError("write VALUE:axis=1:3,7 (the axis, then indices along it) or VALUE:mask=FILE.npy",
                                "--condition " + text);
    }
    RETRO_TRY(const std::vector<IndexRange> ranges, parseList(places.substr(colon + 1), "--condition"));
    if (axis >= shape.size()) {
        return base::usageError(fmt::format("the value is {} and has no axis {}", tensor::toText(shape), axis),
                                "--condition " + text);
    }
    tensor::Shape along(shape.size(), 1);
    along[axis] = shape[axis];
    std::vector<double> marks(static_cast<std::size_t>(shape[axis]), 0);
    for (const IndexRange& range : ranges) {
        if (range.end > shape[axis]) {
            return base::usageError(fmt::format("axis {} of the value has {} elements, so there is no {}", axis,
                                                shape[axis], range.end - 1),
                                    "--condition " + text);
        }
        std::fill(marks.begin() + range.begin, marks.begin() + range.end, 1);
    }
    return algebra::broadcastTo(Tensor::of<double>(along, marks), shape).contiguous();
}

Result<Tensor> maskOfFile(const std::string& file, const tensor::Shape& shape, const std::string& text)
{
    RETRO_TRY(const Tensor read, tensor::readNpy(file));
    const bool fits =
        read.rank() <= shape.size() && std::equal(read.shape().rbegin(), read.shape().rend(), shape.rbegin(),
                                                  [](std::int64_t a, std::int64_t b) { return a == b || a == 1; });
    if (!fits) {
        return base::inputError(
            fmt::format("the mask is {}, but the value is {}", tensor::toText(read.shape()), tensor::toText(shape)),
            "--condition " + text);
    }
    const Tensor mask = algebra::broadcastTo(read.to(tensor::DType::Float64).contiguous(), shape).contiguous();
    return algebra::allFinite(mask)
               ? Result<Tensor>(mask)
               : base::inputError("the mask has numbers that are not finite", "--condition " + text);
}

Result<ConditionSite> siteOf(const std::string& text, const execute::BoundModel& model)
{
    const std::size_t byAxis = text.rfind(kAxis);
    const std::size_t byMask = text.rfind(kMask);
    const std::size_t at = byAxis != std::string::npos ? byAxis : byMask;
    if (at == std::string::npos) {
        return base::usageError("write VALUE:axis=1:3,7 (the axis, then indices along it) or VALUE:mask=FILE.npy",
                                "--condition " + text);
    }
    RETRO_TRY(const ValueId value, valueNamed(text.substr(0, at), model, text));
    const tensor::Shape& shape = model.typeOf(value).shape;
    const std::string behind = text.substr(at + kAxis.size());
    RETRO_TRY(const Tensor mask,
              byAxis != std::string::npos ? maskAlong(behind, shape, text) : maskOfFile(behind, shape, text));
    return ConditionSite{value, mask.to(execute::dtypeOf(model.precision()))};
}

/// The larger of the two, element by element: what either lets pass.
Tensor unionOf(const Tensor& a, const Tensor& b)
{
    return algebra::add(a, algebra::positivePart(algebra::subtract(b, a)));
}

Result<void> checkOnePath(const std::vector<ConditionSite>& sites, const graph::Graph& graph)
{
    for (std::size_t i = 0; i + 1 < sites.size(); ++i) {
        if (!graph::ancestorsOf(graph, std::array{sites[i].value}).nodes[graph.nodeOf(sites[i + 1].value).index()]) {
            return base::usageError(
                fmt::format("the values \"{}\" and \"{}\" lie on no common path, so nothing passes both; ask with "
                            "--condition-form beside, or one after the other",
                            graph.value(sites[i].value).name, graph.value(sites[i + 1].value).name),
                "--condition");
        }
    }
    return {};
}

/// The same question without what the last explanation alone is asked for.
ExplainRequest onTheWay(const ExplainRequest& request)
{
    ExplainRequest plain = request;
    plain.conditions.clear();
    plain.region = {};
    plain.record = plain.keepValues = plain.keepsPass = plain.keepsForward = false;
    plain.parameters = plain.stopAtCheckpoints = false;
    plain.checkpoints.clear();
    plain.onRelevance = nullptr;
    planAnew(plain);
    return plain;
}

/// `asked` is what relevance was asked of before it starts again at the value.
ExplainRequest startingAt(ExplainRequest request, const std::string& name, const Tensor& start,
                          const std::string& asked)
{
    request.conditionWords = fmt::format("only {}, of {}", fmt::join(request.conditions, "; "), asked);
    request.conditions.clear();
    request.target = {};
    request.target.kind = TargetRequest::Kind::Value;
    request.target.value = name;
    request.alsoTargets.clear();
    request.start.led = nameOf(request.start);
    request.start.kind = StartKind::Given;
    request.start.given = start;
    return request;
}

std::vector<std::string> textsOf(const ConditionSite& site, std::span<const std::string> texts,
                                 const graph::Graph& graph)
{
    std::vector<std::string> own;
    for (const std::string& text : texts) {
        if (text.starts_with(graph.value(site.value).name + ":")) {
            own.push_back(text);
        }
    }
    return own;
}

PassedCondition passed(const ConditionSite& site, std::span<const std::string> texts, const Tensor& arrived,
                       const graph::Graph& graph)
{
    PassedCondition one{site.value, textsOf(site, texts, graph), 0, 0};
    if (arrived.isValid()) {
        one.arrived = algebra::sum(arrived);
        one.passed = algebra::dot(arrived, site.mask);
    }
    return one;
}

} // namespace

Result<std::vector<ConditionSite>> conditionSites(std::span<const std::string> texts, const execute::BoundModel& model,
                                                  ConditionForm form)
{
    std::vector<ConditionSite> sites;
    for (const std::string& text : texts) {
        RETRO_TRY(ConditionSite site, siteOf(text, model));
        const auto same = std::ranges::find(sites, site.value, &ConditionSite::value);
        if (same != sites.end()) {
            same->mask = unionOf(same->mask, site.mask);
        } else {
            sites.push_back(std::move(site));
        }
    }
    // Nodes are in the order of the forward pass, so relevance meets the last one first.
    std::ranges::stable_sort(sites, [&](const ConditionSite& a, const ConditionSite& b) {
        const bool isInputA = model.graph().isInput(model.graph().nodeOf(a.value));
        const bool isInputB = model.graph().isInput(model.graph().nodeOf(b.value));
        return isInputA != isInputB ? isInputB : model.graph().nodeOf(b.value) < model.graph().nodeOf(a.value);
    });
    if (form == ConditionForm::Only) {
        RETRO_CHECK(checkOnePath(sites, model.graph()));
    }
    return sites;
}

Result<std::shared_ptr<const Prepared>> conditioned(const Prepared& prepared, std::span<const ConditionSite> sites)
{
    const graph::Graph& graph = prepared.model->graph();
    auto changed = std::make_shared<Prepared>(prepared);
    lrp::RuleAssignment rules = *prepared.rules;
    for (const ConditionSite& site : sites) {
        const NodeId node = graph.nodeOf(site.value);
        if (graph.isInput(node)) {
            return base::inputError(fmt::format("\"{}\" is an input, where relevance ends: look at that part of its "
                                                "map, or ask a region of it with --region",
                                                graph.value(site.value).name),
                                    "--condition");
        }
        const auto outputs = graph.outputsOf(node);
        const auto k = static_cast<std::size_t>(std::ranges::find(outputs, site.value) - outputs.begin());
        lrp::AssignedRule& assigned = rules[node.index()];
        if (assigned.rule) {
            assigned.rule = lrp::conditionedRule(assigned.rule, k, site.mask);
            changed->words[node.index()].rule = assigned.rule->text();
        }
    }
    changed->rules = std::make_shared<const lrp::RuleAssignment>(std::move(rules));
    return std::shared_ptr<const Prepared>(std::move(changed));
}

Result<ExplainResult> explainOnly(const ExplainRequest& request,
                                  const std::function<Result<ExplainResult>(const ExplainRequest&)>& explain)
{
    // Of the passes on the way what arrives at the conditions is wanted: a plan lets the rest go.
    std::map<std::string, Tensor> arrivedAt;
    const auto explainOnTheWay = [&](ExplainRequest plain) {
        if (carriesOut(plain) != nullptr) {
            plain.onRelevance = [&](const execute::BoundModel& model, ValueId value, const Tensor& relevance) {
                const std::string& name = model.graph().value(value).name;
                if (std::ranges::any_of(request.conditions,
                                        [&](const std::string& text) { return text.starts_with(name + ":"); })) {
                    arrivedAt[name] = relevance;
                }
                return Result<void>();
            };
        }
        return explain(plain);
    };
    RETRO_TRY(ExplainResult whole, explainOnTheWay(onTheWay(request)));
    RETRO_TRY(const std::vector<ConditionSite> sites,
              conditionSites(request.conditions, *whole.model, ConditionForm::Only));
    const graph::Graph& graph = whole.model->graph();
    const std::vector<std::int64_t>& index = whole.target.index;
    const std::string asked = index.size() == 1 && index[0] >= 0
                                  ? fmt::format("{} of {}", index[0], graph.value(whole.target.value).name)
                                  : graph.value(whole.target.value).name;
    std::vector<PassedCondition> all;
    ExplainResult result = whole;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const std::string& name = graph.value(sites[i].value).name;
        const Tensor& kept = result.relevance[sites[i].value.index()];
        const Tensor arrived = kept.isValid() ? kept : arrivedAt[name];
        if (!arrived.isValid()) {
            return base::usageError(fmt::format("no relevance reaches the value \"{}\" from the target", name),
                                    "--condition");
        }
        if (graph.isInput(graph.nodeOf(sites[i].value))) {
            return base::inputError(fmt::format("\"{}\" is an input, where relevance ends: look at that part of its "
                                                "map, or ask a region of it with --region",
                                                name),
                                    "--condition");
        }
        all.push_back(passed(sites[i], request.conditions, arrived, graph));
        const Tensor start = algebra::multiply(arrived, algebra::laidOutAs(sites[i].mask, arrived));
        arrivedAt.clear();
        RETRO_TRY(result, i + 1 == sites.size() ? explain(startingAt(request, name, start, asked))
                                                : explainOnTheWay(startingAt(onTheWay(request), name, start, asked)));
    }
    result.conditions = std::move(all);
    result.asked = whole.target;
    result.warnings = std::move(whole.warnings);
    result.secondsForward += whole.secondsForward;
    result.secondsRelevance += whole.secondsRelevance;
    return result;
}

void noteConditions(std::span<const std::string> texts, std::span<const ConditionSite> sites, ExplainResult& result)
{
    for (const ConditionSite& site : sites) {
        result.conditions.push_back(passed(site, texts, result.relevance[site.value.index()], result.model->graph()));
    }
}

} // namespace retro::engine
