// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/logdialog.h"

#include "app/gui/shell/logfile.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QGuiApplication>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextDocumentFragment>
#include <QUrl>
#include <QVBoxLayout>

namespace retro::app
{

namespace
{

/// Lines that are kept on screen; the file has more.
constexpr int kMostLines = 20'000;

} // namespace

LogDialog::LogDialog(LogFile* log, QWidget* parent) : QDialog(parent)
{
    using views::fonts::px;
    setWindowTitle(tr("Log"));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(px(860), px(480));
    m_text = new QPlainTextEdit(this);
    m_text->setReadOnly(true);
    m_text->setAccessibleName(tr("Log"));
    m_text->setFont(views::fonts::numbers());
    m_text->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_text->setMaximumBlockCount(kMostLines);
    auto* place = new QLabel(log != nullptr ? log->path() : tr("No log is kept by this window."), this);
    place->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    auto* folder = buttons->addButton(tr("Open folder"), QDialogButtonBox::ActionRole);
    folder->setIcon(views::icons::icon(QStringLiteral("open")));
    auto* copies = buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole);
    copies->setIcon(views::icons::icon(QStringLiteral("copy")));
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(copies, &QPushButton::clicked, this, &LogDialog::copy);
    folder->setEnabled(log != nullptr && QFileInfo::exists(QFileInfo(log->path()).path()));
    auto* column = new QVBoxLayout(this);
    column->addWidget(place);
    column->addWidget(m_text, 1);
    column->addWidget(buttons);
    if (log == nullptr) {
        return;
    }
    connect(folder, &QPushButton::clicked, this,
            [path = log->path()] { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).path())); });
    connect(log, &LogFile::written, this, &LogDialog::add, Qt::QueuedConnection);
    m_text->setPlainText(log->text().trimmed());
    m_text->moveCursor(QTextCursor::End);
}

QString LogDialog::text() const { return m_text->toPlainText(); }

void LogDialog::copy() const
{
    const QTextCursor cursor = m_text->textCursor();
    QGuiApplication::clipboard()->setText(cursor.hasSelection() ? cursor.selection().toPlainText() : text());
}

void LogDialog::add(const QString& line) { m_text->appendPlainText(line); }

} // namespace retro::app

#include "moc_logdialog.cpp"
