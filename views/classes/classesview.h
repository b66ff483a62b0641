// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

namespace retro::views
{

class ClassesPane;

/// The best classes of the explained output: how sure the model is and its raw score. Another class can be chosen to be
/// explained; the view only says so.
class ClassesView final : public View
{
    Q_OBJECT

public:
    ClassesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override;
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

signals:
    /// Explain this class of the output in place of the present one.
    void classWanted(std::int64_t index);
    /// Explain this segment of the output, as --target takes it.
    void placeWanted(const QString& code);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    [[nodiscard]] std::string csv() const;
    ClassesPane* m_pane = nullptr;
};

} // namespace retro::views
