// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/icons.h"

#include "views/common/paint/theme.h"

#include <QDir>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QSvgRenderer>

#include <algorithm>

// Resources of a static library are only linked in when somebody asks for them by name, outside any namespace.
static void loadResources() { Q_INIT_RESOURCE(retrograde); }

namespace retro::views::icons
{

namespace
{

const QString kFolder = QStringLiteral(":/retrograde/icons/");

QByteArray drawing(const QString& name)
{
    static const bool isLoaded = (loadResources(), true);
    Q_UNUSED(isLoaded);
    QFile file(kFolder + name + QStringLiteral(".svg"));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void paintDrawing(QPainter& painter, const QRectF& box, const QByteArray& svg, const QColor& color)
{
    QByteArray tinted = svg;
    tinted.replace("currentColor", color.name().toLatin1());
    QSvgRenderer renderer(tinted);
    renderer.render(&painter, box);
}

QPixmap blank(int pixels, double deviceRatio)
{
    QPixmap pixmap(QSize(pixels, pixels) * deviceRatio);
    pixmap.setDevicePixelRatio(deviceRatio);
    pixmap.fill(Qt::transparent);
    return pixmap;
}

// Asks the theme each time it paints, so that one QIcon serves both themes.
class TintedEngine final : public QIconEngine
{
public:
    explicit TintedEngine(QByteArray svg) : m_svg(std::move(svg)) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State /*state*/) override
    {
        const Theme& colors = theme();
        const QColor& color = mode == QIcon::Disabled ? colors[Role::Ghost] : colors[Role::Text];
        const int side = std::min(rect.width(), rect.height());
        const QRectF square(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2, side, side);
        paintDrawing(*painter, square, m_svg, color);
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override
    {
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixmap;
    }

    [[nodiscard]] QIconEngine* clone() const override { return new TintedEngine(m_svg); }

private:
    QByteArray m_svg;
};

QPixmap logoIn(int pixels, double deviceRatio, const Theme& colors)
{
    QByteArray svg = drawing(QStringLiteral("logo"));
    svg.replace("#BF6A00", colors[Role::SearchLine].name().toLatin1());
    if (pixels < 24) {
        // The gap between the tail and the arrow closes at small sizes: the tail starts 10° later (190° on the circle).
        svg.replace("M10 34A", "M10.33 37.82A");
    }
    QPixmap pixmap = blank(pixels, deviceRatio);
    QPainter painter(&pixmap);
    paintDrawing(painter, QRectF(0, 0, pixels, pixels), svg, colors[Role::Accent]);
    return pixmap;
}

} // namespace

QStringList names()
{
    loadResources();
    QStringList all = QDir(kFolder).entryList({QStringLiteral("*.svg")}, QDir::Files, QDir::Name);
    for (QString& name : all) {
        name.chop(4);
    }
    return all;
}

QIcon icon(const QString& name)
{
    const QByteArray svg = drawing(name);
    return svg.isEmpty() ? QIcon() : QIcon(new TintedEngine(svg));
}

QPixmap pixmap(const QString& name, int pixels, const QColor& color, double deviceRatio)
{
    QPixmap made = blank(pixels, deviceRatio);
    QPainter painter(&made);
    paintDrawing(painter, QRectF(0, 0, pixels, pixels), drawing(name), color);
    return made;
}

QPixmap logo(int pixels, double deviceRatio) { return logoIn(pixels, deviceRatio, theme()); }

QIcon windowIcon()
{
    QIcon icon;
    for (const int pixels : {16, 22, 24, 32, 48, 64, 128, 256}) {
        icon.addPixmap(logoIn(pixels, 1, Theme::of(ThemeKind::Light)));
    }
    return icon;
}

} // namespace retro::views::icons
