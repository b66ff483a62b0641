// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSizeF>
#include <QWidget>

namespace retro::views
{

/// A widget that paints what it shows. It says how large it is in design pixels, and what stands at a place in words.
class DrawnPane : public QWidget
{
public:
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// The tip of the place under the pointer; empty where nothing stands.
    [[nodiscard]] virtual QString tipAt(const QPointF& /*at*/) const { return toolTip(); }

protected:
    /// A size that is left out depends on what is shown: then the pane says it, or any will do.
    explicit DrawnPane(QWidget* parent, const QSizeF& usual = {}, const QSizeF& least = {})
        : QWidget(parent), m_usual(usual), m_least(least)
    {}

    bool event(QEvent* event) override;
    /// The frame of a pane that has the focus.
    void paintFocus(QPainter& painter) const;

private:
    QSizeF m_usual;
    QSizeF m_least;
};

} // namespace retro::views
