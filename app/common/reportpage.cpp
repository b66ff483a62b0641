// SPDX-License-Identifier: Apache-2.0
#include "app/common/reportpage.h"

#include "app/common/report.h"
#include "views/common/paint/theme.h"

namespace retro::app
{

namespace
{

using views::Role;
using views::Theme;
using views::ThemeKind;

/// Colours of a theme as variables of CSS.
QString variables(ThemeKind kind)
{
    constexpr std::pair<const char*, Role> kUsed[] = {{"base", Role::Base},   {"text", Role::Text},
                                                      {"text2", Role::Text2}, {"line", Role::Line},
                                                      {"alt", Role::Alt},     {"accent", Role::Accent}};
    QString css;
    for (const auto& [name, role] : kUsed) {
        css += QStringLiteral("--%1:%2;").arg(QLatin1String(name), Theme::of(kind)[role].name());
    }
    return css;
}

QString styleSheet()
{
    return QStringLiteral(":root{color-scheme:light dark;") + variables(ThemeKind::Light) +
           QStringLiteral("}\n@media screen and (prefers-color-scheme: dark){:root{") + variables(ThemeKind::Dark) +
           QStringLiteral(R"(}}
body{font:15px/1.5 Inter,"Noto Sans","DejaVu Sans",sans-serif;color:var(--text);background:var(--base);max-width:1080px;margin:32px auto;padding:0 24px}
h1{font-size:26px;line-height:1.2;margin:0 0 16px;overflow-wrap:anywhere}
h2{font-size:18px;margin:36px 0 8px;padding-top:12px;border-top:1px solid var(--line)}
p{margin:8px 0;color:var(--text2)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;margin:8px 0}
th,td{text-align:left;vertical-align:top;padding:4px 16px 4px 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
thead th,tbody th{color:var(--text2);font-weight:500;white-space:nowrap}
.n{text-align:right;white-space:nowrap;font-family:"JetBrains Mono","DejaVu Sans Mono",monospace;font-size:12px}
figure{margin:8px 0}
figure img{display:block;max-width:100%;height:auto}
.paper{background:)") +
           Theme::of(ThemeKind::Light)[Role::Base].name() + QStringLiteral(R"(;width:fit-content;max-width:100%}
@media print{body{margin:0;max-width:none;padding:0}h2{break-after:avoid}figure,tr{break-inside:avoid}.wide{overflow:visible}}
)");
}

QString dataUri(const QString& type, const QByteArray& data)
{
    return QStringLiteral("data:") + type + QStringLiteral(";base64,") + QString::fromLatin1(data.toBase64());
}

} // namespace

ReportPage::ReportPage(const QString& title)
{
    m_html =
        QStringLiteral("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; img-src "
                       "data:; style-src &#39;unsafe-inline&#39;\" />\n<title>") +
        htmlText(title) + QStringLiteral("</title>\n<style>\n") + styleSheet() +
        QStringLiteral("</style>\n</head>\n<body>\n<main>\n<h1>") + htmlText(title) + QStringLiteral("</h1>\n");
}

void ReportPage::addHeading(const QString& text)
{
    m_html += QStringLiteral("<h2>") + htmlText(text) + QStringLiteral("</h2>\n");
}

void ReportPage::addParagraph(const QString& text)
{
    m_html += QStringLiteral("<p>") + htmlText(text) + QStringLiteral("</p>\n");
}

void ReportPage::addFacts(const QList<QPair<QString, QString>>& facts)
{
    m_html += QStringLiteral("<table>\n<tbody>\n");
    for (const auto& [name, text] : facts) {
        m_html += QStringLiteral("<tr><th scope=\"row\">") + htmlText(name) + QStringLiteral("</th><td>") +
                  htmlText(text) + QStringLiteral("</td></tr>\n");
    }
    m_html += QStringLiteral("</tbody>\n</table>\n");
}

void ReportPage::addTable(const QStringList& columns, const QList<QStringList>& rows)
{
    const auto isFigure = [&](qsizetype column) { return columns.value(column).startsWith(QLatin1Char('#')); };
    m_html += QStringLiteral("<div class=\"wide\">\n<table>\n<thead>\n<tr>");
    for (qsizetype i = 0; i < columns.size(); ++i) {
        m_html += (isFigure(i) ? QStringLiteral("<th scope=\"col\" class=\"n\">") + htmlText(columns[i].mid(1))
                               : QStringLiteral("<th scope=\"col\">") + htmlText(columns[i])) +
                  QStringLiteral("</th>");
    }
    m_html += QStringLiteral("</tr>\n</thead>\n<tbody>\n");
    for (const QStringList& row : rows) {
        m_html += QStringLiteral("<tr>");
        for (qsizetype i = 0; i < row.size(); ++i) {
            m_html += (isFigure(i) ? QStringLiteral("<td class=\"n\">") : QStringLiteral("<td>")) + htmlText(row[i]) +
                      QStringLiteral("</td>");
        }
        m_html += QStringLiteral("</tr>\n");
    }
    m_html += QStringLiteral("</tbody>\n</table>\n</div>\n");
}

void ReportPage::addPicture(const QString& words, const QString& type, const QByteArray& light, const QByteArray& dark)
{
    const QString image = QStringLiteral("<img alt=\"") + htmlText(words) + QStringLiteral("\" src=\"") +
                          dataUri(type, light) + QStringLiteral("\" />");
    m_html += dark.isEmpty() ? QStringLiteral("<figure class=\"paper\">") + image
                             : QStringLiteral("<figure><picture><source media=\"screen and (prefers-color-scheme: "
                                              "dark)\" srcset=\"") +
                                   dataUri(type, dark) + QStringLiteral("\" />") + image + QStringLiteral("</picture>");
    m_html += QStringLiteral("</figure>\n");
}

QString ReportPage::take() { return std::move(m_html) + QStringLiteral("</main>\n</body>\n</html>\n"); }

} // namespace retro::app
