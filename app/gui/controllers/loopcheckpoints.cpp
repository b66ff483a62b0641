// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/loopcheckpoints.h"

#include "views/plan/plannersview.h"
#include "views/run/runpanel.h"

namespace retro::app
{

LoopCheckpoints::LoopCheckpoints(views::RunPanel& panel, views::PlannersView& planners, QObject* parent)
    : QObject(parent), m_panel(panel), m_planners(planners)
{
    connect(&panel, &views::RunPanel::questionChanged, this, &LoopCheckpoints::show);
    connect(&panel, &views::RunPanel::checkpointsChanged, this, &LoopCheckpoints::show); // another model, too
    connect(&planners, &views::PlannersView::loopsChosen, this, &LoopCheckpoints::ask);
    show();
}

void LoopCheckpoints::show()
{
    bool isNumber = false;
    const int every = QString::fromStdString(m_panel.question().checkpointEvery).toInt(&isNumber);
    m_planners.setLoops(m_panel.hasLoops(), isNumber ? every : views::PlannersView::kNoLoopCheckpoints);
}

void LoopCheckpoints::ask(int every)
{
    engine::Question question = m_panel.question();
    const bool isOff = every == views::PlannersView::kNoLoopCheckpoints;
    question.checkpointEvery = isOff ? std::string() : std::to_string(every);
    m_panel.setQuestion(question);
    emit m_panel.questionChanged();
}

} // namespace retro::app

#include "moc_loopcheckpoints.cpp"
