// SPDX-License-Identifier: Apache-2.0
#include "views/profile/profileview.h"

#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/trace/profiletext.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"
#include "views/profile/profilechart.h"
#include "views/profile/profilemodel.h"

#include <nlohmann/json.hpp>

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

namespace retro::views
{

using fonts::px;

ProfileView::ProfileView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_items(new ProfileTableModel(this))
{
    setAccessibleName(tr("Profile of the pass"));
    setEmptyText(tr("What a pass spends, node by node, appears here. Open a model first."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(8), px(4), px(8), px(4));
    row->setSpacing(px(6));
    auto* label = new QLabel(tr("Height"), body);
    m_measure = new QComboBox(body);
    m_measure->setAccessibleName(tr("What the bars are as high as"));
    for (const ProfileMeasure measure : kProfileMeasures) {
        m_measure->addItem(wordOf(measure));
    }
    label->setBuddy(m_measure);
    row->addWidget(label);
    row->addWidget(m_measure);
    row->addStretch(1);
    column->addLayout(row);
    auto* parts = new QSplitter(Qt::Vertical, body);
    parts->setChildrenCollapsible(false);
    m_chart = new ProfileChart(parts);
    makeTable();
    parts->addWidget(m_chart);
    parts->addWidget(m_table);
    parts->setStretchFactor(1, 1);
    column->addWidget(parts, 1);
    setBody(body);
    connect(m_measure, &QComboBox::currentIndexChanged, this,
            [this](int index) { m_chart->setMeasure(kProfileMeasures[static_cast<std::size_t>(std::max(index, 0))]); });
    connect(m_chart, &ProfileChart::rowChosen, this, &ProfileView::goTo);
}

void ProfileView::makeTable()
{
    m_table = newList(this, tr("Nodes"), *m_items, px(22));
    QHeaderView* header = m_table->horizontalHeader();
    header->setStretchLastSection(true);
    header->setMinimumSectionSize(px(40));
    setColumnWidths(*m_table, {180, 110, 92, 92, 82, 66, 86});
    sortOnClick(*m_table, [this] { followSelection(); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        if (index.isValid() && !m_isFollowing) {
            selection().selectNode(m_items->at(index.row()).node);
        }
    });
}

QString ProfileView::subject() const
{
    return m_items->rowCount() == 0
               ? QString()
               : tr("%1 in %2 nodes")
                     .arg(measureText(m_items->seconds(), ProfileMeasure::Time), countText(m_items->rowCount()));
}

QString ProfileView::hint() const
{
    return tr("What the pass spent, over time and per node. Click a bar to go there.");
}

bool ProfileView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && m_items->rowWith(&trace::NodeTotal::node, model().nodeOf(thing)) >= 0;
}

base::Result<void> ProfileView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || model().run().profile == nullptr) {
        return base::usageError("the run has no profile; explain the model again to take one", path.string());
    }
    const trace::Profile& profile = *model().run().profile;
    if (path.extension() == ".csv") {
        return base::writeFile(path, trace::profileCsv(model().graph(), profile));
    }
    const nlohmann::ordered_json all{{"profile", trace::profileJson(model().graph(), profile)},
                                     {"memory_decisions", trace::decisionsJson(model().graph(), profile)}};
    return base::writeFile(path, base::jsonOut(all, 1) + "\n");
}

QByteArray ProfileView::saveState() const { return QByteArray::number(m_measure->currentIndex()); }

void ProfileView::restoreState(const QByteArray& state)
{
    bool isNumber = false;
    const int index = state.toInt(&isNumber);
    if (isNumber && index >= 0 && index < m_measure->count()) {
        m_measure->setCurrentIndex(index);
    }
}

void ProfileView::setMeasure(ProfileMeasure measure) { m_measure->setCurrentIndex(static_cast<int>(measure)); }

QString ProfileView::emptyReason() const
{
    return model().run().profile != nullptr
               ? QString()
               : tr("This run has no profile: it was recorded before passes took one. Explain the model again.");
}

void ProfileView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_isFollowing = true;
        m_items->setRun(model().sharedRun());
        m_isFollowing = false;
        m_chart->setRun(model().sharedRun());
        emit captionChanged();
    }
    if (changes.testFlag(Change::Run) || changes.testFlag(Change::Selection)) {
        followSelection();
    }
    m_chart->setPlace(model().position(), model().nodeOf(selection().thing()));
}

void ProfileView::followSelection()
{
    const int at =
        model().hasRun() ? m_items->rowWith(&trace::NodeTotal::node, model().nodeOf(selection().thing())) : -1;
    m_isFollowing = true;
    if (at < 0) {
        m_table->clearSelection();
    } else if (m_table->currentIndex().row() != at || !m_table->selectionModel()->hasSelection()) {
        m_table->setCurrentIndex(m_items->index(at, 0));
        m_table->scrollTo(m_items->index(at, 0));
    }
    m_isFollowing = false;
}

void ProfileView::goTo(qsizetype row)
{
    const trace::ProfileRow& one = model().run().profile->rows[static_cast<std::size_t>(row)];
    selection().selectNode(one.node);
    cursor().moveTo(one.step);
}

} // namespace retro::views

#include "moc_profileview.cpp"
