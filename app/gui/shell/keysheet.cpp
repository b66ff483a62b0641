// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/keysheet.h"

#include "app/gui/shell/menus.h"
#include "views/common/actions.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <vector>

namespace retro::app
{

namespace
{

using views::ElidedLabel;
using views::Role;
using views::fonts::px;

struct Key
{
    QString key;
    QString what;
};

struct Group
{
    QString title;
    std::vector<Key> keys;
};

struct ViewKey
{
    const char* key;
    const char* what;
};

constexpr std::array kGraphKeys{
    ViewKey{"W A S D", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Pan")},
    ViewKey{"+ −", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Zoom")},
    ViewKey{"F", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Fit the selection")},
    ViewKey{"0", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Fit all")},
    ViewKey{"↑ ↓ ← →", QT_TRANSLATE_NOOP("retro::app::KeySheet", "To the nearest neighbour")},
    ViewKey{"U  N", QT_TRANSLATE_NOOP("retro::app::KeySheet", "First producer, first consumer")},
    ViewKey{"E  C", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Open, close the group")},
    ViewKey{"Enter", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Go to the step of the node")},
    ViewKey{"M  L", QT_TRANSLATE_NOOP("retro::app::KeySheet", "Map, legend")},
};
constexpr std::array kTimelineKeys{
    ViewKey{"← →", QT_TRANSLATE_NOOP("retro::app::KeySheet", "One step back, on")},
    ViewKey{"Shift+← →", QT_TRANSLATE_NOOP("retro::app::KeySheet", "One hundredth back, on")},
};

template <std::size_t N>
Group viewGroup(const QString& title, const std::array<ViewKey, N>& keys)
{
    Group group{title, {}};
    for (const ViewKey& key : keys) {
        group.keys.push_back({QString::fromUtf8(key.key), KeySheet::tr(key.what)});
    }
    return group;
}

std::vector<Group> groupsOf(const views::ActionRegistry& actions, const QMenuBar& menus)
{
    std::vector<Group> groups;
    for (const MenuContent& menu : menuContents(menus)) {
        Group group{menu.title, {}};
        for (const QString& id : menu.ids) {
            const QAction* action = actions.find(id);
            if (action != nullptr && action->isVisible() && !action->shortcut().isEmpty()) {
                group.keys.push_back(
                    {action->shortcut().toString(QKeySequence::NativeText), views::ActionRegistry::plainText(*action)});
            }
        }
        if (!group.keys.empty()) {
            groups.push_back(std::move(group));
        }
    }
    groups.push_back(viewGroup(KeySheet::tr("In the graph"), kGraphKeys));
    groups.push_back(viewGroup(KeySheet::tr("In the timeline"), kTimelineKeys));
    return groups;
}

QWidget* makeGroup(const Group& group, QWidget* parent)
{
    auto* box = new QWidget(parent);
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 0, 0, px(12));
    grid->setHorizontalSpacing(px(14));
    grid->setVerticalSpacing(px(3));
    grid->addWidget(new ElidedLabel(group.title, Role::Text, views::fonts::content(QFont::DemiBold), box), 0, 0, 1, 2);
    int row = 1;
    for (const Key& key : group.keys) {
        auto* keys = new ElidedLabel(key.key, Role::Text2, views::fonts::numbers(), box);
        keys->setMinimumWidth(px(108));
        grid->addWidget(keys, row, 0);
        grid->addWidget(new ElidedLabel(key.what, Role::Text, views::fonts::content(), box), row, 1);
        ++row;
    }
    grid->setColumnStretch(1, 1);
    return box;
}

/// The shortest column so far.
std::size_t shortest(const std::vector<std::size_t>& lengths)
{
    return static_cast<std::size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
}

} // namespace

KeySheet::KeySheet(const views::ActionRegistry& actions, const QMenuBar& menus, QWidget* parent) : QDialog(parent)
{
    constexpr std::size_t kColumns = 3;
    setWindowTitle(tr("Keys"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* body = new QWidget(this);
    body->setAutoFillBackground(true);
    body->setBackgroundRole(QPalette::Base);
    auto* row = views::makeBox<QHBoxLayout>(body, {px(20), px(16), px(20), px(8)}, px(28));
    std::vector<QVBoxLayout*> columns;
    std::vector<std::size_t> lengths(kColumns, 0);
    for (std::size_t i = 0; i < kColumns; ++i) {
        columns.push_back(new QVBoxLayout);
        row->addLayout(columns.back(), 1);
    }
    for (const Group& group : groupsOf(actions, menus)) {
        const std::size_t column = shortest(lengths);
        columns[column]->addWidget(makeGroup(group, body));
        lengths[column] += group.keys.size() + 2;
        m_keyCount += static_cast<int>(group.keys.size());
    }
    for (QVBoxLayout* column : columns) {
        column->addStretch(1);
    }
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidget(body);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, px(8));
    column->addWidget(area, 1);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(px(20), 0, px(12), 0);
    foot->addWidget(new ElidedLabel(tr("Shift does the same thing backwards. Preferences change a key."), Role::Text2,
                                    views::fonts::label(), this),
                    1);
    foot->addWidget(buttons);
    column->addLayout(foot);
    resize(px(1080), px(760));
}

} // namespace retro::app

#include "moc_keysheet.cpp"
