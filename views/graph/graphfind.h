// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "core/graph/graph.h"

#include <memory>
#include <vector>

class QLabel;
class QLineEdit;

namespace retro::views
{

/// The find box in the corner of the graph: a line, how many nodes match, previous and next. Return or F3 = next,
/// Shift+Return or Shift+F3 = previous, Escape hides it.
class GraphFind final : public QWidget
{
    Q_OBJECT

public:
    explicit GraphFind(QWidget* parent);

    /// The graph that is searched; matches of the one before are dropped.
    void setGraph(std::shared_ptr<const graph::Graph> graph);
    /// Shows the box and puts the cursor into it.
    void open();
    /// What is found while the box is shown; nothing when it is hidden.
    [[nodiscard]] std::vector<base::NodeId> matches() const;

public slots:
    void next() { go(1); }
    void previous() { go(-1); }

signals:
    /// Other nodes match, or the box was shown or hidden.
    void matchesChanged();
    /// Another match is the current one.
    void found(retro::base::NodeId node);
    /// The box was hidden; the keyboard belongs to the graph again.
    void closed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void search(const QString& text);
    void go(int step);
    void dismiss();
    void showCount();

    QLineEdit* m_line = nullptr;
    QLabel* m_count = nullptr;
    std::shared_ptr<const graph::Graph> m_graph;
    std::vector<base::NodeId> m_matches;
    std::size_t m_current = 0;
};

} // namespace retro::views
