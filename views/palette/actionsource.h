// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"
#include "views/palette/paletteitem.h"

namespace retro::views
{

/// Every visible action of the registry, those used last first, those that cannot be used now at the end.
class ActionSource final : public PaletteSource
{
public:
    /// `except` is the action that opens the palette.
    explicit ActionSource(const ActionRegistry& actions, QString except = {})
        : m_actions(actions), m_except(std::move(except))
    {}

    [[nodiscard]] QChar sign() const override { return {}; }
    [[nodiscard]] QString name() const override;
    [[nodiscard]] std::vector<PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    const ActionRegistry& m_actions;
    QString m_except;
};

} // namespace retro::views
