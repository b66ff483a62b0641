// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/drawnpane.h"
#include "views/verify/storagefacts.h"

namespace retro::views
{

/// The memory curve of a choice, drawn as steps, with the curve of storing everything as a dotted ghost, the line
/// between the passes, and the peak marked. Paints only.
class StorageCurve final : public DrawnPane
{
    Q_OBJECT

public:
    explicit StorageCurve(QWidget* parent = nullptr);

    void setTracks(StorageTrack now, StorageTrack all);
    [[nodiscard]] const StorageTrack& now() const { return m_now; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QRectF ground() const;
    [[nodiscard]] QPolygonF pathOf(const StorageTrack& track, const QRectF& ground) const;
    [[nodiscard]] double yOf(std::int64_t bytes, const QRectF& ground) const;
    void paintAxes(QPainter& painter, const QRectF& ground) const;
    void paintPeak(QPainter& painter, const QRectF& ground) const;

    StorageTrack m_now;
    StorageTrack m_all;
};

} // namespace retro::views
