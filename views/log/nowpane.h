// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/drawnpane.h"
#include "views/log/nowfacts.h"

class QPainter;

namespace retro::views
{

class Theme;

/// Paints what happens now: events, where the relevance of the node is, its rule with numbers; or what a picture of
/// fast play adds up. GUI thread.
class NowPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit NowPane(QWidget* parent = nullptr);

    void setEvents(std::vector<NowEvent> events);
    void setRelevance(NowRelevance relevance);
    /// In place of the relevance of one node; nothing = it is shown again.
    void setSpan(const std::optional<NowSpan>& span);

    [[nodiscard]] const std::vector<NowEvent>& events() const { return m_events; }
    [[nodiscard]] const NowRelevance& relevance() const { return m_relevance; }
    [[nodiscard]] const std::optional<NowSpan>& span() const { return m_span; }
    /// All that it shows, as lines of text.
    [[nodiscard]] QString text() const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] int heightForWidth(int width) const override;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    /// The row of this event was clicked, or double-clicked.
    void eventChosen(quint64 step);
    void eventWanted(quint64 step);
    /// One event on (+1) or back (−1) was asked for by key.
    void stepWanted(int direction);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] const NowEvent* eventAt(double y) const;
    [[nodiscard]] std::vector<std::pair<QString, std::int64_t>> spanRows() const;
    [[nodiscard]] double largest() const;
    void changed();
    void paintEvents(QPainter& painter, const Theme& theme) const;
    double paintRelevance(QPainter& painter, const Theme& theme, double top) const;
    double paintSpan(QPainter& painter, const Theme& theme, double top) const;
    double paintHeading(QPainter& painter, const Theme& theme, double top, const QString& text) const;
    double paintParagraph(QPainter& painter, const Theme& theme, double top, const QString& text, bool isFigure) const;

    std::vector<NowEvent> m_events;
    NowRelevance m_relevance;
    std::optional<NowSpan> m_span;
};

} // namespace retro::views
