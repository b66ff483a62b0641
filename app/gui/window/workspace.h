// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include <QMainWindow>

#include <functional>
#include <initializer_list>
#include <vector>

namespace retro::app
{

class DockTitles;

/// Width of the line between docks (see views::Style), in pixels.
inline constexpr int kSeparator = 4;

/// A named arrangement of docks inside the window. Each view sits in a dock with our own title, which follows the
/// view's caption. All docks lie in one area, so that they grow and shrink together with the window. GUI thread.
class Workspace : public QMainWindow
{
    Q_OBJECT

public:
    explicit Workspace(QString id, QWidget* parent = nullptr);
    ~Workspace() override;

    [[nodiscard]] const QString& id() const { return m_id; }
    /// Puts every dock back where it was at first.
    void resetLayout();
    [[nodiscard]] const std::vector<QDockWidget*>& docks() const { return m_docks; }
    [[nodiscard]] const std::vector<views::View*>& views() const { return m_views; }
    /// Shows or hides the sentences under the names of panes.
    void setHintsShown(bool isShown);
    /// Starts with this arrangement, as saveState(version) gave it, in place of the first one; false when it is of
    /// another version or damaged. Before the workspace is shown.
    /// `isArranged`: a person has chosen the sizes of the docks; else they follow the window.
    bool takeLayout(const QByteArray& layout, int version, bool isArranged);
    /// A person has moved docks or the lines between them.
    [[nodiscard]] bool isArranged() const { return m_isArranged; }
    [[nodiscard]] bool wasShown() const { return m_wasShown; }
    /// The arrangement, for takeLayout(): as saveState(version), with the panes that are windows of their own and went
    /// out of sight with the workspace.
    [[nodiscard]] QByteArray layout(int version) const;
    /// The text has another size, or a view needs another height: docks take their sizes anew.
    void takeSizes();
    /// How large it may be at most. Where its docks need more, some lie behind others as tabs until they fit.
    void setRoom(std::function<QSize()> room);
    /// Brings every view up to date at once, shown or not.
    void flush();
    /// Never more than the room that there is.
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    void openRequested();
    void cancelRequested();
    /// Docks were put behind others: it needs less room now.
    void packed();

protected:
    /// `tabName` is what the tab says while the dock is behind tabs; empty = the view's title.
    QDockWidget* addView(views::View* view, const QString& tabName = {});
    QDockWidget* addPanel(QWidget* widget, const QString& title, const QString& hint);
    /// The arrangement that resetLayout() goes back to; called once all docks are in place.
    void rememberLayout();
    /// Called by resetLayout() behind the arrangement of the start, for workspaces that have another one now.
    virtual void rearrange() {}
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    bool focusNextPrevChild(bool isNext) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    /// Gives the docks their sizes for the present size of the workspace; called until a person arranges them.
    virtual void applySizes() {}
    /// A dock that gives up its place for one behind another, with all that are its tabs.
    struct Pack
    {
        QDockWidget* what;
        QDockWidget* behind;
        Qt::Orientation spares; ///< the direction in which less room is needed then
        double mayLack = 0;     ///< the share of the room up to which panes are rather a little too small
    };
    static constexpr double kMayLackLittle = 0.05; ///< a few lines of a pane: less than what would go out of sight
    /// In the order in which they are done; those that are needed.
    [[nodiscard]] virtual std::vector<Pack> packs() const { return {}; }
    /// `room` pixels divided in the ratio of `parts`.
    [[nodiscard]] static QList<int> shared(int room, std::initializer_list<double> parts);

private:
    void keepShares();
    [[nodiscard]] bool mayPack() const;
    void fitRoom();
    /// A person has made it what it is: it is kept so.
    [[nodiscard]] bool isChosen() const { return m_isArranged || m_hasClosed; }
    [[nodiscard]] bool isNeeded(const Pack& pack) const;
    [[nodiscard]] bool putBehind(const Pack& pack, bool isInAnyCase);
    void takeKept();
    void hideApart();
    void chainFocus();
    QDockWidget* makeDock(QWidget* content, const QString& title, const QString& tabName);

    QString m_id;
    std::vector<QDockWidget*> m_docks;
    std::vector<QDockWidget*> m_hiddenAtFirst;
    std::vector<views::View*> m_views;
    DockTitles* m_titles = nullptr;
    QByteArray m_initial;
    std::vector<QDockWidget*> m_apart; ///< windows of their own that are out of sight because the workspace is
    QByteArray m_kept;                 ///< taken, and given to the docks once more when they have their room
    int m_keptVersion = 0;
    std::function<QSize()> m_room; ///< null = any
    bool m_isPacked = false;
    bool m_hasClosed = false; ///< a person has closed docks, or a layout was restored that may have closed ones
    bool m_willFit = false;   ///< a look at the room is on its way
    bool m_wasShown = false;
    bool m_isArranged = false; ///< a person, or an arrangement that was kept, has moved docks or the lines between
};

} // namespace retro::app
