// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <cstddef>
#include <functional>
#include <vector>

namespace retro::views
{

/// One line of the palette. Plain value.
struct PaletteItem
{
    QString text;
    QString detail;            ///< beside the text, weaker: operator, mode, menu
    QString key;               ///< at the right
    QString icon;              ///< name of a drawing; may be empty
    bool isEnabled = true;     ///< false: shown, cannot be chosen
    int score = 0;             ///< higher comes first
    std::vector<int> places{}; ///< letters of the text that were typed
    /// Does it; `isFar` = also goes there in time (Ctrl+Return).
    std::function<void(bool isFar)> run;
};

/// Where lines of one kind come from. GUI thread; owned by the palette.
class PaletteSource
{
public:
    PaletteSource() = default;
    PaletteSource(const PaletteSource&) = delete;
    PaletteSource& operator=(const PaletteSource&) = delete;
    virtual ~PaletteSource() = default;

    /// The sign that asks for this kind alone: '@'; null = none is needed.
    [[nodiscard]] virtual QChar sign() const = 0;
    /// What it lists, for the line at the foot: "layer".
    [[nodiscard]] virtual QString name() const = 0;
    /// True when it also answers texts without a sign (then with at least two letters).
    [[nodiscard]] virtual bool answersAll() const { return false; }
    /// Lines that fit, best first, at most `limit`. An empty pattern lists what is nearest at hand.
    [[nodiscard]] virtual std::vector<PaletteItem> find(const QString& pattern, std::size_t limit) = 0;
};

/// Keeps the `limit` best, best first; equals stay in order.
void keepBest(std::vector<PaletteItem>& items, std::size_t limit);

} // namespace retro::views
