// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>
#include <QTextBrowser>

class QToolButton;

namespace retro::app
{

/// A page of the documentation with its pictures, which are never wider than the page and come in the present colours
/// where there are both. GUI thread.
class HelpBrowser final : public QTextBrowser
{
    Q_OBJECT

public:
    explicit HelpBrowser(QWidget* parent = nullptr);

    /// Shows a page about a view: "graph".
    void showPage(const QString& page);
    /// Title of the page: its first heading.
    [[nodiscard]] QString title() const;

protected:
    void doSetSource(const QUrl& url, QTextDocument::ResourceType type) override;
    QVariant loadResource(int type, const QUrl& url) override;

private:
    void breakCode();
    void scrollTo(const QString& anchor);
};

/// The documentation inside the program, open at the page of one view. Links lead to other pages; what lies on the web
/// opens in the desktop's browser. GUI thread.
class HelpDialog final : public QDialog
{
    Q_OBJECT

public:
    explicit HelpDialog(QWidget* parent = nullptr);
    void showPage(const QString& page) { m_browser->showPage(page); }
    [[nodiscard]] HelpBrowser& browser() const { return *m_browser; }

private:
    QToolButton* makeButton(const QString& icon, const QString& text);
    HelpBrowser* m_browser = nullptr;
};

} // namespace retro::app
