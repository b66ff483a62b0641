// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/base/result.h"
#include "views/common/actions.h"
#include "views/run/rulequestion.h"

#include <QObject>

namespace retro::views
{
class RunPanel;
}

namespace retro::app
{

/// Adds the actions that change rules and write the composite. Called once, before menus are made.
void addRuleActions(views::ActionRegistry& actions);

/// Lets the person give a node, its type, its structure or a scope another rule, holds the run on screen to compare
/// with, and asks for the run that has it. GUI thread.
class RuleController final : public QObject
{
    Q_OBJECT

public:
    RuleController(views::ActionRegistry& actions, views::RunModel& model, views::Selection& selection,
                   views::RunPanel& panel, QWidget& window);

    /// The run on screen; null model: its rules cannot be changed.
    void take(const ExplainDone& done);
    /// What can be chosen for a node of the run on screen.
    [[nodiscard]] views::RuleQuestion questionOf(base::NodeId node) const;
    /// Asks which rule a node is to have, or says why that cannot be.
    void change(base::NodeId node);
    /// Puts a rule before the others and asks for the run. One for the same nodes goes.
    void put(const QString& text);
    /// Writes the composite of the run panel with the changed rules as a file. Errors: Usage (no run of a model),
    /// Output.
    [[nodiscard]] base::Result<void> saveComposite(const QString& path) const;

signals:
    /// The run on screen is to be held, for the next one to be compared with.
    void holdWanted();
    /// Explain what the run panel asks now.
    void runWanted();
    void said(const QString& sentence);
    void failed(const retro::base::Error& error);

private:
    void reset();
    void chooseFile();

    views::RunModel& m_model;
    views::Selection& m_selection;
    views::RunPanel& m_panel;
    QWidget& m_window;
    std::shared_ptr<const execute::BoundModel> m_bound;    ///< of the run on screen
    std::shared_ptr<const lrp::RuleAssignment> m_assigned; // rules of its nodes; null where none are known
};

/// The base of a composite and the rules put before it, into a question.
void putComposite(const std::string& specification, engine::Question& question);

} // namespace retro::app
