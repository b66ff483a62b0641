// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/heatmapimage.h"
#include "views/common/view.h"
#include "views/input/coversheet.h"
#include "views/input/covertools.h"

#include <QImage>

#include <functional>

namespace retro::views
{

class InputPane;

/// The input as the model sees it: the picture in model pixels with its true class, or the numbers as a grid. With the
/// brush on, the user covers pixels of the picture; the view only says which (coverChanged), the window asks the model
/// again.
class InputView final : public View
{
    Q_OBJECT

public:
    InputView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Input"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// The picture shown, one pixel per pixel of the model; null when the input is none.
    [[nodiscard]] const QImage& picture() const { return m_picture; }
    /// "True class jug. The picture carries a tag."; before it a text in words.
    [[nodiscard]] QString sentence() const;

    /// Buttons shown under the picture while pixels are being covered.
    void addCoverButtons(const QList<QAction*>& actions);
    /// While the tools of covering are there: height in pixels with which a small picture still shows a pixel for each
    /// of its own, with its sentence and the tools. Else 0.
    [[nodiscard]] int leastHeight() const;
    /// Mouse and keys cover pixels.
    void setBrush(bool isOn);
    [[nodiscard]] bool hasBrush() const;
    [[nodiscard]] const CoverSheet& cover() const;
    [[nodiscard]] CoverColor coverColor() const;
    void coverBox(const QRect& box);
    void undoCover() { changeCover(&CoverSheet::undo); }
    void redoCover() { changeCover(&CoverSheet::redo); }
    void uncoverAll();
    /// Another picture came: nothing is covered, nothing can be undone.
    void startCover();
    /// The covered pixels that the run on screen was made with.
    void setAppliedCover(const CoverSheet::Pixels& pixels);

signals:
    /// Other pixels are covered now, or with another colour.
    void coverChanged();
    /// Nothing is covered any more, and there is nothing to undo.
    void coverStarted();
    /// The user put the brush away.
    void brushLeft();
    /// The tools of covering came or went: another height is the least.
    void toolsShown();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    [[nodiscard]] const tensor::Tensor* input() const;
    [[nodiscard]] QString rowText(const QString& facts) const;
    [[nodiscard]] bool isMostlyCovered(const QRect& box) const;
    void changeCover(const std::function<void(CoverSheet&)>& change);
    void takeCover();
    void showTools();
    InputPane* m_pane = nullptr;
    CoverTools* m_tools = nullptr;
    double m_keptHeight = 0; ///< of the picture before the tools came
    QImage m_picture;
};

} // namespace retro::views
