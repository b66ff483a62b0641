// SPDX-License-Identifier: Apache-2.0
#include "views/problems/problemsmodel.h"

#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/problems/problemreport.h"

#include <algorithm>

namespace retro::views
{

namespace
{
constexpr int kMark = 16;

QPixmap markOf(Severity severity)
{
    const bool isError = severity == Severity::Error;
    return icons::pixmap(isError ? QStringLiteral("close") : QStringLiteral("warning"), kMark,
                         theme()[isError ? Role::AlarmText : Role::SearchText]);
}

} // namespace

ProblemsModel::ProblemsModel(const ProblemList& list, const RunModel& run, QObject* parent)
    : QAbstractTableModel(parent), m_list(list), m_run(run)
{
    connect(&list, &ProblemList::changed, this, &ProblemsModel::take);
    connect(&run, &RunModel::runChanged, this, &ProblemsModel::take); // names of nodes
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &ProblemsModel::take);
    take();
}

void ProblemsModel::take()
{
    beginResetModel();
    m_rows = m_list.all();
    std::stable_partition(m_rows.begin(), m_rows.end(), [](const Problem& p) { return p.severity == Severity::Error; });
    endResetModel();
}

int ProblemsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int ProblemsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString ProblemsModel::textOf(const Problem& problem, int column) const
{
    switch (column) {
    case What:
        return problem.what;
    case Where:
        return placeOf(problem, m_run);
    default:
        return problem.remedy;
    }
}

QVariant ProblemsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const Problem& problem = problemAt(index.row());
    const QString text = textOf(problem, index.column());
    const bool isWhat = index.column() == What;
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
        return text;
    case Qt::AccessibleTextRole:
        return isWhat ? wordOf(problem.severity) + QStringLiteral(": ") + text : text;
    case Qt::DecorationRole:
        return isWhat ? QVariant(markOf(problem.severity)) : QVariant();
    default:
        return {};
    }
}

QVariant ProblemsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return QAbstractTableModel::headerData(section, orientation, role);
    }
    const QStringList names{tr("What happened"), tr("Where"), tr("What to do")};
    return names.value(section);
}

} // namespace retro::views
