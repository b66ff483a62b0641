// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"

#include <QWidget>

namespace retro::app
{

/// The letter of a mode in its border, as in captions and tables; empty for no mode.
class ModeMark final : public QWidget
{
    Q_OBJECT

public:
    explicit ModeMark(QWidget* parent = nullptr);
    void setMode(event::Mode mode);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    event::Mode m_mode = event::Mode::None;
};

} // namespace retro::app
