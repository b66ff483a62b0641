// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/output/densefigure.h"

class QComboBox;

namespace retro::views
{

class ElidedLabel;
class OutputCanvas;

/// The explained output where it has more than one row of classes: a mask, or the numbers of a detector or a tagger. A
/// click chooses the segment or the element that is to be explained; below the mask stands on which segments the
/// relevance of the input lies.
class OutputView final : public View
{
    Q_OBJECT

public:
    OutputView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Output"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] const DenseFigure& figure() const;
    /// With a mask as large as `width` has room for, or rows of numbers that a pointer can hit; 0 where there is none.
    [[nodiscard]] int wantedHeight(int width) const;
    /// As a click on a pixel of the mask or a cell of the grid.
    void choose(const QPoint& cell);

signals:
    /// Explain this place of the output in place of the present target, as --target takes it.
    void placeWanted(const QString& code);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    [[nodiscard]] std::string csv() const;
    void showProbe(const QPoint& cell);

    OutputCanvas* m_canvas = nullptr;
    QComboBox* m_asks = nullptr;
    ElidedLabel* m_probe = nullptr;
};

} // namespace retro::views
