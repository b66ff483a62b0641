// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/ledger/ledgerfigures.h"

namespace retro::views
{

class LedgerPane;

/// Where the relevance went: what started, what each cause took, what reached the input, and what is unexplained, at
/// the cursor.
class LedgerView final : public View
{
    Q_OBJECT

public:
    LedgerView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Ledger"); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] const LedgerBooks& books() const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    LedgerPane* m_pane = nullptr;
};

} // namespace retro::views
