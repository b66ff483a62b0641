// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPixmap>

#include "core/trace/motion.h"
#include "views/common/widgets/drawnpane.h"
#include "views/graph/graphmotion.h"
#include "views/graph/graphoverlays.h"
#include "views/graph/graphstripe.h"
#include "views/graph/graphwalk.h"
#include "views/graph/groupstripe.h"
#include "views/graph/smallpictures.h"

#include <functional>
#include <memory>
#include <optional>

namespace retro::views
{

/// The painted graph: shows a scene with a status through a camera and turns mouse and keys into signals. Knows no run
/// and no selection; the view tells it what to mark. Drag = pan, wheel = zoom at the pointer, click = signal only.
class GraphCanvas final : public DrawnPane
{
    Q_OBJECT

public:
    explicit GraphCanvas(QWidget* parent = nullptr);

    /// Shows a drawing. The camera stays; when a group was opened or closed by the user, that group stays where it was.
    void setScene(std::shared_ptr<const GraphScene> scene, GraphStatus status);
    void setStatus(GraphStatus status);
    /// Marks a box (because of `node`, one of those that it shows), the edges that carry a value, and the path of a
    /// promise.
    void setMarks(layout::Index selected, base::NodeId node, base::ValueId value, PromisePath path);
    /// Boxes that are selected beside the one of setMarks(). Dropped with the scene.
    void setAlsoSelected(std::vector<layout::Index> boxes);
    /// Colours by something else than the modes; null = by mode. All are dropped with the scene that they were
    /// made for.
    void setColouring(std::shared_ptr<const Colouring> colouring);
    void setEmphasis(Emphasis emphasis);
    /// Marks boxes (one entry each) that have a breakpoint.
    void setBreaks(std::vector<bool> breaks);
    /// Marks boxes (one entry each) that stand for several nodes of the model's file.
    void setFused(std::vector<bool> fused);
    /// Boxes with a checkpoint, one entry per box; empty = none.
    void setCheckpoints(std::vector<bool> checkpoints);
    /// Boxes whose results are in memory, one entry per box; empty = none.
    void setLive(std::vector<bool> live);
    /// What moves in the run of the scene; null = nothing does. Cards show themselves through it.
    void setMotion(std::shared_ptr<const trace::Motion> motion);
    /// What the cards hold at the position of the status, and the words at the band of the frontier.
    void setCards(std::vector<CardStatus> cards, std::uint64_t position, const QString& frontier);
    /// A drawing that runs sideways and has more nodes than a pane can show has all of them in a stripe above it.
    [[nodiscard]] bool hasStripe() const;
    void setStripe(NodeStripe stripe);
    [[nodiscard]] const NodeStripe& stripe() const { return m_stripe; }
    /// Below it, in a pane that is high enough, a stripe of the groups that are built alike.
    [[nodiscard]] bool hasGroupStripe() const;
    [[nodiscard]] GroupTiles groupTiles() const;
    /// What the right and the left end of a drawing that runs sideways are called.
    void setEnds(const QString& input, const QString& score);
    /// The moment that is shown; one whose whole part is not the position of the status waits for it.
    void setMoment(double moment);
    /// Visits per second while it plays; 0 = it rests.
    void setSpeed(double visitsPerSecond);
    [[nodiscard]] const GroupVisits& groupVisits() const { return m_groupVisits; }
    /// Where the pictures of the cards come from.
    [[nodiscard]] SmallPictures& pictures() { return m_pictures; }
    /// The camera follows the moment until the user moves it; true takes it up again.
    void setFollowing(bool isFollowing);
    [[nodiscard]] bool isFollowing() const { return m_isFollowing; }
    /// What is painted at present, beside the still picture.
    [[nodiscard]] const trace::MotionFrame& frame() const { return m_frame; }
    /// The next scene keeps the selected box (or the current one) where it is now; without one it is shown whole.
    void holdSelected();
    /// Words for what is under the pointer.
    void setTips(std::function<QString(const Hit&)> tips) { m_tips = std::move(tips); }
    [[nodiscard]] const std::shared_ptr<const GraphScene>& scene() const { return m_scene; }
    [[nodiscard]] const GraphStatus& status() const { return m_status; }
    [[nodiscard]] layout::Index selected() const { return m_selected; }

    [[nodiscard]] const GraphCamera& camera() const { return m_camera; }
    [[nodiscard]] GraphOverlays overlays() const;
    /// As when a graph is opened: all of it, or, where that would be too small to read, a piece around the current
    /// node.
    void showFirst();
    void fitAll();
    /// What is selected (all of it when nothing is) in the middle, large enough to read.
    void fitSelection();
    void zoomBy(double factor);
    /// Brings a box into sight with the least movement.
    void reveal(layout::Index box);
    void setMapShown(bool isShown);
    void setLegendShown(bool isShown);
    [[nodiscard]] bool isMapShown() const { return m_wantsMap; }
    [[nodiscard]] bool isLegendShown() const { return m_wantsLegend; }
    /// Everything that a painter needs; the pointers are good until the scene or the marks change.
    [[nodiscard]] GraphPicture picture();
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    void boxClicked(int box);
    /// Ctrl+click: to be selected too, or no longer.
    void boxAdded(int box);
    /// Alt+click: what it computes is to be explained.
    void targetPicked(int box);
    /// Double click or Enter.
    void boxActivated(int box);
    void edgeClicked(int edge);
    void groundClicked();
    /// A group is to be opened or closed.
    void groupToggled(int group);
    /// All groups around this one are to be opened.
    void groupWanted(int group);
    /// All groups of one depth are to be opened or closed.
    void depthToggled(bool isClosed);
    /// Commands for what lies under a point are wanted.
    void menuWanted(const retro::views::Hit& hit, const QPoint& place);
    void zoomChanged(double zoom);
    /// The user moved the camera, or following was taken up again.
    void followChanged(bool isFollowing);
    void resized();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    enum class Drag { None, Armed, Pan, Map };
    enum class Fit { None, First, All };
    struct Held
    {
        layout::Index group = layout::kNone;
        base::NodeId node; ///< when no group is held
        QPointF pixel;
        bool isSign = false;
    };

