// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"
#include "core/ops/elements.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace retro::rewrite
{

using graph::Attribute;
using graph::Attributes;
using graph::Node;

namespace
{

constexpr std::int64_t kMostBytesCompared = 4096; ///< larger constants are weights, which are not written twice

bool isSame(const Attribute& a, const Attribute& b)
{
    return std::visit(
        [&b](const auto& left) {
            using T = std::decay_t<decltype(left)>;
            const T* right = std::get_if<T>(&b);
            if constexpr (std::is_same_v<T, graph::Subgraph>) {
                return false;
            } else if constexpr (std::is_same_v<T, tensor::Tensor>) {
                return right != nullptr && left.isValid() && right->isValid() && left.bitEqual(*right);
            } else {
                return right != nullptr && left == *right;
            }
        },
        a);
}

bool isSame(const Attributes& a, const Attributes& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
        return left.first == right.first && isSame(left.second, right.second);
    });
}

/// What a node computes follows from its operands and attributes, and nobody looks at the node itself.
bool isPure(const Node& node)
{
    constexpr std::array<std::string_view, 7> kRandom{"Bernoulli",        "Dropout",       "Multinomial",
                                                      "RandomNormal",     "RandomUniform", "RandomNormalLike",
                                                      "RandomUniformLike"};
    const bool isKnown = node.domain.empty() || node.domain == "com.microsoft" || node.domain == "retrograde";
    return isKnown && node.op != "PassThrough" && std::find(kRandom.begin(), kRandom.end(), node.op) == kRandom.end();
}

class Merger
{
public:
    explicit Merger(Draft& draft) : m_draft(draft), m_to(draft.before().valueCount()) {}

    void run(std::vector<RewriteStep>& steps)
    {
        mergeConstants();
        for (std::size_t i = 0; i < m_draft.nodeCount() && !m_draft.isStopped(); ++i) {
            if (!m_draft.isRemoved(NodeId(i)) && isPure(m_draft.node(NodeId(i)))) {
                merge(NodeId(i), steps);
            }
        }
        m_draft.redirect(m_to);
    }

private:
    void mergeConstants()
    {
        std::map<std::uint64_t, std::vector<ValueId>> known;
        for (std::size_t i = 0; i < m_to.size() && !m_draft.isStopped(); ++i) {
            const ValueId id(i);
            if (!m_draft.isConstant(id) || m_draft.value(id).constant.bytes() > kMostBytesCompared) {
                continue;
            }
            const tensor::Tensor data = m_draft.value(id).constant.contiguous();
            base::Hasher hash;
            hash.bytes({data.rawData(), static_cast<std::size_t>(data.bytes())});
            std::vector<ValueId>& alike = known[hash.digest()];
            const auto at = std::find_if(alike.begin(), alike.end(), [&](ValueId other) {
                return m_draft.value(other).dtype == m_draft.value(id).dtype &&
                       m_draft.value(other).constant.bitEqual(data);
            });
            if (at == alike.end()) {
                alike.push_back(id);
            } else {
                m_to[i] = *at;
            }
        }
    }

    [[nodiscard]] ValueId source(ValueId id) const
    {
        return id.isValid() && id.index() < m_to.size() && m_to[id.index()].isValid() ? m_to[id.index()] : id;
    }

    [[nodiscard]] std::string keyOf(const Node& node) const
    {
        std::vector<std::uint64_t> operands;
        for (const ValueId id : node.inputs) {
            operands.push_back(id.isValid() ? source(id).index() + 1 : 0);
        }
        if (ops::combinesTwo(node, {ops::Elements::Summed, ops::Elements::Multiplied})) {
            std::sort(operands.begin(), operands.end());
        }
        std::string key = fmt::format("{}:{}:{}:{}", node.domain, node.op, node.opset, node.outputs.size());
        for (const std::uint64_t operand : operands) {
            key += fmt::format(",{}", operand);
        }
        return key;
    }

    /// Every result of `node` has a counterpart, and none has to keep its name.
    [[nodiscard]] bool canStandFor(const Node& first, const Node& node) const
    {
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k].isValid() && (m_draft.isOutput(node.outputs[k]) || !first.outputs[k].isValid())) {
                return false;
            }
        }
        return isSame(first.attributes, node.attributes);
    }

    void merge(NodeId id, std::vector<RewriteStep>& steps)
    {
        const Node& node = m_draft.node(id);
        std::vector<NodeId>& alike = m_known[keyOf(node)];
        const auto at = std::find_if(alike.begin(), alike.end(),
                                     [&](NodeId first) { return canStandFor(m_draft.node(first), node); });
        if (at == alike.end()) {
            alike.push_back(id);
            return;
        }
        const Node& first = m_draft.node(*at);
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k].isValid()) {
                m_to[node.outputs[k].index()] = first.outputs[k];
            }
        }
        RewriteStep step;
        step.rewrite = "merge common";
        step.text = fmt::format("{} computes what {} does ({})", node.name, first.name, node.op);
        step.removed = {first.name, node.name};
        step.added = {first.name};
        steps.push_back(std::move(step));
        m_draft.removeNode(id);
    }

    Draft& m_draft;
    std::vector<ValueId> m_to; ///< by value: which one its readers read instead
    std::map<std::string, std::vector<NodeId>> m_known;
};

} // namespace

void mergeCommon(Draft& draft, std::vector<RewriteStep>& steps) { Merger(draft).run(steps); }

} // namespace retro::rewrite
