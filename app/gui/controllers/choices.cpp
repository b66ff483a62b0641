// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/choices.h"

#include "app/gui/controllers/choicehistory.h"
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/controllers/wherecontroller.h"
#include "core/trace/notes.h"
#include "views/common/actions.h"
#include "views/common/widgets/breakpointlist.h"
#include "views/input/inputview.h"
#include "views/notebook/notebookmodel.h"
#include "views/plan/planmodel.h"
#include "views/run/runpanel.h"

#include <array>
#include <set>
#include <string>

namespace retro::app
{

namespace
{

using views::ActionSpec;

constexpr std::array kChoiceActions{
    ActionSpec{"edit.undo", RETRO_ACTION("&Undo"),
               RETRO_ACTION("Take the last choice back: rules, target, card, cover, breakpoint, pin, plan, region, "
                            "element or finding set aside"),
               "undo", "Ctrl+Z"},
    ActionSpec{"edit.redo", RETRO_ACTION("&Redo"), RETRO_ACTION("Choose again what was taken back"), "redo",
               "Ctrl+Shift+Z"},
};

void showChoice(QAction& action, const QString& plain, const QString& named, const QString& name, const QString& none)
{
    action.setEnabled(!name.isEmpty());
    action.setText(name.isEmpty() ? plain : named.arg(name));
    const QString key = action.shortcut().toString(QKeySequence::NativeText);
    const QString tip = key.isEmpty() ? action.statusTip() : QStringLiteral("%1 (%2)").arg(action.statusTip(), key);
    action.setToolTip(name.isEmpty() ? none : tip);
}

} // namespace

void addChoiceActions(views::ActionRegistry& actions) { actions.addAll(kChoiceActions); }

Choices::Choices(views::ActionRegistry& actions, const ChoicePlaces& places, QObject* parent)
    : QObject(parent), m_places(places), m_actions(actions), m_history(new ChoiceHistory(this))
{
    addKinds();
    for (const char* id : {"edit.undo", "edit.redo"}) { // on buttons the word alone; the menu says what
        QAction& action = actions.at(QLatin1String(id));
        action.setIconText(views::ActionRegistry::plainText(action));
    }
    connect(&actions.at(QStringLiteral("edit.undo")), &QAction::triggered, m_history, &ChoiceHistory::undo);
    connect(&actions.at(QStringLiteral("edit.redo")), &QAction::triggered, m_history, &ChoiceHistory::redo);
    connect(m_history, &ChoiceHistory::changed, this, &Choices::showActions);
    connect(&places.panel, &views::RunPanel::questionChanged, this, &Choices::noteQuestion);
    connect(&places.panel, &views::RunPanel::checkpointsChanged, this, &Choices::noteQuestion);
    connect(&places.input, &views::InputView::coverChanged, this, [this] { m_history->noteStep(m_cover); });
    connect(&places.input, &views::InputView::coverStarted, this, [this] { m_history->forget(m_cover); });
    connect(&places.breakpoints, &views::BreakpointList::changed, this, [this] { m_history->noteStep(m_breakpoints); });
    const auto pinned = [this] { m_history->note(m_pins); };
    connect(&places.pins, &QAbstractItemModel::rowsInserted, this, pinned);
    connect(&places.pins, &QAbstractItemModel::rowsRemoved, this, pinned);
    connect(&places.pins, &QAbstractItemModel::rowsMoved, this, pinned);
    connect(&places.pins, &QAbstractItemModel::dataChanged, this, pinned);
    connect(&places.plan, &views::PlanModel::questionChanged, this, [this] {
        if (m_places.plan.plan()) {
            m_history->note(m_plan);
        } else {
            m_history->forget(m_plan); // a budget that has a plan is still looked for
        }
    });
    connect(&places.plan, &views::PlanModel::stateChanged, this, [this] { m_history->forget(m_plan); });
    connect(&places.plan, &views::PlanModel::planChanged, this, [this] {
        if (!m_places.plan.planBefore()) {
            m_history->forget(m_plan); // the first budget was not chosen by anybody
        }
    });
    connect(&places.where, &WhereController::regionAsked, this, [this] { m_history->note(m_region); });
    connect(&places.where, &WhereController::elementAsked, this, [this] { m_history->noteStep(m_element); });
    connect(&places.diagnosis, &DiagnoseController::asideChosen, this, [this] { m_history->noteStep(m_aside); });
    connect(&places.diagnosis, &DiagnoseController::asideRead, this, [this] { m_history->forget(m_aside); });
    showActions();
}

void Choices::addKinds()
{
    using Notes = std::vector<trace::Note>;
    m_question = m_history->add<engine::Question>(
        tr("choice in the run panel"), [this] { return m_places.panel.question(); },
        [this](const engine::Question& question) { putQuestion(question); });
    m_cover = m_history->add<std::size_t>(
        tr("cover"), [this] { return m_places.input.cover().changes(); },
        [this](const std::size_t& changes) { moveCover(changes); });
    m_breakpoints = m_history->add<QStringList>(
        tr("breakpoint"), [this] { return m_places.breakpoints.save(); },
        [this](const QStringList& conditions) { m_places.breakpoints.restore(conditions); });
    m_pins = m_history->add<Notes>(
        tr("pin"), [this] { return m_places.pins.notes(); },
        [this](const Notes& notes) { m_places.pins.setNotes(notes); });
    m_plan = m_history->add<views::PlanChoices>(
        tr("choice in the plan"), [this] { return m_places.plan.choices(); },
        [this](const views::PlanChoices& choices) { m_places.plan.takeChoices(choices); });
    m_region = m_history->add<AskedRegion>(
        tr("region"), [this] { return m_places.where.askedRegion(); },
        [this](const AskedRegion& region) { m_places.where.putRegion(region); });
    m_element = m_history->add<QString>(
        tr("element asked about"), [this] { return m_places.where.askedElement(); },
        [this](const QString& place) { m_places.where.putElement(place); });
    m_aside = m_history->add<std::set<std::string>>(
        tr("finding set aside"), [this] { return m_places.diagnosis.state().setAside; },
        [this](const std::set<std::string>& keys) { m_places.diagnosis.putAside(keys); });
}

void Choices::noteQuestion() { m_history->note(m_question); }

void Choices::noteExplained()
{
    m_history->note(m_question);
    m_history->settle();
    m_asked = m_places.panel.question();
}

void Choices::takeAnswer(bool isOther)
{
    if (isOther) {
        m_history->forgetAll();
    } else {
        m_history->refresh(m_question);
        if (m_history->differs(m_pins)) {
            m_history->forget(m_pins); // the run that they were in is gone
        }
    }
    m_asked = m_places.panel.question();
}

void Choices::putQuestion(const engine::Question& question)
{
    const bool wasAsked = m_places.panel.question() == m_asked;
    emit questionWanted(question, wasAsked);
}

void Choices::moveCover(std::size_t changes)
{
    for (std::size_t now = m_places.input.cover().changes(); now != changes;) {
        if (now > changes) {
            m_places.input.undoCover();
        } else {
            m_places.input.redoCover();
        }
        const std::size_t next = m_places.input.cover().changes();
        if (next == now) {
            return; // older than what the sheet remembers
        }
        now = next;
    }
}

void Choices::showActions()
{
    showChoice(m_actions.at(QStringLiteral("edit.undo")), tr("&Undo"), tr("&Undo %1"), m_history->undoName(),
               tr("Nothing was chosen that could be taken back"));
    showChoice(m_actions.at(QStringLiteral("edit.redo")), tr("&Redo"), tr("&Redo %1"), m_history->redoName(),
               tr("Nothing was taken back"));
}

} // namespace retro::app

#include "moc_choices.cpp"
