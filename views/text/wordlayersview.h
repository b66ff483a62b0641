// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include <cstdint>
#include <optional>
#include <vector>

class QCheckBox;
class QComboBox;

namespace retro::views
{

class LayersMatrix;
class TextFocus;

/// The relevance of each word at each layer, or at each head of one layer. Choosing a cell moves the cursor to where
/// the relevance of that layer is known, and selects its value.
class WordLayersView final : public View
{
    Q_OBJECT

public:
    /// `focus` must outlive the view.
    WordLayersView(RunModel& model, Cursor& cursor, Selection& selection, TextFocus& focus, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Words × layers"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] LayersMatrix& matrix() const { return *m_matrix; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void takeText();
    void takeFocus();
    void findArrivals();
    void showArrived();
    void choose(int row, int token);

    TextFocus& m_focus;
    LayersMatrix* m_matrix = nullptr;
    QComboBox* m_rows = nullptr;
    QCheckBox* m_own = nullptr;
    std::vector<std::optional<std::uint64_t>> m_arrivals; ///< per row: events after which its relevance is known
};

} // namespace retro::views
