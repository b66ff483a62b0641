// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/common/widgets/drawnpane.h"
#include "views/profile/profilemeasure.h"

#include <QRectF>

#include <memory>
#include <optional>

namespace retro::views
{

class Theme;

/// A pass over its time: a bar per computation, as long as it took and as high as what is measured, in the colour of
/// its half; below, a line per decision about memory. Grey what is behind the cursor. A click goes there.
class ProfileChart final : public DrawnPane
{
    Q_OBJECT

public:
    explicit ProfileChart(QWidget* parent = nullptr);

    void setRun(std::shared_ptr<const trace::Run> run);
    void setMeasure(ProfileMeasure measure);
    /// The cursor, and the node that is selected (invalid: none).
    void setPlace(std::uint64_t position, base::NodeId node);
    /// The computation at a place of the widget; none where there is none.
    [[nodiscard]] std::optional<std::size_t> rowAt(const QPointF& at) const;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;
    [[nodiscard]] QRectF barOf(std::size_t row) const;
    void paint(QPainter& painter) const;

signals:
    void rowChosen(qsizetype row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] QRectF area() const;
    [[nodiscard]] double xOf(double seconds) const;
    [[nodiscard]] bool isBehind(std::uint64_t step) const { return step > m_position; }
    void paintDecisions(QPainter& painter, const Theme& theme) const;
    void paintLegend(QPainter& painter, const Theme& theme) const;
    void paintMeasureScale(QPainter& painter, const Theme& theme) const;
    void paintTimeScale(QPainter& painter, const Theme& theme) const;

    std::shared_ptr<const trace::Run> m_run; ///< with a profile, or null
    ProfileMeasure m_measure = ProfileMeasure::Time;
    std::uint64_t m_position = 0;
    base::NodeId m_node;
    double m_end = 0;  ///< seconds
    double m_most = 0; ///< of the measure
};

} // namespace retro::views
