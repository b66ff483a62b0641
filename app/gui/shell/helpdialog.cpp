// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/helpdialog.h"

#include "app/gui/shell/helppages.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"

#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QFile>
#include <QHBoxLayout>
#include <QImage>
#include <QTextBlock>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::app
{

using views::fonts::px;

HelpBrowser::HelpBrowser(QWidget* parent) : QTextBrowser(parent)
{
    setOpenLinks(true);
    setOpenExternalLinks(false);
    setFrameShape(QFrame::NoFrame);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);          // pictures are made to fit before the height is known
    setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere); // names of files in tables
    setAccessibleName(tr("Help"));
    document()->setDocumentMargin(px(16));
}

void HelpBrowser::showPage(const QString& page)
{
    setSource(QUrl(QStringLiteral("qrc") + helpFolder() + QStringLiteral("windows/%1.md").arg(page)));
}

QString HelpBrowser::title() const
{
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() > 0) {
            return block.text();
        }
    }
    return {};
}

/// Lines of code break at the edge like any other; Qt keeps them in one piece, which may be wider than the page.
void HelpBrowser::breakCode()
{
    QTextBlockFormat breaking;
    breaking.setNonBreakableLines(false);
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        if (block.blockFormat().nonBreakableLines()) {
            QTextCursor(block).mergeBlockFormat(breaking);
        }
    }
}

/// Headings have no anchors of their own in Qt's reading of Markdown; links name them as the web does.
void HelpBrowser::doSetSource(const QUrl& url, QTextDocument::ResourceType type)
{
    const QUrl whole = source().isEmpty() ? url : source().resolved(url);
    if (whole.scheme() != QLatin1String("qrc")) {
        QDesktopServices::openUrl(whole);
        return;
    }
    if (!QFile::exists(QLatin1Char(':') + whole.path())) {
        return; // a page that is not in the program, such as a script: the page before stays
    }
    const QString anchor = whole.fragment();
    QUrl page = whole;
    page.setFragment({});
    QTextBrowser::doSetSource(page, type == QTextDocument::UnknownResource ? QTextDocument::MarkdownResource : type);
    breakCode();
    scrollTo(anchor);
}

void HelpBrowser::scrollTo(const QString& anchor)
{
    for (QTextBlock block = document()->begin(); !anchor.isEmpty() && block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() > 0 && headingAnchor(block.text()) == anchor) {
            QTextCursor cursor(block);
            moveCursor(QTextCursor::End); // so that the heading comes to the upper edge
            setTextCursor(cursor);
            return;
        }
    }
}

QVariant HelpBrowser::loadResource(int type, const QUrl& url)
{
    if (type != QTextDocument::ImageResource) {
        return QTextBrowser::loadResource(type, url);
    }
    const QString path = QLatin1Char(':') + source().resolved(url).path();
    QString dark = path;
    dark.replace(QStringLiteral("-light.png"), QStringLiteral("-dark.png"));
    const bool isDark = views::theme(this).kind() == views::ThemeKind::Dark;
    const QImage image(isDark && QFile::exists(dark) ? dark : path);
    const int room = std::max(px(240), viewport()->width() - 2 * px(16) - px(4));
    return image.width() > room ? image.scaledToWidth(room, Qt::SmoothTransformation) : image;
}

HelpDialog::HelpDialog(QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Help"));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(px(820), px(680));
    m_browser = new HelpBrowser(this);
    auto* back = makeButton(QStringLiteral("historyback"), tr("Back"));
    auto* forward = makeButton(QStringLiteral("historyforward"), tr("Forward"));
    back->setEnabled(false);
    forward->setEnabled(false);
    connect(back, &QToolButton::clicked, m_browser, &QTextBrowser::backward);
    connect(forward, &QToolButton::clicked, m_browser, &QTextBrowser::forward);
    connect(m_browser, &QTextBrowser::backwardAvailable, back, &QWidget::setEnabled);
    connect(m_browser, &QTextBrowser::forwardAvailable, forward, &QWidget::setEnabled);
    connect(m_browser, &QTextBrowser::sourceChanged, this, [this] {
        const QString title = m_browser->title();
        setWindowTitle(title.isEmpty() ? tr("Help") : tr("%1 – Help").arg(title));
    });
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(px(12), 0, px(12), px(8));
    foot->addWidget(back);
    foot->addWidget(forward);
    foot->addStretch(1);
    foot->addWidget(buttons);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_browser, 1);
    column->addLayout(foot);
    m_browser->setFocus();
}

QToolButton* HelpDialog::makeButton(const QString& icon, const QString& text)
{
    auto* button = new QToolButton(this);
    button->setIcon(views::icons::icon(icon));
    button->setToolTip(text);
    button->setAccessibleName(text);
    return button;
}

} // namespace retro::app

#include "moc_helpdialog.cpp"
