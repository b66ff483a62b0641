// SPDX-License-Identifier: Apache-2.0
#include "views/plan/budgetview.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/plan/budgetslider.h"
#include "views/plan/bytescale.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

QLabel* makeLabel(const QString& text, const QFont& font, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setFont(font);
    label->setTextFormat(Qt::PlainText);
    return label;
}

double shareOf(std::uint64_t bytes, std::uint64_t all)
{
    return all == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(all);
}

QString boundWords(const schedule::PlanResult& result)
{
    switch (result.status) {
    case schedule::PlanStatus::Optimal:
        return BudgetView::tr("No plan within this budget needs less work: %1.")
            .arg(QString::fromStdString(result.reason));
    case schedule::PlanStatus::Feasible:
        return BudgetView::tr("At most %1 above the least work that is possible.").arg(percentText(result.gap()));
    default:
        return {};
    }
}

/// The most that a run by the plan had in memory; 0 where none is on screen.
std::uint64_t measuredPeak(const PlanModel& model, const ShownPlan& plan)
{
    const std::vector<std::uint64_t>& bytes =
        plan.axis && plan.axis->isMeasured() ? plan.axis->stack.sums : model.measured();
    return bytes.empty() ? 0 : std::ranges::max(bytes);
}

} // namespace

BudgetView::BudgetView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan)
{
    setAccessibleName(tr("Budget of the plan"));
    setEmptyText(tr("The memory that a plan may take is chosen here, once a model is open."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {px(12), px(8), px(12), px(8)}, px(6));
    makeFigures(*body);
    column->addStretch(1);
    QWidget* scroll = makeScroll(body);
    setBody(scroll);
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged,
                              &PlanModel::pointsChanged, &PlanModel::measuredChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
}

void BudgetView::makeFigures(QWidget& parent)
{
    auto* column = static_cast<QVBoxLayout*>(parent.layout());
    auto* head = new QGridLayout;
    head->setHorizontalSpacing(px(8));
    head->setVerticalSpacing(px(4));
    head->setColumnStretch(2, 1);
    int row = 0;
    const auto addLine = [&](const QString& name, QLabel*& figure, ElidedLabel*& note, bool isStrong) {
        head->addWidget(makeLabel(name, fonts::label(isStrong ? QFont::DemiBold : QFont::Normal), &parent), row, 0);
        figure = makeLabel({}, fonts::numbers(isStrong ? QFont::DemiBold : QFont::Normal), &parent);
        head->addWidget(figure, row, 1, Qt::AlignRight);
        note = new ElidedLabel({}, Role::Text2, fonts::label(), &parent);
        head->addWidget(note, row++, 2);
    };
    addLine(tr("Budget"), m_budget, m_share, true);
    m_slider = new BudgetSlider(&parent);
    m_slider->setAccessibleName(tr("Budget, thousandths of what storing everything needs"));
    head->addWidget(m_slider, row++, 0, 1, 3);
    addLine(tr("Peak"), m_peak, m_peakNote, false);
    addLine(tr("Measured"), m_measured, m_measuredNote, false);
    addLine(tr("Extra work"), m_work, m_workNote, false);
    addLine(tr("Kept"), m_kept, m_keptNote, false);
    addLine(tr("Dropped"), m_dropped, m_droppedNote, false);
    addLine(tr("Promises"), m_promises, m_promisesNote, false);
    addLine(tr("Planned in"), m_time, m_timeNote, false);
    makeChoices(parent, *head, row);
    column->addLayout(head);
    m_message = makeLabel({}, fonts::label(), &parent);
    m_message->setWordWrap(true);
    column->addWidget(m_message);
    m_clear = new QPushButton(tr("Forget my choices"), &parent);
    m_clear->setToolTip(tr("Let a planner choose again what is kept"));
    column->addWidget(m_clear, 0, Qt::AlignLeft);
    connect(m_slider, &QSlider::valueChanged, this, &BudgetView::takeSlider);
    connect(m_slider, &QSlider::sliderPressed, &m_plan, &PlanModel::beginDrag);
    connect(m_slider, &QSlider::sliderReleased, &m_plan, &PlanModel::endDrag);
    connect(m_clear, &QPushButton::clicked, &m_plan, &PlanModel::clearChoices);
}

void BudgetView::makeChoices(QWidget& parent, QGridLayout& head, int row)
{
    m_tiers = new QComboBox(&parent);
    m_tiers->setAccessibleName(tr("Where tensors may be moved to"));
    m_tiers->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_tiers->setMinimumContentsLength(10);
    m_tiers->addItem(tr("nothing moves"));
    for (const schedule::Tier& tier : knownTiers()) {
        m_tiers->addItem(
            tr("to %1, %2/s")
                .arg(QString::fromStdString(tier.name), bytesText(static_cast<std::int64_t>(tier.bytesPerSecond))));
    }
    head.addWidget(makeLabel(tr("Moves"), fonts::label(), &parent), row, 0);
    head.addWidget(m_tiers, row, 1, 1, 2);
    connect(m_tiers, &QComboBox::activated, this, &BudgetView::takeTier);
}

QString BudgetView::hint() const { return tr("Drag: the plan follows. In the red part no plan is known."); }

bool BudgetView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

QString BudgetView::message() const { return m_message->text(); }

void BudgetView::refresh(Changes /*changes*/)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    if (m_plan.state() == PlanState::Ready) {
        showQuestion();
        showPlan();
    }
}

