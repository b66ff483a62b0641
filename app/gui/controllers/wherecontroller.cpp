// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/wherecontroller.h"

#include "app/gui/facts/wherefacts.h"
#include "core/base/cancel.h"
#include "core/base/failure.h"
#include "core/engine/compare/compare.h"
#include "core/engine/diagnose.h"
#include "core/engine/explain/explain.h"
#include "core/engine/region/keptregion.h"
#include "core/engine/region/recordedhistory.h"
#include "core/trace/breakpoints.h"
#include "views/common/jobrunner.h"
#include "views/heatmap/heatmapview.h"
#include "views/history/historyview.h"
#include "views/region/channelstrip.h"
#include "views/region/regionview.h"

#include <QAction>
#include <QFileDialog>

#include <algorithm>
#include <array>
#include <mutex>

namespace retro::app
{

using base::Result;

namespace
{

using views::ActionSpec;

/// What the largest elements of "where half of it lies" hold of Σ|R|.
constexpr double kLargestShare = 0.5;
/// So long the pass of an older stroke may go on, in milliseconds.
constexpr qint64 kPatience = 150;

constexpr std::array kWhereActions{
    ActionSpec{"region.mark", RETRO_ACTION("&Mark a region"),
               RETRO_ACTION("Drag over the heatmap: how much of every layer's relevance ends in that part"), "brush",
               "Ctrl+Shift+U", true},
    ActionSpec{"region.largest", RETRO_ACTION("Where &half of it lies"),
               RETRO_ACTION("Mark the elements of the input that hold half of all relevance by magnitude"), "zoomfit",
               ""},
    ActionSpec{"region.whole", RETRO_ACTION("&All of the input"),
               RETRO_ACTION("Mark everything: channels are then ranked by the relevance that passes them"), "expand",
               ""},
    ActionSpec{"region.file", RETRO_ACTION("Mask from a &file…"),
               RETRO_ACTION("Mark what an array of numbers says (.npy)"), "open", ""},
    ActionSpec{"region.clear", RETRO_ACTION("&No region"), RETRO_ACTION("Forget the region that is marked"), "close",
               ""},
    ActionSpec{"go.changed", RETRO_ACTION("Run to where this &changed"),
               RETRO_ACTION("On to where the relevance of the selected value, or of the element asked about, changes"),
               "runto", "Ctrl+F6"},
    ActionSpec{
        "go.changedback", RETRO_ACTION("Run back to where this changed"),
        RETRO_ACTION("Back to where the relevance of the selected value, or of the element asked about, changed last"),
        "runtoback", "Ctrl+Shift+F6"},
};

/// The pixels of the input that a relevance map of it has.
views::Plane mapOf(const tensor::Tensor& relevance, bool isChannelsLast)
{
    if (!relevance.isValid()) {
        return {};
    }
    if (relevance.rank() == 4) {
        auto plane = views::channelSum(relevance, 0, isChannelsLast);
        return plane.ok() ? std::move(plane).value() : views::Plane();
    }
    if (relevance.rank() == 2 || relevance.rank() == 3) {
        std::vector<double> sums = views::stepSums(relevance);
        const auto width = static_cast<int>(sums.size());
        return {width, width == 0 ? 0 : 1, std::move(sums)};
    }
    return views::sliceGrid(relevance).plane;
}

/// The first mask that there is, over the steps or pixels of its input.
views::Plane planeOf(const std::vector<tensor::Tensor>& masks, bool isChannelsLast)
{
    for (const tensor::Tensor& mask : masks) {
        if (mask.isValid()) {
            return maskPlane(mask, isChannelsLast);
        }
    }
    return {};
}

/// The map of the first input that relevance reached; none where it reached no input.
std::optional<views::Plane> firstMapOf(const engine::ExplainResult& result, bool isChannelsLast)
{
    for (const base::ValueId input : result.model->graph().inputs()) {
        if (result.relevance[input.index()].isValid()) {
            return mapOf(result.relevance[input.index()], isChannelsLast);
        }
    }
    return std::nullopt;
}

/// Maps of the input, by the index that each is of.
using IndexMaps = std::vector<std::pair<std::int64_t, views::Plane>>;

/// What reaches the input through one index alone, for each of the indices. `along` names the value and its axis.
Result<IndexMaps> indexMaps(ExplainJob& job, const std::string& along, const std::vector<std::int64_t>& indices,
                            bool isChannelsLast, const std::stop_token& stop)
{
    RETRO_TRY(engine::ExplainRequest request, requestOf(job));
    RETRO_TRY(request.inputs, readInputs(job));
    request.record = request.keepValues = request.keepsPass = false;
    request.checkpoints.clear();
    IndexMaps maps;
    for (const std::int64_t index : indices) {
        RETRO_CHECK(base::checkStop(stop));
        request.conditions = {along + ":" + std::to_string(index)};
        RETRO_TRY(const engine::ExplainResult result, engine::explain(*job.model, request, stop));
        if (std::optional<views::Plane> map = firstMapOf(result, isChannelsLast)) {
            maps.emplace_back(index, *std::move(map));
        }
    }
    return maps;
}

} // namespace

void addWhereActions(views::ActionRegistry& actions) { actions.addAll(kWhereActions); }

/// A run and what answers for it, opened when somebody asks. Any thread.
class WhereController::Source
{
public:
    Source(engine::HistorySource source, QString file, QString layout)
        : m_source(std::move(source)), m_file(std::move(file)), m_layout(std::move(layout))
    {}

