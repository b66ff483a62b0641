// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/common/reportdiagnosis.h"
#include "app/gui/controllers/mending.h"
#include "app/gui/facts/diagnosefacts.h"
#include "views/common/actions.h"
#include "views/common/run/findingmarks.h"
#include "views/diagnose/diagnosisstate.h"
#include "views/problems/problemlist.h"

#include <QObject>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

class QTemporaryDir;

namespace retro::views
{
class DiagnoseView;
class JobRunner;
class RunPanel;
} // namespace retro::views

namespace retro::app
{

/// Adds run.diagnose, run.diagnose.deep, run.diagnose.compare and run.diagnose.folder.
void addDiagnoseActions(views::ActionRegistry& actions);

/// Checks every run behind it, in the pool; the newest run wins. Feeds the panes, carries out what a finding asks for,
/// and keeps what is no problem in the model's card. Posts no jobs itself: it says which question is to be asked. GUI
/// thread.
class DiagnoseController final : public QObject
{
    Q_OBJECT

public:
    DiagnoseController(views::ActionRegistry& actions, std::vector<views::DiagnoseView*> panes, views::RunModel& model,
                       views::RunPanel& panel, QWidget& window);
    ~DiagnoseController() override;

    /// The run on screen now; `path` is that of the file when it was recorded.
    void take(const ExplainDone& done, const QString& path);
    /// The question of `job` has no answer: checks of its model, or of the one that was just read for it, say why.
    void takeFailure(ExplainJob job, const engine::LoadedModelPointer& model);
    /// Another model is on screen, and nothing was run yet.
    void takeModel(const engine::LoadedModelPointer& model);
    /// A job is under way: what is shown is of the run before.
    void setRunning(bool isRunning);
    /// Nothing is on screen.
    void clear();

    /// Checks what is on screen once more.
    void check(DiagnoseScope scope);
    /// What differs from that model, run or input is found as well, from now on; empty: nothing, and no folder is
    /// looked at.
    void compareWith(const QString& path);
    /// What only many inputs show is found as well, of this run and of those that try what was found. `labels`: the
    /// table of their classes; empty: the card may say them.
    void lookAt(const QString& folder, const QString& labels);
    /// What is shown stays.
    void stopChecking();
    [[nodiscard]] bool isChecking() const;
    [[nodiscard]] const views::DiagnosisState& state() const { return m_state; }
    /// What is known of the run on screen; nothing while that is being checked.
    [[nodiscard]] ReportedDiagnosis reported() const;

    /// Carries out the action of a finding.
    void mend(const diagnosis::Finding& finding);
    /// Tries the action of a finding aside and shows what comes out; nothing is taken.
    void preview(const diagnosis::Finding& finding);
    /// A preview is being made.
    [[nodiscard]] bool isPreviewing() const;
    /// Asks as before the last change.
    void takeBack();
    /// A finding is no problem of this model, or is one again.
    void setAside(const diagnosis::Finding& finding, bool isSetAside);
    /// All findings that are no problem of this model, by their keys, at once: as undo has them.
    void putAside(const std::set<std::string>& keys);

signals:
    /// A person set a finding aside, or took it back; and: the card of another model says which are.
    void asideChosen();
    void asideRead();
    /// The panes are to be seen.
    void viewWanted();
    void said(const QString& sentence);
    /// Errors and warnings, in the words of the pane.
    void problemsFound(const std::vector<retro::views::Problem>& problems);
    void nodesFound(const retro::views::FoundNodes& nodes);
    /// The run on screen is to be held, for the next one to be compared with.
    void holdWanted();
    /// This is to be asked, rewrites of the graph as it says.
    void questionWanted(const retro::engine::Question& question);
    /// The rule of a node is to be changed by hand.
    void ruleWanted(retro::base::NodeId node);
    void coverWanted(const QRect& box);
    void inputWanted();
    void bothWanted(retro::base::NodeId node, retro::base::NodeId other);
    void weightsWanted(retro::base::ValueId value);

private:
    /// A change that was asked for, until the findings after it are known.
    struct Change
    {
        std::string key; ///< of the finding
        views::DiagnosisPointer before;
        engine::Question question; ///< before
        DiagnoseScope scope = DiagnoseScope::Cheap;
    };

    void chooseReference();
    void chooseFolder();
    void showProgress(std::size_t done, std::size_t total);
    void begin(DiagnoseScope scope);
    void deliver(const std::shared_ptr<const base::Result<diagnosis::Diagnosis>>& found, DiagnoseScope scope);
    void forget(const QString& refusal);
    void show();
    void publish();
    void showPreview(const views::FindingPreview& preview);
    void askFor(const diagnosis::Finding& finding, const engine::Question& question);
    void askWithInput(const diagnosis::Finding& finding, const Mend& mend);
    void takeCard(const engine::LoadedModelPointer& model);
    void saveAside();
    [[nodiscard]] MendStage stage() const;
    [[nodiscard]] const formats::ModelCard* card() const;

    std::vector<views::DiagnoseView*> m_panes;
    views::RunModel& m_model;
    views::RunPanel& m_panel;
    QWidget& m_window;
    views::JobRunner* m_jobs = nullptr;
    views::JobRunner* m_cards = nullptr; ///< writes cards
    struct CardWrites;
    std::shared_ptr<CardWrites> m_writes;   ///< the newest choice is the last that is written
    views::JobRunner* m_previews = nullptr; ///< tries changes
    views::DiagnosisState m_state;
    std::optional<DiagnoseRequest> m_request; ///< what is on screen; none = nothing to check
    engine::LoadedModelPointer m_loaded;
    std::shared_ptr<WeighedModel> m_weighed = std::make_shared<WeighedModel>();
    DiagnoseScope m_scope = DiagnoseScope::Cheap; ///< of what is shown
    std::optional<Change> m_change;               ///< its findings after it are still to come
    std::optional<engine::Question> m_before;     ///< of the last change, to be taken back
    bool m_isPicture = false;
    bool m_isTakingBack = false;
    std::optional<DiagnoseScope> m_due;      ///< what is on screen is still to be checked, so far
    std::unique_ptr<QTemporaryDir> m_folder; ///< of inputs that were made here
};

} // namespace retro::app