void BudgetView::showQuestion()
{
    const PlanSubject& subject = *m_plan.subject();
    const PlanQuestion& question = m_plan.question();
    const double share = shareOf(question.budget, subject.storeAllPeak);
    m_isShowing = true;
    m_slider->setEnabled(subject.storeAllPeak > 0);
    m_slider->setUnknown(shareOf(m_plan.leastPeak(), subject.storeAllPeak));
    if (!m_slider->isSliderDown()) {
        m_slider->setValue(static_cast<int>(std::lround(share * BudgetSlider::kSteps)));
    }
    showTier();
    m_isShowing = false;
    m_budget->setText(bytesWords(question.budget));
    m_share->setText(tr("%1 of store-all").arg(percentText(share)));
    m_clear->setVisible(m_plan.hasChoices() || question.strategy == kUserStrategy);
}

void BudgetView::showPlan()
{
    QPalette alarm = palette();
    const bool isRefused = !m_plan.refusal().isEmpty();
    const bool isFailing = m_plan.plan() && m_plan.plan()->run.error.has_value();
    const bool isOver = isFailing || (m_plan.plan() && m_plan.plan()->isOverBudget() && !isRefused);
    if (isRefused || isOver) {
        alarm.setColor(QPalette::WindowText, theme(this)[Role::AlarmText]);
    }
    m_message->setPalette(alarm);
    if (!m_plan.plan()) {
        clearFigures();
        m_message->setText(isRefused ? tr("✕ %1 %2").arg(m_plan.refusal(), m_plan.refusalRemedy()) : tr("Planning…"));
        return;
    }
    showFigures(*m_plan.plan());
    m_message->setText(messageOf(*m_plan.plan()));
}

/// Before there is a plan: what stands there is of another model.
void BudgetView::clearFigures()
{
    for (QLabel* figure : {m_peak, m_measured, m_work, m_kept, m_dropped, m_promises, m_time}) {
        figure->setText(QStringLiteral("–"));
    }
    for (ElidedLabel* note :
         {m_peakNote, m_measuredNote, m_workNote, m_keptNote, m_droppedNote, m_promisesNote, m_timeNote}) {
        note->setText({});
    }
}

void BudgetView::showFigures(const ShownPlan& plan)
{
    m_peak->setText(bytesWords(plan.result.peak));
    m_peakNote->setText(tr("%1 of store-all").arg(percentText(shareOf(plan.result.peak, plan.subject->storeAllPeak))));
    showMeasured(plan);
    m_work->setText(signedText(100 * plan.extraWork(), 1) + QStringLiteral(" %"));
    m_workNote->setText(tr("%1 of %2")
                            .arg(costText(plan.result.cost - plan.result.baseCost, plan.subject->unit),
                                 costText(plan.result.baseCost, plan.subject->unit)));
    showSaving(plan);
    m_time->setText(tr("%1 ms").arg(fixedText(plan.result.seconds * 1000, 0)));
    m_timeNote->setText(tr("rebuilds %1 tensors").arg(countText(static_cast<std::int64_t>(plan.rebuiltTensors()))));
}

