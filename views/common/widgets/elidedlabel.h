// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"

#include <QLabel>

namespace retro::views
{

/// One line of text in a theme colour; when there is not enough room it is elided in the middle and the whole text is
/// in the tool tip.
class ElidedLabel final : public QLabel
{
    Q_OBJECT

public:
    ElidedLabel(const QString& text, Role role, const QFont& font, QWidget* parent = nullptr);
    void setRole(Role role);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QString shownText() const;
    Role m_role;
};

} // namespace retro::views
