// SPDX-License-Identifier: Apache-2.0
#include "views/plan/scheduleview.h"

#include "core/base/file.h"
#include "core/schedule/planjson.h"
#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/emptystate.h"
#include "views/plan/bytescale.h"
#include "views/plan/rowlink.h"
#include "views/plan/schedulepane.h"
#include "views/plan/searchmoment.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QStackedLayout>
#include <QTimer>
#include <QVBoxLayout>

namespace retro::views
{

namespace
{

constexpr int kPlayMilliseconds = 90;   // a step
constexpr std::size_t kManyTries = 100; // each of them is one step of playing

const char* wordOf(CellKind kind)
{
    switch (kind) {
    case CellKind::Compute:
        return "compute";
    case CellKind::Recompute:
        return "recompute";
    case CellKind::Gradient:
        return "gradient";
    case CellKind::Offload:
        return "offload";
    case CellKind::Prefetch:
        return "prefetch";
    case CellKind::Return:
        return "visit";
    }
    return "";
}

PictureTexts textsOf(const ShownPlan& plan)
{
    return {{"model", plan.subject->model.toStdString()},
            {"planner", plan.result.planner},
            {"budget", std::to_string(plan.question.budget)},
            {"peak", std::to_string(plan.result.peak)}};
}

} // namespace

std::string scheduleCsv(const ShownPlan& plan, const std::vector<std::uint64_t>& measured)
{
    CsvText text(
        {"step", "kind", "operator", "tensor", "bytes", "measured_bytes", "live_tensors", "decision", "reason"});
    for (std::uint32_t at = 0; at < plan.matrix.columns().size(); ++at) {
        const ScheduleColumn& column = plan.matrix.columns()[at];
        const bool hasRow = column.row != analysis::kNone;
        const auto bytes = column.step < measured.size() ? std::optional(measured[column.step]) : std::nullopt;
        text.row(at + 1, wordOf(column.cell),
                 column.op == analysis::kNone ? std::string() : plan.graph().op(column.op).name,
                 hasRow ? plan.rowName(column.row) : QString(), column.bytes, bytes, column.live,
                 hasRow ? wordOf(plan.matrix.rows()[column.row].decision) : QString(),
                 hasRow ? plan.reasonOf(column.row) : QString());
    }
    return text.take();
}

ScheduleView::ScheduleView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan)
{
    setAccessibleName(tr("Schedule of the plan"));
    setEmptyText(tr("What a plan keeps in memory and computes again appears here, once a model is open."),
                 tr("Open model…"));
    auto* body = new QWidget(this);
    m_pages = new QStackedLayout(body);
    m_waiting = new EmptyState(body);
    connect(m_waiting, &EmptyState::cancelled, &plan, &PlanModel::cancel);
    m_chart = new QWidget(body);
    auto* column = makeBox<QVBoxLayout>(m_chart, {}, 0);
    m_message = new ElidedLabel({}, Role::AlarmText, fonts::label(), m_chart);
    m_message->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(4));
    m_message->hide();
    column->addWidget(m_message);
    m_pane = new SchedulePane(plan, m_chart);
    column->addWidget(m_pane, 1);
    makeStrip();
    column->addWidget(m_strip);
    m_pages->addWidget(m_waiting);
    m_pages->addWidget(m_chart);
    setBody(body);
    m_clock = new QTimer(this);
    m_clock->setInterval(kPlayMilliseconds);
    connect(m_clock, &QTimer::timeout, this, [this] {
        const std::int64_t before = m_plan.place();
        m_plan.setStep(m_plan.isSearching() ? nextOfSearch() : before + 1);
        if (m_plan.place() == before) {
            play(false);
        }
    });
    connect(m_pane, &SchedulePane::rowChosen, this, &ScheduleView::selectRow);
    connect(m_pane, &SchedulePane::rowChanged, this, &ScheduleView::showStory);
    connect(m_pane, &SchedulePane::gapChosen, this, [this](quint32 promise, quint32 at) {
        this->selection().selectPromise(base::PromiseId(promise));
        m_plan.setStep(at); // where it was made
    });
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
    connect(&plan, &PlanModel::stepChanged, this, &ScheduleView::showStep);
    connect(&plan, &PlanModel::stateChanged, this, [this] {
        if (!m_plan.plan()) {
            m_pane->takePlan(); // a closed model is let go at once, also while the pane is hidden
        }
    });
}

