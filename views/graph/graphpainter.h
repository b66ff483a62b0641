// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/levelofdetail.h"
#include "core/trace/motion.h"
#include "views/common/paint/theme.h"
#include "views/graph/emphasis.h"
#include "views/graph/graphcamera.h"
#include "views/graph/graphcards.h"
#include "views/graph/graphcolouring.h"
#include "views/graph/promisepath.h"

#include <QFont>
#include <QPainterPath>
#include <QString>
#include <QVector>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

class QPainter;

namespace retro::views
{

/// The words of a box, made when it is painted for the first time.
struct BoxText
{
    QString name;
    QString detail;
    double nameWidth = 0; ///< scene units
    double detailWidth = 0;
    bool isFigure = false; ///< the detail is set in the font of numbers
};

/// Everything that a drawing shows. All pointers are borrowed; `path` and what stands behind it may be
/// null.
struct GraphPicture
{
    const GraphScene* scene = nullptr;
    const GraphStatus* status = nullptr;
    std::vector<BoxText>* texts = nullptr; ///< one entry per box, filled as needed
    const PromisePath* path = nullptr;
    layout::Index selected = layout::kNone;                   ///< box
    layout::Index hovered = layout::kNone;                    ///< box
    base::ValueId selectedValue;                              ///< edges that carry it are marked
    const Colouring* colouring = nullptr;                     ///< null = by mode
    const Emphasis* emphasis = nullptr;                       ///< what is not in it is faint
    const std::vector<bool>* breaks = nullptr;                ///< per box: a breakpoint on a node of it; may be null
    const std::vector<bool>* fused = nullptr;                 ///< per box: it stands for several nodes; may be null
    const std::vector<layout::Index>* alsoSelected = nullptr; ///< further boxes that are selected; may be null
    bool isOnlyEmphasis = false;                              ///< what is not emphasised is left out, frames too
    const std::vector<bool>* checkpoints = nullptr;           ///< per box: a checkpoint on a node of it; may be null
    const std::vector<bool>* live = nullptr;                  ///< per box: a result of it is in memory; may be null

    // Of a drawing with cards; may be null.
    const std::vector<CardStatus>* cards = nullptr; ///< per box
    const GroupVisits* groupVisits = nullptr;
    CardPictures* pictures = nullptr;
    const trace::MotionFrame* motion = nullptr; ///< what moves; it is painted by MotionPainter, over the rest
    bool isGroundApart = false;                 ///< the frames of groups are left to GraphPainter::paintGround()

    [[nodiscard]] bool hasEmphasis() const { return emphasis != nullptr && !emphasis->boxes.empty(); }
    [[nodiscard]] bool isFaint(layout::Index box) const { return emphasis != nullptr && emphasis->isFaintBox(box); }
    [[nodiscard]] std::size_t classOf(layout::Index box) const { return views::classOf(*status, colouring, box); }
};

/// Where the picture of a card lies in the rectangle of the card; `unit` = pixels per design pixel.
[[nodiscard]] QRectF cardPictureRect(const QRectF& card, double unit);
/// Where the visits of a closed group are filled in on its card.
[[nodiscard]] QRectF groupStripRect(const QRectF& card, double unit);
/// Paints a small picture as large as fits into a rectangle, its pixels square and sharp.
void paintSmallPicture(QPainter& painter, const QRectF& rect, const QImage& image);
/// The size class of the pictures of a drawing at a scale.
[[nodiscard]] int pictureSide(double unit);

/// How much is left of what is not emphasised.
inline constexpr double kFaint = 0.3;

/// Bars of a picture that is too small for boxes, by class.
using ClassBars = std::array<QVector<QRectF>, kColourClasses>;

/// Adds a row of pixels at `top`, from `left` to `right`, cut into the classes by their number.
void appendRow(ClassBars& bars, const ClassRow& row, double left, double right, double top);
/// Fills the bars with the colours of their classes.
void paintBars(QPainter& painter, const ClassBars& bars, const Colouring* colouring, const Theme& theme);
/// The emphasised boxes, never smaller than can be seen. `toPixels` turns a rectangle of the scene into pixels.
template <class ToPixels>
[[nodiscard]] ClassBars emphasisedBars(const GraphPicture& picture, ToPixels toPixels)
{
    constexpr double kLeastSide = 3;
    ClassBars bars;
    for (layout::Index box = 0; box < picture.scene->boxCount(); ++box) {
        if (picture.emphasis->isFaintBox(box)) {
            continue;
        }
        const QRectF exact = toPixels(picture.scene->layout.nodes[static_cast<std::size_t>(box)]);
        const QSizeF size(std::max(kLeastSide, exact.width()), std::max(kLeastSide, exact.height()));
        bars[picture.classOf(box)].append(QRectF(exact.center() - QPointF(size.width(), size.height()) / 2, size));
    }
    return bars;
}

/// Paints a graph through a camera; screen and files use it alike. Costs what is visible: boxes and edges outside the
/// exposed rectangle are not looked at, and below the zoom of text there is one call per colour.
class GraphPainter
{
public:
    GraphPainter(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera, const Theme& theme);

