// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/engineworker.h"
#include "views/common/actions.h"
#include "views/common/run/regionfacts.h"
#include "views/common/viewcontext.h"
#include "views/common/widgets/breakpointlist.h"
#include "views/plan/planmodel.h"
#include "views/run/runfacts.h"
#include "views/text/textfocus.h"

#include <QMainWindow>

class QActionGroup;
class QLabel;
class QStackedWidget;

namespace retro::diagnosis
{
struct Finding;
}

namespace retro::app
{

class Choices;
class CloseGuard;
class CoverController;
class DiagnoseController;
class EngineWorkspace;
class ExplainWorkspace;
class KernelsWorkspace;
class NeedsBar;
class ExportController;
class FusedController;
class OracleController;
class OtherRunReader;
class PlanBar;
class PlanController;
class PlanLink;
class PlanWorkspace;
class RuleController;
class RunDifference;
class RunController;
class Shell;
class TourHost;
class TransportBar;
class UnsavedWork;
class VerificationController;
class MapController;
class WhereController;
class Workspace;
struct Session;
struct WorkspaceContext;

/// The window: menus, transport, workspaces over one cursor and one selection. Posts jobs to the engine thread and
/// shows what comes back; runs nothing itself. GUI thread.
class MainWindow final : public QMainWindow
{
    Q_OBJECT

public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    /// How a model is opened, as on the command line.
    struct OpenOptions
    {
        QStringList shapes = {};     ///< of inputs: NAME=2x3x48x192
        bool isGraphOnly = false;    ///< its weights stay in the file
        engine::Question texts = {}; ///< what is asked of a text, and of which word
    };
    /// Opens a model or a recorded run (empty = the built-in sample) and explains `inputs` (empty = what the card
    /// names).
    void open(const QString& path, const QStringList& inputs = {}, const QString& composite = {})
    {
        open(path, inputs, composite, OpenOptions());
    }
    void open(const QString& path, const QStringList& inputs, const QString& composite, const OpenOptions& options);
    /// Opens the model that is open once more, its unsupported operators handing their operands on.
    void openPassingThrough();
    /// Shows a plan file of the model that is open; without one, the model that it names beside it is opened, else
    /// one is asked for.
    void openPlan(const QString& path);
    /// Explains another input with the model that is open.
    void explainInput(const QString& source);
    /// Closes what is open; the welcome page comes.
    void closeModel();
    /// "explain", "engine", "plan" or "kernels"; false when there is no such workspace.
    bool showWorkspace(const QString& id);
    /// The workspace on screen.
    [[nodiscard]] Workspace& workspace() const;
    /// Ids of the workspaces.
    [[nodiscard]] static QStringList workspaceIds();
    /// Writes the run on screen, with what is pinned in the notebook and its text, in the background; needs a run.
    void saveRunTo(const QString& path);
    /// Writes the heatmap on screen. Errors: Usage, Output.
    [[nodiscard]] base::Result<void> exportHeatmap(const QString& path);
    /// Writes a page about the run on screen, with what is pinned in the notebook. Errors: Usage (ending, no run),
    /// Output.
    [[nodiscard]] base::Result<void> exportReport(const QString& path);

    /// True while a job is running or its comparison is still to come.
    [[nodiscard]] bool isBusy() const { return m_isBusy; }
    /// What went wrong last; empty when nothing did.
    [[nodiscard]] const QString& lastError() const { return m_lastError; }
    /// The kind of what lastError() says; without meaning where that is empty.
    [[nodiscard]] base::ErrorCode lastErrorCode() const { return m_lastErrorCode; }
    /// Brings every view of the workspace on screen up to date.
    void flush();
    [[nodiscard]] views::RunModel& model() { return m_model; }
    [[nodiscard]] views::Cursor& cursor() { return m_cursor; }
    [[nodiscard]] views::Selection& selection() { return m_selection; }
    [[nodiscard]] views::ActionRegistry& actions() { return m_actions; }
    [[nodiscard]] views::BreakpointList& breakpoints() { return m_breakpoints; }
    /// What lies around the views: menus, palette, panes.
    [[nodiscard]] Shell& shell() const { return *m_shell; }
    [[nodiscard]] CloseGuard& closing() const { return *m_closing; }
    /// Bookmarks and notes that no file has.
    [[nodiscard]] UnsavedWork& unsaved() const { return *m_unsaved; }
    /// The thread that runs its jobs.
    [[nodiscard]] EngineWorker& engine() { return m_engine; }