/// Below the picture: what becomes of the marked tensor, and the other choice for it.
void ScheduleView::makeStrip()
{
    m_strip = new QWidget(m_chart);
    auto* row =
        makeBox<QHBoxLayout>(m_strip, {fonts::px(10), fonts::px(2), fonts::px(10), fonts::px(4)}, fonts::px(10));
    m_name = new ElidedLabel({}, Role::Text, fonts::label(QFont::DemiBold), m_strip);
    m_story = new ElidedLabel({}, Role::Text2, fonts::label(), m_strip);
    m_turn = new QPushButton(m_strip);
    row->addWidget(m_name);
    row->addWidget(m_story, 1);
    row->addWidget(m_turn);
    m_strip->hide();
    connect(m_turn, &QPushButton::clicked, this, &ScheduleView::turnMarked);
}

QString ScheduleView::subject() const
{
    if (!m_plan.plan()) {
        return {};
    }
    return tr("%1, peak %2")
        .arg(plannerTitle(m_plan.plan()->result.planner),
             bytesText(static_cast<std::int64_t>(m_plan.plan()->result.peak)));
}

QString ScheduleView::hint() const
{
    return tr("What is computed, kept and rebuilt at each step, and the memory that this needs.");
}

bool ScheduleView::canShow(const SelectedThing& thing) const
{
    return m_plan.plan() && rowOfThing(model(), thing, *m_plan.plan()).has_value();
}

base::Result<void> ScheduleView::exportTo(const std::filesystem::path& path)
{
    if (!m_plan.plan()) {
        return base::usageError("there is no plan to export; show the workspace Plan first", path.string());
    }
    const ShownPlan& plan = *m_plan.plan();
    if (path.extension() == ".csv") {
        return base::writeFile(path, scheduleCsv(plan, m_plan.measured()));
    }
    if (path.extension() == ".json") {
        schedule::Plan written = plan.plan();
        schedule::fillAnnotations(plan.graph(), written);
        return base::writeFile(path, schedule::toPlanJson(plan.graph(), written));
    }
    m_pane->takePlan();
    const QSizeF size(m_pane->size().expandedTo(m_pane->sizeHint())); // it may never have been on screen
    return paintToFile(
        path, size, [&](QPainter& painter) { m_pane->paint(painter, size, theme(this)); }, tr("Schedule"),
        textsOf(plan), 2);
}

QString ScheduleView::message() const { return m_message->isHidden() ? QString() : m_message->text(); }

bool ScheduleView::isPlaying() const { return m_clock->isActive(); }

void ScheduleView::chooseSelected(Decision decision)
{
    const auto row =
        m_plan.plan() ? rowOfThing(model(), selection().thing(), *m_plan.plan()) : std::optional<std::uint32_t>();
    if (row) {
        m_plan.choose(m_plan.plan()->matrix.rows()[*row].value, decision);
    }
}

std::int64_t ScheduleView::tryFrom(bool isForward) const
{
    const auto search = searchMoment(model());
    if (!search) {
        return m_plan.place();
    }
    const std::vector<std::uint64_t>& steps = search->all->steps;
    const auto next = std::ranges::lower_bound(steps, model().position()); // a try that ends here lies before it
    const auto before = std::ranges::lower_bound(steps, model().position() - (search->isTold ? 1 : 0));
    const bool isThere = isForward ? next != steps.end() : before != steps.begin();
    const std::int64_t first = -std::int64_t{m_plan.searchVisits()};
    return isThere ? first + model().run().visitOf(isForward ? *next : *std::prev(before)) : isForward ? 0 : first;
}

/// Faster through long tries: half of what is left of one.
std::int64_t ScheduleView::nextOfSearch() const
{
    const std::int64_t next = tryFrom(true);
    const bool areMany = model().derived<SearchTries>()->tries.size() > kManyTries;
    return areMany ? next : m_plan.place() + (next - m_plan.place()) / 2 + 1;
}

void ScheduleView::play(bool isPlaying)
{
    const bool canPlay = isPlaying && m_plan.plan() && !m_plan.plan()->matrix.columns().empty();
    if (canPlay) {
        if (m_plan.step() + std::size_t{1} >= m_plan.plan()->matrix.columns().size()) {
            m_plan.setStep(0);
        }
        m_clock->start();
    } else {
        m_clock->stop();
    }
    emit nowChanged();
}

QString ScheduleView::emptyReason() const
{
    return m_plan.state() == PlanState::Absent && !m_plan.absence().isEmpty() ? m_plan.absence() : QString();
}

void ScheduleView::refresh(Changes changes)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    m_pane->takePlan();
    const auto search = m_plan.plan() ? searchMoment(model()) : std::nullopt;
    m_pane->setTried(search && search->tried ? rowOfThing(model(), *search->tried, *m_plan.plan()) : std::nullopt,
                     search.has_value());
    showState();
    showStep();
    if (changes.testFlag(Change::Selection) || changes.testFlag(Change::State)) {
        followSelection();
    }
}

