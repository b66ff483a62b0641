// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/profile/profilemeasure.h"

class QComboBox;
class QTableView;

namespace retro::views
{

class ProfileChart;
class ProfileTableModel;

/// What the pass of the run spent: time, operations and bytes, over time and per node. A click on a bar goes to the
/// step of its computation; a click on a row selects its node.
class ProfileView final : public View
{
    Q_OBJECT

public:
    ProfileView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Profile"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// Every computation in the order of the pass (.csv), or sums per node and all decisions (.json).
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    [[nodiscard]] ProfileChart& chart() const { return *m_chart; }
    [[nodiscard]] ProfileTableModel& items() const { return *m_items; }
    [[nodiscard]] QTableView& table() const { return *m_table; }
    void setMeasure(ProfileMeasure measure);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void makeTable();
    void followSelection();
    void goTo(qsizetype row);

    ProfileTableModel* m_items = nullptr;
    ProfileChart* m_chart = nullptr;
    QComboBox* m_measure = nullptr;
    QTableView* m_table = nullptr;
    bool m_isFollowing = false; ///< the row that becomes current is the selection's
};

} // namespace retro::views
