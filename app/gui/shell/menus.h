// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

class QMenuBar;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

/// Puts every action of the registry into a menu. The plan of the menus gives order and groups; what it does not name
/// goes to the end of the menu that its id begins with ("go.somewhere" to Go), so that nothing is out of reach.
void fillMenus(QMenuBar& bar, const views::ActionRegistry& actions);

/// A menu as it is: its title without marks, and the ids of its actions, those of submenus among them.
struct MenuContent
{
    QString title;
    QStringList ids;
};
/// What the menus hold, for the sheet of keys.
[[nodiscard]] QList<MenuContent> menuContents(const QMenuBar& bar);

} // namespace retro::app