void BudgetView::showMeasured(const ShownPlan& plan)
{
    const std::uint64_t peak = measuredPeak(m_plan, plan);
    m_measured->setText(peak == 0 ? QStringLiteral("–") : bytesWords(peak));
    m_measuredNote->setText(peak == 0 ? tr("run this plan to see")
                            : peak > plan.question.budget
                                ? tr("%1 over the budget").arg(bytesWords(peak - plan.question.budget))
                                : tr("within the budget"));
}

/// What a traversal by the plan keeps, drops and brings back, without running it.
void BudgetView::showSaving(const ShownPlan& plan)
{
    if (!plan.saving) {
        const QString none = QStringLiteral("–");
        const QString why = plan.subject->half == PlanFor::Relevance ? tr("known once an input is chosen")
                                                                     : tr("only a relevance pass raises promises");
        for (QLabel* figure : {m_kept, m_dropped, m_promises}) {
            figure->setText(none);
        }
        m_keptNote->setText(why);
        m_droppedNote->setText({});
        m_promisesNote->setText({});
        return;
    }
    const SavingNumbers& saving = *plan.saving;
    const auto count = [](std::size_t number) { return countText(static_cast<std::int64_t>(number)); };
    m_kept->setText(bytesWords(saving.keptBytes));
    m_keptNote->setText(tr("%1 values between the passes").arg(count(saving.kept)));
    m_dropped->setText(count(saving.dropped));
    m_droppedNote->setText(tr("%1 by promise, %2 recomputed").arg(count(saving.byPromise), count(saving.recomputed)));
    m_promises->setText(count(saving.promises));
    m_promisesNote->setText(tr("%1 visits").arg(count(saving.visits)));
}

QString BudgetView::messageOf(const ShownPlan& plan) const
{
    if (!m_plan.refusal().isEmpty()) {
        return tr("✕ %1 %2").arg(m_plan.refusal(), m_plan.refusalRemedy());
    }
    if (plan.run.error) {
        const std::size_t step = plan.run.error->step.value_or(plan.plan().steps.size());
        return tr("✕ The plan fails at step %1: %2.")
            .arg(countText(static_cast<std::int64_t>(step) + 1), QString::fromStdString(plan.run.error->text));
    }
    if (plan.isOverBudget()) {
        return tr("✕ Your choices need %1, which is %2 over the budget. Recompute more, or allow more.")
            .arg(bytesWords(plan.result.peak), bytesWords(plan.result.peak - plan.question.budget));
    }
    if (m_plan.isPlanning()) {
        return tr("Planning…");
    }
    const bool isOver = measuredPeak(m_plan, plan) > plan.question.budget;
    return boundWords(plan.result) +
           (isOver
                ? tr(" A run that can be stepped also holds relevance that waits and what promises ask for: this comes "
                     "on top of what the plan keeps.")
                : QString());
}

void BudgetView::takeSlider(int value)
{
    if (m_isShowing || !m_plan.subject()) {
        return;
    }
    const double share = static_cast<double>(value) / BudgetSlider::kSteps;
    m_plan.setBudget(
        static_cast<std::uint64_t>(std::floor(share * static_cast<double>(m_plan.subject()->storeAllPeak))));
}

void BudgetView::showTier()
{
    const auto& tier = m_plan.question().tier;
    const auto& known = knownTiers();
    const auto at = tier ? std::ranges::find(known, *tier) : known.end();
    m_tiers->setCurrentIndex(at == known.end() ? 0 : static_cast<int>(at - known.begin()) + 1);
    const analysis::CostUnit unit = m_plan.subject()->unit;
    const bool isTimed = unit != analysis::CostUnit::Operators;
    m_tiers->setEnabled(isTimed);
    m_tiers->setToolTip(!isTimed
                            ? tr("The graph states neither times nor operations: nothing says how long a copy may take")
                        : unit == analysis::CostUnit::Milliseconds
                            ? tr("Copies run beside computations, which take the milliseconds that the graph states")
                            : tr("Copies run beside computations, which are taken at 20 GFLOP/s"));
}

void BudgetView::takeTier(int index)
{
    if (!m_isShowing) {
        m_plan.setTier(index > 0 ? std::optional(knownTiers()[static_cast<std::size_t>(index - 1)]) : std::nullopt);
    }
}

} // namespace retro::views

#include "moc_budgetview.cpp"
