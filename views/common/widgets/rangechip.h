// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QToolButton>

namespace retro::views
{

class TimeRange;

/// Says that a view is filtered to a part of the run, "visits 10 – 20 ✕"; pressing it shows the whole run again. Hidden
/// while there is no such part.
class RangeChip final : public QToolButton
{
    Q_OBJECT

public:
    explicit RangeChip(QWidget* parent = nullptr);

    /// Shows that range from now on; it must outlive the chip.
    void follow(TimeRange& range);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void take();

    TimeRange* m_range = nullptr;
};

} // namespace retro::views
