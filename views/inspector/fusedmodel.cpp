// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/fusedmodel.h"

#include "views/common/numbertext.h"

namespace retro::views
{

FusedModel::FusedModel(QObject* parent) : ColumnTable(columnsOf(false), parent) {}

/// Operator and name only while the node is closed.
std::vector<ColumnTable::Heading> FusedModel::columnsOf(bool isOpen)
{
    std::vector<Heading> columns{{tr("Operator")}, {tr("Node")}};
    if (isOpen) {
        columns.insert(columns.end(), {{tr("Rule")}, {tr("Relevance"), Cells::Figures}});
    }
    return columns;
}

void FusedModel::setNode(const FusedNode& node, std::optional<double> whole)
{
    beginResetModel();
    m_node = node;
    m_whole = whole;
    setColumns(columnsOf(node.isOpen));
    endResetModel();
}

const FusedMember* FusedModel::memberAt(int row) const
{
    const int at = m_node.isOpen ? row - 1 : row;
    return at < 0 || at >= static_cast<int>(m_node.members.size()) ? nullptr
                                                                   : &m_node.members[static_cast<std::size_t>(at)];
}

QString FusedModel::relevanceAt(int row) const
{
    const FusedMember* member = memberAt(row);
    if (!m_whole || (member != nullptr && !member->relevance.isValid())) {
        return QStringLiteral("–");
    }
    return valueText(member == nullptr ? *m_whole : member->sum);
}

QString FusedModel::textOf(int row, int column) const
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

int FusedModel::rows() const { return static_cast<int>(m_node.members.size()) + (m_node.isOpen ? 1 : 0); }

} // namespace retro::views

#include "moc_fusedmodel.cpp"
