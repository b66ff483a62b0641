// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"
#include "core/tensor/tensor.h"

#include <QString>

#include <memory>
#include <vector>

namespace retro::views
{

/// A node of the model's file that a fused node stands for, a step of an operator that does many in one, or one of the
/// operands.
struct FusedMember
{
    QString name;
    QString op; ///< operator; empty = an operand
    QString rule = {};
    /// By the decomposed rules; both only while the fused node is open.
    tensor::Tensor value = {};
    tensor::Tensor relevance = {};
    double sum = 0; ///< of the relevance
};

/// What a node stands for that a rewrite made of several, or that does many steps in one. Plain value, made on the
/// engine thread.
struct FusedNode
{
    base::NodeId node;
    std::vector<FusedMember> members; ///< operands first while it is open, then in order of execution
    bool isOpen = false;              ///< relevance was carried through the members
    bool isComposed = false;          ///< the file has it as one operator that does many steps
    QString problem = {};             ///< why an opened node has no inner relevance; empty = it has
};

/// The fused nodes of the graph on screen.
using FusedNodes = std::vector<FusedNode>;
using FusedNodesPointer = std::shared_ptr<const FusedNodes>;

/// The entry of a node; null when it stands for itself.
[[nodiscard]] const FusedNode* findFused(const FusedNodesPointer& fused, base::NodeId node);
/// How many nodes of the file it stands for, or steps it does (operands do not count).
[[nodiscard]] int memberCount(const FusedNode& fused);
/// "6 nodes: ReduceMean, Sub, Pow, …", of an operator "6 steps: …", with at most `most` operators named.
[[nodiscard]] QString membersText(const FusedNode& fused, int most = 8);

} // namespace retro::views
