// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/recognise/cone.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

namespace retro::rewrite
{

using graph::Node;

namespace
{

const std::unordered_map<std::string_view, ConeStep>& coneSteps()
{
    static const std::unordered_map<std::string_view, ConeStep> steps = [] {
        std::unordered_map<std::string_view, ConeStep> all;
        for (const char* op : {"Add", "Sub", "Mul", "Div", "Neg", "Cast", "Identity", "Not", "And", "Or", "Sum"}) {
            all.emplace(op, ConeStep::Element);
        }
        for (const char* op : {"Reciprocal",  "Sqrt",          "Pow",      "Exp",  "Log",     "Abs",
                               "Max",         "Min",           "Clip",     "Sign", "Sigmoid", "Tanh",
                               "Erf",         "Softplus",      "Softsign", "Relu", "PRelu",   "LeakyRelu",
                               "Elu",         "Selu",          "Celu",     "Gelu", "Swish",   "Mish",
                               "HardSigmoid", "HardSwish",     "Where",    "Less", "Greater", "ThresholdedRelu",
                               "LessOrEqual", "GreaterOrEqual"}) {
            all.emplace(op, ConeStep::Curve);
        }
        for (const char* op :
             {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
              "ReduceLogSumExp", "Softmax", "LogSoftmax", "LpNormalization", "LayerNormalization", "RMSNormalization",
              "InstanceNormalization", "GroupNormalization", "Reshape", "Squeeze", "Unsqueeze"}) {
            all.emplace(op, ConeStep::Row);
        }
        return all;
    }();
    return steps;
}

void addAttributeToKey(base::Hasher& hash, const graph::Attribute& attribute)
{
    const auto number = [&](double value) { hash.number(std::bit_cast<std::uint64_t>(value)); };
    if (const auto* one = std::get_if<std::int64_t>(&attribute)) {
        hash.number(static_cast<std::uint64_t>(*one));
    } else if (const auto* real = std::get_if<double>(&attribute)) {
        number(*real);
    } else if (const auto* text = std::get_if<std::string>(&attribute)) {
        hash.text(*text);
    } else if (const auto* several = std::get_if<std::vector<std::int64_t>>(&attribute)) {
        for (const std::int64_t each : *several) {
            hash.number(static_cast<std::uint64_t>(each));
        }
    }
}

} // namespace

ConeStep coneStepOf(const Node& node)
{
    if (!node.domain.empty() || node.outputs.size() != 1) {
        return ConeStep::None;
    }
    const auto at = coneSteps().find(node.op);
    return at == coneSteps().end() ? ConeStep::None : at->second;
}

std::optional<double> uniformNumber(const Draft& draft, ValueId value)
{
    constexpr std::int64_t kMost = 65536;
    if (!draft.isConstant(value)) {
        return std::nullopt;
    }
    const tensor::Tensor& data = draft.value(value).constant;
    if (data.size() == 0 || data.size() > kMost || tensor::isNarrow(data.dtype())) {
        return std::nullopt;
    }
    const double first = data.at(0);
    for (std::int64_t i = 1; i < data.size(); ++i) {
        if (data.at(i) != first) {
            return std::nullopt;
        }
    }
    return first;
}

bool Cone::grow(std::size_t most, ConeStep widest)
{
    do {
        if (m_open.empty() || m_members.size() == most || !takeLast(widest)) {
            return false;
        }
    } while (m_open.size() != 1);
    return true;
}

/// Takes in the node that makes the last of the open values: no other open value can depend on it.
bool Cone::takeLast(ConeStep widest)
{
    const auto position = [this](ValueId value) {
        const NodeId maker = m_draft->value(value).producer;
        return maker.isValid() ? static_cast<std::int64_t>(maker.index()) : -1;
    };
    const auto last = std::ranges::max_element(m_open, {}, position);
    const NodeId maker = m_draft->value(*last).producer;
    const bool isOld = maker.isValid() && maker.index() < m_draft->before().nodeCount();
    const ConeStep step = isOld ? coneStepOf(m_draft->node(maker)) : ConeStep::None;
    if (step == ConeStep::None || step > widest) {
        return false;
    }
    const Node& node = m_draft->node(maker);
    m_open.erase(last);
    m_members.push_back(maker);
    for (const ValueId input : node.inputs) {
        if (!input.isValid()) {
            continue;
        }
        std::vector<ValueId>& into = m_draft->isConstant(input) ? m_constants : m_open;
        if (std::ranges::find(into, input) == into.end()) {
            into.push_back(input);
        }
    }
    addToKey(node);
    return true;
}

void Cone::addToKey(const Node& node)
{
    for (base::Hasher* hash : {&m_key, &m_form}) {
        hash->text(node.op);
        hash->number(static_cast<std::uint64_t>(node.opset));
        for (const auto& [name, attribute] : node.attributes) {
            hash->text(name);
            addAttributeToKey(*hash, attribute);
        }
    }
    for (const ValueId input : node.inputs) {
        addOperandToKey(input);
    }
}

void Cone::addToBoth(std::uint64_t number)
{
    m_key.number(number);
    m_form.number(number);
}

void Cone::addOperandToKey(ValueId value)
{
    if (m_draft->isConstant(value)) {
        const tensor::Tensor& data = m_draft->value(value).constant;
        const std::optional<double> number = uniformNumber(*m_draft, value);
        addToBoth(static_cast<std::uint64_t>(data.dtype()));
        addToBoth(number ? 1 : 0);
        m_key.number(number ? std::bit_cast<std::uint64_t>(*number) : value.index());
        m_form.number(number ? std::bit_cast<std::uint64_t>(*number) : data.rank());
        for (const std::int64_t extent : data.shape()) {
            m_form.number(static_cast<std::uint64_t>(extent));
        }
        m_hasSeveralNumbers = m_hasSeveralNumbers || (!number && data.size() > 1);
        return;
    }
    const auto at = std::ranges::find(m_seen, value);
    addToBoth(static_cast<std::uint64_t>(at - m_seen.begin()));
    if (at == m_seen.end()) {
        m_seen.push_back(value);
    }
}

std::uint64_t Cone::form() const
{
    base::Hasher whole = m_form;
    const auto& shape = m_draft->value(leaf()).shape;
    whole.number(shape ? shape->size() + 1 : 0);
    for (std::size_t axis = 0; shape && axis < shape->size(); ++axis) {
        whole.number(static_cast<std::uint64_t>((*shape)[axis].extent.value_or(-1)));
    }
    return whole.digest();
}

std::size_t Cone::leafReads() const
{
    std::size_t count = 0;
    for (const NodeId member : m_members) {
        count += static_cast<std::size_t>(std::ranges::count(m_draft->node(member).inputs, leaf()));
    }
    return count;
}

std::string Cone::operators() const
{
    std::string text;
    for (const NodeId member : members()) {
        text += (text.empty() ? "" : " ") + m_draft->node(member).op;
    }
    return text;
}

ConeReach::ConeReach(const Draft& draft, ConeStep mark, ConeStep widest)
    : m_distance(draft.nodeCount(), std::numeric_limits<std::uint8_t>::max())
{
    // A draft that was stopped while it was made holds no more than some of the nodes.
    for (std::size_t i = 0; i < draft.before().nodeCount() && !draft.isStopped(); ++i) {
        const Node& node = draft.node(NodeId(i));
        const ConeStep step = draft.isRemoved(NodeId(i)) ? ConeStep::None : coneStepOf(node);
        if (step == ConeStep::None || step > widest) {
            continue;
        }
        std::uint8_t& own = m_distance[i];
        own = step == mark ? 0 : own;
        for (const ValueId input : node.inputs) {
            const NodeId maker = input.isValid() ? draft.value(input).producer : NodeId();
            if (maker.isValid() && maker.index() < i && m_distance[maker.index()] < own) {
                own = static_cast<std::uint8_t>(m_distance[maker.index()] + 1);
            }
        }
    }
}

} // namespace retro::rewrite
