// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/compare/evidenceshare.h"

#include <optional>

class QAction;
class QHBoxLayout;

namespace retro::views
{

class ComparePane;
struct CompareFigure;

/// What the control model made of the same input.
struct ControlFacts
{
    QString name;
    tensor::Tensor relevance;            ///< of the picture
    QString predicted;                   ///< class name
    std::optional<double> probability{}; ///< none when its outputs are no class scores
    std::optional<QRect> objectBox{};    ///< around what the picture shows, in its pixels; none = not known
};

/// The same picture explained by a control model, and where the positive relevance of both lies. Shows the picture that
/// the run on screen was made with; the control's relevance is of the input whatever the cursor says.
class CompareView final : public View
{
    Q_OBJECT

public:
    CompareView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    /// Buttons of the window's actions under the comparison.
    void addButtons(const QList<QAction*>& actions);
    /// None = the model has no control, or it is not done yet (see setAwaited).
    void setControl(std::optional<ControlFacts> control);
    /// Why there is no answer of a control model, as a sentence; empty = there is one, or it was not asked.
    void setAbsent(const QString& reason);
    /// The control model is at work: without an answer the view says so.
    void setAwaited(bool isAwaited);
    [[nodiscard]] QString title() const override { return tr("Compare"); }
    [[nodiscard]] QString subject() const override { return m_control ? tr("with the control") : QString(); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    bool fillSteps(CompareFigure& figure, const tensor::Tensor& here) const;
    bool fillPicture(CompareFigure& figure, const tensor::Tensor& here) const;

    ComparePane* m_pane = nullptr;
    QHBoxLayout* m_buttons = nullptr;
    std::optional<ControlFacts> m_control;
    QString m_problem; ///< why the answer cannot be compared; empty = it can
    QString m_absent;  ///< why there is no answer, where that is known
    bool m_isAwaited = false;
};

/// What the shares say of this model in a sentence: on what it leans. `boxName`: "tag"; empty = there is no such box.
[[nodiscard]] QString compareMeaning(const EvidenceShare& share, const QString& boxName);

} // namespace retro::views
