// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/devicememory.h"
#include "views/plan/planmodel.h"

class QComboBox;
class QTableWidget;

namespace retro::views
{

class JobRunner;
class Theme;

/// Memory of a device over a trace: allocated, reserved, and the plan laid over it.
class SnapshotChart final : public QWidget
{
    Q_OBJECT

public:
    explicit SnapshotChart(QWidget* parent = nullptr);

    void setMemory(DeviceMemoryPointer memory);
    /// Null: no plan.
    void setPlan(ShownPlanPointer plan);
    [[nodiscard]] const PlanOverTrace& over() const { return m_over; }
    [[nodiscard]] QString tipAt(const QPointF& at) const;
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QRectF area(const QSizeF& size) const;
    [[nodiscard]] std::uint64_t most() const;
    void layOver();

    DeviceMemoryPointer m_memory;
    ShownPlanPointer m_plan;
    PlanOverTrace m_over;
};

/// A snapshot of PyTorch's memory with the plan on screen over it, and what filled its peak. It needs no run.
class SnapshotView final : public View
{
    Q_OBJECT

public:
    SnapshotView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    /// Reads a snapshot beside the window; failed() or the picture follows.
    void open(const QString& path);
    void setMemories(std::vector<DeviceMemoryPointer> memories);

    [[nodiscard]] QString title() const override { return tr("Snapshot"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing&) const override { return false; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] SnapshotChart& chart() const { return *m_chart; }
    [[nodiscard]] QTableWidget& lines() const { return *m_lines; }

signals:
    /// The file cannot be read: what is wrong.
    void failed(const QString& what);
    /// A snapshot is on screen.
    void opened();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] bool needsRun() const override { return false; }
    [[nodiscard]] QString emptyReason() const override;

private:
    void showDevice();
    [[nodiscard]] DeviceMemoryPointer memory() const;

    PlanModel& m_plan;
    std::vector<DeviceMemoryPointer> m_memories;
    QComboBox* m_device = nullptr;
    SnapshotChart* m_chart = nullptr;
    QTableWidget* m_lines = nullptr;
    JobRunner* m_jobs = nullptr;
};

} // namespace retro::views
