// SPDX-License-Identifier: Apache-2.0
#include "views/verify/propertymodel.h"

#include "views/common/widgets/tablecell.h"
#include "views/verify/propertywords.h"

#include <QBrush>

namespace retro::views
{

PropertyModel::PropertyModel(QObject* parent)
    : RecordTable({{tr("Verdict"),
                    [](const CheckedProperty& one) {
                        return signOf(one.verdict) + QStringLiteral("  ") + wordOf(one.verdict);
                    }},
                   {tr("Name"), &CheckedProperty::id},
                   {tr("What must hold"), plainWords},
                   {tr("What was compared, or found"), &CheckedProperty::detail}},
                  parent)
{}

void PropertyModel::setVerification(const VerificationPointer& verification)
{
    setRecords(verification ? verification->properties : std::vector<CheckedProperty>());
}

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
