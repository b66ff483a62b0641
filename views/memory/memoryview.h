// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/memory/memoryfigure.h"

#include <QStringList>

class QComboBox;

namespace retro::views
{

class ElidedLabel;

/// What a recurrent layer carried in its memory: the relevance of its state, unit by unit and step by step, and all of
/// it below. The layer has to be open; the view asks for that once when it is looked at.
class MemoryView final : public View
{
    Q_OBJECT

public:
    MemoryView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    /// What the nodes on screen stand for; null = a recorded run, which holds each node as a whole.
    void setFused(FusedNodesPointer fused);

    [[nodiscard]] QString title() const override { return tr("Memory"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// What is drawn; empty when no recurrent layer is open.
    [[nodiscard]] const MemoryFigure& figure() const;

signals:
    /// Run again and carry relevance through the steps of this node.
    void openNodeRequested(retro::base::NodeId node, bool isOpen);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    class Canvas;

    void findFigures();
    void showChoices();
    void askToOpen();
    void showProbe(const QPoint& cell);

    Canvas* m_canvas = nullptr;
    QComboBox* m_layers = nullptr; ///< layers and directions
    ElidedLabel* m_probe = nullptr;
    FusedNodesPointer m_fused;
    std::vector<MemoryFigure> m_figures;
    QStringList m_asked; ///< layers that were asked to be opened, of this model
    QString m_modelName;
};

} // namespace retro::views
