// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"

#include "views/common/paint/style.h"
#include "views/common/view.h"

#include <QApplication>
#include <QDir>
#include <QSet>

namespace retro::tests
{

void installLook()
{
    // For people who want to see the grabs with a larger font: 1.25 and so on.
    const double scale = qEnvironmentVariable("RETRO_FONT_SCALE", QStringLiteral("1")).toDouble();
    views::Style::install(*qApp, scale > 0 ? scale : 1.0);
}

QImage grab(QWidget& widget, const QSize& size, views::ThemeKind kind, const QString& name)
{
    const bool isDark = kind == views::ThemeKind::Dark;
    views::ThemeHub::instance().setChoice(isDark ? views::ThemeChoice::Dark : views::ThemeChoice::Light);
    widget.resize(size);
    widget.show();
    if (auto* view = qobject_cast<views::View*>(&widget)) {
        view->flush();
    }
    for (views::View* view : widget.findChildren<views::View*>()) {
        view->flush();
    }
    QApplication::sendPostedEvents();
    const QImage image = widget.grab().toImage();
    QDir folder(QStringLiteral(RETRO_GRAB_DIR));
    folder.mkpath(QStringLiteral("."));
    image.save(folder.filePath(name + (isDark ? QStringLiteral("-dark.png") : QStringLiteral("-light.png"))));
    return image;
}

int colorCount(const QImage& image)
{
    QSet<QRgb> seen;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            seen.insert(image.pixel(x, y));
        }
    }
    return static_cast<int>(seen.size());
}

bool hasColor(const QImage& image, const QColor& color)
{
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            if ((image.pixel(x, y) & 0xFFFFFF) == (color.rgb() & 0xFFFFFF)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace retro::tests
