// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/preferencesdialog.h"

#include "app/gui/shell/keyspage.h"
#include "app/gui/shell/preferences.h"
#include "core/base/memorylimit.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QTabWidget>
#include <QVBoxLayout>

#include <cmath>

namespace retro::app
{

using views::fonts::px;

PreferencesDialog::PreferencesDialog(views::ActionRegistry& actions, Preferences& preferences, QWidget* parent)
    : QDialog(parent), m_preferences(preferences)
{
    setWindowTitle(tr("Preferences"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* tabs = new QTabWidget(this);
    tabs->setDocumentMode(true);
    tabs->addTab(makeLooks(), tr("Looks"));
    tabs->addTab(new KeysPage(actions, preferences, tabs), tr("Keys"));
    tabs->addTab(makeComputing(), tr("Computing"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, px(8));
    column->addWidget(tabs, 1);
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(px(16), 0, px(16), 0);
    foot->addWidget(buttons);
    column->addLayout(foot);
    resize(px(640), px(560));
}

QWidget* PreferencesDialog::makeLooks()
{
    auto* page = new QWidget(this);
    auto* form = new QFormLayout(page);
    form->setContentsMargins(px(16), px(18), px(16), px(8));
    form->setHorizontalSpacing(px(20));
    form->setVerticalSpacing(px(12));
    addTheme(*form);
    addTextSize(*form);
    auto* hints = new QCheckBox(tr("Say in one sentence what each pane shows"), page);
    hints->setToolTip(tr("The line under the name of a pane"));
    hints->setChecked(m_preferences.settings().hasHints);
    connect(hints, &QCheckBox::toggled, &m_preferences, &Preferences::setHints);
    form->addRow(tr("Sentences"), hints);
    auto* motion = new QCheckBox(tr("Nothing moves by itself"), page);
    motion->setToolTip(tr("What would glide or pulse is shown at its end at once; playing a run goes on"));
    motion->setChecked(m_preferences.settings().isMotionReduced);
    connect(motion, &QCheckBox::toggled, &m_preferences, &Preferences::setMotionReduced);
    form->addRow(tr("Reduced motion"), motion);
    return page;
}

QWidget* PreferencesDialog::makeComputing()
{
    auto* page = new QWidget(this);
    auto* form = new QFormLayout(page);
    form->setContentsMargins(px(16), px(18), px(16), px(8));
    form->setHorizontalSpacing(px(20));
    form->setVerticalSpacing(px(12));
    auto* memory = new QLineEdit(m_preferences.settings().memory, page);
    memory->setObjectName(QStringLiteral("memory"));
    memory->setAccessibleName(tr("Memory for tensors"));
    memory->setPlaceholderText(tr("%1 % of the machine").arg(base::MemoryLimit::kUsualPercent));
    memory->setToolTip(tr("A size such as 8GB or 1.5GiB, or a share of the machine's memory such as 50%. What needs "
                          "more is refused before it is computed. Empty: %1 %.")
                           .arg(base::MemoryLimit::kUsualPercent));
    auto* note = new QLabel(page);
    note->setObjectName(QStringLiteral("memoryNote"));
    note->setWordWrap(true);
    const auto tell = [this, memory, note] {
        const bool isTaken = memory->text().trimmed() == m_preferences.settings().memory;
        note->setText(isTaken ? tr("Tensors may take %1.")
                                    .arg(views::bytesText(static_cast<std::int64_t>(base::MemoryLimit::bytes())))
                              : tr("This is no size. Write one such as 8GB or 1.5GiB, or a share such as 50%."));
    };
    connect(memory, &QLineEdit::editingFinished, this, [this, memory, tell] {
        static_cast<void>(m_preferences.setMemory(memory->text()));
        tell();
    });
    tell();
    form->addRow(tr("Memory for tensors"), memory);
    form->addRow(QString(), note);
    return page;
}

void PreferencesDialog::addTheme(QFormLayout& form)
{
    auto* theme = new QComboBox(this);
    theme->addItems({tr("As the desktop"), tr("Light"), tr("Dark")});
    theme->setCurrentIndex(static_cast<int>(m_preferences.settings().theme));
    theme->setAccessibleName(tr("Colours"));
    theme->setToolTip(tr("Light or dark"));
    connect(theme, &QComboBox::activated, this,
            [this](int index) { m_preferences.setTheme(static_cast<views::ThemeChoice>(index)); });
    connect(&m_preferences, &Preferences::changed, theme,
            [this, theme] { theme->setCurrentIndex(static_cast<int>(m_preferences.settings().theme)); });
    form.addRow(tr("Colours"), theme);
}

void PreferencesDialog::addTextSize(QFormLayout& form)
{
    auto* size = new QComboBox(this);
    for (const int percent : Settings::kTextPercents) {
        size->addItem(tr("%1 %").arg(percent), percent);
    }
    const int now = static_cast<int>(std::lround(m_preferences.settings().fontScale * 100));
    size->setCurrentIndex(size->findData(now));
    size->setAccessibleName(tr("Size of the text"));
    size->setToolTip(tr("100 % is 13 pixels"));
    connect(size, &QComboBox::activated, this,
            [this, size] { m_preferences.setFontScale(size->currentData().toInt() / 100.0); });
    form.addRow(tr("Size of the text"), size);
}

} // namespace retro::app

#include "moc_preferencesdialog.cpp"