    /// Paints what lies in `exposed` (pixels); the ground is not painted.
    void paint(const QRectF& exposed);
    /// The frames of open groups alone, for a picture whose ground is apart: the band of the frontier lies between.
    void paintGround(const QRectF& exposed);

private:
    using Index = layout::Index;

    [[nodiscard]] const layout::LayeredLayout& layout() const { return m_picture.scene->layout; }
    [[nodiscard]] const layout::VisibleNode& visible(Index box) const
    {
        return m_picture.scene->visible.nodes[static_cast<std::size_t>(box)];
    }
    [[nodiscard]] const BoxStatus& status(Index box) const
    {
        return m_picture.status->boxes[static_cast<std::size_t>(box)];
    }
    [[nodiscard]] float relevance(Index edge) const { return m_picture.status->edges[static_cast<std::size_t>(edge)]; }
    /// Pixels of a length in scene units that follows the font size: `designPixels` at zoom 1.
    [[nodiscard]] double length(double designPixels) const { return designPixels * m_unit; }
    [[nodiscard]] QRectF pixelsOf(Index box) const;
    [[nodiscard]] QFont zoomed(QFont font) const;

    // graphpaintersmall.cpp: scales without text
    void paintDensity(const QRectF& exposed);
    void paintFlatEdges();
    void paintFlatBoxes();
    struct SmallBoxes;
    void paintSmallBoxes();
    void paintSmall(const SmallBoxes& small);
    void appendSmall(Index box, SmallBoxes& out) const;
    template <class Append>
    void appendPieces(Index edge, Append append) const;

    // graphpainter.cpp: whole drawing
    void paintWithText();
    void paintWithoutText();
    void keepEmphasis();
    [[nodiscard]] std::vector<layout::Index> framesIn(const layout::Rect& area) const;
    void paintFrame(layout::Index frame);
    void paintTitles();
    void paintTitle(Index frame);
    void paintHovered();
    void paintRings();
    void paintRing(Index box, double width, double distance);

    // graphpainteredges.cpp
    void paintEdges();
    void paintEdges(bool isFaint);
    [[nodiscard]] bool isFaintEdge(Index edge) const
    {
        return m_picture.emphasis != nullptr && m_picture.emphasis->isFaintEdge(edge);
    }
    void paintIdleEdges(const std::vector<Index>& edges);
    void paintEdge(Index edge);
    [[nodiscard]] bool isMarked(Index edge) const;
    [[nodiscard]] bool isOnPath(Index edge) const;
    void paintPath();
    void paintPiece(const PathPiece& piece, QPainterPath& way);
    void paintFigures();
    [[nodiscard]] std::vector<layout::Index> edgesWithPulses() const;
    void paintFigure(Index edge);
    void paintHeld();
    /// No box, no figure and no edge but `edge` in a piece of the scene.
    [[nodiscard]] bool isFree(const layout::Rect& area, Index edge);
    [[nodiscard]] bool bendsThrough(Index edge, const layout::Rect& area) const;
    [[nodiscard]] double widthOf(float sum) const;
    [[nodiscard]] QPointF corner(layout::Point point) const;
    /// Pixels from producers towards consumers.
    [[nodiscard]] QPointF along(double pixels) const
    {
        return m_camera.isTransposed() ? QPointF(pixels, 0) : QPointF(0, pixels);
    }
    void appendEdge(QPainterPath& path, std::span<const layout::Point> points) const;
    void paintHead(QPointF tip, double strokeWidth, const QColor& color);
    void paintChip(QPointF center, const QString& text, const QColor& color, bool hasGround);
    [[nodiscard]] bool crossesFrame(const layout::Rect& area) const;
    [[nodiscard]] QPointF tipOf(Index edge) const;

