// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/mapcontroller.h"

#include "core/base/failure.h"
#include "core/engine/evaluate/attribution.h"
#include "views/common/jobrunner.h"
#include "views/heatmap/heatmapview.h"

#include <memory>
#include <utility>

namespace retro::app
{

using base::Result;

namespace
{

/// The input of a job by another method.
Result<views::InputMap> mapOf(ExplainJob& job, const QString& method, const std::stop_token& stop)
{
    RETRO_TRY(const engine::AttributionPointer made, engine::makeAttribution(method.toStdString()));
    RETRO_TRY(engine::ExplainRequest request, requestOf(job));
    RETRO_TRY(request.inputs, readInputs(job));
    request.alsoTargets.clear();
    request.conditions.clear();
    RETRO_TRY(const engine::Subject subject, engine::Subject::make(job.model, request, stop, {}, made->passes()));
    engine::UnitOptions options;
    options.channels = job.options().layout == "NHWC" ? engine::ChannelAxis::Last : options.channels;
    RETRO_TRY(options,
              engine::decideUnits(options, *job.model->rewritten.before, subject.inputName(), subject.input()));
    RETRO_TRY(const engine::Attributed found, made->attribute(subject, engine::Units(subject.input(), options)));
    return views::InputMap{method, QString::fromStdString(subject.inputName()), found.values,
                           QString::fromStdString(found.how)};
}

} // namespace

MapController::MapController(const std::vector<views::HeatmapView*>& heatmaps, QObject* parent) : QObject(parent)
{
    for (views::HeatmapView* heatmap : heatmaps) {
        m_panes.push_back({heatmap, new views::JobRunner(this)});
        connect(heatmap, &views::HeatmapView::mapWanted, this,
                [this, pane = m_panes.back()](const QString& method) { ask(pane, method); });
    }
}

void MapController::take(const ExplainDone& done)
{
    m_job = done.model && done.hasRelevance ? std::optional(done.job) : std::nullopt;
    for (const Pane& pane : m_panes) {
        if (!m_job) {
            pane.jobs->cancel();
            pane.heatmap->clearInputMap();
        } else if (const QString method = pane.heatmap->method(); !method.isEmpty()) {
            ask(pane, method);
        }
    }
}

void MapController::clear()
{
    m_job.reset();
    for (const Pane& pane : m_panes) {
        pane.jobs->cancel();
        pane.heatmap->clearInputMap();
    }
}

void MapController::ask(const Pane& pane, const QString& method)
{
    if (!m_job) {
        pane.heatmap->setInputMap({method, {}, {}, tr("A recorded run holds no model to ask. Open its model.")});
        return;
    }
    pane.jobs->start([job = std::make_shared<ExplainJob>(*m_job), method,
                      heatmap = pane.heatmap](const std::stop_token& stop) -> views::JobRunner::Delivery {
        Result<views::InputMap> map = base::caught([&] { return mapOf(*job, method, stop); });
        auto shown = std::make_shared<views::InputMap>(
            map ? *map : views::InputMap{method, {}, {}, QString::fromStdString(map.error().text())});
        return [heatmap, shown] { heatmap->setInputMap(std::move(*shown)); };
    });
}

} // namespace retro::app

#include "moc_mapcontroller.cpp"
