// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/fusednode.h"

#include <QWidget>

#include <optional>

class QPushButton;
class QTableView;

namespace retro::views
{

class ElidedLabel;
class FusedModel;

/// The members of a node that a rewrite made of several, with the button that opens and closes it. A row of an opened
/// node that is chosen is what the inspector shows. GUI thread.
class FusedPane final : public QWidget
{
    Q_OBJECT

public:
    explicit FusedPane(QWidget* parent = nullptr);

    /// Null = the node stands for itself, and the pane hides. `whole` as FusedModel::setNode().
    void setNode(const FusedNode* node, std::optional<double> whole);
    /// What is chosen; null = the node itself.
    [[nodiscard]] const FusedMember* chosen() const;

signals:
    void chosenChanged();
    /// The button: relevance is to be carried through the members, or no longer.
    void openRequested(bool isOpen);

private:
    void fitHeight();

    ElidedLabel* m_title = nullptr;
    ElidedLabel* m_problem = nullptr;
    QPushButton* m_button = nullptr;
    QTableView* m_table = nullptr;
    FusedModel* m_model = nullptr;
    base::NodeId m_node;
    bool m_isOpen = false;
};

} // namespace retro::views
