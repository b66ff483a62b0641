// SPDX-License-Identifier: Apache-2.0
#include "views/verify/propertymodel.h"

#include "views/common/widgets/tablecell.h"
#include "views/verify/propertywords.h"

#include <QBrush>

namespace retro::views
{

PropertyModel::PropertyModel(QObject* parent)
    : ColumnTable({{tr("Verdict")}, {tr("Name")}, {tr("What must hold")}, {tr("What was compared, or found")}}, parent)
{}

void PropertyModel::setVerification(VerificationPointer verification)
{
    beginResetModel();
    m_verification = std::move(verification);
    endResetModel();
}

const CheckedProperty& PropertyModel::at(int row) const
{
    return m_verification->properties[static_cast<std::size_t>(row)];
}

QString PropertyModel::textOf(int row, int column) const
{
    const CheckedProperty& property = at(row);
    switch (column) {
    case VerdictColumn:
        return signOf(property.verdict) + QStringLiteral("  ") + wordOf(property.verdict);
    case WordsColumn:
        return plainWords(property);
    case IdColumn:
        return property.id;
    default:
        return property.detail;
    }
}

int PropertyModel::rows() const { return m_verification ? static_cast<int>(m_verification->properties.size()) : 0; }

QVariant PropertyModel::detailOf(int row, int column, int role) const
{
    const CheckedProperty& property = at(row);
    switch (role) {
    case Qt::ToolTipRole:
        return tr("%1: %2\n%3").arg(property.id, property.statement, property.detail);
    case Qt::ForegroundRole: {
        const bool isLesser = column == IdColumn && property.verdict == Verdict::Held;
        return QBrush(theme()[isLesser ? Role::Text3 : roleOf(property.verdict)]);
    }
    case Qt::FontRole:
        return cellFont(false, column == VerdictColumn && property.verdict == Verdict::Violated);
    default:
        return {};
    }
}

} // namespace retro::views

#include "moc_propertymodel.cpp"
