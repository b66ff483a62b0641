// SPDX-License-Identifier: Apache-2.0
#include "views/run/fieldcontrol.h"

#include "views/common/paint/fonts.h"
#include "views/common/stringlist.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTimer>

namespace retro::views
{

namespace
{

constexpr double kLongHeight = 74; // design pixels: three lines
constexpr int kRestMilliseconds = 400;

} // namespace

QString text(std::string_view utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }

QString translated(std::string_view words)
{
    return QCoreApplication::translate("Question", std::string(words).c_str());
}

QWidget* makeControl(const engine::QuestionField& field, QWidget& parent, std::function<void()> changed)
{
    if (std::holds_alternative<bool engine::Question::*>(field.member)) {
        auto* box = new QCheckBox(&parent);
        QObject::connect(box, &QCheckBox::toggled, &parent, std::move(changed));
        return box;
    }
    if (field.isLong) {
        auto* page = new QPlainTextEdit(&parent);
        page->setTabChangesFocus(true);
        page->setFixedHeight(fonts::px(kLongHeight));
        auto* pause = new QTimer(page); // what is asked is looked at when the typing rests
        pause->setSingleShot(true);
        pause->setInterval(kRestMilliseconds);
        QObject::connect(page, &QPlainTextEdit::textChanged, pause, qOverload<>(&QTimer::start));
        QObject::connect(pause, &QTimer::timeout, &parent, std::move(changed));
        return page;
    }
    if (field.choices.empty()) {
        auto* line = new QLineEdit(&parent);
        QObject::connect(line, &QLineEdit::editingFinished, &parent, std::move(changed));
        return line;
    }
    auto* box = new QComboBox(&parent);
    for (const engine::FieldChoice& choice : field.choices) {
        box->addItem(translated(choice.title.empty() ? choice.text : choice.title), text(choice.text));
    }
    QObject::connect(box, &QComboBox::activated, &parent, std::move(changed));
    return box;
}

void showTexts(const std::vector<std::string>& texts, QWidget& control)
{
    if (auto* box = qobject_cast<QComboBox*>(&control)) {
        const int at = texts.empty() ? -1 : box->findData(text(texts.front()));
        box->setCurrentIndex(at < 0 ? box->currentIndex() : at);
    } else if (auto* line = qobject_cast<QLineEdit*>(&control)) {
        line->setText(stringList(texts).join(QLatin1Char(' ')));
    } else if (auto* page = qobject_cast<QPlainTextEdit*>(&control)) {
        const QString wanted = texts.empty() ? QString() : text(texts.front());
        if (page->toPlainText() != wanted) { // the place of the caret stays
            const QSignalBlocker quiet(page);
            page->setPlainText(wanted);
        }
    } else if (auto* tick = qobject_cast<QCheckBox*>(&control)) {
        const QSignalBlocker quiet(tick);
        tick->setChecked(!texts.empty());
    }
}

std::vector<std::string> textsIn(const engine::QuestionField& field, const QWidget& control)
{
    const auto whole = [](const QString& written) {
        return written.isEmpty() ? std::vector<std::string>() : std::vector<std::string>{written.toStdString()};
    };
    if (const auto* page = qobject_cast<const QPlainTextEdit*>(&control)) {
        return whole(page->toPlainText());
    }
    if (const auto* line = qobject_cast<const QLineEdit*>(&control); line != nullptr && field.isOfTexts) {
        return whole(line->text()); // a word may begin with a space
    }
    if (const auto* box = qobject_cast<const QComboBox*>(&control)) {
        return {box->currentData().toString().toStdString()};
    }
    if (const auto* line = qobject_cast<const QLineEdit*>(&control)) {
        return textsOf(line->text().split(QLatin1Char(' '), Qt::SkipEmptyParts));
    }
    const auto* tick = qobject_cast<const QCheckBox*>(&control);
    return tick != nullptr && tick->isChecked() ? std::vector<std::string>{"on"} : std::vector<std::string>();
}

} // namespace retro::views
