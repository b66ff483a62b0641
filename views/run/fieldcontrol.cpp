// SPDX-License-Identifier: Apache-2.0
#include "views/run/fieldcontrol.h"

#include "views/common/stringlist.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QLineEdit>

namespace retro::views
{

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
    } else if (auto* tick = qobject_cast<QCheckBox*>(&control)) {
        const QSignalBlocker quiet(tick);
        tick->setChecked(!texts.empty());
    }
}

std::vector<std::string> textsIn(const QWidget& control)
{
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
