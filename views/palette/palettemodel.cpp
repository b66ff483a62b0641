// SPDX-License-Identifier: Apache-2.0
#include "views/palette/palettemodel.h"

#include <algorithm>
#include <iterator>

namespace retro::views
{

PaletteSource* PaletteModel::sourceOf(QChar sign) const
{
    const auto at = std::find_if(m_sources.begin(), m_sources.end(),
                                 [sign](const auto& source) { return !sign.isNull() && source->sign() == sign; });
    return at == m_sources.end() ? nullptr : at->get();
}

std::vector<PaletteItem> PaletteModel::findEverywhere(const QString& text) const
{
    std::vector<PaletteItem> all;
    for (const auto& source : m_sources) {
        const bool isFirst = source == m_sources.front();
        const bool isAsked = source->answersAll() && text.size() >= static_cast<qsizetype>(kLeastLetters);
        if (isFirst || isAsked) {
            auto items = source->find(text, kPerSource);
            std::move(items.begin(), items.end(), std::back_inserter(all));
        }
    }
    if (!text.isEmpty()) {
        keepBest(all, all.size());
    }
    return all;
}

void PaletteModel::setText(const QString& text)
{
    const QString trimmed = text.trimmed();
    PaletteSource* source = trimmed.isEmpty() ? nullptr : sourceOf(trimmed.front());
    beginResetModel();
    m_items = source != nullptr ? source->find(trimmed.mid(1).trimmed(), kPerSource) : findEverywhere(trimmed);
    endResetModel();
}

int PaletteModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_items.size());
}

QVariant PaletteModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const PaletteItem& item = itemAt(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return item.text;
    case Qt::ToolTipRole:
        return item.isEnabled ? item.detail : tr("%1 (not possible at present)").arg(item.detail);
    case Qt::AccessibleTextRole:
        return QStringList{item.text, item.detail, item.key}.join(QStringLiteral(", "));
    default:
        return {};
    }
}

Qt::ItemFlags PaletteModel::flags(const QModelIndex& index) const
{
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    return itemAt(index.row()).isEnabled ? Qt::ItemIsEnabled | Qt::ItemIsSelectable
                                         : Qt::ItemFlags(Qt::ItemIsSelectable);
}

} // namespace retro::views

#include "moc_palettemodel.cpp"