    [[nodiscard]] const std::shared_ptr<const trace::Run>& run() const { return m_source.run; }
    [[nodiscard]] const QString& layout() const { return m_layout; }
    /// Nothing is read for an answer.
    [[nodiscard]] bool isBound() const { return m_source.model && m_source.rules; }
    [[nodiscard]] bool isChannelsLast() const { return m_layout == QLatin1String("NHWC"); }

    Result<std::shared_ptr<const engine::Historian>> historian(const std::stop_token& stop)
    {
        const std::lock_guard lock(m_mutex);
        if (!m_historian && !m_refusal) {
            Result<engine::Historian> opened = open(stop);
            if (opened) {
                m_historian = std::make_shared<const engine::Historian>(std::move(opened).value());
            } else if (opened.error().code == base::ErrorCode::Cancelled ||
                       opened.error().code == base::ErrorCode::Memory) { // another time it may be there
                return opened.error();
            } else {
                m_refusal = opened.error();
            }
        }
        if (m_refusal) {
            return *m_refusal;
        }
        return m_historian;
    }

    /// How an element's relevance came to be; where the model cannot be read, what the run alone says of it.
    Result<views::HistoryPointer> historyOf(const engine::HistoryPlace& asked, const std::stop_token& stop)
    {
        const auto historian = this->historian(stop);
        if (!historian && historian.error().code == base::ErrorCode::Input) {
            RETRO_TRY(const engine::History recorded, engine::recordedHistory(*run(), asked));
            auto facts = std::make_shared<views::HistoryFacts>(*historyFacts(recorded, run()));
            facts->needs = QString::fromStdString(historian.error().text());
            return views::HistoryPointer(facts);
        }
        if (!historian) {
            return historian.error();
        }
        RETRO_TRY(const engine::History history, (*historian)->of(asked, 8, stop));
        return historyFacts(history, run());
    }

private:
    Result<engine::Historian> open(const std::stop_token& stop)
    {
        if (isBound()) {
            return engine::Historian::of(m_source, stop);
        }
        const engine::LoadedModelPointer model = engine::modelOfRun(*m_source.run, m_file.toStdString(), stop);
        return engine::Historian::open(m_source.run, model, stop);
    }

