// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/explain.h"

#include "core/base/cancel.h"
#include "core/base/log.h"
#include "core/base/mappedfile.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/automaticrules.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explain/saturatedtarget.h"
#include "core/engine/model/precision.h"
#include "core/engine/model/programcache.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/region/conditions.h"
#include "core/engine/ways/plannedrelevance.h"
#include "core/engine/ways/wantedrow.h"
#include "core/engine/ways/way.h"
#include "core/event/observer.h"

#include <fmt/format.h>

namespace retro::engine
{

namespace
{

using base::Result;

/// What became of a pass that was not finished.
struct Unfinished
{
    std::optional<base::Error> wrong;    ///< not finite, where the way has let go what the words about it are made of
    std::optional<ExplainRequest> other; ///< to be asked in its place
};

/// A target that its own quantiser saturates is explained before it, where nobody named it; where somebody did, that is
/// said.
std::optional<ExplainRequest> askedBeforeSaturation(Pass& pass)
{
    const graph::Graph& graph = pass.result.model->graph();
    std::optional<ExplainRequest> other;
    for (std::size_t i = 0; i < pass.values.size(); ++i) {
        const ResolvedTarget& target = i == 0 ? pass.result.target : pass.result.alsoTargets[i - 1];
        const auto found = saturatedTarget(*pass.result.model, target, *pass.forward);
        if (!found) {
            continue;
        }
        const std::string& name = graph.value(target.value).name;
        const std::string& before = graph.value(found->before).name;
        const std::string why =
            fmt::format("\"{}\" lies beyond the range of its own quantiser ('{}'), where all of its "
                        "relevance would end",
                        name, graph.labelOf(found->quantiser));
        const bool isSameShape =
            pass.result.model->typeOf(found->before).shape == pass.result.model->typeOf(target.value).shape;
        if (targetsOf(pass.request)[i].namesValue() || !isSameShape) {
            pass.result.warnings.push_back(
                fmt::format("{}: the map is empty. Explain the value before it, --target '{}[:i,j,…]'", why, before));
            continue;
        }
        if (!other) {
            other.emplace(pass.request);
        }
        (i == 0 ? other->target : other->alsoTargets[i - 1]).value = before;
        other->warnings.push_back(
            fmt::format("{}; the value before it, \"{}\", is explained in its place", why, before));
    }
    return other;
}

/// Bind, choose, forward, start, reverse, finish.
Result<void> carryRelevance(Pass& pass, Unfinished& unfinished)
{
    RETRO_CHECK(pass.bind());
    RETRO_TRY(const std::unique_ptr<Way> way, chooseWay(pass));
    if (pass.request.record || pass.request.profile) {
        pass.profiler.emplace();
    }
    const event::ObserverScope observed(pass.profiler ? &*pass.profiler : event::currentObserver());
    RETRO_TRY(pass.forward, way->forward(pass));
    RETRO_CHECK(pass.start());
    if (unfinished.other = askedBeforeSaturation(pass); unfinished.other) {
        return {};
    }
    RETRO_CHECK(base::checkStop(pass.stop));
    RETRO_CHECK(way->run(pass));
    RETRO_CHECK(base::checkMappedFiles());
    if (!pass.request.goesOnWhenNotFinite) {
        const auto isFinite = checkFinite({pass.again(), pass.result.relevance, pass.result.ledger});
        if (!isFinite && !way->gives().allValues) {
            unfinished.wrong = isFinite.error();
            return {};
        }
        RETRO_CHECK(isFinite);
    }
    RETRO_CHECK(pass.finish(way->saving(pass), way->saved(pass)));
    if (pass.request.keepsForward && way->gives().allValues && pass.forward) {
        pass.result.forward = std::make_shared<const execute::ForwardResult>(*pass.forward);
    }
    return {};
}

Result<ExplainResult> explained(const LoadedModel& model, const ExplainRequest& request, const std::stop_token& stop,
                                const StageProgress& progress, ProgramCache* cache)
{
    if (!request.conditions.empty() && request.conditionForm == ConditionForm::Only) {
        return explainOnly(request,
                           [&](const ExplainRequest& plain) { return explained(model, plain, stop, progress, cache); });
    }
    if (const PlanOptions* wish = carriesOut(request)) {
        return plannedRelevance(model, request, *wish, stop, progress);
    }
    ProgramCache own; // a program knows no conditions
    cache = cache != nullptr && !request.conditions.empty() ? &own : cache;
    base::MemoryAccount::tensors().resetPeak();
    std::optional<tensor::StoragePool::Use> pool;
    if (cache != nullptr) {
        cache->pool().fillUpToPeak(request.inputsOnly);
        pool.emplace(cache->pool());
    }
    Unfinished unfinished;
    {
        Pass pass(model, request, stop, progress, cache);
        const Result<void> done = carryRelevance(pass, unfinished);
        if (!done && done.error().code == base::ErrorCode::Engine && pass.forward && pass.forward->overflow) {
            base::Error error = done.error(); // what is not finite may come from a type of the model
            error.message += "; " + overflowWarning(pass.result.model->graph(), pass.forward->overflow);
            return error;
        }
        RETRO_CHECK(done);
        if (!unfinished.wrong && !unfinished.other) {
            return std::move(pass.result);
        }
    }
    if (unfinished.other) {
        return explained(model, *unfinished.other, stop, progress, cache);
    }
    ExplainRequest whole = request;
    whole.inputsOnly = false;
    return explained(model, whole, stop, progress, cache);
}

/// explained(), with what `auto` comes to.
Result<ExplainResult> settled(const LoadedModel& model, const ExplainRequest& request, const std::stop_token& stop,
                              const StageProgress& progress, ProgramCache* cache)
{
    const auto make = [&](const ExplainRequest& one) { return explained(model, one, stop, progress, cache); };
    Result<ExplainResult> first = make(request);
    return first && isAutomatic(request) ? withAutomaticRules(request, std::move(first).value(), make)
                                         : std::move(first);
}

/// A result, with its line in the log.
Result<ExplainResult> logged(const LoadedModel& model, Result<ExplainResult> result)
{
    if (!result) {
        base::log(base::logcategory::kEngine, result.error());
    } else {
        base::log(base::logcategory::kEngine, base::LogLevel::Info,
                  fmt::format("{} explained with {}: forward {:.2f} s, relevance {:.2f} s, {} steps, {} promises",
                              model.name, result->composite.name, result->secondsForward, result->secondsRelevance,
                              result->counts.visits, result->counts.promises));
    }
    return result;
}

} // namespace

Result<ExplainResult> explain(const LoadedModel& model, const ExplainRequest& request, std::stop_token stop,
                              const StageProgress& progress)
{
    RETRO_CHECK(checkRequest(request));
    if (std::optional<WantedRow> asked = WantedRow::of(model, request)) {
        ProgramCache cache;
        const std::optional<LoadedModel> narrow = asked->narrowed(stop);
        Result<ExplainResult> result =
            explained(narrow ? *narrow : asked->model(), asked->request(), stop, progress, &cache);
        if (result.ok()) {
            asked->restorePlace(*result);
            return logged(model, std::move(result));
        }
        if (result.error().code == base::ErrorCode::Cancelled || result.error().code == base::ErrorCode::Memory) {
            return logged(model, std::move(result));
        } // what else is wrong is said of the whole model
    }
    ProgramCache cache;
    const bool usesProgram = request.engine == EngineKind::Compiled || request.inputsOnly;
    return logged(model, settled(model, request, stop, progress, usesProgram ? &cache : nullptr));
}

/// A model that makes one row of its target, and what its explanations left.
struct Explainer::AskedRow
{
    WantedRow row;
    ProgramCache cache;

