// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/compare/evidenceshare.h"

#include <optional>

namespace retro::views
{

class ComparePane;
class Theme;

/// What the control model made of the same input.
struct ControlFacts
{
    QString name;
    tensor::Tensor relevance; ///< of the picture
    QString predicted;        ///< class name
    double probability = 0;
};

/// The same picture explained by a control model, and where the positive relevance of both lies. Shows the picture that
/// the run on screen was made with; the control's relevance is of the input whatever the cursor says.
class CompareView final : public View
{
    Q_OBJECT

public:
    CompareView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    /// None = the model has no control, or it is not done yet.
    void setControl(std::optional<ControlFacts> control);
    [[nodiscard]] QString title() const override { return tr("Compare"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    ComparePane* m_pane = nullptr;
    std::optional<ControlFacts> m_control;
};

} // namespace retro::views
