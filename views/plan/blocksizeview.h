// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/common/widgets/drawnpane.h"
#include "views/plan/blockcurve.h"

class QPushButton;

namespace retro::views
{

class ElidedLabel;

/// The curve of block sizes. A click or a drag chooses a size, ← and → the next smaller and larger one.
class BlockSizePane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit BlockSizePane(QWidget* parent = nullptr);
    void setFigure(BlockFigure figure);
    [[nodiscard]] const BlockFigure& figure() const { return m_figure; }
    /// What stands at a place, in words; empty where nothing is.
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    void sizeChosen(quint64 operators);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void choose(double pixel);

    BlockFigure m_figure;
};

/// What the size of the blocks does to peak and work, at the present budget; the plan follows the handle.
class BlockSizeView final : public View
{
    Q_OBJECT

public:
    BlockSizeView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Block size"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override { return tr("Small blocks save memory and rebuild more."); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] BlockSizePane& pane() const { return *m_pane; }
    /// Draws the curve of a large graph, or lets a planner choose the size again.
    [[nodiscard]] QPushButton& button() const { return *m_button; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override { return m_plan.whyNoPlan(tr("No blocks: %1")); }

private:
    [[nodiscard]] BlockFigure figureNow() const;
    [[nodiscard]] bool isQuick() const;
    void showButton();
    void ask();
    void press();
    void forget();

    PlanModel& m_plan;
    BlockSizePane* m_pane = nullptr;
    ElidedLabel* m_note = nullptr;
    QPushButton* m_button = nullptr;
    PlanSubjectPointer m_asked; ///< the curve of this one was asked for
    PlanQuestion m_askedFor;    ///< with this question
    bool m_isTrying = false;    ///< the curve was asked for and has not come
};

} // namespace retro::views
