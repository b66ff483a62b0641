// SPDX-License-Identifier: Apache-2.0
#include "views/lut/lutchoice.h"

#include "views/common/jobrunner.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

LutChoice::LutChoice(RunModel& model, Selection& selection, QObject* parent)
    : QObject(parent), m_model(model), m_selection(selection), m_jobs(new JobRunner(this)),
      m_clock(new JobRunner(this)), m_run(std::make_shared<const LutRun>())
{
    connect(&model, &RunModel::runChanged, this, &LutChoice::takeRun);
    connect(&selection, &Selection::changed, this, &LutChoice::takeSelection);
    takeRun();
}

const LutLayer* LutChoice::layer() const { return m_run->find(m_node); }

bool LutChoice::isLoading() const { return m_jobs->isRunning(); }

void LutChoice::takeRun()
{
    m_run = m_model.hasRun() ? m_model.derived<LutRun>() : std::make_shared<const LutRun>();
    if (m_run->find(m_node) == nullptr) {
        m_node = m_run->layers().empty() ? base::NodeId() : m_run->layers().front().node;
    }
    m_site = cut(m_site);
    m_path = layer() != nullptr ? layer()->path : lut::Path::Fused; // what is new in a run is how it ran
    dropDetail();
    dropDeviceTimes();
    takeSelection();
    emit layerChanged();
}

void LutChoice::takeSelection()
{
    const base::NodeId node =
        m_model.hasRun() && !m_selection.isEmpty() ? m_model.nodeOf(m_selection.thing()) : base::NodeId();
    if (node.isValid() && node != m_node && m_run->find(node) != nullptr) {
        m_node = node;
        m_site = cut(m_site);
        m_path = layer()->path;
        dropDetail();
        dropDeviceTimes();
        emit layerChanged();
    }
}

void LutChoice::chooseLayer(int index)
{
    if (index >= 0 && index < static_cast<int>(layers().size())) {
        m_selection.selectNode(layers()[static_cast<std::size_t>(index)].node);
    }
}

void LutChoice::choosePath(lut::Path path)
{
    if (path != m_path) {
        m_path = path;
        dropDeviceTimes();
        emit layerChanged();
    }
}

std::vector<lut::Schedule> LutChoice::schedules() const
{
    std::vector<lut::Schedule> result;
    const LutLayer* shown = layer();
    for (const lut::Pass pass : shown != nullptr ? shown->passes() : std::vector<lut::Pass>()) {
        lut::ScheduleRequest request = shown->request;
        request.path = m_path;
        request.pass = pass;
        lut::Schedule schedule;
        if (lut::makeSchedule(request, schedule).ok()) {
            result.push_back(std::move(schedule));
        }
    }
    return result;
}

void LutChoice::dropDetail()
{
    m_jobs->cancel();
    m_detail = nullptr;
    m_problem.clear();
    emit detailChanged();
}

void LutChoice::dropDeviceTimes()
{
    m_clock->cancel();
    m_deviceTimes = nullptr;
    m_hasAskedForTimes = false;
}

void LutChoice::wantDeviceTimes()
{
    if (layer() == nullptr || m_hasAskedForTimes) {
        return;
    }
    m_hasAskedForTimes = true;
    m_clock->start(
        [this, run = m_model.sharedRun(), node = m_node, path = m_path](const std::stop_token&) -> JobRunner::Delivery {
            // Without a GPU, or where the run lacks values, launches stay modelled, which the view says.
            auto made = trace::lutDeviceTimes(*run, node, path);
            auto times = made.ok() ? std::make_shared<const ops::LutDeviceTimes>(std::move(*made)) : nullptr;
            return [this, times] {
                m_deviceTimes = times;
                if (m_deviceTimes != nullptr) {
                    emit deviceTimesChanged();
                }
            };
        });
}

void LutChoice::wantDetail()
{
    if (layer() == nullptr || m_detail != nullptr || !m_problem.isEmpty() || m_jobs->isRunning()) {
        return;
    }
    m_jobs->start([this, run = m_model.sharedRun(), node = m_node](const std::stop_token&) -> JobRunner::Delivery {
        auto made = trace::lutDetail(*run, node);
        auto detail = made.ok() ? std::make_shared<const trace::LutDetail>(std::move(*made)) : nullptr;
        const QString problem = detail != nullptr ? QString() : QString::fromStdString(made.error().message);
        return [this, detail, problem] {
            m_detail = detail;
            m_problem = problem;
            if (m_detail != nullptr) {
                m_site = strongestSite();
            }
            emit detailChanged();
        };
    });
}

trace::TableSite LutChoice::cut(trace::TableSite site) const
{
    const LutLayer* shown = layer();
    if (shown == nullptr) {
        return {};
    }
    const lut::LayerShape& shape = shown->request.shape;
    site.sample = std::min<std::uint64_t>(site.sample, std::max<std::uint64_t>(shown->request.batch, 1) - 1);
    site.table = std::min(site.table, std::max(shape.tables, 1U) - 1);
    site.later = shape.isSequence ? std::clamp(site.later, 1U, std::max(shape.length, 2U) - 1) : 0;
    site.earlier = shape.isSequence ? std::min(site.earlier, site.later - 1) : 0;
    return site;
}

/// Where most relevance went: what a person wants to see first.
trace::TableSite LutChoice::strongestSite() const
{
    trace::TableSite site = cut(m_site);
    if (!m_detail->relevance || m_detail->batch == 0) {
        return site;
    }
    const auto strongest = [](const tensor::Tensor& values, std::int64_t first, std::int64_t count) {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < count; ++i) {
            best = std::abs(values.at(first + i)) > std::abs(values.at(first + best)) ? i : best;
        }
        return best;
    };
    const lut::LayerShape& shape = m_detail->shape;
    const auto sample = static_cast<std::int64_t>(site.sample);
    const ops::TableRelevance& relevance = *m_detail->relevance;
    site.table = static_cast<std::uint32_t>(strongest(relevance.tables, sample * shape.tables, shape.tables));
    if (shape.isSequence) {
        const std::int64_t pairs = std::int64_t{shape.length} * shape.length;
        const std::int64_t pair = strongest(relevance.pairs, sample * pairs, pairs);
        site.later = static_cast<std::uint32_t>(pair / shape.length);
        site.earlier = static_cast<std::uint32_t>(pair % shape.length);
    }
    return cut(site);
}

void LutChoice::chooseSite(const trace::TableSite& site)
{
    const trace::TableSite within = cut(site);
    if (!(within == m_site)) {
        m_site = within;
        emit siteChanged();
    }
}

} // namespace retro::views

#include "moc_lutchoice.cpp"