    explicit AskedRow(WantedRow asked) : row(std::move(asked)) { cache.setChoice(row.position()); }
};

Explainer::Explainer(LoadedModelPointer model) : m_model(std::move(model)), m_cache(std::make_unique<ProgramCache>()) {}

Explainer::~Explainer() = default;

Explainer::Explainer(Explainer&&) noexcept = default;

Explainer& Explainer::operator=(Explainer&&) noexcept = default;

Result<ExplainResult> Explainer::explain(const ExplainRequest& request, std::stop_token stop,
                                         const StageProgress& progress)
{
    RETRO_CHECK(checkRequest(request));
    bool isOfRow = m_row && m_row->row.ask(*m_model, request);
    if (!isOfRow) {
        if (std::optional<WantedRow> asked = WantedRow::of(*m_model, request)) {
            m_row = std::make_unique<AskedRow>(std::move(*asked));
            isOfRow = true;
        }
    }
    if (isOfRow) {
        m_cache->lastForward().reset(); // one of them is enough
        Result<ExplainResult> result =
            explained(m_row->row.model(), m_row->row.request(), stop, progress, &m_row->cache);
        if (result.ok()) {
            m_row->row.restorePlace(*result);
            return logged(*m_model, std::move(result));
        }
        if (result.error().code == base::ErrorCode::Cancelled || result.error().code == base::ErrorCode::Memory) {
            return logged(*m_model, std::move(result));
        } // what else is wrong is said of the whole model
    }
    m_row.reset();
    return logged(*m_model, settled(*m_model, request, stop, progress, m_cache.get()));
}

} // namespace retro::engine
