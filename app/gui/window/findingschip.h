// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/diagnose/diagnosisstate.h"

#include <QToolButton>

namespace retro::app
{

/// How many errors and warnings a diagnosis found, in the title of a pane; a click shows them. Hidden when there are
/// none.
class FindingsChip final : public QToolButton
{
    Q_OBJECT

public:
    explicit FindingsChip(QWidget* parent);

    void take(const views::DiagnosisState& state);
};

/// A chip in the title of the dock that holds `view`; null when its dock has none of ours.
[[nodiscard]] FindingsChip* addFindingsChip(const QWidget& view);

} // namespace retro::app
