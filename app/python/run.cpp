// SPDX-License-Identifier: Apache-2.0
#include "app/python/run.h"

#include "app/python/arrays.h"
#include "app/python/errors.h"
#include "app/python/unlocked.h"
#include "core/diagnosis/diagnosis.h"
#include "core/engine/compare/compare.h"
#include "core/engine/diagnose.h"
#include "core/engine/input/tokenwords.h"
#include "core/engine/question/resolve.h"
#include "core/engine/region/historyjson.h"
#include "core/engine/results/results.h"
#include "core/trace/describe.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/runfile.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace retro::python
{

namespace nb = nanobind;
using nlohmann::ordered_json;

namespace
{

std::string comparisonText(const engine::ComparedSide& a, const engine::ComparedSide& b, double tolerance)
{
    const engine::Comparison found = valueOf(engine::compare(a, b, tolerance));
    ordered_json json = engine::comparisonJson(found);
    for (ordered_json& value : json["values"]) {
        value.emplace("fault", "");
    }
    if (found.parting) {
        json["parting"]["value"].emplace("fault", "");
    }
    return json.dump();
}

ordered_json visitJson(const trace::Run& run, std::uint64_t step)
{
    const event::Event& event = run.events[step];
    const base::NodeId node(event.node);
    const bool isInput = node.index() >= run.graph->nodeCount();
    const auto names = [&](std::span<const base::ValueId> values) {
        ordered_json found = ordered_json::array();
        for (const base::ValueId value : values) {
            if (value.isValid()) {
                found.push_back(run.graph->value(value).name);
            }
        }
        return found;
    };
    return {{"visit", event.visit},
            {"mode", event::shortName(event.mode)},
            {"node", run.graph->labelOf(node)},
            {"operator", run.graph->opOf(node)},
            {"inputs", isInput ? ordered_json::array() : names(run.graph->node(node).inputs)},
            {"outputs", names(run.graph->outputsOf(node))},
            {"begin", step},
            {"end", step + 1},
            {"text", ordered_json::array()}};
}

/// Tensors by the names of graph values.
nb::dict byName(const graph::Graph& graph, std::span<const base::ValueId> values,
                std::span<const tensor::Tensor> tensors)
{
    nb::dict found;
    for (std::size_t i = 0; i < values.size() && i < tensors.size(); ++i) {
        if (tensors[i].isValid()) {
            found[graph.value(values[i]).name.c_str()] = arrayOf(tensors[i]);
        }
    }
    return found;
}

} // namespace

Run::Run(engine::LoadedModelPointer model, engine::ExplainRequest request, engine::ExplainResult result)
    : m_model(std::move(model)), m_request(std::move(request)), m_result(std::move(result))
{
    if (m_result.run) {
        m_recorded = std::make_shared<Recorded>(m_result.run, m_model);
    }
}

std::vector<std::string> Run::names() const
{
    std::vector<std::string> found;
    const graph::Graph& graph = m_result.model->graph();
    for (std::size_t i = 0; i < m_result.relevance.size(); ++i) {
        if (m_result.relevance[i].isValid()) {
            found.push_back(graph.value(base::ValueId(static_cast<std::uint32_t>(i))).name);
        }
    }
    return found;
}

std::vector<std::string> Run::inputNames() const
{
    std::vector<std::string> found;
    for (const base::ValueId id : m_result.model->graph().inputs()) {
        found.push_back(m_result.model->graph().value(id).name);
    }
    return found;
}

std::vector<std::string> Run::outputNames() const
{
    std::vector<std::string> found;
    for (const base::ValueId id : m_result.model->graph().outputs()) {
        found.push_back(m_result.model->graph().value(id).name);
    }
    return found;
}

nb::object Run::relevance(const std::string& name) const
{
    const auto value = m_result.model->graph().findValue(name);
    const bool isThere = value && value->index() < m_result.relevance.size();
    return isThere && m_result.relevance[value->index()].isValid() ? arrayOf(m_result.relevance[value->index()])
                                                                   : nb::none();
}

nb::dict Run::inputs() const
{
    const graph::Graph& graph = m_result.model->graph();
    return byName(graph, graph.inputs(), m_request.inputs);
}

nb::dict Run::outputs() const
{
    const graph::Graph& graph = m_result.model->graph();
    return byName(graph, graph.outputs(), m_result.outputs);
}

nb::dict Run::parameters() const
{
    nb::dict found;
    for (const engine::ParameterRelevance& one : m_result.parameters) {
        if (one.relevance.isValid()) {
            found[m_result.model->graph().value(one.value).name.c_str()] = arrayOf(one.relevance);
        }
    }
    return found;
}

nb::dict Run::checkpoints() const
{
    nb::dict found;
    for (const engine::TakenCheckpoint& one : m_result.checkpoints) {
        found[m_result.model->graph().value(one.value).name.c_str()] = arrayOf(one.relevance);
    }
    return found;
}

nb::tuple Run::target() const
{
    constexpr std::int64_t kNoTarget = -2;                                              // in this sample
    engine::ResolvedTarget target = m_result.asked ? *m_result.asked : m_result.target; // under a condition
    for (const engine::ResolvedTarget& other : m_result.alsoTargets) {
        for (std::size_t i = 0; other.value == target.value && i < target.index.size(); ++i) {
            if (target.index[i] == kNoTarget && i < other.index.size()) {
                target.index[i] = other.index[i]; // a class per sample
                target.logit[i] = other.logit[i];
            }
        }
    }
    return nb::make_tuple(m_result.model->graph().value(target.value).name, target.index, target.logit);
}

nb::tuple Run::preparation() const
{
    const engine::PictureOptions options =
        m_request.preparation ? *m_request.preparation : valueOf(engine::pictureOptions(engine::Question(), *m_model));
    return nb::make_tuple(options.layout, options.mean, options.deviation, options.low, options.high);
}

std::vector<std::string> Run::words(const std::string& input) const
{
    const graph::Graph& graph = m_result.model->graph();
    for (std::size_t i = 0; m_model->card && i < graph.inputs().size(); ++i) {
        if (graph.value(graph.inputs()[i]).name == input) {
            return engine::tokenWords(*m_model->card, m_request.inputs[i]);
        }
    }
    return {};
}

std::string Run::summary() const { return engine::summaryJson(*m_model, m_request, m_result).dump(); }

std::string Run::diagnose(const Run* against, const std::vector<std::string>& families,
                          const std::vector<std::string>& checks, bool isDeep) const
{
    const Unlocked unlocked;
    const auto factsOf = [](const Run& run) {
        engine::ExplainRequest request = run.m_request;
        request.record = false;
        request.keepValues = false;
        return engine::factsOf(run.m_model, request);
    };
    const std::shared_ptr<diagnosis::Facts> facts = factsOf(*this);
    if (against != nullptr) {
        facts->setReference(factsOf(*against));
    }
    return diagnosis::jsonOf(valueOf(base::caught([&] {
               return diagnosis::diagnose(*facts, {families, checks, isDeep, false});
           })))
        .dump();
}

Recorded::Recorded(std::shared_ptr<const trace::Run> run, engine::LoadedModelPointer model)
    : m_run(std::move(run)), m_model(std::move(model))
{}

std::shared_ptr<Recorded> Recorded::open(const std::string& path)
{
    const nb::gil_scoped_release unlocked;
    return std::make_shared<Recorded>(valueOf(base::caught([&] { return trace::readRun(path); })), nullptr);
}

nb::dict Recorded::contents() const
{
    const graph::Graph& graph = *m_run->graph;
    const std::vector<tensor::Tensor> relevance = engine::finalRelevance(*m_run);
    nb::dict reached;
    for (std::size_t i = 0; i < relevance.size(); ++i) {
        if (relevance[i].isValid()) {
            reached[graph.values()[i].name.c_str()] = arrayOf(relevance[i]);
        }
    }
    const auto valuesOf = [&](std::span<const base::ValueId> wanted) {
        std::vector<tensor::Tensor> found;
        std::ranges::transform(wanted, std::back_inserter(found),
                               [this](base::ValueId id) { return m_run->values[id.index()]; });
        return byName(graph, wanted, found);
    };
    const trace::RunFacts& facts = m_run->facts;
    const trace::InputFacts input = facts.input.value_or(trace::InputFacts());
    nb::dict found;
    found["model"] = facts.modelName;
    found["relevance"] = reached;
    found["inputs"] = valuesOf(graph.inputs());
    found["outputs"] = valuesOf(graph.outputs());
    found["target"] = nb::make_tuple(graph.value(facts.targetValue).name, facts.targetIndex, facts.targetLogit);
    found["composite"] = facts.composite;
    found["labels"] = facts.labels;
    found["numbers"] = nb::cast(facts.numbers);
    found["preparation"] = nb::make_tuple(input.layout, input.mean, input.deviation, input.scale[0], input.scale[1]);
    found["words"] = input.words;
    return found;
}

std::string Recorded::audit() const { return trace::ledgerJson(*m_run, trace::summarise(*m_run)).dump(); }

std::string Recorded::compare(const Recorded& other, double tolerance) const
{
    const engine::ComparedSide a{m_run->facts.modelName, m_run, {}};
    const engine::ComparedSide b{other.m_run->facts.modelName, other.m_run, {}};
    const nb::gil_scoped_release unlocked;
    return comparisonText(a, b, tolerance);
}

std::string Recorded::compareFile(const std::string& path, double tolerance) const
{
    const engine::ComparedSide a{m_run->facts.modelName, m_run, {}};
    const nb::gil_scoped_release unlocked;
    return comparisonText(a, valueOf(engine::readCompared(path, a.run.get())), tolerance);
}

std::string Recorded::history(const std::string& place, std::size_t most) const
{
    const nb::gil_scoped_release unlocked;
    const engine::HistoryPlace at = valueOf(engine::parseHistoryPlace(place));
    const std::lock_guard alone(m_historianMutex);
    if (!m_historian) {
        m_historian.emplace(valueOf(base::caught([&] { return engine::Historian::open(m_run, m_model); })));
    }
    const engine::History found = valueOf(base::caught([&] { return m_historian->of(at, most); }));
    return engine::historyJson(*m_run, found).dump();
}

std::string Recorded::visits() const
{
    const trace::Run& run = *m_run;
    ordered_json all = ordered_json::array();
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        const event::Event& event = run.events[step];
        if (event.kind == event::EventKind::Visit && event.node < run.graph->runNodeCount()) {
            all.push_back(visitJson(run, step));
        }
        if (!all.empty()) {
            all.back()["end"] = step + 1;
            all.back()["text"].push_back(trace::describe(run, step));
        }
    }
    return all.dump();
}

void Recorded::save(const std::string& path) const
{
    const nb::gil_scoped_release unlocked;
    valueOf(base::caught([&] { return trace::writeRun(path, *m_run); }));
}

} // namespace retro::python
