// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/fusedmodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"

namespace retro::views
{

void FusedModel::setNode(const FusedNode& node, std::optional<double> whole)
{
    beginResetModel();
    m_node = node;
    m_whole = whole;
    endResetModel();
}

const FusedMember* FusedModel::memberAt(int row) const
{
    const int at = m_node.isOpen ? row - 1 : row;
    return at < 0 || at >= static_cast<int>(m_node.members.size()) ? nullptr
                                                                   : &m_node.members[static_cast<std::size_t>(at)];
}

int FusedModel::rowCount(const QModelIndex& parent) const
{
    const int members = static_cast<int>(m_node.members.size());
    return parent.isValid() ? 0 : members + (m_node.isOpen ? 1 : 0);
}

int FusedModel::columnCount(const QModelIndex& parent) const
{
    if (parent.isValid()) {
        return 0;
    }
    return m_node.isOpen ? int(ColumnCount) : int(Rule);
}

QString FusedModel::relevanceAt(int row) const
{
    const FusedMember* member = memberAt(row);
    if (!m_whole || (member != nullptr && !member->relevance.isValid())) {
        return QStringLiteral("–");
    }
    return valueText(member == nullptr ? *m_whole : member->sum);
}

QString FusedModel::textAt(int row, int column) const
{
    const FusedMember* member = memberAt(row);
    switch (column) {
    case Operator:
        return member == nullptr ? tr("whole node") : member->op.isEmpty() ? tr("operand") : member->op;
    case Name:
        return member == nullptr ? QString() : member->name;
    case Rule:
        return member == nullptr ? QString() : member->rule;
    default:
        return relevanceAt(row);
    }
}

QVariant FusedModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const bool isNumber = index.column() == Relevance;
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
        return textAt(index.row(), index.column());
    case Qt::TextAlignmentRole:
        return QVariant(isNumber ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole:
        return isNumber ? fonts::numbers() : fonts::label();
    default:
        return {};
    }
}

QVariant FusedModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) {
        return QAbstractTableModel::headerData(section, orientation, role);
    }
    if (role == Qt::TextAlignmentRole) {
        return QVariant(section == Relevance ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    }
    const QStringList names{tr("Operator"), tr("Node"), tr("Rule"), tr("Relevance")};
    return role == Qt::DisplayRole ? QVariant(names.value(section)) : QVariant();
}

} // namespace retro::views

#include "moc_fusedmodel.cpp"
