// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedstore.h"

#include "core/execute/runnode.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using tensor::Tensor;

ForwardedValues::ForwardedValues(const ForwardNeeds& needs, const ForwardingPlan& plan,
                                 std::function<void(NodeId)> onRebuild)
    : m_needs(needs), m_plan(plan), m_onRebuild(std::move(onRebuild)), m_store(needs.sharedModel(), m_onRebuild)
{
    for (std::size_t i = 0; i < m_plan.decisions.size(); ++i) {
        m_at[m_plan.decisions[i].value] = i;
    }
}

void ForwardedValues::putInput(ValueId value, const Tensor& data)
{
    m_owners.try_emplace(data.storage().get(), value);
    m_store.put(value, data);
}

void ForwardedValues::put(ValueId value, const Tensor& data)
{
    const auto at = m_at.find(value);
    if (at == m_at.end()) {
        return;
    }
    ForwardDecision& decision = m_plan.decisions[at->second];
    if (decision.form == ForwardForm::Store) {
        store(decision, data);
    } else if (decision.form == ForwardForm::Compress) {
        PackedSigns packed = compress(m_needs, value, data);
        decision.kept = packed.bytes();
        if (decision.kept < decision.bytes) {
            m_packed.emplace(value, std::move(packed));
        } else {
            decision.form = ForwardForm::Store;
            decision.isFallback = true;
            decision.reason = fmt::format("stored: packed it would take {} bytes", decision.kept);
            store(decision, data);
        }
    }
}

/// Memory that another value keeps already costs nothing.
void ForwardedValues::store(ForwardDecision& decision, const Tensor& data)
{
    const auto [owner, isNew] = m_owners.try_emplace(data.storage().get(), decision.value);
    decision.kept = isNew ? decision.bytes : 0;
    if (!isNew) {
        decision.form = ForwardForm::Alias;
        decision.reason = m_needs.model().graph().value(owner->second).name;
    }
    m_store.put(decision.value, data);
}

Tensor ForwardedValues::get(ValueId value)
{
    if (const auto packed = m_packed.find(value); packed != m_packed.end()) {
        return packed->second.expand();
    }
    const auto segment = m_plan.segments.segmentOf(m_needs.model().graph().value(value).producer);
    if (segment && !m_store.kept(value).isValid() && m_rebuilt.insert(*segment).second) {
        rebuild(*segment);
    }
    return m_store.get(value);
}

/// Those that make what rules read of the segment and what was not kept, and those that they need.
std::set<NodeId> ForwardedValues::nodesToRebuild(std::size_t segment) const
{
    const graph::Graph& graph = m_needs.model().graph();
    std::set<ValueId> wanted;
    std::set<NodeId> nodes;
    const auto list = m_plan.segments.nodesOf(segment);
    for (std::size_t i = list.size(); i-- > 0;) {
        const graph::Node& node = graph.node(list[i]);
        const bool isWanted = std::ranges::any_of(node.outputs, [&](ValueId output) {
            const bool isRead = output.isValid() && (wanted.contains(output) || m_at.contains(output));
            return isRead && !m_store.kept(output).isValid() && !m_packed.contains(output);
        });
        if (isWanted) {
            nodes.insert(list[i]);
            std::ranges::copy_if(node.inputs, std::inserter(wanted, wanted.end()), &ValueId::isValid);
        }
    }
    return nodes;
}

/// What rules read stays until the reverse pass has gone by; the rest goes at the end.
void ForwardedValues::rebuild(std::size_t segment)
{
    const auto run = [this](NodeId node) {
        ++m_again[node];
        if (m_onRebuild) {
            m_onRebuild(node);
        }
    };
    const auto made = execute::computedAgain(
        m_needs.model(), nodesToRebuild(segment), [this](ValueId operand) { return m_store.get(operand); }, run);
    for (const auto& [value, tensor] : made) {
        if (m_at.contains(value) && !m_packed.contains(value)) {
            m_store.put(value, tensor);
        }
    }
}

std::map<NodeId, std::size_t> ForwardedValues::rebuilds() const
{
    std::map<NodeId, std::size_t> all = m_store.runs();
    for (const auto& [node, times] : m_again) {
        all[node] += times;
    }
    return all;
}

void ForwardedValues::forget(ValueId value)
{
    m_packed.erase(value);
    if (m_at.contains(value)) {
        m_store.put(value, Tensor());
    }
}

ForwardedStore::ForwardedStore(std::shared_ptr<const ForwardNeeds> needs, const ForwardingPlan& plan,
                               std::span<const ValueId> alsoKept)
    : m_needs(std::move(needs)), m_values(*m_needs, plan, [this](NodeId node) {
          if (m_onRebuild) {
              m_onRebuild(node);
          }
      })
{
    for (const ValueId value : alsoKept) {
        m_also[value] = Tensor();
    }
}

void ForwardedStore::put(ValueId value, Tensor tensor)
{
    if (const auto also = m_also.find(value); also != m_also.end()) {
        also->second = tensor;
    }
    if (m_needs->model().graph().value(value).kind == graph::ValueKind::Input) {
        m_values.putInput(value, tensor);
    } else {
        m_values.put(value, tensor);
    }
}

Tensor ForwardedStore::get(ValueId value) const { return m_values.get(value); }

Tensor ForwardedStore::kept(ValueId value) const
{
    const auto also = m_also.find(value);
    return also != m_also.end() ? also->second : m_values.kept(value);
}

} // namespace retro::engine
