// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/pagefile.h"

#include "core/base/file.h"
#include "core/base/memoryend.h"
#include "core/base/visibletext.h"
#include "views/common/paint/svgdrawing.h"

#include <QStringList>

#include <algorithm>
#include <cstddef>
#include <span>

namespace retro::views
{

namespace
{

QString visibleOf(const QString& text) { return QString::fromStdString(base::visibleText(text.toStdString())); }

/// Fields of a line of comma-separated values; "" inside quotes is one.
QStringList fieldsOf(const QString& line)
{
    QStringList fields{QString()};
    bool isQuoted = false;
    for (qsizetype i = 0; i < line.size(); ++i) {
        const bool isQuote = line[i] == QLatin1Char('"');
        if (isQuote && isQuoted && i + 1 < line.size() && line[i + 1] == QLatin1Char('"')) {
            fields.last() += line[i++];
        } else if (isQuote) {
            isQuoted = !isQuoted;
        } else if (line[i] == QLatin1Char(',') && !isQuoted) {
            fields.append(QString());
        } else {
            fields.last() += line[i];
        }
    }
    return fields;
}

QString tableOf(const std::string& table)
{
    constexpr qsizetype kMostRows = 5000; // a page of a whole tensor would not open
    const QStringList lines = QString::fromStdString(table).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    QString rows;
    for (qsizetype i = 0; i < std::min(lines.size(), kMostRows); ++i) {
        const QString cell = i == 0 ? QStringLiteral("th") : QStringLiteral("td");
        rows += QStringLiteral("<tr>");
        for (const QString& field : fieldsOf(lines[i])) {
            rows += QStringLiteral("<%1>%2</%1>").arg(cell, visibleOf(field).toHtmlEscaped());
        }
        rows += QStringLiteral("</tr>\n");
    }
    if (lines.size() > kMostRows) {
        rows += QStringLiteral("<tr><td>%1 more rows</td></tr>\n").arg(lines.size() - kMostRows);
    }
    return rows.isEmpty() ? QString() : QStringLiteral("<table>\n%1</table>\n").arg(rows);
}

QByteArray htmlBytes(const QSizeF& size, const std::function<void(QPainter&)>& paint, const QString& title,
                     const PictureTexts& texts, const std::string& table)
{
    const QByteArray svg = svgDrawing(size, paint, title, texts);
    QString facts;
    for (const auto& [key, text] : texts) {
        facts += QStringLiteral("<tr><th>%1</th><td>%2</td></tr>\n")
                     .arg(visibleOf(QString::fromStdString(key)).toHtmlEscaped(),
                          visibleOf(QString::fromStdString(text)).toHtmlEscaped());
    }
    QByteArray page = QStringLiteral("<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>%1</title>\n"
                                     "<style>body{font-family:sans-serif;margin:24px;color:#1f2430;background:#fff}"
                                     "svg{max-width:100%;height:auto}table{border-collapse:collapse;margin-top:16px;"
                                     "font-size:13px}td,th{text-align:left;padding:2px 12px 2px 0;vertical-align:top}"
                                     "</style></head>\n<body><h1>%1</h1>\n")
                          .arg(visibleOf(title).toHtmlEscaped())
                          .toUtf8();
    page += svg.mid(std::max<qsizetype>(0, svg.indexOf("<svg"))); // the page has a head of its own
    page += QStringLiteral("\n<table>\n%1</table>\n%2</body></html>\n").arg(facts, tableOf(table)).toUtf8();
    return page;
}

} // namespace

base::Result<void> paintPage(const std::filesystem::path& path, const QSizeF& size,
                             const std::function<void(QPainter&)>& paint, const QString& title,
                             const PictureTexts& texts, double pngScale, const std::string& table)
{
    if (QString::fromStdString(path.extension().string()).toLower() != QLatin1String(".html")) {
        return paintToFile(path, size, paint, title, texts, pngScale);
    }
    const base::MemoryWatch memory;
    const QByteArray bytes = htmlBytes(size, paint, title, texts, table);
    RETRO_CHECK(memory.check(path.string()));
    return base::writeFile(path, std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))));
}

} // namespace retro::views
