// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/keyspage.h"

#include "app/gui/shell/preferences.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

#include <algorithm>

namespace retro::app
{

using views::ActionRegistry;
using views::fonts::px;

namespace
{

QString native(const QKeySequence& key) { return key.toString(QKeySequence::NativeText); }

/// Whether every action has the key of the scheme, or where that says nothing, the one that it was made with.
bool isInForce(const KeyScheme& scheme, const ActionRegistry& actions)
{
    const std::vector<QAction*> all = actions.all();
    return std::all_of(all.begin(), all.end(), [&](const QAction* action) {
        const auto named = std::find_if(scheme.keys.begin(), scheme.keys.end(),
                                        [&](const auto& entry) { return entry.first == action->objectName(); });
        return action->shortcut() ==
               (named == scheme.keys.end() ? actions.defaultKey(action->objectName()) : named->second);
    });
}

} // namespace

KeysModel::KeysModel(ActionRegistry& actions, QObject* parent)
    : RecordTable({{tr("Action"), [](QAction* action) { return ActionRegistry::plainText(*action); }},
                   {tr("Key"), [](QAction* action) { return native(action->shortcut()); }},
                   {tr("At first"),
                    [this](QAction* action) {
                        return isChanged(*action) ? native(m_actions.defaultKey(action->objectName())) : QString();
                    }}},
                  parent),
      m_actions(actions)
{
    connect(&actions, &ActionRegistry::keyChanged, this, &KeysModel::showKey);
    take();
}

void KeysModel::setFilter(const QString& words)
{
    m_filter = words.trimmed();
    take();
}

void KeysModel::take()
{
    std::vector<QAction*> found;
    for (QAction* action : m_actions.all()) {
        const QString text = ActionRegistry::plainText(*action) + QLatin1Char(' ') + native(action->shortcut());
        if (action->isVisible() && text.contains(m_filter, Qt::CaseInsensitive)) {
            found.push_back(action);
        }
    }
    setRecords(std::move(found));
}

void KeysModel::showKey(const QString& id)
{
    if (const int row = rowWith(&QAction::objectName, id); row >= 0) {
        emit dataChanged(index(row, Key), index(row, First));
    }
}

bool KeysModel::isChanged(const QAction& action) const
{
    return m_actions.defaultKey(action.objectName()) != action.shortcut();
}

QVariant KeysModel::detailOf(int row, int column, int role) const
{
    const QAction& action = *at(row);
    switch (role) {
    case Qt::ToolTipRole:
        return action.statusTip();
    case Qt::FontRole:
        return column == Action
                   ? QVariant()
                   : views::fonts::numbers(column == Key && isChanged(action) ? QFont::DemiBold : QFont::Normal);
    default:
        return {};
    }
}

KeysPage::KeysPage(ActionRegistry& actions, Preferences& preferences, QWidget* parent)
    : QWidget(parent), m_actions(actions), m_preferences(preferences), m_model(actions)
{
    m_filter = new QLineEdit(this);
    m_filter->setPlaceholderText(tr("Find an action or a key"));
    m_filter->setAccessibleName(tr("Find an action or a key"));
    m_filter->setToolTip(tr("Shows only actions that have these words"));
    m_filter->setClearButtonEnabled(true);
    m_table = views::newList(this, tr("Actions and their keys"), m_model, px(24));
    m_table->setToolTip(tr("Choose an action, then type its new key below"));
    m_table->setFrameShape(QFrame::StyledPanel);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    views::setColumnWidths(*m_table, {0, 150, 150});
    makeSchemes();
    makeEditor();
    connect(m_filter, &QLineEdit::textChanged, &m_model, &KeysModel::setFilter);
    connect(&m_model, &QAbstractItemModel::modelReset, this, &KeysPage::showChosen);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &KeysPage::showChosen);
    showChosen();
}

void KeysPage::makeSchemes()
{
    m_scheme = new QComboBox(this);
    m_scheme->setAccessibleName(tr("Set of keys"));
    m_scheme->setToolTip(tr("All keys at once; own keys are given up"));
    for (const KeyScheme& scheme : keySchemes()) {
        m_scheme->addItem(scheme.name);
    }
    m_scheme->addItem(tr("Own keys"));
    connect(m_scheme, &QComboBox::activated, this, [this](int chosen) {
        const std::vector<KeyScheme> schemes = keySchemes();
        if (chosen < static_cast<int>(schemes.size())) {
            m_preferences.useScheme(schemes[static_cast<std::size_t>(chosen)]);
            showChosen();
        }
    });
    connect(&m_actions, &ActionRegistry::keyChanged, this, &KeysPage::showScheme);
    showScheme();
}

