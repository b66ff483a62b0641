// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/heatmapimage.h"
#include "views/inspector/nodefacts.h"
#include "views/inspector/tensorstats.h"

#include <QImage>
#include <QWidget>

namespace retro::views
{

/// A painted section of the inspector: a bold title, a note at the right, a hairline above. Fixed height, any width.
class InspectorPane : public QWidget
{
    Q_OBJECT

public:
    InspectorPane(const QString& title, QWidget* parent);
    void setNote(const QString& note);
    /// What it shows is about to change: it is painted weakly until then.
    void setPending(bool isPending);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }
    [[nodiscard]] int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    /// Height of the body in a given width.
    [[nodiscard]] virtual double bodyHeight(double width) const = 0;
    virtual void paintBody(QPainter& painter, const QRectF& body, const Theme& theme) = 0;
    /// The body changed: new height and content.
    void bodyChanged();

private:
    [[nodiscard]] double titleHeight() const;
    QString m_title;
    QString m_note;
    bool m_isPending = false;
};

/// Name, mode and rule of the node.
class HeadPane final : public InspectorPane
{
    Q_OBJECT

public:
    explicit HeadPane(QWidget* parent) : InspectorPane({}, parent) {}
    void setFacts(const NodeFacts& facts);

protected:
    [[nodiscard]] double bodyHeight(double width) const override;
    void paintBody(QPainter& painter, const QRectF& body, const Theme& theme) override;

private:
    NodeFacts m_facts;
};

/// Σ, min, max, mean, norm, NaN in two columns.
class StatsPane final : public InspectorPane
{
    Q_OBJECT

public:
    explicit StatsPane(QWidget* parent) : InspectorPane({}, parent) {}
    void setStats(const TensorStats& stats);

protected:
    [[nodiscard]] double bodyHeight(double width) const override;
    void paintBody(QPainter& painter, const QRectF& body, const Theme& theme) override;

private:
    TensorStats m_stats;
};

/// Histogram with counts on a log scale, bars in the colours of the relevance map.
class HistogramPane final : public InspectorPane
{
    Q_OBJECT

public:
    explicit HistogramPane(QWidget* parent);
    void setHistogram(Histogram histogram);

protected:
    [[nodiscard]] double bodyHeight(double width) const override;
    void paintBody(QPainter& painter, const QRectF& body, const Theme& theme) override;

private:
    void paintBin(QPainter& painter, std::size_t bin, const QRectF& chart, const Theme& theme) const;
    Histogram m_histogram;
};

/// The tensor as a grid of slices.
class SlicePane final : public InspectorPane
{
    Q_OBJECT

public:
    explicit SlicePane(QWidget* parent);
    void setGrid(const SliceGrid& grid, bool isRelevance);
    /// Where the picture lies in a body of this width; plain geometry.
    [[nodiscard]] static QSizeF pictureSize(const Plane& plane, double width, double most);

protected:
    [[nodiscard]] double bodyHeight(double width) const override;
    void paintBody(QPainter& painter, const QRectF& body, const Theme& theme) override;

private:
    Plane m_plane;
    QImage m_image;
};

/// Balance of the node with bars.
class BalancePane final : public InspectorPane
{
    Q_OBJECT

public:
    explicit BalancePane(QWidget* parent);
    void setBalance(std::vector<BalanceLine> lines, const QString& otherwise);

protected:
    [[nodiscard]] double bodyHeight(double width) const override;
    void paintBody(QPainter& painter, const QRectF& body, const Theme& theme) override;

private:
    struct Columns
    {
        double name = 0;
        double amount = 0;
        double share = 0;
    };
    void paintLine(QPainter& painter, const BalanceLine& line, const QRectF& row, const Columns& columns,
                   const Theme& theme) const;
    [[nodiscard]] QString amountText(const BalanceLine& line) const;
    std::vector<BalanceLine> m_lines;
    QString m_otherwise;
};

} // namespace retro::views