    engine::HistorySource m_source;
    QString m_file;
    QString m_layout;
    std::mutex m_mutex;
    std::shared_ptr<const engine::Historian> m_historian;
    std::optional<base::Error> m_refusal;
};

WhereController::WhereController(const WhereContext& context, QObject* parent)
    : QObject(parent), m_context(context), m_historyJobs(new views::JobRunner(this)),
      m_regionJobs(new views::JobRunner(this)), m_mapJobs(new views::JobRunner(this)),
      m_preparing(new views::JobRunner(this))
{
    connectActions();
    connect(&context.region, &views::RegionView::mapsWanted, this, &WhereController::askMaps);
    QList<QAction*> buttons;
    for (const auto& [id, word] : {std::pair("region.mark", tr("Mark")), std::pair("region.largest", tr("Half")),
                                   std::pair("region.whole", tr("All")), std::pair("region.clear", tr("None"))}) {
        buttons.append(&context.actions.at(QLatin1String(id)));
        buttons.last()->setIconText(word); // there is little room in the pane
    }
    context.region.addButtons(buttons);
    connectPanes();
    showActions();
}

WhereController::~WhereController() = default;

void WhereController::connectPanes()
{
    for (const auto& [heatmap, history] : m_context.panes) {
        connect(history, &views::HistoryView::placeTyped, this, &WhereController::askHistory);
        heatmap->followRegion(m_context.overlay);
        connect(heatmap, &views::HeatmapView::elementPicked, this,
                [this, pane = history](base::ValueId value, const std::vector<std::int64_t>& index) {
                    pick(pane, value, index);
                });
        connect(heatmap, &views::HeatmapView::regionMarked, this,
                [this](base::ValueId input, const tensor::Tensor& mask, const QString& words) {
                    std::vector<tensor::Tensor> masks;
                    for (const base::ValueId one : m_context.model.graph().inputs()) {
                        masks.push_back(one == input ? mask : tensor::Tensor());
                    }
                    askRegion(masks, words);
                });
    }
    connect(m_regionJobs, &views::JobRunner::delivered, this, [this] {
        if (std::exchange(m_isStale, false)) { // strokes came while it ran: the newest one
            runRegion();
        }
    });
}

void WhereController::clearHistories()
{
    for (const auto& [heatmap, history] : m_context.panes) {
        history->clear();
    }
}

void WhereController::refuseHistory(const QString& why)
{
    for (const auto& [heatmap, history] : m_context.panes) {
        history->setRefusal(why);
    }
}

std::shared_ptr<const trace::RunRegion> WhereController::keptRegion() const
{
    const views::RegionPointer shown =
        m_context.model.hasRun() ? m_context.overlay.of(m_context.model.sharedRun()) : nullptr;
    return shown ? m_kept : nullptr;
}

void WhereController::putRegion(const AskedRegion& region)
{
    if (!region.make) {
        m_context.actions.at(QStringLiteral("region.clear")).trigger();
        return;
    }
    m_region = region;
    runRegion();
}

void WhereController::putElement(const QString& place)
{
    if (!place.isEmpty()) {
        return askHistory(place);
    }
    m_historyJobs->cancel();
    m_place.clear();
    clearHistories();
}

void WhereController::connectActions()
{
    const auto on = [this](const char* id, auto&& action) {
        connect(&m_context.actions.at(QLatin1String(id)), &QAction::triggered, this,
                std::forward<decltype(action)>(action));
    };
    connect(&m_context.actions.at(QStringLiteral("region.mark")), &QAction::toggled, this, [this](bool isOn) {
        for (const auto& [heatmap, history] : m_context.panes) {
            heatmap->setMarking(isOn);
        }
        if (isOn) {
            emit regionWanted();
        }
    });
    on("region.largest", [this] {
        startRegionOfInputs([](const tensor::Tensor& arrived) { return largestMask(arrived, kLargestShare); },
                            tr("where half of it lies"));
    });
    on("region.whole", [this] {
        startRegionOfInputs(
            [](const tensor::Tensor& arrived) {
                return tensor::Tensor::full(tensor::DType::Float64, arrived.shape(), 1);
            },
            tr("all of the input"));
    });
    on("region.file", [this] {
        const QString file =
            QFileDialog::getOpenFileName(&m_context.region, tr("Open a mask"), {}, tr("Arrays (*.npy)"));
        if (!file.isEmpty()) {
            emit regionWanted();
            askRegionFile(file);
        }
    });
    on("region.clear", [this] {
        m_regionJobs->cancel();
        m_mapJobs->cancel();
        m_region = {};
        m_isStale = false;
        m_context.overlay.set(nullptr);
        m_context.region.setAsking({});
        showActions();
        emit regionAsked();
    });
    on("go.changed", [this] { runToChange(true); });
    on("go.changedback", [this] { runToChange(false); });
}

void WhereController::showActions()
{
    const bool hasRun = m_source != nullptr;
    for (const char* id :
         {"region.mark", "region.largest", "region.whole", "region.file", "go.changed", "go.changedback"}) {
        m_context.actions.at(QLatin1String(id)).setEnabled(hasRun);
    }
    m_context.actions.at(QStringLiteral("region.clear"))
        .setEnabled(m_region.make != nullptr || m_context.overlay.region() != nullptr);
}

bool WhereController::isIdle() const
{
    return !m_historyJobs->isRunning() && !m_regionJobs->isRunning() && !m_mapJobs->isRunning();
}

void WhereController::stopPreparing() { m_preparing->cancel(); }

/// Of a pass that is still bound. A recorded run would have to read its model for it, which nobody asked for.
void WhereController::prepare()
{
    if (!m_source->isBound()) {
        return;
    }
    m_preparing->start([this, source = m_source](const std::stop_token& stop) -> views::JobRunner::Delivery {
        const auto make = [&]() -> Result<void> {
            RETRO_TRY(const std::shared_ptr<const engine::Historian> historian, source->historian(stop));
            return historian->makeReady(stop);
        };
        const bool isMade = base::caught(make).ok(); // what is wrong is said to who asks
        return [this, isMade] { m_isPrepared = isMade; };
    });
}

void WhereController::take(const ExplainDone& done, const QString& file)
{
    const auto before = m_source ? m_source->run()->graph : nullptr;
    m_preparing->cancel();
    m_isPrepared = false;
    m_historyJobs->cancel();
    m_regionJobs->cancel();
    m_mapJobs->cancel();
    m_context.overlay.set(nullptr); // its weights are those of another run
    if (!done.hasRelevance || !done.run.run) {
        return clear();
    }
    m_source = std::make_shared<Source>(engine::HistorySource{done.run.run, done.bound, done.assigned}, file,
                                        done.input.layout);
    m_job = done.model ? std::optional(done.job) : std::nullopt;
    const auto isSame = [&] { // of the same inputs, by name and shape
        const graph::Graph& now = *done.run.run->graph;
        return before && before->valueCount() == now.valueCount() && before->nodeCount() == now.nodeCount();
    };
    if (before != done.run.run->graph && !isSame()) {
        m_place.clear();
        m_region = {};
    }
    QStringList conditions;
    for (const std::string& condition : done.job.question.conditions) {
        conditions << QString::fromStdString(condition);
    }
    m_context.region.setConditions(conditions);
    clearHistories();
    showActions();
    prepare();
    if (!m_place.isEmpty()) {
        askHistory(m_place);
    }
    if (m_region.make) {
        runRegion();
    } else if (done.runRegion) {
        takeKept(done.runRegion);
    }
}

/// The region that the file of a run keeps needs no model.
void WhereController::takeKept(const std::shared_ptr<const trace::RunRegion>& kept)
{
    m_regionJobs->start([this, source = m_source, kept](const std::stop_token&) -> views::JobRunner::Delivery {
        const std::vector<tensor::Tensor> relevance = engine::finalRelevance(*source->run());
        engine::RegionResult region = engine::regionOf(*kept, relevance, *source->run()->graph);
        views::Plane plane = planeOf(region.masks, source->isChannelsLast());
        auto facts = regionFacts(std::move(region), relevance, source->run(), QString::fromStdString(kept->text));
        auto drawn = std::make_shared<views::RegionFacts>(*facts);
        drawn->mask = std::move(plane);
        return [this, drawn, kept] {
            m_kept = kept;
            m_context.overlay.set(drawn);
            showActions();
        };
    });
}

void WhereController::startRegionOfInputs(const std::function<tensor::Tensor(const tensor::Tensor&)>& maskOf,
                                          const QString& words)
{
    emit regionWanted();
    startRegion(
        [maskOf](const engine::Historian& historian, const trace::Run& run) {
            engine::RegionRequest request;
            for (const base::ValueId input : run.graph->inputs()) {
                const tensor::Tensor& arrived = historian.relevance()[input.index()];
                request.given.push_back(arrived.isValid() ? maskOf(arrived) : tensor::Tensor());
            }
            return request;
        },
        words);
}

void WhereController::showHistory(const QString& place)
{
    emit historyWanted(nullptr);
    askHistory(place);
}

void WhereController::clear()
{
    m_preparing->cancel();
    m_isPrepared = false;
    m_historyJobs->cancel();
    m_regionJobs->cancel();
    m_mapJobs->cancel();
    m_source.reset();
    m_job.reset();
    m_place.clear();
    m_region = {};
    m_isStale = false;
    m_context.overlay.set(nullptr);
    clearHistories();
    m_context.actions.at(QStringLiteral("region.mark")).setChecked(false);
    showActions();
}

void WhereController::pick(views::HistoryView* pane, base::ValueId value, const std::vector<std::int64_t>& index)
{
    if (!m_source || !m_context.model.hasRun()) {
        return;
    }
    emit historyWanted(pane);
    askHistory(m_context.model.label(value) + QLatin1Char(':') + views::placeText(index));
}

void WhereController::askHistory(const QString& place)
{
    if (!m_source) {
        return refuseHistory(tr("Nothing was run yet: choose an input and press Run."));
    }
    const auto parsed = engine::parseHistoryPlace(place.toStdString());
    if (!parsed) {
        return refuseHistory(QString::fromStdString(parsed.error().message));
    }
    const bool isOther = std::exchange(m_place, place) != place;
    for (const auto& [heatmap, history] : m_context.panes) {
        history->setAsked(place);
    }
    if (isOther) {
        emit elementAsked();
    }
    m_preparing->cancel();
    m_historyJobs->start(
        [this, source = m_source, asked = *parsed](const std::stop_token& stop) -> views::JobRunner::Delivery {
            const auto answer = [&] { return source->historyOf(asked, stop); };
            const Result<views::HistoryPointer> history = base::caught(answer);
            return [this, history] {
                if (history) {
                    for (const auto& [heatmap, view] : m_context.panes) {
                        view->setHistory(*history);
                    }
                } else if (history.error().code != base::ErrorCode::Cancelled) {
                    refuseHistory(QString::fromStdString(history.error().text()));
                }
            };
        });
}

void WhereController::askRegion(const std::vector<tensor::Tensor>& masks, const QString& words)
{
    startRegion(
        [masks](const engine::Historian&, const trace::Run&) {
            engine::RegionRequest request;
            request.given = masks;
            return request;
        },
        words);
}

void WhereController::askRegionFile(const QString& file)
{
    startRegion(
        [file](const engine::Historian&, const trace::Run&) {
            engine::RegionRequest request;
            request.masks = {file.toStdString()};
            return request;
        },
        file.section(QLatin1Char('/'), -1));
}

void WhereController::startRegion(MakeRegion make, const QString& words)
{
    if (!m_source) {
        return m_context.region.setRefusal(tr("Nothing was run yet: choose an input and press Run."));
    }
    m_region = {std::move(make), words, ++m_regions};
    emit regionAsked();
    runRegion();
}

/// The pass for the newest stroke. A short one that is under way is seen first: who brushes sees it follow.
void WhereController::runRegion()
{
    if (!m_source || !m_region.make) {
        return;
    }
    showActions();
    if (m_context.overlay.region() == nullptr) {
        m_context.region.setAsking(tr("Carrying the region forward …"));
    }
    if (m_regionJobs->isRunning() && m_regionTime.elapsed() < kPatience) {
        m_isStale = true;
        return;
    }
    m_isStale = false;
    m_preparing->cancel();
    m_regionTime.start();
    m_regionJobs->start([this, source = m_source, make = m_region.make,
                         words = m_region.words](const std::stop_token& stop) -> views::JobRunner::Delivery {
        std::shared_ptr<const trace::RunRegion> kept;
        const auto answer = [&]() -> Result<views::RegionPointer> {
            RETRO_TRY(const std::shared_ptr<const engine::Historian> historian, source->historian(stop));
            engine::RegionRequest request = make(*historian, *source->run());
            request.arrives = true;
            RETRO_TRY(engine::RegionResult region, historian->region(request, source->layout().toStdString(), stop));
            region.text = words.toStdString();
            views::Plane plane = planeOf(region.masks, source->isChannelsLast());
            kept = engine::keptRegion(region);
            const views::RegionPointer facts =
                regionFacts(std::move(region), historian->relevance(), source->run(), words);
            auto drawn = std::make_shared<views::RegionFacts>(*facts);
            drawn->mask = std::move(plane);
            return views::RegionPointer(drawn);
        };
        const Result<views::RegionPointer> region = base::caught(answer);
        return [this, region, kept] {
            if (region) {
                m_kept = kept;
                m_context.overlay.set(*region);
            } else if (region.error().code != base::ErrorCode::Cancelled) {
                m_context.region.setRefusal(QString::fromStdString(region.error().text()));
            }
        };
    });
}

void WhereController::askMaps(base::ValueId value, std::size_t axis, const std::vector<std::int64_t>& indices)
{
    if (!m_job || !m_source) {
        return m_context.region.setRefusal(
            tr("A recorded run holds no model to run again. Open its model to see maps of single channels."));
    }
    m_context.region.strip().clearMaps();
    const std::string name = m_source->run()->graph->value(value).name;
    m_preparing->cancel();
    m_mapJobs->start([this, source = m_source, job = *m_job, value, axis, indices,
                      name](const std::stop_token& stop) mutable -> views::JobRunner::Delivery {
        const auto answer = [&] {
            return indexMaps(job, name + ":axis=" + std::to_string(axis), indices, source->isChannelsLast(), stop);
        };
        const Result<IndexMaps> maps = base::caught(answer);
        return [this, maps, value, axis] {
            if (!maps) {
                if (maps.error().code != base::ErrorCode::Cancelled) {
                    m_context.region.setRefusal(QString::fromStdString(maps.error().text()));
                }
                return;
            }
            for (const auto& [index, plane] : *maps) {
                m_context.region.setMap(value, axis, index, plane);
            }
        };
    });
}

/// Of the element that was asked about where its value is selected, else of the selected value's sum.
void WhereController::runToChange(bool isForward)
{
    if (!m_context.model.hasRun()) {
        return;
    }
    const trace::Run& run = m_context.model.run();
    trace::Breakpoint wanted;
    wanted.kind = trace::BreakKind::ValueReached;
    wanted.change = trace::ValueChange::Changes;
    wanted.value = m_context.model.valueOf(m_context.selection.thing());
    const views::HistoryPointer& history = m_context.panes.front().second->history();
    if (history && (!wanted.value.isValid() || wanted.value == history->value)) {
        wanted.value = history->value;
        const bool isOne = std::ranges::none_of(history->index, [](std::int64_t i) { return i < 0; });
        wanted.measure = isOne ? trace::ValueMeasure::Element : trace::ValueMeasure::Sum;
        wanted.index = isOne ? history->index : std::vector<std::int64_t>();
    }
    if (!wanted.value.isValid()) {
        emit said(tr("Select a node or a value first, or click an element of the heatmap."));
        return;
    }
    const std::uint64_t here = m_context.model.position();
    const auto stop = isForward ? trace::nextStop(run, wanted, here) : trace::previousStop(run, wanted, here);
    if (!stop) {
        emit said(isForward ? tr("It does not change after this step.") : tr("It does not change before this step."));
        return;
    }
    m_context.cursor.moveTo(*stop);
    emit said(QString::fromStdString(trace::whyStopped(run, wanted, *stop)));
}

} // namespace retro::app

#include "moc_wherecontroller.cpp"
