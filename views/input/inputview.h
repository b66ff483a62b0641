// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/heatmapimage.h"
#include "views/common/view.h"

#include <QImage>

namespace retro::views
{

class InputPane;

/// The input as the model sees it: the picture in model pixels with its true class, or the numbers as a grid.
class InputView final : public View
{
    Q_OBJECT

public:
    InputView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Input"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override { return {QStringLiteral("png"), QStringLiteral("npy")}; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// The picture shown, one pixel per pixel of the model; null when the input is none.
    [[nodiscard]] const QImage& picture() const { return m_picture; }
    /// "True class jug. The picture carries a tag."
    [[nodiscard]] QString sentence() const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    [[nodiscard]] const tensor::Tensor* input() const;
    InputPane* m_pane = nullptr;
    QImage m_picture;
};

} // namespace retro::views
