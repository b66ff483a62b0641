// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/memorycourse.h"
#include "views/common/view.h"
#include "views/common/widgets/drawnpane.h"
#include "views/plan/planmodel.h"
#include "views/plan/shownplan.h"

#include <QString>

#include <cstdint>
#include <memory>
#include <vector>

class QComboBox;
class QTableWidget;

namespace retro::views
{

/// Blocks in use at the peak, by the line of source that asked for them.
struct LineAtPeak
{
    QString line;
    std::uint64_t bytes = 0;
    std::size_t blocks = 0;
};

/// The memory of a device as a snapshot of PyTorch tells it. Immutable.
struct DeviceMemory
{
    QString file; ///< without folder
    formats::MemoryCourse course;
    std::vector<LineAtPeak> atPeak; ///< most bytes first
    /// Blocks that were handed out, in order: after how many events, and of how many bytes.
    std::vector<std::pair<std::size_t, std::uint64_t>> allocations;
};
using DeviceMemoryPointer = std::shared_ptr<const DeviceMemory>;

/// The devices of a snapshot.
[[nodiscard]] std::vector<DeviceMemoryPointer> deviceMemories(const formats::MemorySnapshot& snapshot,
                                                              const QString& file);

/// A plan over the events of a trace.
struct PlanOverTrace
{
    std::vector<double> events; ///< per column of the plan: after how many events it ran
    std::size_t matched = 0;    ///< columns whose results were found among the allocations
    std::size_t columns = 0;    ///< that make something
    [[nodiscard]] bool isEmpty() const { return events.empty(); }
};

/// Finds the results of the plan's computations among the allocations, in order: an allocator hands out a block of as
/// many bytes, rounded up to 512. What is not found stands between its neighbours that were, in equal steps.
[[nodiscard]] PlanOverTrace planOverTrace(const ShownPlan& plan, const DeviceMemory& memory);

class JobRunner;
class Theme;

/// Memory of a device over a trace: allocated, reserved, and the plan laid over it.
class SnapshotChart final : public DrawnPane
{
    Q_OBJECT

public:
    explicit SnapshotChart(QWidget* parent = nullptr);

    void setMemory(DeviceMemoryPointer memory);
    /// Null: no plan.
    void setPlan(ShownPlanPointer plan);
    [[nodiscard]] const PlanOverTrace& over() const { return m_over; }
    [[nodiscard]] QString tipAt(const QPointF& at) const override;
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;

protected:
    void paintEvent(QPaintEvent* event) override;

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
