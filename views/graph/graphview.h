// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include <QPointer>

#include <memory>
#include <vector>

namespace retro::views
{

class GraphCanvas;
class GraphFind;
class GraphTools;
class JobRunner;
struct GraphBook;
struct GraphScene;
struct Hit;

/// The network with its inputs on top, and on it the state of the run: modes, promises, frontier, relevance on the
/// edges. Selecting never moves time; a double click on a node goes to where its relevance was known in full.
class GraphView final : public View
{
    Q_OBJECT

public:
    GraphView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Graph"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// Pictures show what is visible with the groups that are open now; dot and json have every node.
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    /// Controls for the title of the dock: find, −, percentage, +, fit. Made on first use; whoever shows it owns it.
    [[nodiscard]] QWidget* tools();
    [[nodiscard]] GraphCanvas& canvas() const { return *m_canvas; }
    [[nodiscard]] bool isLayoutRunning() const;
    [[nodiscard]] bool isFollowing() const { return m_isFollowing; }

public slots:
    void zoomIn();
    void zoomOut();
    void fitAll();
    void fitSelection();
    void showFind();
    void findNext();
    void findPrevious();
    /// The picture scrolls to the current node when the cursor moves, and to what is selected elsewhere.
    void setFollow(bool isOn);
    void setMinimapShown(bool isShown);
    void setLegendShown(bool isShown);
    void expandAll() { setAllClosed(false); }
    void collapseAll() { setAllClosed(true); }

signals:
    void zoomChanged(double zoom);
    /// A layout that was computed aside is on screen.
    void layoutFinished();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    using ScenePointer = std::shared_ptr<const GraphScene>;

    void openRun();
    void build(std::vector<bool> closed, bool isFirst);
    void install(base::Result<ScenePointer> scene, bool isFirst);
    void applyState();
    void applySelection(bool isFromHere);
    void selectBox(int box);
    void activateBox(int box);
    void selectEdge(int edge);
    void toggleGroup(int group);
    void setAllClosed(bool isClosed);
    void describeSelection();
    [[nodiscard]] QString tipFor(const Hit& hit) const;
    [[nodiscard]] bool showsThisRun() const;

    GraphCanvas* m_canvas = nullptr;
    GraphFind* m_find = nullptr;
    QPointer<GraphTools> m_tools; // its owner may end before this view
    JobRunner* m_jobs = nullptr;
    std::vector<bool> m_closed; // as asked for; the scene on screen may be older
    QString m_problem;          // why nothing can be drawn
    bool m_isFollowing = true;
    bool m_isOwnSelection = false;
};

} // namespace retro::views
