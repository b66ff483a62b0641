// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/motion.h"
#include "views/graph/graphedges.h"
#include "views/graph/graphpainter.h"
#include "views/graph/shownpulses.h"

#include <optional>
#include <utility>
#include <vector>

namespace retro::views
{

/// What passed in a stretch of a run that is played too fast for single pulses: per edge Σ|R|, per box visits.
struct GraphHeat
{
    std::vector<float> edges;
    std::vector<float> boxes;
    double most = 0;          ///< of an edge
    std::uint64_t visits = 0; ///< that the stretch has
};
/// Events [from, to). O(what landed there).
[[nodiscard]] GraphHeat heatOf(const GraphScene& scene, const trace::Motion& motion, std::uint64_t from,
                               std::uint64_t to);

/// How a frame is shown beside what moves in it.
struct MotionLook
{
    trace::SpeedClass speed = trace::SpeedClass::Each;
    bool isReduced = false;
    const GraphHeat* heat = nullptr; ///< of the class Sum; may be null
    QString frontier;                ///< "4 tensors, 144.0 kB"
    double start = 0;                ///< Σ of the relevance that the run began with; 0 = unknown
};

/// Paints what moves over the graph: pulses, searches, fulfilments, the frontier, the ring of the current node. The
/// picture depends on the frame, the scene and the camera alone.
class MotionPainter
{
public:
    MotionPainter(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera, const Theme& theme,
                  const MotionLook& look);

    /// Below boxes and edges: the band of the frontier.
    void paintBelow(const QRectF& area);
    /// Above them.
    void paintAbove(const QRectF& area);

    /// Words and figures beside what moves.
    struct Words
    {
        QRectF box;
        QString text;
        QColor color;
        double opacity = 1;
    };
    /// Those of the last paintAbove, which stand over everything else.
    [[nodiscard]] const std::vector<Words>& words() const { return m_words; }

private:
    using Index = layout::Index;

    [[nodiscard]] const trace::MotionFrame& frame() const { return *m_picture.motion; }
    [[nodiscard]] double length(double designPixels) const { return designPixels * m_unit; }
    [[nodiscard]] QRectF rectOf(Index box) const;
    /// From the consumer to the producer, over the edge between them; empty when both are in one box.
    [[nodiscard]] EdgeTrack trackBetween(base::NodeId consumer, base::NodeId producer) const;
    [[nodiscard]] EdgeTrack trackOf(std::span<const base::NodeId> nodes) const;
    [[nodiscard]] std::optional<QRectF> extentOf(const std::vector<base::NodeId>& nodes) const;
    void paintFrontierWords(const QRectF& area);
    void paintPulse(const trace::Pulse& pulse, int count);
    void paintInside(const InsidePulse& inside);
    void paintSearchInside(const InsideSearch& inside);
    [[nodiscard]] bool isCrowded(const QRectF& area) const;
    void paintDrop(const EdgeTrack& track, double head, double height, const trace::Pulse& pulse);
    void paintTail(const EdgeTrack& track, double head, double height, const QColor& color);
    void paintSearchLine(const trace::SearchLine& searchLine);
    void paintHead(QPointF at, bool isFilled, const QColor& color);
    void paintSnap(const trace::Snap& snap);
    void paintRings(const trace::Snap& snap);
    void paintFill(const trace::Fill& fill);
    void paintNow();
    void paintHeat();
    void addWords(QPointF center, const QString& text, const QColor& color);
    void paintWords();
    void addSum(const trace::Pulse& pulse, int count, const EdgeTrack& track, QPointF at, double height);
    [[nodiscard]] double alongDrawing(QPointF point) const;
    [[nodiscard]] std::vector<std::pair<double, double>> cardsIn(const QRectF& around) const;
    [[nodiscard]] QPointF betweenCards(QPointF center, const QString& text, const EdgeTrack& track) const;
    [[nodiscard]] QRectF boxAround(QPointF center, const QString& text) const;
    [[nodiscard]] bool isInSight(const QRectF& rect) const { return m_area.intersects(rect); }

    QPainter& m_painter;
    const GraphPicture& m_picture;
    const GraphCamera& m_camera;
    const Theme& m_theme;
    const MotionLook& m_look;
    double m_unit;
    QRectF m_area;
    QFont m_figureFont;
    std::vector<Words> m_words;
};

/// Under a drawing that runs sideways: per column the share of the score that has arrived, with lines at 0 and 100 %;
/// what is below 0 hangs down. `strip` in pixels; nothing is painted when the start of the run is unknown.
void paintShares(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera, const Theme& theme,
                 const QRectF& strip);

} // namespace retro::views
