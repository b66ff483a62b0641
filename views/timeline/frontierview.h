// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include "views/common/widgets/recordtable.h"

#include <set>

class QTableView;

namespace retro::views
{

/// Who is in the frontier at the cursor: a row per tensor. Every row names its node as graph and timeline mark it.
class FrontierTable final : public RecordTable<trace::FrontierMember>
{
    Q_OBJECT

public:
    enum Column { NodeColumn, StateColumn, SumColumn, BytesColumn, ColumnCount };

    explicit FrontierTable(const RunModel& model, QObject* parent = nullptr);

    void refresh();

private:
    using Member = trace::FrontierMember;
    [[nodiscard]] int rows() const override { return m_model.hasRun() ? RecordTable::rows() : 0; }
    [[nodiscard]] QString stateText(const Member& member) const;
    [[nodiscard]] QString stateTip(const Member& member) const;
    [[nodiscard]] trace::HandleInfo info(const Member& member) const;
    [[nodiscard]] bool isForwardValue(const Member& member) const;

    const RunModel& m_model;
    std::set<std::uint32_t> m_forward;  ///< handles of forward values
    std::set<std::uint32_t> m_operands; ///< those that promises have found
};

/// The list of the frontier. Choosing a row selects its node everywhere; the rows of the selected node are marked.
class FrontierView final : public View
{
    Q_OBJECT

public:
    FrontierView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Frontier"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override
    {
        return tr("Relevance that has landed and was not taken yet, and what promises hold.");
    }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] const FrontierTable& table() const { return *m_items; }

protected:
    void refresh(Changes changes) override;

private:
    void showSelection();

    FrontierTable* m_items = nullptr;
    QTableView* m_table = nullptr;
};

} // namespace retro::views
