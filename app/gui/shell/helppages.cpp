// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/helppages.h"

#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QHash>
#include <QRegularExpression>
#include <QWidget>

/// The resource is in a static library, where nothing registers it by itself. The macro needs the global namespace.
static void registerHelp()
{
    Q_INIT_RESOURCE(help);
    Q_INIT_RESOURCE(samples); // pages link to those of the samples
}

namespace retro::app
{

namespace
{

/// "retro::views::GraphView" → "graph", "retro::app::ExplainWorkspace" → "explain". Pages are called what people read
/// in the window; where a class has another name, it is said here.
QString pageName(const QWidget& widget)
{
    static const QRegularExpression kAround(
        QStringLiteral("^.*::(Command)?|(View|Panel|Page|Workspace|Canvas|Table)$"));
    static const QHash<QString, QString> kOtherNames{{QStringLiteral("history"), QStringLiteral("where")},
                                                     {QStringLiteral("beforeafter"), QStringLiteral("before")},
                                                     {QStringLiteral("blocksize"), QStringLiteral("block")},
                                                     {QStringLiteral("dataflow"), QStringLiteral("flow")},
                                                     {QStringLiteral("detectors"), QStringLiteral("table")},
                                                     {QStringLiteral("frontierchart"), QStringLiteral("frontier")},
                                                     {QStringLiteral("pairmap"), QStringLiteral("map")}};
    const QString name = QString::fromLatin1(widget.metaObject()->className()).remove(kAround).toLower();
    return kOtherNames.value(name, name);
}

} // namespace

QString helpFolder()
{
    static const bool isThere = (registerHelp(), true);
    return isThere ? QStringLiteral(":/help/") : QString();
}

QStringList helpPages()
{
    QStringList names;
    const QDir folder(helpFolder() + QStringLiteral("windows"));
    for (const QString& file : folder.entryList({QStringLiteral("*.md")}, QDir::Files, QDir::Name)) {
        names << QFileInfo(file).completeBaseName();
    }
    return names;
}

QString helpPageOf(const QWidget* widget)
{
    const QStringList pages = helpPages();
    for (const QWidget* at = widget; at != nullptr; at = at->parentWidget()) {
        const auto* dock = qobject_cast<const QDockWidget*>(at);
        const QWidget* content = dock != nullptr ? dock->widget() : at; // its title belongs to its content
        const QString name = content != nullptr ? pageName(*content) : QString();
        if (pages.contains(name)) {
            return name;
        }
    }
    return QStringLiteral("window");
}

QString headingAnchor(const QString& heading)
{
    static const QRegularExpression kOthers(QStringLiteral("[^\\w -]"), QRegularExpression::UseUnicodePropertiesOption);
    return QString(heading).remove(kOthers).toLower().replace(QLatin1Char(' '), QLatin1Char('-'));
}

} // namespace retro::app
