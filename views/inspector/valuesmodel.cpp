// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/valuesmodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <cmath>
#include <limits>

namespace retro::views
{

namespace
{

int toInt(std::int64_t n) { return static_cast<int>(std::min<std::int64_t>(n, std::numeric_limits<int>::max())); }

QVariant colorOf(double value)
{
    if (!std::isfinite(value)) {
        return theme()[Role::AlarmText];
    }
    return theme()[value == 0 ? Role::Text3 : Role::Text];
}

} // namespace

void ValuesModel::setTensor(const tensor::Tensor& tensor, const TensorSlice& slice)
{
    beginResetModel();
    m_tensor = tensor;
    m_slice = slice;
    endResetModel();
}

int ValuesModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_tensor.isValid() || m_tensor.size() == 0 ? 0 : toInt(m_slice.rows());
}

int ValuesModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_tensor.isValid() || m_tensor.size() == 0 ? 0 : toInt(m_slice.columns());
}

QVariant ValuesModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) {
        return {};
    }
    switch (role) {
    case Qt::FontRole:
        return fonts::smallNumbers();
    case Qt::TextAlignmentRole:
        return int(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::DisplayRole:
        return valueText(m_tensor.at(m_slice.elementAt(index.row(), index.column())));
    case Qt::ToolTipRole:
        return valueText(m_tensor.at(m_slice.elementAt(index.row(), index.column())), 9);
    case Qt::ForegroundRole:
        return colorOf(m_tensor.at(m_slice.elementAt(index.row(), index.column())));
    default:
        return {};
    }
}

QVariant ValuesModel::headerData(int section, Qt::Orientation /*orientation*/, int role) const
{
    if (role == Qt::TextAlignmentRole) {
        return int(Qt::AlignRight | Qt::AlignVCenter);
    }
    return role == Qt::DisplayRole ? QVariant(QString::number(section)) : QVariant();
}

} // namespace retro::views

#include "moc_valuesmodel.cpp"