    /// The plan of the model that is open.
    [[nodiscard]] views::PlanModel& plan() { return m_plan; }
    [[nodiscard]] TourHost& tours() const { return *m_tours; }
    [[nodiscard]] ExportController& exports() const { return *m_exports; }
    [[nodiscard]] OtherRunReader& otherRuns() const { return *m_otherRuns; }
    [[nodiscard]] RuleController& rules() const { return *m_rules; }
    [[nodiscard]] DiagnoseController& diagnosis() const { return *m_diagnosis; }
    [[nodiscard]] WhereController& where() const { return *m_where; }
    [[nodiscard]] const views::RegionOverlay& region() const { return m_region; }

signals:
    /// The last job ended, well or not; every view has what it will get.
    void settled();
    /// Another workspace is on screen.
    void workspaceShown(const QString& id);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void closeEvent(QCloseEvent* event) override;

private:
    void makeShell(const WorkspaceContext& context);
    void makeStatusBar();
    void connectNotebook();
    void connectEngine();
    void connectOracle();
    void connectVerification();
    void connectDiagnosis();
    void connectDiagnosisPanes();
    void connectMending();
    void connectWhere();
    void connectTexts();
    /// Shows the text of a run, or that there is none.
    void takeText(const std::shared_ptr<const trace::RunText>& text);
    void runConditions(const QStringList& conditions, const QString& form);
    void showDiagnosis();
    /// Brings the pane of the workspace to the front that shows what a finding says.
    void showEvidence(const diagnosis::Finding& finding);
    void askWith(const engine::Question& question);
    /// A job of another kind than to explain is the newest from now on.
    void awaitJob(quint64 generation);
    void connectChoices();
    void connectPanel();
    void connectPath();
    void connectPlanRun();
    void connectRules();
    void post(ExplainJob job);
    void runQuestion();
    void askRecordedAgain();
    void chooseModel();
    void chooseInput();
    void chooseTokenizer();
    /// Into the file that is open; else as saveRunAs().
    void saveRun();
    /// Into a file that the person names.
    void saveRunAs();
    void chooseReport();
    void takeProgress(quint64 generation, const QString& stage, double fraction);
    void takeEnd(quint64 generation, const QString& message);
    /// Another model, or other rewrites of the same.
    void takeModel(const ExplainDone& described);
    void takeGraph(const ExplainDone& graph);
    void takeResult(const ExplainDone& result);
    /// The run panel for a run file, and for a question that was asked here.
    void showRecorded(const ExplainDone& result);
    void showQuestion(const ExplainDone& result);
    void showRun(const ExplainDone& result);
    /// Where the next run is looked at: the first of these that is known.
    struct KeptPlace
    {
        std::optional<std::uint64_t> position; ///< the layer that is looked at stays while the picture changes under it
        std::optional<std::uint32_t> visit;
        std::string node; ///< empty = none
    };
    [[nodiscard]] KeptPlace placeFor(const ExplainDone& result) const;
    void returnTo(const KeptPlace& place);
    [[nodiscard]] bool isSameQuestion(const ExplainDone& result) const;
    [[nodiscard]] std::string nodeAtCursor() const;
    [[nodiscard]] std::string selectedNode() const;
    void goToNode(const std::string& name);
    /// Of a model that cannot be explained yet: its graph, or its plan, and what it needs.
    void showWithoutRun(const ExplainDone& graph);
    void connectNeeds();
    /// What is open, asked and looked at.
    [[nodiscard]] Session sessionNow() const;
    void resume(const Session& session);
    void takeComparison(const ComparisonDone& comparison);
    void takeFailure(const base::Error& error);
    void setBusy(bool isBusy);
    void showStatus();
    void say(const QString& sentence);
    void showProblem(const base::Error& error);

    views::ActionRegistry m_actions;
    views::Cursor m_cursor;
    views::Selection m_selection;
    views::RunModel m_model;
    views::BreakpointList m_breakpoints{m_model};
    views::RegionOverlay m_region;
    views::TextFocus m_text;
    views::PlanModel m_plan;
    EngineWorker m_engine;
    engine::LoadedModelPointer m_loaded;
    views::ModelFacts m_recorded; ///< of the recorded run that is open; without a name = none
    ExplainJob m_job;
    QString m_opened;                                    ///< path of the model or run that is open
    std::vector<std::string> m_shownInputs;              ///< of the run on screen
    std::shared_ptr<const base::HeldFiles> m_inputFiles; ///< of the run on screen
    std::uint64_t m_generation = 0;
    std::vector<views::CompositeThumbnail> m_thumbnails;
    QStackedWidget* m_stack = nullptr;
    ExplainWorkspace* m_explain = nullptr;
    EngineWorkspace* m_engineSpace = nullptr;
    PlanWorkspace* m_planSpace = nullptr;
    KernelsWorkspace* m_kernels = nullptr;
    TransportBar* m_transport = nullptr;
    Shell* m_shell = nullptr;
    CloseGuard* m_closing = nullptr;
    UnsavedWork* m_unsaved = nullptr;
    CoverController* m_cover = nullptr;
    Choices* m_choices = nullptr;
    RunController* m_run = nullptr;
    RuleController* m_rules = nullptr;
    RunDifference* m_difference = nullptr;
    FusedController* m_fused = nullptr;
    TourHost* m_tours = nullptr;
    ExportController* m_exports = nullptr;
    OtherRunReader* m_otherRuns = nullptr;
    OracleController* m_oracle = nullptr;
    VerificationController* m_verification = nullptr;
    DiagnoseController* m_diagnosis = nullptr;
    WhereController* m_where = nullptr;
    MapController* m_maps = nullptr;
    PlanController* m_planner = nullptr;
    PlanLink* m_planLink = nullptr;
    PlanBar* m_planBar = nullptr;
    NeedsBar* m_needs = nullptr;
    QActionGroup* m_workspaceGroup = nullptr;
    QLabel* m_statusLeft = nullptr;
    QLabel* m_statusRight = nullptr;
    QString m_lastError;
    base::ErrorCode m_lastErrorCode = base::ErrorCode::Input; ///< of what `m_lastError` says
    QString m_planFile;                                       ///< to be shown once a model is there
    bool m_isBusy = false;
};

} // namespace retro::app
