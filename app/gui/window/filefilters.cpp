// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/filefilters.h"

#include "core/formats/modelfile.h"

#include <QCoreApplication>
#include <QFileInfo>

namespace retro::app
{

namespace
{

QString tr(const char* text) { return QCoreApplication::translate("retro::app::MainWindow", text); }

QString textOf(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QStringList endingsOf(const formats::ModelFormat& format)
{
    QStringList endings;
    for (const std::string_view ending : format.endings) {
        endings << textOf(ending);
    }
    return endings;
}

} // namespace

QString filterOf(const QString& title, const QStringList& endings)
{
    return QStringLiteral("%1 (*.%2)").arg(title, endings.join(QStringLiteral(" *.")));
}

QString openFilters()
{
    QStringList each;
    for (const formats::ModelFormat& format : formats::modelFormats()) {
        const QString title = textOf(format.title);
        each << filterOf(title.left(1).toUpper() + title.mid(1), endingsOf(format));
    }
    each << filterOf(tr("Recorded run"), {kRunEnding}) << filterOf(tr("Arrays to compare with"), kArrayEndings)
         << filterOf(tr("Memory snapshot of PyTorch"), kSnapshotEndings);
    each.prepend(filterOf(tr("Models and runs"), modelAndRunEndings() << kArrayEndings << kSnapshotEndings));
    return (each << tr("All files (*)")).join(QStringLiteral(";;"));
}

QStringList modelAndRunEndings()
{
    QStringList endings;
    for (const formats::ModelFormat& format : formats::modelFormats()) {
        endings << endingsOf(format);
    }
    return endings << kRunEnding;
}

bool isModelOrRun(const QString& path)
{
    return QFileInfo(path).suffix().toLower() == kRunEnding || formats::hasModelEnding(path.toStdString());
}

} // namespace retro::app
