// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/planbar.h"

#include "app/gui/stepping/nowline.h"
#include "app/gui/stepping/positionbox.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/widgets/boxes.h"
#include "views/plan/planmodel.h"
#include "views/plan/plannerbox.h"
#include "views/plan/scheduleview.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include <algorithm>

namespace retro::app
{

using views::fonts::px;

namespace
{
constexpr double kPlanSentence = 220; ///< design pixels: what the step does, and the most telling figure
constexpr int kMostPlanSteps = 2;     ///< ways to make room
} // namespace

PlanBar::PlanBar(views::ActionRegistry& actions, views::PlanModel& plan, views::ScheduleView& schedule, QWidget* parent)
    : QToolBar(tr("Steps of the plan"), parent), m_actions(actions), m_plan(plan), m_schedule(schedule)
{
    setObjectName(QStringLiteral("planbar"));
    setMovable(false);
    const auto at = [&actions](const char* id) { return &actions.at(QLatin1String(id)); };
    addAction(at("file.open"));
    addAction(at("file.save"));
    addSeparator();
    for (const char* id :
         {"plan.first", "plan.turnback", "plan.back", "plan.play", "plan.forward", "plan.turn", "plan.last"}) {
        addAction(at(id));
    }
    addSeparator();
    addHalves();
    addPosition();
    addPlanner();
    addEnd(*at("plan.run"), tr("Run this plan"));
    addEnd(*at("export.plan"), tr("Export plan…"));
    connect(&plan, &views::PlanModel::planChanged, this, &PlanBar::showStep);
    connect(&plan, &views::PlanModel::stepChanged, this, &PlanBar::showStep);
    connect(&schedule, &views::ScheduleView::nowChanged, this, &PlanBar::showStep);
    showStep();
}

/// Which pass is planned for, one of three.
void PlanBar::addHalves()
{
    auto* box = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(box, {px(4), 0, px(4), 0}, 0);
    auto* words = new QLabel(tr("Plan for"), box);
    words->setContentsMargins(0, 0, px(6), 0);
    m_captions.append(words);
    row->addWidget(words);
    const auto add = [&](const char* id, const QString& text) {
        QAction& action = m_actions.at(QLatin1String(id));
        action.setIconText(text);
        auto* button = new QToolButton(box);
        button->setDefaultAction(&action);
        button->setProperty("segment", true);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        row->addWidget(button);
    };
    add("plan.for.gradient", tr("Gradient"));
    add("plan.for.relevance", tr("Relevance"));
    add("plan.for.forward", tr("Forward"));
    addWidget(box);
}

void PlanBar::addPosition()
{
    auto* box = new PositionBox(tr("Step of the plan; type a number"),
                                tr("The step of the plan that is looked at: a number"), this);
    m_position = &box->field();
    m_count = &box->count();
    addWidget(box);
    m_now = new NowLine(this);
    addWidget(m_now);
    connect(m_position, &QLineEdit::returnPressed, this, &PlanBar::goToTyped);
}

void PlanBar::addPlanner()
{
    auto* box = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(box, {px(8), 0, px(6), 0}, px(6));
    auto* planner = new views::PlannerBox(m_plan, box);
    auto* label = new QLabel(tr("Planner"), box);
    label->setBuddy(planner);
    m_captions.append(label);
    row->addWidget(label);
    row->addWidget(planner);
    addWidget(box);
}

/// With its word, as buttons at the right end have it.
void PlanBar::addEnd(QAction& action, const QString& text)
{
    action.setIconText(text);
    auto* button = new QToolButton(this);
    button->setDefaultAction(&action);
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    addWidget(button);
    button->setAutoRaise(false); // with a frame, as all that has words
    m_ends.append(button);
}

void PlanBar::resizeEvent(QResizeEvent* event)
{
    QToolBar::resizeEvent(event);
    makeRoom();
}

/// The sentence about the step keeps its room; what has a tip gives way.
void PlanBar::makeRoom()
{
    for (int steps = 0; steps <= kMostPlanSteps; ++steps) {
        for (QLabel* caption : m_captions) {
            caption->setVisible(steps < 1);
        }
        for (QToolButton* button : m_ends) {
            button->setToolButtonStyle(steps < 2 ? Qt::ToolButtonTextBesideIcon : Qt::ToolButtonIconOnly);
        }
        if (widthBeside(m_now, *this) + px(kPlanSentence) <= width()) {
            return;
        }
    }
}

void PlanBar::showStep()
{
    const bool hasPlan = m_plan.plan() != nullptr;
    const auto columns = hasPlan ? static_cast<std::int64_t>(m_plan.plan()->matrix.columns().size()) : 0;
    m_position->setEnabled(columns > 0);
    const std::int64_t before = m_plan.isSearching() ? m_plan.searchVisits() : 0; // steps of the search by themselves
    m_position->setText(columns > 0 ? QString::number(before + m_plan.place() + 1) : QString());
    m_count->setText(columns > 0 ? QStringLiteral(" / ") + views::countText(before > 0 ? before : columns) : QString());
    m_now->setWords(hasPlan ? m_schedule.nowText() : tr("Nothing is planned yet"));
    std::vector<NowFigure> figures;
    for (const QString& figure : hasPlan ? m_schedule.nowFigures() : QStringList()) {
        figures.push_back({figure, static_cast<int>(figures.size())});
    }
    std::reverse(figures.begin(), figures.end()); // the most telling one first
    m_now->setFigures(std::move(figures));
    QAction& play = m_actions.at(QStringLiteral("plan.play"));
    play.setIcon(views::icons::icon(m_schedule.isPlaying() ? QStringLiteral("pause") : QStringLiteral("play")));
}

void PlanBar::goToTyped()
{
    bool isNumber = false;
    const qint64 step = m_position->text().toLongLong(&isNumber);
    if (isNumber) {
        m_plan.setStep(step - 1 - (m_plan.isSearching() ? m_plan.searchVisits() : 0));
    }
    showStep();
}

} // namespace retro::app

#include "moc_planbar.cpp"
