// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/fusedfacts.h"

#include "core/engine/model/openfused.h"
#include "core/ops/algebra.h"

#include <QObject>

#include <algorithm>

namespace retro::app
{

namespace
{

QString utf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

std::vector<views::FusedMember> membersOf(const graph::Graph& members)
{
    std::vector<views::FusedMember> list;
    for (std::size_t i = 0; i < members.nodeCount(); ++i) {
        const base::NodeId node(i);
        list.push_back({utf8(members.labelOf(node)), utf8(members.opOf(node))});
    }
    return list;
}

const lrp::OpenedValue* valueNamed(const lrp::OpenedNode& opened, std::string_view name)
{
    const auto at = std::find_if(opened.values.begin(), opened.values.end(),
                                 [&](const lrp::OpenedValue& value) { return value.name == name; });
    return at == opened.values.end() ? nullptr : &*at;
}

void fill(views::FusedMember& member, const lrp::OpenedValue* value)
{
    if (value != nullptr) {
        member.value = value->value;
        member.relevance = value->relevance;
        member.sum = value->relevance.isValid() ? ops::algebra::sum(value->relevance) : 0;
    }
}

/// Operands in front, then the members with rule, value and relevance of their first output.
void open(views::FusedNode& node, const lrp::OpenedNode& opened)
{
    const graph::Graph& members = opened.model->graph();
    std::vector<views::FusedMember> list;
    for (const lrp::OpenedValue& value : opened.values) {
        if (value.isOperand) {
            list.push_back({utf8(value.name), {}});
            fill(list.back(), &value);
        }
    }
    for (std::size_t i = 0; i < members.nodeCount(); ++i) {
        const base::NodeId id(i);
        views::FusedMember member{utf8(members.labelOf(id)), utf8(members.opOf(id))};
        member.rule = opened.rules[i].rule ? utf8(opened.rules[i].rule->text()) : QString();
        const graph::ValueId output = members.firstOutput(id);
        fill(member, output.isValid() ? valueNamed(opened, members.value(output).name) : nullptr);
        list.push_back(std::move(member));
    }
    node.members = std::move(list);
}

/// Opens one node; what stands in its way is said at the node.
base::Result<void> openOne(views::FusedNode& node, const std::string& name, const engine::LoadedModel& model,
                           const engine::ExplainRequest& request, const engine::ExplainResult& result,
                           const std::stop_token& stop)
{
    node.isOpen = true;
    const auto opened = engine::openFused(model, request, result, {name}, stop);
    if (!opened && opened.error().code == base::ErrorCode::Cancelled) {
        return opened.error();
    }
    if (!opened) {
        node.problem = QObject::tr("Not opened: %1").arg(QString::fromStdString(opened.error().message));
        return {};
    }
    open(node, opened->front().opened);
    return {};
}

} // namespace

views::FusedNodes fusedNodes(const engine::LoadedModel& model, const graph::Graph& shown)
{
    views::FusedNodes nodes;
    for (const rewrite::FusedNode& fused : model.rewritten.fused) {
        if (const auto id = shown.findNode(fused.node)) {
            nodes.push_back({*id, membersOf(*fused.members)});
        }
    }
    return nodes;
}

base::Result<views::FusedNodes> openNodes(const engine::LoadedModel& model, const engine::ExplainRequest& request,
                                          const engine::ExplainResult& result, const std::vector<std::string>& names,
                                          const std::stop_token& stop)
{
    views::FusedNodes nodes = fusedNodes(model, result.model->graph());
    RETRO_TRY(const std::vector<engine::ComposedNode> composedNodes,
              engine::composedNodes(model, request, result, stop));
    for (const engine::ComposedNode& composed : composedNodes) {
        nodes.push_back({composed.node, membersOf(*composed.members)});
        nodes.back().isComposed = true;
    }
    for (views::FusedNode& node : nodes) {
        const std::string name = result.model->graph().node(node.node).name;
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            RETRO_CHECK(openOne(node, name, model, request, result, stop));
        }
    }
    return nodes;
}

} // namespace retro::app
