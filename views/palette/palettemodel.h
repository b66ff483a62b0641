// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractListModel>

#include "views/palette/paletteitem.h"

#include <memory>
#include <vector>

namespace retro::views
{

/// The lines that answer what was typed. A sign at the start asks one source; without it the sources that answer
/// everything do, each in turn. GUI thread.
class PaletteModel final : public QAbstractListModel
{
    Q_OBJECT

public:
    /// Lines of one source, and of all together.
    static constexpr std::size_t kPerSource = 60;
    static constexpr std::size_t kLeastLetters = 2; ///< before the sources that need no sign, but are not the first

    explicit PaletteModel(QObject* parent = nullptr) : QAbstractListModel(parent) {}

    /// The first source lists for an empty text.
    void addSource(std::unique_ptr<PaletteSource> source) { m_sources.push_back(std::move(source)); }
    /// Asks the sources.
    void setText(const QString& text);
    [[nodiscard]] const PaletteItem& itemAt(int row) const { return m_items[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<std::unique_ptr<PaletteSource>>& sources() const { return m_sources; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    [[nodiscard]] PaletteSource* sourceOf(QChar sign) const;
    [[nodiscard]] std::vector<PaletteItem> findEverywhere(const QString& text) const;

    std::vector<std::unique_ptr<PaletteSource>> m_sources;
    std::vector<PaletteItem> m_items;
};

} // namespace retro::views
