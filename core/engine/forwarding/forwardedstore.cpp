// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedstore.h"

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using tensor::Tensor;

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
