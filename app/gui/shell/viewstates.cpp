// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/viewstates.h"

#include "app/gui/window/workspace.h"
#include "views/common/view.h"

#include <QSettings>

namespace retro::app
{

namespace
{

/// "views/engine/LogView": a workspace has one view of a kind.
QString keyOf(const Workspace& space, const views::View& view)
{
    const QString name = QString::fromLatin1(view.metaObject()->className()).section(QStringLiteral("::"), -1);
    return QStringLiteral("views/%1/%2").arg(space.id(), name);
}

} // namespace

void saveViewStates(QSettings& store, const QList<Workspace*>& spaces)
{
    for (const Workspace* space : spaces) {
        for (const views::View* view : space->views()) {
            const QByteArray state = view->saveState();
            if (state.isEmpty()) {
                store.remove(keyOf(*space, *view));
            } else {
                store.setValue(keyOf(*space, *view), state);
            }
        }
    }
}

void restoreViewStates(const QSettings& store, const QList<Workspace*>& spaces)
{
    for (const Workspace* space : spaces) {
        for (views::View* view : space->views()) {
            if (const QByteArray state = store.value(keyOf(*space, *view)).toByteArray(); !state.isEmpty()) {
                view->restoreState(state);
            }
        }
    }
}

} // namespace retro::app