void KeysPage::showScheme()
{
    const std::vector<KeyScheme> schemes = keySchemes();
    const auto holds = [this](const KeyScheme& scheme) { return isInForce(scheme, m_actions); };
    const auto found = std::find_if(schemes.begin(), schemes.end(), holds);
    m_scheme->setCurrentIndex(static_cast<int>(found - schemes.begin())); // behind the last one stand own keys
}

void KeysPage::makeEditor()
{
    m_key = new QKeySequenceEdit(this);
    m_key->setAccessibleName(tr("New key"));
    m_key->setToolTip(tr("Press the new key here"));
    m_set = new QPushButton(tr("Set"), this);
    m_set->setToolTip(tr("Give the action this key"));
    m_none = new QPushButton(tr("No key"), this);
    m_none->setToolTip(tr("Leave the action without a key"));
    m_first = new QPushButton(tr("As at first"), this);
    m_first->setToolTip(tr("Give the action the key that it had at first"));
    auto* all = new QPushButton(tr("All as at first"), this);
    all->setToolTip(tr("Give every action the key that it had at first"));
    m_conflict = new QLabel(this);
    m_conflict->setTextFormat(Qt::PlainText);
    m_conflict->setWordWrap(true);
    m_conflict->setMinimumHeight(px(20));
    auto* row = new QHBoxLayout;
    row->addWidget(m_key, 1);
    for (QPushButton* button : {m_set, m_none, m_first, all}) {
        button->setAutoDefault(false);
        row->addWidget(button);
    }
    auto* column = views::makeBox<QVBoxLayout>(this, {px(16), px(14), px(16), px(8)}, px(8));
    column->addWidget(m_scheme);
    column->addWidget(m_filter);
    column->addWidget(m_table, 1);
    column->addLayout(row);
    column->addWidget(m_conflict);
    connect(m_key, &QKeySequenceEdit::keySequenceChanged, this, &KeysPage::showConflict);
    connect(m_set, &QPushButton::clicked, this, [this] { assign(m_key->keySequence()); });
    connect(m_none, &QPushButton::clicked, this, [this] { assign({}); });
    connect(m_first, &QPushButton::clicked, this, [this] { assign(m_actions.defaultKey(chosen()->objectName())); });
    connect(all, &QPushButton::clicked, this, [this] {
        m_preferences.resetKeys();
        showChosen();
    });
}

QAction* KeysPage::chosen() const
{
    const QModelIndex current = m_table->currentIndex();
    return current.isValid() ? &*m_model.at(current.row()) : nullptr;
}

void KeysPage::showChosen()
{
    const QAction* action = chosen();
    for (QWidget* widget :
         {static_cast<QWidget*>(m_key), static_cast<QWidget*>(m_none), static_cast<QWidget*>(m_first)}) {
        widget->setEnabled(action != nullptr);
    }
    m_key->setKeySequence(action == nullptr ? QKeySequence() : action->shortcut());
    showConflict();
}

void KeysPage::showConflict()
{
    const QAction* action = chosen();
    const QKeySequence key = m_key->keySequence();
    m_set->setEnabled(action != nullptr && !key.isEmpty() && key != action->shortcut());
    if (action == nullptr) {
        m_conflict->setText(tr("Choose an action, then press its new key in the field."));
        return;
    }
    const QAction* owner = m_actions.ownerOf(key, action->objectName());
    m_set->setText(owner == nullptr ? tr("Set") : tr("Take it"));
    m_conflict->setText(
        owner == nullptr
            ? QString()
            : tr("%1 is the key of “%2”, which would have none.").arg(native(key), ActionRegistry::plainText(*owner)));
}

void KeysPage::assign(const QKeySequence& key)
{
    if (const QAction* action = chosen()) {
        m_preferences.setKey(action->objectName(), key);
        showChosen();
    }
}

} // namespace retro::app

#include "moc_keyspage.cpp"
