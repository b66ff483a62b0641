// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/compare/compare.h"
#include "views/common/actions.h"
#include "views/common/jobrunner.h"
#include "views/common/viewcontext.h"

#include <QDialog>
#include <QPointer>

#include <functional>
#include <memory>

class QComboBox;
class QLabel;
class QTableWidget;

namespace retro::app
{

/// Where this run and another one part, and how much the relevance of every value differs. GUI thread.
class RunDifferenceDialog final : public QDialog
{
    Q_OBJECT

public:
    explicit RunDifferenceDialog(QWidget* parent);
    ~RunDifferenceDialog() override;

    void showWaiting();
    void showComparison(const engine::Comparison& comparison);
    void showError(const QString& what);
    /// Shows the field for the rules that the other tool was set to, with this text; for arrays alone: a run knows its
    /// own.
    void askForRules(const QString& composite);
    void hideRules();

signals:
    /// A composite (a name with parameters, or a file) was chosen for the other side; empty = its rules are not known.
    void rulesChosen(const QString& composite);
    /// A row was chosen: the value is one of this run's graph.
    void valueChosen(retro::base::ValueId value);

private:
    void makeRulesField();
    void takeRules();

    QLabel* m_summary = nullptr;
    QWidget* m_rulesRow = nullptr;
    QComboBox* m_rules = nullptr;
    QString m_takenRules; ///< what rulesChosen() said last
    QTableWidget* m_table = nullptr;
};

/// Adds the action that compares the run on screen with the one that heatmaps are wiped against.
void addRunDifferenceAction(views::ActionRegistry& actions);

/// Compares the run on screen, off the GUI thread, with the other one; again whenever another run is shown while the
/// dialog is open. GUI thread.
class RunDifference final : public QObject
{
    Q_OBJECT

public:
    using OtherRun = std::function<std::shared_ptr<const trace::Run>()>;

    /// `other` gives the run to compare with; null = there is none.
    RunDifference(views::ActionRegistry& actions, views::RunModel& model, views::Selection& selection, OtherRun other,
                  QWidget& window);

    /// Opens the dialog, or says why there is nothing to compare.
    void show();
    /// Compares with arrays by value name that another tool left (.npz), read off the GUI thread; while the dialog is
    /// open, every new run is compared with them. Says why when there is no run.
    void compareWith(const QString& path);
    [[nodiscard]] bool isComputing() const { return m_jobs.isRunning(); }

signals:
    void said(const QString& sentence);

private:
    using ArraysPointer = std::shared_ptr<const engine::ComparedSide>;
    /// What is compared with: reads the file unless that was done.
    struct Comparand
    {
        std::shared_ptr<const trace::Run> run; ///< null for arrays
        ArraysPointer arrays;                  ///< null before they are read
        QString path;
        QString composite; ///< that the arrays were made with; empty = not known
    };

    [[nodiscard]] bool hasRun() const { return m_model.hasRun() && !m_model.run().events.empty(); }
    void openDialog();
    void compute();
    void start(const Comparand& there);
    [[nodiscard]] static base::Result<engine::Comparison> compareSides(const engine::ComparedSide& here,
                                                                       const Comparand& there, ArraysPointer& arrays,
                                                                       const std::stop_token& stop);

    views::RunModel& m_model;
    views::Selection& m_selection;
    OtherRun m_other;
    QWidget& m_window;
    QPointer<RunDifferenceDialog> m_dialog;
    QString m_path;         ///< of the arrays that the open dialog compares with; empty: it compares with a run
    ArraysPointer m_arrays; ///< once they are read
    QString m_composite;    ///< the rules of the arrays; empty = not known
    views::JobRunner m_jobs;
};

/// Where two runs part, in a few lines: value, numbers, the nodes that handed it on with both rules and formulas.
[[nodiscard]] QString partingText(const engine::Comparison& comparison);

} // namespace retro::app