    // graphcanvasmotion.cpp, graphcanvasstripe.cpp
    /// A drawing that runs sideways has the shares of the score below it.
    [[nodiscard]] bool hasRoomForShares() const;
    [[nodiscard]] bool hasCards() const { return m_scene != nullptr && m_scene->style.hasCards; }
    void renewStill();
    void letGo();
    void applyFollow();
    [[nodiscard]] std::optional<layout::Point> followed() const;
    void makeFrame();
    void paintInMotion(QPainter& painter, const Theme& colors);
    void paintEnds(QPainter& painter, const Theme& colors) const;
    /// Design pixels above a drawing that runs sideways.
    [[nodiscard]] static double endsHeight();
    [[nodiscard]] StripePlace stripePlace() const;
    [[nodiscard]] double stripesBottom() const;
    void paintNodes(QPainter& painter, const Theme& colors) const;
    /// Nodes that the pane shows, the last excluded; none shown: 0, 0.
    [[nodiscard]] std::pair<layout::Index, layout::Index> shownNodes() const;
    [[nodiscard]] layout::Index boxUnderStripe(QPointF pixel) const;
    /// The group whose tile is there; null when there is none.
    [[nodiscard]] const LikeGroup* groupUnderStripe(QPointF pixel) const;
    void moveByStripe(QPointF pixel);
    void goToGroup(const LikeGroup& group);
    void makeStill(const Theme& colors);
    [[nodiscard]] double shownMoment() const;

    [[nodiscard]] Hit hitAt(QPointF pixel) const;
    [[nodiscard]] std::optional<layout::Point> placeOf(layout::Index group, bool isSign) const;
    [[nodiscard]] std::optional<layout::Point> placeOf(base::NodeId node) const;
    void applyHold();
    void cameraChanged();
    void moveByMap(QPointF pixel);
    void click(QPointF pixel, Qt::KeyboardModifiers keys);
    void setHovered(layout::Index box);
    void toggle(const Hit& hit, QPointF pixel);
    void toggleGroup(layout::Index group, QPointF pixel, bool isBySign);
    void toggleByKey(layout::Index group);
    bool walkByKey(int key);
    bool changeGroupsByKey(int key, bool isShifted);
    bool moveByKey(int key);
    void walkTo(layout::Index box);
    void changeGroups(bool isClosing, bool isByDepth);
    void openSelected();
    void closeAroundSelected();

    std::shared_ptr<const GraphScene> m_scene; // null until the first one came
    GraphStatus m_status;
    std::vector<BoxText> m_texts;
    PromisePath m_path;
    std::shared_ptr<const Colouring> m_colouring;
    Emphasis m_emphasis;
    std::vector<bool> m_breaks; // empty = none
    std::vector<bool> m_fused;  // likewise
    std::vector<bool> m_checkpoints;
    std::vector<bool> m_live;
    layout::Index m_selected = layout::kNone;
    std::vector<layout::Index> m_alsoSelected;
    layout::Index m_hovered = layout::kNone;
    base::NodeId m_node; // why m_selected is
    base::ValueId m_value;
    GraphCamera m_camera;
    std::function<QString(const Hit&)> m_tips;
    std::optional<Held> m_held;
    bool m_wantsFit = false; // when the next scene comes
    Drag m_drag = Drag::None;
    QPointF m_dragFrom;
    bool m_hasToggled = false; // by the last press; a double click that follows toggles no second time
    bool m_wantsMap = true;
    bool m_wantsLegend = true;
    std::shared_ptr<const trace::Motion> m_motion;
    GroupVisits m_groupVisits;
    std::vector<CardStatus> m_cards;
    NodeStripe m_stripe;
    SmallPictures m_pictures;
    std::uint64_t m_position = 0; // of status and cards
    double m_moment = 0;
    double m_speed = 0;
    QString m_frontier;
    QString m_inputEnd;
    QString m_scoreEnd;
    trace::MotionFrame m_frame;
    GraphHeat m_heat;
    bool m_isFollowing = true;
    struct StillOf
    {
        GraphCamera camera;
        QSize size;
        ThemeKind theme = ThemeKind::Light;
        double ratio = 0;
        std::uint64_t serial = 0;
        bool operator==(const StillOf&) const = default;
    };
    QPixmap m_ground; // frames of groups
    QPixmap m_still;  // cards, edges and text as they are at the position
    StillOf m_stillOf;
    std::uint64_t m_serial = 1; // grows with everything that the still picture shows

    Fit m_fit = Fit::First; // until the user moves the picture, it is fitted again when the widget is resized
};

} // namespace retro::views
