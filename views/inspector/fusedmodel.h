// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/columntable.h"

#include "views/common/run/fusednode.h"

#include <optional>

namespace retro::views
{

/// What a fused node stands for, as a table. Row 0 of an opened node is the node itself. GUI thread.
class FusedModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { Operator, Name, Rule, Relevance, ColumnCount };

    explicit FusedModel(QObject* parent = nullptr);

    /// `node` = nothing clears. `whole` is Σ of the relevance of the node itself, none before it has arrived; then no
    /// inner relevance is shown either.
    void setNode(const FusedNode& node, std::optional<double> whole);
    /// The member of a row; null for the row of the node itself.
    [[nodiscard]] const FusedMember* memberAt(int row) const;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] static std::vector<Heading> columnsOf(bool isOpen);
    [[nodiscard]] QString relevanceAt(int row) const;

    FusedNode m_node;
    std::optional<double> m_whole;
};

} // namespace retro::views
