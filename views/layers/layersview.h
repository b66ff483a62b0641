// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"
#include "views/common/view.h"

namespace retro::views
{

class LayerStrip;

/// The relevance at each layer as a small picture, from the class score back to the input, with the share that arrived;
/// choosing one moves the cursor to where its relevance is known.
class LayersView final : public View
{
    Q_OBJECT

public:
    LayersView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Layers"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// While a region is marked, each layer shows what of it ends there; `overlay` must outlive the view.
    void followRegion(const RegionOverlay& overlay);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void rebuild();
    void showRegion();
    [[nodiscard]] RegionPointer region() const;
    void goTo(int layer);
    [[nodiscard]] bool isGradient() const;
    LayerStrip* m_strip = nullptr;
    const RegionOverlay* m_region = nullptr; ///< borrowed
};

} // namespace retro::views