void ScheduleView::showState()
{
    if (m_plan.plan()) {
        m_pages->setCurrentWidget(m_chart);
        const QString refusal = m_plan.refusal();
        m_message->setText(tr("✕ %1 The plan before stays.").arg(refusal));
        m_message->setVisible(!refusal.isEmpty());
        return;
    }
    m_pages->setCurrentWidget(m_waiting);
    play(false);
    if (m_plan.state() == PlanState::Failed) {
        m_waiting->showError(m_plan.failure(), m_plan.remedy());
    } else if (!m_plan.refusal().isEmpty()) {
        m_waiting->showError(m_plan.refusal(), m_plan.refusalRemedy());
    } else if (m_plan.state() == PlanState::Absent) {
        m_waiting->showEmpty(tr("Nothing is planned yet."));
    } else {
        m_waiting->showLoading(m_plan.state() == PlanState::Loading ? tr("Working out what the model needs in memory")
                                                                    : tr("Planning"),
                               -1);
    }
}

void ScheduleView::showStep()
{
    if (!m_plan.plan() || m_plan.step() >= m_plan.plan()->matrix.columns().size()) {
        m_now.clear();
        m_nowFigures.clear();
        emit nowChanged();
        return;
    }
    if (const auto search = searchMoment(model())) {
        m_now = search->words(model());
        m_nowFigures = {search->count()};
        emit nowChanged();
        return;
    }
    const ShownPlan& plan = *m_plan.plan();
    const ScheduleColumn& at = plan.matrix.columns()[m_plan.step()];
    m_now = plan.stepWords(m_plan.step());
    m_nowFigures = {tr("tensors %1").arg(countText(std::int64_t{at.live})),
                    tr("waiting %1").arg(countText(std::int64_t{at.waiting})),
                    tr("live now %1").arg(bytesText(static_cast<std::int64_t>(at.bytes)))};
    emit nowChanged();
}

QString ScheduleView::story() const { return m_strip->isHidden() ? QString() : m_story->text(); }

void ScheduleView::showStory()
{
    const auto search = m_plan.plan() ? searchMoment(model()) : std::nullopt;
    const std::optional<std::uint32_t> row = m_plan.plan() ? m_pane->figure().row : std::nullopt;
    const bool isThere = !search && row && *row < m_plan.plan()->matrix.rows().size();
    m_strip->setVisible(isThere || search);
    m_turn->setVisible(isThere);
    if (search) {
        m_name->setText(tr("Planning"));
        m_story->setText(QStringLiteral("%1: %2").arg(search->count(), search->words(model())));
    }
    if (!isThere) {
        return;
    }
    const ShownPlan& plan = *m_plan.plan();
    const Decision decision = plan.matrix.rows()[*row].decision;
    m_name->setText(plan.rowLabel(*row));
    m_story->setText(plan.storyOf(*row));
    m_turn->setVisible(decision != Decision::Pass);
    m_turn->setEnabled(decision == Decision::Recompute || plan.graph().op(plan.matrix.rows()[*row].op).mayRepeat());
    m_turn->setText(decision == Decision::Recompute ? tr("Keep it") : tr("Recompute it"));
    m_turn->setToolTip(decision == Decision::Recompute ? tr("Keep the tensor until it is read last (K)")
                                                       : tr("Drop the tensor and compute it again (R)"));
}

void ScheduleView::turnMarked()
{
    const std::optional<std::uint32_t> row = m_plan.plan() ? m_pane->figure().row : std::nullopt;
    if (row && *row < m_plan.plan()->matrix.rows().size()) {
        const ScheduleRow& one = m_plan.plan()->matrix.rows()[*row];
        m_plan.choose(one.value, one.decision == Decision::Recompute ? Decision::Keep : Decision::Recompute);
    }
}

void ScheduleView::followSelection()
{
    if (m_plan.plan()) {
        const auto promise = selection().promise();
        m_pane->setPromise(promise ? std::optional(promise->value) : std::nullopt);
        if (!promise) { // the rows that it brings are marked
            m_pane->setRow(rowOfThing(model(), selection().thing(), *m_plan.plan()));
        }
    }
    showStory();
}

void ScheduleView::selectRow(std::uint32_t row)
{
    if (m_plan.plan()) {
        selectRowOf(model(), selection(), *m_plan.plan(), row);
    }
}

} // namespace retro::views

#include "moc_scheduleview.cpp"
