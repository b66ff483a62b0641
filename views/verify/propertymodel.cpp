// SPDX-License-Identifier: Apache-2.0
#include "views/verify/propertymodel.h"

#include "views/common/paint/fonts.h"
#include "views/verify/propertywords.h"

#include <QBrush>

#include <array>

namespace retro::views
{

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

int PropertyModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_verification ? 0 : static_cast<int>(m_verification->properties.size());
}

int PropertyModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString PropertyModel::textOf(const CheckedProperty& property, int column)
{
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

QVariant PropertyModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const CheckedProperty& property = at(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return textOf(property, index.column());
    case Qt::ToolTipRole:
        return tr("%1: %2\n%3").arg(property.id, property.statement, property.detail);
    case Qt::ForegroundRole: {
        const bool isLesser = index.column() == IdColumn && property.verdict == Verdict::Held;
        return QBrush(theme()[isLesser ? Role::Text3 : roleOf(property.verdict)]);
    }
    case Qt::FontRole:
        return fonts::label(index.column() == VerdictColumn && property.verdict == Verdict::Violated ? QFont::DemiBold
                                                                                                     : QFont::Normal);
    default:
        return {};
    }
}

QVariant PropertyModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    constexpr std::array kTitles{QT_TR_NOOP("Verdict"), QT_TR_NOOP("Name"), QT_TR_NOOP("What must hold"),
                                 QT_TR_NOOP("What was compared, or found")};
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return int(Qt::AlignLeft | Qt::AlignVCenter);
    }
    return role == Qt::DisplayRole ? QVariant(tr(kTitles[static_cast<std::size_t>(section)])) : QVariant();
}

} // namespace retro::views

#include "moc_propertymodel.cpp"
