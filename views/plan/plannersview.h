// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/common/widgets/drawnpane.h"
#include "views/plan/pareto.h"

class QComboBox;
class QHBoxLayout;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableView;

namespace retro::views
{

class ElidedLabel;
class PlannerTableModel;

/// The chart of memory against work. A click on a planner's symbol shows it in the table, a double click plans with it.
/// Owned by its view.
class ParetoPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit ParetoPane(QWidget* parent = nullptr);
    void setFigure(ParetoFigure figure);
    [[nodiscard]] const ParetoFigure& figure() const { return m_figure; }
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    void plannerPointed(const QString& planner);
    void plannerChosen(const QString& planner);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

private:
    ParetoFigure m_figure;
};

/// Every planner's plans as points, and what each reached for the present budget. Points for other budgets come in the
/// background.
class PlannersView final : public View
{
    Q_OBJECT

public:
    PlannersView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Planners"); }
    [[nodiscard]] QString subject() const override { return tr("memory against work"); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] ParetoPane& pane() const { return *m_pane; }
    [[nodiscard]] PlannerTableModel& items() const { return *m_items; }
    [[nodiscard]] QTableView& table() const { return *m_table; }
    [[nodiscard]] QPushButton& button() const { return *m_button; }
    [[nodiscard]] QComboBox& orders() const { return *m_orders; }
    /// How many blocks, in what is chosen beside it (0 = auto).
    [[nodiscard]] QSpinBox& blocks() const { return *m_blocks; }
    /// Iterations after which Loop and Scan keep what they carry: kNoLoopCheckpoints = off, 0 = chosen.
    [[nodiscard]] QSpinBox& loops() const { return *m_loops; }
    static constexpr int kNoLoopCheckpoints = -1;
    /// What is asked of a model's Loop and Scan; shown where it has some.
    void setLoops(bool hasLoops, int every);

signals:
    /// Loop checkpoints were chosen: every so many iterations, 0 = chosen, kNoLoopCheckpoints = off.
    void loopsChosen(int every);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override { return m_plan.whyNoPlan(tr("No planner was asked: %1")); }

private:
    void makeTable();
    void addChoices(QWidget& body, QHBoxLayout& row);
    void addLoops(QWidget& body);
    void showChoices();
    void showOrders();
    void showBlocks();
    void takeBlocks();
    void showCurve();
    void toggleCurve();
    [[nodiscard]] ParetoFigure figureNow() const;
    void choose(const QString& planner);
    void forget();

    PlanModel& m_plan;
    ParetoPane* m_pane = nullptr;
    PlannerTableModel* m_items = nullptr;
    QTableView* m_table = nullptr;
    QProgressBar* m_bar = nullptr;
    QPushButton* m_button = nullptr;
    QPushButton* m_search = nullptr;
    QComboBox* m_orders = nullptr;
    QComboBox* m_blockUnits = nullptr;
    QSpinBox* m_blocks = nullptr;
    QWidget* m_loopRow = nullptr;
    QSpinBox* m_loops = nullptr;
    bool m_isShowing = false; ///< what changes is our own doing
    ElidedLabel* m_note = nullptr;
    ShownPlanPointer m_shown;
    std::size_t m_tries = 0;    ///< that the table has of a search under way; 0 = none is
    PlanSubjectPointer m_asked; ///< the points of this one were asked for
};

} // namespace retro::views
