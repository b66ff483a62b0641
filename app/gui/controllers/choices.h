// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/question/question.h"

#include <QObject>

#include <cstddef>

namespace retro::views
{
class ActionRegistry;
class BreakpointList;
class InputView;
class NotebookModel;
class PlanModel;
class RunPanel;
} // namespace retro::views

namespace retro::app
{

class ChoiceHistory;
class DiagnoseController;
class WhereController;

/// Where choices are made.
struct ChoicePlaces
{
    views::RunPanel& panel;
    views::InputView& input;
    views::BreakpointList& breakpoints;
    views::NotebookModel& pins;
    views::PlanModel& plan;
    WhereController& where;
    DiagnoseController& diagnosis;
};

/// Adds edit.undo and edit.redo. Called once, before menus are made.
void addChoiceActions(views::ActionRegistry& actions);

/// Undo and redo of whatever a person chooses: the question with its rules and what the card keeps, covered pixels,
/// breakpoints, pinned places, the plan, the region that is marked, the element that is asked about, and findings that
/// are no problem here. What had been explained is explained again. GUI thread.
class Choices final : public QObject
{
    Q_OBJECT

public:
    Choices(views::ActionRegistry& actions, const ChoicePlaces& places, QObject* parent);

    /// The question of the panel may be another one.
    void noteQuestion();
    /// What the panel says now is being explained.
    void noteExplained();
    /// The answer is on screen, and the panel says what was asked. `isOther`: another model or run was opened, or what
    /// was open is closed: nothing of before can be undone.
    void takeAnswer(bool isOther);

signals:
    /// That question belongs into the panel; `isAsked`: the one that it takes the place of had been explained.
    void questionWanted(const retro::engine::Question& question, bool isAsked);

private:
    void addKinds();
    void putQuestion(const engine::Question& question);
    void moveCover(std::size_t changes);
    void showActions();

    ChoicePlaces m_places;
    views::ActionRegistry& m_actions;
    ChoiceHistory* m_history = nullptr;
    engine::Question m_asked;
    std::size_t m_question = 0;
    std::size_t m_cover = 0;
    std::size_t m_breakpoints = 0;
    std::size_t m_pins = 0;
    std::size_t m_plan = 0;
    std::size_t m_region = 0;
    std::size_t m_element = 0;
    std::size_t m_aside = 0;
};

} // namespace retro::app
