// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QMenuBar;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

/// Every key on one sheet, by menu, and the keys that views have of their own. Made anew each time it is shown, so that
/// keys that were changed are right. GUI thread.
class KeySheet final : public QDialog
{
    Q_OBJECT

public:
    KeySheet(const views::ActionRegistry& actions, const QMenuBar& menus, QWidget* parent = nullptr);

    /// Number of keys on the sheet.
    [[nodiscard]] int keyCount() const { return m_keyCount; }

private:
    int m_keyCount = 0;
};

} // namespace retro::app
