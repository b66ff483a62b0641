// SPDX-License-Identifier: Apache-2.0
#include "views/run/rewritefields.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

enum Column { Name, Count };

/// What a line carries: the name of a rewrite, or the node that a step is about.
constexpr int kName = Qt::UserRole;
constexpr int kIsOptional = Qt::UserRole + 1;

/// Before the name of an optional rewrite that is on, as Question has it.
const QString kOn = QStringLiteral("+");

bool isOptional(const QTreeWidgetItem& line) { return line.data(Name, kIsOptional).toBool(); }

/// Lines that are seen at once; the rest scrolls.
constexpr int kMostRewriteLines = 12;

QString countOf(const RewriteFacts& rewrite)
{
    const auto done =
        std::count_if(rewrite.steps.begin(), rewrite.steps.end(), [](const RewriteLine& step) { return !step.isNote; });
    return rewrite.isOn && done > 0 ? QString::number(done) : QStringLiteral("–");
}

} // namespace

RewriteFields::RewriteFields(QWidget* parent) : QWidget(parent)
{
    auto* column = makeBox<QVBoxLayout>(this, {}, fonts::px(4));
    auto* head = new QHBoxLayout;
    head->setSpacing(fonts::px(8));
    m_title = new QToolButton(this);
    m_title->setText(tr("Rewrites"));
    m_title->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_title->setAutoRaise(true);
    m_title->setFont(fonts::label(QFont::DemiBold)); // as the titles of the other sections
    m_title->setCheckable(true);
    m_title->setToolTip(tr("What was changed in the graph before it runs, and switches for it"));
    m_summary = new ElidedLabel({}, Role::Text3, fonts::label(), this);
    m_summary->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    head->addWidget(m_title);
    head->addWidget(m_summary, 1);
    column->addLayout(head);
    m_list = new QTreeWidget(this);
    m_list->setAccessibleName(tr("Rewrites of the graph"));
    m_list->setColumnCount(2);
    m_list->setHeaderHidden(true);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformRowHeights(true);
    m_list->setIndentation(fonts::px(13));
    m_list->setTextElideMode(Qt::ElideRight);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTabKeyNavigation(false);
    m_list->header()->setMinimumSectionSize(fonts::px(16));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(Name, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(Count, QHeaderView::ResizeToContents);
    column->addWidget(m_list);
    connect(m_title, &QToolButton::toggled, this, &RewriteFields::setOpen);
    connect(m_list, &QTreeWidget::itemChanged, this, [this] {
        showSummary();
        emit changed();
    });
    connect(m_list, &QTreeWidget::itemExpanded, this, &RewriteFields::fitHeight);
    connect(m_list, &QTreeWidget::itemCollapsed, this, &RewriteFields::fitHeight);
    connect(m_list, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) { activate(*item); });
    setOpen(false);
    setRewrites({});
}

void RewriteFields::setRewrites(const std::vector<RewriteFacts>& rewrites)
{
    const QSignalBlocker quiet(m_list);
    m_list->clear();
    m_applied.clear();
    for (const RewriteFacts& rewrite : rewrites) {
        addRewrite(rewrite);
    }
    m_applied = off();
    setVisible(!rewrites.empty());
    fitHeight();
    showSummary();
}

void RewriteFields::addRewrite(const RewriteFacts& rewrite)
{
    auto* line = new QTreeWidgetItem(m_list, {rewrite.title, countOf(rewrite)});
    line->setData(Name, kName, rewrite.name);
    line->setData(Name, kIsOptional, rewrite.isOptional);
    line->setFlags(line->flags() | Qt::ItemIsUserCheckable);
    line->setCheckState(Name, rewrite.isOn ? Qt::Checked : Qt::Unchecked);
    line->setToolTip(Name, QStringLiteral("%1 (%2)").arg(rewrite.tip, rewrite.name));
    line->setFont(Count, fonts::numbers());
    line->setTextAlignment(Count, Qt::AlignRight | Qt::AlignVCenter);
    for (const RewriteLine& step : rewrite.steps) {
        auto* below = new QTreeWidgetItem(line, {step.isNote ? tr("Left: %1").arg(step.text) : step.text});
        below->setData(Name, kName, step.node);
        below->setToolTip(Name, step.text);
        below->setFont(Name, fonts::label());
        below->setFirstColumnSpanned(true);
    }
}

void RewriteFields::setOff(const QStringList& names)
{
    const QSignalBlocker quiet(m_list);
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem& line = *m_list->topLevelItem(i);
        const QString name = line.data(Name, kName).toString();
        const bool isOn = isOptional(line) ? names.contains(kOn + name) : !names.contains(name);
        line.setCheckState(Name, isOn ? Qt::Checked : Qt::Unchecked);
    }
    showSummary();
}

QStringList RewriteFields::off() const
{
    QStringList names;
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        const QTreeWidgetItem& line = *m_list->topLevelItem(i);
        const bool isOn = line.checkState(Name) == Qt::Checked;
        if (isOn == isOptional(line)) {
            names << (isOn ? kOn : QString()) + line.data(Name, kName).toString();
        }
    }
    return names;
}

void RewriteFields::setOpen(bool isOpen)
{
    m_title->setChecked(isOpen);
    m_title->setArrowType(isOpen ? Qt::DownArrow : Qt::RightArrow);
    m_list->setVisible(isOpen);
}

void RewriteFields::activate(const QTreeWidgetItem& item)
{
    if (item.parent() != nullptr && !item.data(Name, kName).toString().isEmpty()) {
        emit nodeWanted(item.data(Name, kName).toString());
    }
}

/// As high as its lines, within limits: the panel scrolls, a list inside it should not have to.
void RewriteFields::fitHeight()
{
    int lines = 0;
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        const QTreeWidgetItem& line = *m_list->topLevelItem(i);
        lines += 1 + (line.isExpanded() ? line.childCount() : 0);
    }
    const int height = m_list->topLevelItemCount() == 0 ? 0 : m_list->sizeHintForRow(0);
    m_list->setFixedHeight(std::min(lines, kMostRewriteLines) * height + 2 * m_list->frameWidth());
}

void RewriteFields::showSummary()
{
    const QStringList now = off();
    QStringList words;
    const auto added = std::count_if(now.begin(), now.end(), [](const QString& name) { return name.startsWith(kOn); });
    if (now.size() > added) {
        words << tr("%1 off").arg(now.size() - added);
    }
    if (added > 0) {
        words << tr("%1 more on").arg(added);
    }
    if (now != m_applied) {
        words << tr("from the next run on");
    }
    m_summary->setText(words.join(QStringLiteral(", ")));
}

} // namespace retro::views

#include "moc_rewritefields.cpp"
