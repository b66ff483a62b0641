// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace retro::app
{

/// Puts a page of HTML together: every text that is given is escaped here and nowhere else. The page is well-formed
/// XML.
class ReportPage
{
public:
    explicit ReportPage(const QString& title);

    void addHeading(const QString& text);
    void addParagraph(const QString& text);
    /// Names and what they are.
    void addFacts(const QList<QPair<QString, QString>>& facts);
    /// A table; columns whose name begins with '#' hold figures.
    void addTable(const QStringList& columns, const QList<QStringList>& rows);
    /// A picture in the file itself (`type`: "image/png"); `dark` is for dark screens, empty = the same.
    void addPicture(const QString& words, const QString& type, const QByteArray& light, const QByteArray& dark = {});
    /// The whole page; nothing may be added after it.
    [[nodiscard]] QString take();

private:
    QString m_html;
};

} // namespace retro::app