    // graphpaintercards.cpp
    void paintCards();
    void paintCard(Index box, const QRectF& rect);
    /// True when the badges found no room beside the name: they lie on the picture then.
    bool paintCardTitle(Index box, const QRectF& rect);
    void paintBadgesBelow(Index box, const QRectF& rect);
    void paintCardPicture(Index box, const QRectF& rect);
    void paintCardWords(const CardStatus* card, const QRectF& rect);
    void paintGroupCard(Index box, const QRectF& rect);
    void paintGroupStrip(Index box, const QRectF& strip);
    void paintPill(Index box, const QRectF& rect);
    void paintCentred(const QRectF& rect, const QString& text, const QFont& font, const QColor& color);
    [[nodiscard]] bool hasCards() const { return m_picture.scene->style.hasCards; }

    // graphpainterboxes.cpp
    struct Badge;
    void paintBoxes();
    void paintMarksAt(layout::Index box, const QRectF& rect);
    /// A closed group, or a node that stands for several.
    [[nodiscard]] bool hasSecondOutline(Index box) const
    {
        return visible(box).isGroup() ||
               (m_picture.fused != nullptr && (*m_picture.fused)[static_cast<std::size_t>(box)]);
    }
    void paintBox(Index box, const QRectF& rect);
    void paintClassBox(Index box, const QRectF& rect, double radius);
    void paintBoxTexts(Index box, const QRectF& rect, double right);
    [[nodiscard]] double detailWidthIn(const BoxText& text, double room) const;
    void paintDetail(const BoxText& text, QPointF place, double width);
    [[nodiscard]] QString signOf(Index box) const;
    [[nodiscard]] double paintSigns(Index box, const QRectF& rect);
    [[nodiscard]] BoxText& textOf(Index box);
    [[nodiscard]] QString plainDetail(const layout::VisibleNode& node) const;
    [[nodiscard]] static std::vector<Badge> badgesOf(const BoxStatus& status);
    /// Those that a box has room for.
    [[nodiscard]] std::vector<Badge> badgesAt(Index box) const;
    [[nodiscard]] double badgesWidth(Index box) const;
    /// Returns where the texts may end.
    double paintBadges(Index box, const QRectF& rect);
    void paintBreakpoint(const QRectF& rect);
    void paintCheckpoint(const QRectF& rect);
    void paintLive(const QRectF& rect);
    [[nodiscard]] double badgeWidth(const Badge& badge) const;
    void paintBadge(const Badge& badge, const QRectF& rect);
    void paintLeak(const QRectF& rect);
    /// How far the second outline of a closed group stands out, in pixels.
    [[nodiscard]] double outlineOffset() const;

    QPainter& m_painter;
    const GraphPicture& m_picture;
    const GraphCamera& m_camera;
    const Theme& m_theme;
    layout::DetailTier m_tier;
    double m_unit;                      // pixels per design pixel: zoom · font scale
    QColor m_passed;                    // line of an edge that relevance has passed
    std::vector<Index> m_boxes;         // exposed
    std::vector<Index> m_edges;         // exposed
    std::vector<Index> m_frames;        // exposed
    std::vector<Index> m_scratch;       // of collision tests
    std::vector<layout::Rect> m_placed; // figures at edges, scene units
    QFont m_nameFont;
    QFont m_letterFont;
    QFont m_wordFont;
    QFont m_figureFont;
    double m_nameDrop = 0; // from the middle of a line to its base line, pixels
    double m_figureDrop = 0;
    double m_wordDrop = 0;
};

} // namespace retro::views
