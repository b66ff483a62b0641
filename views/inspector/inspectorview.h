// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/fusednode.h"
#include "views/common/view.h"
#include "views/inspector/nodefacts.h"

class QToolButton;

namespace retro::views
{

class BalancePane;
class ElidedLabel;
class FusedPane;
class HeadPane;
class HistogramPane;
class JobRunner;
class SlicePane;
class StatsPane;
struct TensorFigures;

/// Everything about one node at the cursor: rule, shape, mode, its relevance (or value) in figures, as histogram and as
/// picture, and its balance. With nothing selected, the current node.
class InspectorView final : public View
{
    Q_OBJECT

public:
    /// Which tensor of the node is shown.
    enum class Tab { Relevance, Value };

    InspectorView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Inspector"); }
    [[nodiscard]] QString subject() const override { return {}; }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override { return m_tab == Tab::Value ? "value" : "relevance"; }
    void restoreState(const QByteArray& state) override { setTab(state == "value" ? Tab::Value : Tab::Relevance); }

    [[nodiscard]] Tab tab() const { return m_tab; }
    void setTab(Tab tab);
    [[nodiscard]] const NodeFacts& facts() const { return m_facts; }
    /// What nodes stand for that rewrites made of several.
    void setFused(FusedNodesPointer fused);
    /// The figures of a large tensor are still being computed.
    [[nodiscard]] bool isComputing() const;

signals:
    /// Relevance is to be carried through the members of the node, or no longer.
    void openNodeRequested(retro::base::NodeId node, bool isOpen);
    /// The rule of the node is to be changed.
    void ruleRequested(retro::base::NodeId node);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeTabs();
    QWidget* makeRuleRow(QWidget* parent);
    [[nodiscard]] bool hasRule() const;
    void showMembers();
    void showTensor();
    [[nodiscard]] bool hasRelevance() const { return model().relevanceHandle(m_facts.value).isValid(); }
    void computeFigures(const tensor::Tensor& tensor);
    void showFigures(const TensorFigures& figures);
    void setPending(bool isPending);
    [[nodiscard]] const tensor::Tensor* shownTensor() const;
    [[nodiscard]] QString missingText() const;

    NodeFacts m_facts;
    Tab m_tab = Tab::Relevance;
    const tensor::Tensor* m_drawn = nullptr; ///< what the panes show; borrowed from the run
    JobRunner* m_jobs = nullptr;
    HeadPane* m_head = nullptr;
    QWidget* m_ruleRow = nullptr;
    QToolButton* m_relevance = nullptr;
    QToolButton* m_value = nullptr;
    ElidedLabel* m_shape = nullptr;
    ElidedLabel* m_missing = nullptr;
    FusedNodesPointer m_fused; ///< may be of a run that is not on screen yet
    FusedPane* m_members = nullptr;
    StatsPane* m_stats = nullptr;
    HistogramPane* m_histogram = nullptr;
    SlicePane* m_slice = nullptr;
    BalancePane* m_balance = nullptr;
};

} // namespace retro::views
