// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/run/runfacts.h"

#include <QWidget>

#include <vector>

class QToolButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace retro::views
{

class ElidedLabel;

/// What was rewritten in the graph of the model, closed at first: one line per rewrite with a switch, below it each
/// thing that it did. Switching changes nothing before the next run. GUI thread.
class RewriteFields final : public QWidget
{
    Q_OBJECT

public:
    explicit RewriteFields(QWidget* parent = nullptr);

    /// Another model, or the same with other rewrites. None hides the section.
    void setRewrites(const std::vector<RewriteFacts>& rewrites);
    /// Switches without saying changed().
    void setOff(const QStringList& names);
    /// Names of those that are switched off, in the order of the list.
    [[nodiscard]] QStringList off() const;
    void setOpen(bool isOpen);

signals:
    void changed();
    /// A line about a node of the graph was double-clicked, or Return was pressed on it.
    void nodeWanted(const QString& name);

private:
    void addRewrite(const RewriteFacts& rewrite);
    void activate(const QTreeWidgetItem& item);
    void fitHeight();
    void showSummary();

    QToolButton* m_title = nullptr;
    ElidedLabel* m_summary = nullptr;
    QTreeWidget* m_list = nullptr;
    QStringList m_applied; ///< off in the graph on screen
};

} // namespace retro::views
