// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/inspector/nodefacts.h"
#include "views/inspector/tensorslice.h"

#include <functional>
#include <optional>
#include <stop_token>

class QTableView;
class QToolButton;

namespace retro::views
{

class ElidedLabel;
class JobRunner;
class SlicePicker;
class ValuesModel;

/// The numbers of the relevance or the value of a node at the cursor, as a table over any two axes; finds what is not
/// finite and what is largest; copies as CSV. With nothing selected, of the current node.
class ValuesView final : public View
{
    Q_OBJECT

public:
    enum class Tab { Relevance, Value };

    ValuesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Values"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// npy = the whole tensor, csv = the cut on screen.
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override { return m_tab == Tab::Value ? "value" : "relevance"; }
    void restoreState(const QByteArray& state) override { setTab(state == "value" ? Tab::Value : Tab::Relevance); }

    void setTab(Tab tab);
    [[nodiscard]] ValuesModel& items() const { return *m_items; }
    /// Searches off the GUI thread for the next element that is not finite, or for the largest, and goes there; a
    /// sentence says when there is none. The newest search wins.
    void goToNonFinite();
    void goToLargest();
    [[nodiscard]] bool isSearching() const;
    /// The selected cells (their bounding box) as CSV, all cells when none is selected.
    /// How cells become text.
    using CellsAsText = std::string (*)(const tensor::Tensor&, const TensorSlice&, TensorSlice::Cell,
                                        TensorSlice::Cell);
    [[nodiscard]] QString copiedText(CellsAsText format = sliceCsv) const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeTools();
    void makeTable();
    void showTensor();
    using Search = std::function<std::optional<std::int64_t>(const tensor::Tensor&, const std::stop_token&)>;
    void search(Search find, const QString& otherwise);
    void takeFound(const std::optional<std::int64_t>& element, const QString& otherwise);
    void showElement(std::int64_t element);
    void copy(CellsAsText format);
    [[nodiscard]] const tensor::Tensor* shownTensor() const;

    NodeFacts m_facts;
    Tab m_tab = Tab::Relevance;
    const tensor::Tensor* m_shown = nullptr; ///< borrowed from the run; immutable
    ValuesModel* m_items = nullptr;
    JobRunner* m_search = nullptr;
    QToolButton* m_relevance = nullptr;
    QToolButton* m_value = nullptr;
    QToolButton* m_nonFinite = nullptr;
    QToolButton* m_largest = nullptr;
    SlicePicker* m_picker = nullptr;
    ElidedLabel* m_message = nullptr;
    QTableView* m_table = nullptr;
};

} // namespace retro::views
