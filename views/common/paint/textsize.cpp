// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/textsize.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QAbstractButton>
#include <QApplication>
#include <QBoxLayout>
#include <QEvent>
#include <QFormLayout>
#include <QGridLayout>
#include <QHeaderView>
#include <QLayout>
#include <QLineEdit>
#include <QPointF>
#include <QPointer>
#include <QStyle>
#include <QVariant>
#include <QWidget>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace retro::views
{

namespace
{

/// The design length behind `now` pixels at a scale: of those that come out as `now`, one of the grid of 4, else of 2,
/// else a whole one, else what it is.
double designOf(int now, double scale)
{
    const double exact = now / scale;
    for (const int grid : {4, 2, 1}) {
        const double design = std::round(exact / grid) * grid;
        if (std::lround(design * scale) == now) {
            return design;
        }
    }
    return exact;
}

/// The same of a font; content, labels and figures come first, whatever else the rounding allows.
double fontDesignOf(int now, double scale)
{
    for (const double design : {13.0, 12.0, 11.0}) {
        if (std::lround(design * scale) == now) {
            return design;
        }
    }
    return designOf(now, scale);
}

/// Turns lengths of one text size into those of another. Keeps with each object what length of the design stands behind
/// a number, so that going there and back ends at the same pixels.
class Rescaler
{
public:
    Rescaler(double from, double to) : m_from(from), m_to(to) {}

    /// The new length for `now`, which is called `name` in its object. Nothing, "unset" (< 0) and hairlines stay.
    [[nodiscard]] int length(QObject& of, const char* name, int now, double (*designAt)(int, double) = designOf) const
    {
        if (now <= 1) {
            return now;
        }
        const QByteArray property = QByteArrayLiteral("retroDesign.") + name;
        const QPointF kept = of.property(property).toPointF(); // design length, pixels that it was set to
        const double design = static_cast<int>(kept.y()) == now ? kept.x() : designAt(now, m_from);
        const int set = std::max(1, static_cast<int>(std::lround(design * m_to)));
        of.setProperty(property, QPointF(design, set));
        return set;
    }

    [[nodiscard]] QMargins margins(QObject& of, const char* name, const QMargins& now) const
    {
        const QByteArray side(name);
        return {length(of, side + ".l", now.left()), length(of, side + ".t", now.top()),
                length(of, side + ".r", now.right()), length(of, side + ".b", now.bottom())};
    }

private:
    double m_from;
    double m_to;
};

void rescaleFont(const Rescaler& scale, QWidget& widget)
{
    if (!widget.testAttribute(Qt::WA_SetFont) || widget.font().pixelSize() <= 0) {
        return;
    }
    QFont font = widget.font();
    font.setPixelSize(scale.length(widget, "font", font.pixelSize(), fontDesignOf));
    widget.setFont(font);
}

void rescaleSize(const Rescaler& scale, QWidget& widget)
{
    if (widget.isWindow() || widget.inherits("QDockWidget")) {
        return; // the layout inside sets the least size and goes on doing so
    }
    const auto most = [&](const char* name, int now) {
        return now >= QWIDGETSIZE_MAX ? now : scale.length(widget, name, now);
    };
    const QSize least(scale.length(widget, "minw", widget.minimumWidth()),
                      scale.length(widget, "minh", widget.minimumHeight()));
    const QSize greatest(most("maxw", widget.maximumWidth()), most("maxh", widget.maximumHeight()));
    if (least != widget.minimumSize() || greatest != widget.maximumSize()) {
        widget.setMaximumSize(QSize(QWIDGETSIZE_MAX, QWIDGETSIZE_MAX));
        widget.setMinimumSize(least);
        widget.setMaximumSize(greatest);
    }
    const QMargins margins = widget.contentsMargins();
    if (!margins.isNull() && qobject_cast<QLineEdit*>(&widget) == nullptr) {
        widget.setContentsMargins(scale.margins(widget, "margins", margins));
    }
}

/// The least size that a header works out from its font; what differs from it was set.
int ownLeastSize(const QHeaderView& header)
{
    const QFontMetrics metrics = header.fontMetrics();
    const int margin = 2 * header.style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, &header);
    return margin + (header.orientation() == Qt::Horizontal ? metrics.maxWidth() : metrics.height());
}

/// Before the header's font changes: its own least size follows from that.
void rescaleHeader(const Rescaler& scale, QHeaderView& header)
{
    if (header.minimumSectionSize() != ownLeastSize(header)) {
        header.setMinimumSectionSize(scale.length(header, "least", header.minimumSectionSize()));
    }
    const bool isRows = header.orientation() == Qt::Vertical;
    const int usual = header.defaultSectionSize();
    const auto ownUsual =
        isRows ? QStyle::PM_HeaderDefaultSectionSizeVertical : QStyle::PM_HeaderDefaultSectionSizeHorizontal;
    const bool isOwn = usual == header.style()->pixelMetric(ownUsual, nullptr, &header);
    if (!isOwn) {
        header.setDefaultSectionSize(scale.length(header, "usual", usual));
    }
    const int own = header.count() - (header.stretchLastSection() ? 1 : 0);
    for (int i = 0; !isRows && i < own; ++i) { // rows have the usual height
        const bool isFree = header.sectionResizeMode(i) != QHeaderView::Stretch && header.sectionSize(i) != usual;
        if (isFree) {
            header.resizeSection(
                i, scale.length(header, QByteArrayLiteral("section.") + QByteArray::number(i), header.sectionSize(i)));
        }
    }
}

void rescaleSpacers(const Rescaler& scale, QBoxLayout& box)
{
    const bool isRow = box.direction() == QBoxLayout::LeftToRight || box.direction() == QBoxLayout::RightToLeft;
    for (int i = 0; i < box.count(); ++i) {
        QSpacerItem* spacer = box.itemAt(i)->spacerItem();
        if (spacer == nullptr || spacer->sizeHint().isNull()) {
            continue;
        }
        const QByteArray name = QByteArrayLiteral("spacer.") + QByteArray::number(i);
        const int now = isRow ? spacer->sizeHint().width() : spacer->sizeHint().height();
        const int length = scale.length(box, name, now);
        isRow ? spacer->changeSize(length, 0, QSizePolicy::Fixed, QSizePolicy::Minimum)
              : spacer->changeSize(0, length, QSizePolicy::Minimum, QSizePolicy::Fixed);
    }
}

void rescaleColumns(const Rescaler& scale, QGridLayout& grid)
{
    for (int i = 0; i < grid.columnCount(); ++i) {
        const QByteArray name = QByteArrayLiteral("column.") + QByteArray::number(i);
        grid.setColumnMinimumWidth(i, scale.length(grid, name, grid.columnMinimumWidth(i)));
    }
}

void rescaleLayout(const Rescaler& scale, QLayout& layout)
{
    layout.setContentsMargins(scale.margins(layout, "margins", layout.contentsMargins()));
    if (auto* box = qobject_cast<QBoxLayout*>(&layout)) {
        box->setSpacing(scale.length(*box, "gap", box->spacing()));
        rescaleSpacers(scale, *box);
    } else if (auto* grid = qobject_cast<QGridLayout*>(&layout)) {
        rescaleColumns(scale, *grid);
        grid->setHorizontalSpacing(scale.length(*grid, "hgap", grid->horizontalSpacing()));
        grid->setVerticalSpacing(scale.length(*grid, "vgap", grid->verticalSpacing()));
    } else if (auto* form = qobject_cast<QFormLayout*>(&layout)) {
        form->setHorizontalSpacing(scale.length(*form, "hgap", form->horizontalSpacing()));
        form->setVerticalSpacing(scale.length(*form, "vgap", form->verticalSpacing()));
    } else if (layout.spacing() > 0) {
        layout.setSpacing(scale.length(layout, "gap", layout.spacing()));
    }
    layout.invalidate();
}

void rescale(const Rescaler& scale, QWidget& widget)
{
    if (auto* header = qobject_cast<QHeaderView*>(&widget)) {
        rescaleHeader(scale, *header);
    }
    rescaleFont(scale, widget);
    rescaleSize(scale, widget);
    if (auto* button = qobject_cast<QAbstractButton*>(&widget)) {
        const int side = scale.length(*button, "icon", button->iconSize().width());
        button->setIconSize(QSize(side, side));
    }
    if (auto* edit = qobject_cast<QLineEdit*>(&widget)) {
        edit->setTextMargins(scale.margins(*edit, "text", edit->textMargins()));
    }
    // A layout that the style or Qt made for itself (of main windows and tool bars) reads its lengths from the style.
    const bool isOwn = widget.layout() != nullptr && !widget.inherits("QMainWindow") && !widget.inherits("QToolBar") &&
                       !widget.inherits("QDockWidget");
    if (isOwn) {
        rescaleLayout(scale, *widget.layout());
        for (QLayout* inner : widget.layout()->findChildren<QLayout*>()) {
            rescaleLayout(scale, *inner);
        }
    }
}

/// The style has other lengths now; widgets keep what they have read of it.
void tellStyle(QWidget& widget)
{
    QEvent event(QEvent::StyleChange);
    QCoreApplication::sendEvent(&widget, &event);
    widget.updateGeometry();
    widget.update();
}

int depthOf(const QWidget& widget)
{
    int depth = 0;
    for (const QWidget* up = widget.parentWidget(); up != nullptr; up = up->parentWidget()) {
        ++depth;
    }
    return depth;
}

/// Every layout works out anew how much room it needs, inner ones first. Those that nobody sees too: tabs that lie
/// behind others decide about the least size of their pane.
void settle(const QList<QPointer<QWidget>>& all)
{
    std::multimap<int, QPointer<QWidget>, std::greater<>> byDepth;
    for (const QPointer<QWidget>& widget : all) {
        if (widget && widget->layout() != nullptr) {
            byDepth.emplace(depthOf(*widget), widget);
        }
    }
    for (const auto& [depth, widget] : byDepth) {
        if (widget && widget->layout() != nullptr) {
            widget->layout()->invalidate();
            widget->layout()->activate();
        }
    }
}

} // namespace

void setTextSize(double scale)
{
    const double before = fonts::scale();
    const double usual = std::round(fonts::content().pixelSize() / before);
    const double now = std::max(8.0, std::round(usual * scale)) / usual; // as fonts::install(): whole pixels
    if (before == now) {
        return;
    }
    // While style and fonts still have the old lengths: what a widget has from them is turned into new ones too.
    const Rescaler rescaler(before, now);
    QList<QPointer<QWidget>> all; // Qt makes and drops some of its own while lengths change
    for (QWidget* widget : QApplication::allWidgets()) {
        all.append(widget);
    }
    for (const QPointer<QWidget>& widget : all) {
        if (widget) {
            rescale(rescaler, *widget);
        }
    }
    fonts::install(scale);
    QApplication::setFont(QGuiApplication::font()); // tells every widget that has no font of its own, by posted events
    QCoreApplication::sendPostedEvents(nullptr, QEvent::ApplicationFontChange);
    for (const QPointer<QWidget>& widget : all) {
        if (widget) {
            tellStyle(*widget);
        }
    }
    settle(all);
    emit ThemeHub::instance().changed(); // what is painted has other lengths: every view paints anew
}

} // namespace retro::views
