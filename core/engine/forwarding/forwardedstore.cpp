// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedstore.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using tensor::Tensor;

ForwardedStore::ForwardedStore(std::shared_ptr<const ForwardNeeds> needs, ForwardingPlan plan,
                               std::span<const ValueId> alsoKept)
    : m_needs(std::move(needs)), m_plan(std::move(plan)), m_store(m_needs->sharedModel(), [this](NodeId node) {
          if (m_onRebuild) {
              m_onRebuild(node);
          }
      })
{
    for (std::size_t i = 0; i < m_plan.decisions.size(); ++i) {
        m_at[m_plan.decisions[i].value] = i;
    }
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
        m_owners.try_emplace(tensor.storage().get(), value);
        m_store.put(value, std::move(tensor));
    } else if (const auto at = m_at.find(value); at != m_at.end()) {
        keep(m_plan.decisions[at->second], tensor);
    }
}

void ForwardedStore::keep(ForwardDecision& decision, const Tensor& data)
{
    if (decision.form == ForwardForm::Store) {
        store(decision, data);
    } else if (decision.form == ForwardForm::Compress) {
        PackedSigns packed = compress(*m_needs, decision.value, data);
        decision.kept = packed.bytes();
        if (decision.kept < decision.bytes) {
            m_packed.emplace(decision.value, std::move(packed));
        } else {
            decision.form = ForwardForm::Store;
            decision.isFallback = true;
            decision.reason = fmt::format("stored: packed it would take {} bytes", decision.kept);
            store(decision, data);
        }
    }
}

/// Memory that another value keeps already costs nothing.
void ForwardedStore::store(ForwardDecision& decision, const Tensor& data)
{
    const auto [owner, isNew] = m_owners.try_emplace(data.storage().get(), decision.value);
    decision.kept = isNew ? decision.bytes : 0;
    if (!isNew) {
        decision.form = ForwardForm::Alias;
        decision.reason = m_needs->model().graph().value(owner->second).name;
    }
    m_store.put(decision.value, data);
}

Tensor ForwardedStore::get(ValueId value) const
{
    if (const auto packed = m_packed.find(value); packed != m_packed.end()) {
        return packed->second.expand();
    }
    const auto segment = m_plan.segments.segmentOf(m_needs->model().graph().value(value).producer);
    if (segment && !m_store.kept(value).isValid() && m_rebuilt.insert(*segment).second) {
        rebuild(*segment);
    }
    return m_store.get(value);
}

/// Those that make what rules read of the segment and what was not kept, and those that they need.
std::set<NodeId> ForwardedStore::nodesToRebuild(std::size_t segment) const
{
    const graph::Graph& graph = m_needs->model().graph();
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
void ForwardedStore::rebuild(std::size_t segment) const
{
    for (const auto& [value, tensor] : m_store.made(nodesToRebuild(segment))) {
        if (m_at.contains(value) && !m_packed.contains(value)) {
            m_store.put(value, tensor);
        }
    }
}

void ForwardedStore::forget(ValueId value)
{
    m_packed.erase(value);
    if (m_at.contains(value)) {
        m_store.put(value, Tensor());
    }
}

Tensor ForwardedStore::kept(ValueId value) const
{
    const auto also = m_also.find(value);
    return also != m_also.end() ? also->second : m_store.kept(value);
}

} // namespace retro::engine
