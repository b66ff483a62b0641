// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/common/widgets/drawnpane.h"
#include "views/lut/lutrun.h"
#include "views/lut/streamtimes.h"

namespace retro::views
{

class LutChoice;

/// Bars of launches on their streams over time.
class StreamsPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit StreamsPane(QWidget* parent = nullptr);

    /// `measured`: on a device; null = nothing was.
    void setLayer(std::vector<lut::Schedule> schedules, const std::vector<RunLaunch>& launches,
                  const ops::LutDeviceTimes* measured = nullptr);
    void setPosition(std::uint64_t position);

    [[nodiscard]] const std::vector<LaunchTime>& times() const { return m_times; }
    /// Where the bar of a launch lies in a widget of this size.
    [[nodiscard]] QRectF barOf(const LaunchTime& time) const;
    void paintAll(QPainter& painter) const;
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    void launchChosen(std::uint64_t position);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] std::optional<RunLaunch> launchOf(const LaunchTime& time) const;
    [[nodiscard]] double xOf(double seconds) const;
    [[nodiscard]] double end() const;
    [[nodiscard]] std::uint32_t streams() const;
    [[nodiscard]] const LaunchTime* timeAt(const QPointF& point) const;
    void paintAxis(QPainter& painter) const;
    void paintBar(QPainter& painter, const LaunchTime& time) const;
    void paintWait(QPainter& painter, const LaunchTime& time) const;

    std::vector<lut::Schedule> m_schedules;
    std::vector<RunLaunch> m_launches;
    std::vector<LaunchTime> m_times;
    std::uint64_t m_position = 0;
};

/// When each launch of a LUT layer runs on its stream: measured on a GPU where there is one, else modelled for a
/// processor that copies memory at a stated speed.
class StreamsView final : public View
{
    Q_OBJECT

public:
    StreamsView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Streams"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] StreamsPane& pane() const { return *m_pane; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    LutChoice& m_choice;
    StreamsPane* m_pane = nullptr;
};

} // namespace retro::views
