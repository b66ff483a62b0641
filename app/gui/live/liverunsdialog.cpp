// SPDX-License-Identifier: Apache-2.0
#include "app/gui/live/liverunsdialog.h"

#include "app/gui/live/liveruns.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTreeView>
#include <QVBoxLayout>

namespace retro::app
{

LiveRunsDialog::LiveRunsDialog(LiveRuns& runs, QWidget* parent) : QDialog(parent), m_runs(runs)
{
    using views::fonts::px;
    setWindowTitle(tr("Runs from notebooks"));
    resize(px(640), px(380));
    m_listens = new QCheckBox(tr("&Take runs from notebooks on this machine"), this);
    m_listens->setToolTip(tr("Listens on a local socket that this user alone can reach, until it is switched off"));
    m_line = new QLabel(this);
    m_line->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_line->setWordWrap(true);
    m_list = new QTreeView(this);
    m_list->setAccessibleName(tr("Runs from notebooks"));
    m_list->setModel(&runs);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setAllColumnsShowFocus(true);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(LiveRuns::ModelName, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(LiveRuns::Composite, QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(LiveRuns::Target, QHeaderView::ResizeToContents);
    m_follows = new QCheckBox(tr("Open each new run at &once"), this);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_listens);
    column->addWidget(m_line);
    column->addWidget(m_list, 1);
    column->addWidget(m_follows);
    makeButtons();
    connect(m_listens, &QCheckBox::toggled, this, &LiveRunsDialog::listenWanted);
    connect(m_list, &QTreeView::activated, this,
            [this](const QModelIndex& index) { emit openWanted(m_runs.pathOf(index.row())); });
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, &LiveRunsDialog::enableButtons);
    connect(&runs, &QAbstractItemModel::rowsInserted, this,
            [this](const QModelIndex&, int, int last) { takeRow(last); });
    connect(&runs, &QAbstractItemModel::rowsRemoved, this, &LiveRunsDialog::enableButtons);
    enableButtons();
}

void LiveRunsDialog::makeButtons()
{
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false); // Enter opens the run
    buttons->button(QDialogButtonBox::Close)->setIcon(views::icons::icon(QStringLiteral("close")));
    const auto add = [&](const QString& text, const char* icon, const QString& tip) {
        auto* button = buttons->addButton(text, QDialogButtonBox::ActionRole);
        button->setIcon(views::icons::icon(QLatin1String(icon)));
        button->setToolTip(tip);
        button->setAutoDefault(false);
        return button;
    };
    m_open = add(tr("&Open"), "open", tr("Step through this run"));
    m_compare =
        add(tr("&Compare"), "pin", tr("Compare the run on screen with this one: heatmaps, and where they part"));
    m_diagnose = add(tr("&Diagnose"), "warning", tr("Open this run and look for what may be wrong"));
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_open, &QPushButton::clicked, this, [this] { emit openWanted(chosen()); });
    connect(m_compare, &QPushButton::clicked, this, [this] { emit compareWanted(chosen()); });
    connect(m_diagnose, &QPushButton::clicked, this, [this] { emit diagnoseWanted(chosen()); });
    layout()->addWidget(buttons);
}

void LiveRunsDialog::setState(bool isListening, const QString& line)
{
    const QSignalBlocker quiet(m_listens);
    m_listens->setChecked(isListening);
    m_line->setText(line);
}

void LiveRunsDialog::setComparable(bool isComparable)
{
    m_isComparable = isComparable;
    enableButtons();
}

QString LiveRunsDialog::chosen() const { return m_runs.pathOf(m_list->currentIndex().row()); }

/// The newest is in sight and chosen, unless another one was chosen by hand.
void LiveRunsDialog::takeRow(int row)
{
    const QModelIndex index = m_runs.index(row, 0);
    const int current = m_list->currentIndex().row();
    if (current < 0 || current == row - 1) {
        m_list->setCurrentIndex(index);
        m_list->scrollTo(index);
    }
    enableButtons();
    if (m_follows->isChecked()) {
        emit openWanted(m_runs.pathOf(row));
    }
}

void LiveRunsDialog::enableButtons()
{
    const bool isChosen = !chosen().isEmpty();
    m_open->setEnabled(isChosen);
    m_diagnose->setEnabled(isChosen);
    m_compare->setEnabled(isChosen && m_isComparable);
}

} // namespace retro::app

#include "moc_liverunsdialog.cpp"
