// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>

class QSettings;

namespace retro::app
{

class Workspace;

/// Writes what the views of the workspaces keep of themselves: filters, colours, columns.
void saveViewStates(QSettings& store, const QList<Workspace*>& spaces);
/// Gives it back to them; views ignore what they do not understand.
void restoreViewStates(const QSettings& store, const QList<Workspace*>& spaces);

} // namespace retro::app
